# SPDX-License-Identifier: Apache-2.0
"""migrating_names - the names of the other tools: commands, options, variables, functions, names in
output.

Keyed by the headings of docs/migrating.md. Each list is complete for its tool, and is made from the
tool's own documents and sources, not from the page.
"""

MEMTRAIL = '''
memtrail record|memtrail report|memtrail dump|memtrail help
record -d|record --debug|record -p|record --profile
report -i|--include-function|report -x|--exclude-function|--include-module|--exclude-module|report -t|--threshold
--show-snapshots|--show-snapshot-deltas|--show-cumulative-snapshot-delta|--show-maximum|--show-leaks|--output-graphs
memtrail.h|memtrail_snapshot|memtrail.data|memtrail.LABEL.json
limiting to|memtrail: snapshot|memtrail: maximum|memtrail: leaked|out of memory|warning: recursion
in N places, all below
snapshot-N|snapshot-N-delta|cum-snapshot-delta|maximum|leaked
VERBOSITY|COVERAGE|CXX|PYTHON|UNWIND_SRC
SIGINT
'''

PMEM = '''
LD_PRELOAD=libpmem.so|pmem.$pid.log|config.h|PMEM_CHURN_THRESH|PMEM_LIBUNWIND|PREFIX|compile.sh
$(snapshot)|$(churn_curr)|$(churn_thresh)|$(source)|$(live)|$(alloc_curr)|$(alloc_total)|$(free_curr)|$(free_total)|$(backtrace)
'''

MALLOC_TAG = '''
malloc_tag.h|-lmalloc_tag|MallocTagEngine::init|max_tree_nodes|max_tree_levels|snapshot_interval_sec
MallocTagScope("tag")|MallocTagScope(class_name, function_name)
MallocTagEngine::write_stats|write_stats_on_disk|format|fullpath|output_options
MallocTagEngine::get_limit|"max_trees"|"max_node_siblings"|"max_tree_nodes"|"max_tree_levels"
MallocTagEngine::collect_stats(format)|MallocTagEngine::collect_stats()|MallocTagStatMap_t|get_stat_key_prefix_for_thread
MallocTagEngine::set_snapshot_interval|MallocTagEngine::write_snapshot_if_needed
get_linux_vmsize_in_bytes|get_linux_vmrss_in_bytes|malloc_info
MTAG_OUTPUT_FORMAT_JSON|MTAG_OUTPUT_FORMAT_GRAPHVIZ_DOT|MTAG_OUTPUT_FORMAT_HUMANFRIENDLY_TREE|MTAG_OUTPUT_FORMAT_ALL
MTAG_STATS_OUTPUT_JSON_ENV|MTAG_STATS_OUTPUT_GRAPHVIZDOT_ENV|MTAG_SNAPSHOT_OUTPUT_PREFIX_ENV|MTAG_SNAPSHOT_INTERVAL_ENV
MTAG_DEFAULT_MAX_TREE_NODES|MTAG_DEFAULT_MAX_TREE_LEVELS|MTAG_SNAPSHOT_DISABLED
MTAG_STATS_OUTPUT_JSON|MTAG_STATS_OUTPUT_GRAPHVIZ_DOT|MTAG_SNAPSHOT_INTERVAL_SEC|MTAG_SNAPSHOT_OUTPUT_PREFIX_FILE_PATH
USE_TCMALLOC|SHOW_JSON|SHOW_DOT|DESTDIR
PID|tmStartProfiling|tmCurrentSnapshot|tree_for_TID<N>|TID|ThreadName|nTreeLevels|nTreeNodesInUse|nMaxTreeNodes
nPushNodeFailures|nFreeTrackingFailed|nVmSizeAtCreation|manipulatedByRule|scope_<name>|nestedScopes
nBytesTotalAllocated|nBytesTotalFreed|nBytesSelfAllocated|nBytesSelfFreed|nTimesEnteredAndExited|nWeightPercentage
nCallsTo_malloc|nCallsTo_realloc|nCallsTo_calloc|nCallsTo_free
nBytesAllocBeforeInit|nBytesMallocTagSelfUsage|vmSizeNowBytes|vmRSSNowBytes|nTotalNetTrackedBytes|nTotalTrackedBytes
.nTrees|tid<N>:|hidden: below threshold|hot path|hot leaf
mtag-json2dot|mtag-json2dot -o|.dot|.gv|.svg|.svgz|.png|.jpeg|.jpg|.gif|.bmp|tracked_malloc|tracked_free|net_tracked_mem
mtag-postprocess|mtag-postprocess -o|mtag-postprocess -c|-v|-V|aggregate_trees|matching_regex|matching_prefix
'''

MEMORY_PROFILER = '''
libmemory_profiler.so|libbytehound.so|memory-profiler-cli|bytehound|memory-profiler-gather|bytehound-gather
memory-profiling_%e_%t_%p.dat|debug-logs|nightly|jemalloc|sc|ERR|WRN|INF|DBG|TRC|YYYYMMDD_HHMMSS_PID_basename.dat
MEMORY_PROFILER_OUTPUT|MEMORY_PROFILER_LOG|MEMORY_PROFILER_LOGFILE|MEMORY_PROFILER_LOGFILE_ROTATE_WHEN_BIGGER_THAN
MEMORY_PROFILER_CULL_TEMPORARY_ALLOCATIONS|MEMORY_PROFILER_TEMPORARY_ALLOCATION_LIFETIME_THRESHOLD
MEMORY_PROFILER_TEMPORARY_ALLOCATION_PENDING_THRESHOLD|MEMORY_PROFILER_GRAB_BACKTRACES_ON_FREE
MEMORY_PROFILER_DISABLE_BY_DEFAULT|MEMORY_PROFILER_REGISTER_SIGUSR1|MEMORY_PROFILER_REGISTER_SIGUSR2
MEMORY_PROFILER_ENABLE_SERVER|MEMORY_PROFILER_BASE_SERVER_PORT|MEMORY_PROFILER_ENABLE_BROADCAST
MEMORY_PROFILER_WRITE_BINARIES_TO_OUTPUT|MEMORY_PROFILER_ZERO_MEMORY|MEMORY_PROFILER_PRECISE_TIMESTAMPS
MEMORY_PROFILER_BACKTRACE_CACHE_SIZE|MEMORY_PROFILER_BACKTRACE_CACHE_SIZE_LEVEL_1
MEMORY_PROFILER_BACKTRACE_CACHE_SIZE_LEVEL_2|MEMORY_PROFILER_GATHER_MMAP_CALLS|MEMORY_PROFILER_GATHER_MAPS
MEMORY_PROFILER_USE_SHADOW_STACK|MEMORY_PROFILER_USE_PERF_EVENT_OPEN|MEMORY_PROFILER_TRACK_CHILD_PROCESSES
MEMORY_PROFILER_CHOWN_OUTPUT_TO|MEMORY_PROFILER_INCLUDE_FILE|MEMORY_PROFILER_DISABLE_PR_SET_VMA_ANON_NAME
MEMORY_PROFILER_EMIT_PARTIAL_BACKTRACES|RUST_LOG
memory_profiler_start|memory_profiler_stop|memory_profiler_sync|memory_profiler_set_marker
memory_profiler_override_next_timestamp|SIGUSR1|SIGUSR2
server|server -d|--debug-symbols|server -i|--interface|server -p|--port|gather
export-heaptrack|export-heaptrack -d|export-heaptrack -o|export-replay|export-replay -o
postprocess|postprocess -d|postprocess -o|postprocess -a|--anonymize|none|partial|full|strip|squeeze|strip -o|strip -t|--threshold
script|script -d|--data|script-slave|extract|extract -o
repack|--disable-compression|analyze-size
/list|/timeline|/timeline_leaked|/timeline_maps|/allocations|/allocation_groups|/maps|/mmaps|/backtraces|/backtrace|/raw_allocations
/tree|/regions|/mallopts|/export/flamegraph|/export/flamegraph.pl|/export/heaptrack|/export/replay|/allocation_ascii_tree
/dynamic_constants|/dynamic_constants_ascii_tree|/dynamic_statics|/dynamic_statics_ascii_tree|/execute_script|/script_files
/allocation_filter_to_script|/map_filter_to_script
from|to|alive_at|alive_at_2|only_leaked|only_chain_leaked|only_temporary|only_whole_group_leaked|address_min|address_max
size_min|size_max|first_size_min|first_size_max|last_size_min|last_size_max|lifetime_min|lifetime_max|backtrace_depth_min
backtrace_depth_max|backtraces|deallocation_backtraces|mmaped|jemalloc|arena|function_regex|source_regex
negative_function_regex|negative_source_regex|marker|group_interval_min|group_interval_max
group_max_total_usage_first_seen_min|group_max_total_usage_first_seen_max|group_leaked_allocations_min
group_leaked_allocations_max|group_allocations_min|group_allocations_max|chain_length_min|chain_length_max
chain_lifetime_min|chain_lifetime_max|position_in_chain_min|position_in_chain_max|from_map|custom_filter
peak_rss_min|peak_rss_max|readable|writable|executable
'''


def words(text):
    return [name for line in text.strip().splitlines() for name in line.split('|')]


THEIRS = {'memtrail': words(MEMTRAIL), 'pmem': words(PMEM), 'malloc-tag': words(MALLOC_TAG),
          'memory-profiler (Bytehound)': words(MEMORY_PROFILER)}
