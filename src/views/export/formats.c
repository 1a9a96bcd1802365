/* SPDX-License-Identifier: Apache-2.0 */
/*
 * formats.c - the table of formats.
 */
#include <errno.h>

#include "model/query/query_plan.h"
#include "views/export/export_internal.h"

/* A table supports all groups. In a tree the stacks are below the group, so it cannot be grouped by
 * stack. A tree made from single events supports only groups that each event has data for
 * (site_history.h). */
#define TABLE_GROUPS ((1u << HL_GROUP_COUNT) - 1)
#define TREE_GROUPS  (TABLE_GROUPS & ~(1u << HL_GROUP_STACK))
#define EVENT_GROUPS \
	(TREE_GROUPS & ~(1u << HL_GROUP_CALL | 1u << HL_GROUP_LIFETIME | 1u << HL_GROUP_POOL))

const struct hl_export_format hl_export_formats[] = {
	{.name = "json",
		.suffix = ".json",
		.viewer = "your own programs: every allocation and stack (export-json.md)",
		.default_quantity = HL_EXPORT_ALL,
		.per_allocation = true,
		.has_aggregated = true,
		.several = true,
		.write = hl_export_json},
	{.name = "collapsed",
		.suffix = ".txt",
		.viewer = "flamegraph.pl, inferno, speedscope: one line per stack",
		.groups = TREE_GROUPS,
		.several = true,
		.write = hl_export_collapsed},
	{.name = "pprof",
		.suffix = ".pb.gz",
		.viewer = "go tool pprof, Pyroscope, Parca, Grafana: stacks with four costs",
		.binary = true,
		.groups = TREE_GROUPS,
		.several = true,
		.write = hl_export_pprof,
		.drop = hl_export_pprof_drop},
	{.name = "heaptrack",
		.suffix = ".zst",
		.viewer = "heaptrack_gui, heaptrack_print: every allocation (also .gz, or plain)",
		.default_quantity = HL_EXPORT_ALL,
		.per_allocation = true,
		.unweighted = true,
		.write = hl_export_heaptrack},
	{.name = "massif",
		.suffix = ".massif",
		.viewer = "ms_print, massif-visualizer: the heap over time, with trees",
		.whole_run = true,
		.groups = TREE_GROUPS,
		.write = hl_export_massif},
	{.name = "dhat",
		.suffix = ".json",
		.viewer = "dh_view.html of Valgrind, Firefox Profiler: stacks with lifetimes",
		.default_quantity = HL_EXPORT_ALL,
		.per_allocation = true,
		.has_aggregated = true,
		.groups = EVENT_GROUPS,
		.write = hl_export_dhat},
	{.name = "speedscope",
		.suffix = ".speedscope.json",
		.viewer = "speedscope.app: flame graphs of bytes and of blocks",
		.groups = TREE_GROUPS,
		.several = true,
		.write = hl_export_speedscope,
		.drop = hl_export_tail_free},
	{.name = "svg",
		.suffix = ".svg",
		.viewer = "any browser: a flame graph with search and zoom",
		.groups = TREE_GROUPS,
		.several = true,
		.write = hl_export_svg,
		.drop = hl_export_svg_drop},
	{.name = "html",
		.suffix = ".html",
		.viewer = "any browser: one page with timeline, flame graphs, trees and sites",
		.for_people = true,
		.explains_unknown = true,
		.groups = TREE_GROUPS,
		.write = hl_export_html},
	{.name = "dot",
		.suffix = ".dot",
		.viewer = "Graphviz, xdot: call graph with costs",
		.groups = TREE_GROUPS,
		.write = hl_export_dot},
	{.name = "gprof2dot",
		.suffix = ".json",
		.viewer = "gprof2dot -f json: memtrail's graphs",
		.groups = TREE_GROUPS,
		.write = hl_export_gprof2dot},
	{.name = "csv",
		.suffix = ".csv",
		.viewer = "spreadsheets, SQL: every allocation, or with --group a table",
		.default_quantity = HL_EXPORT_ALL,
		.groups = TABLE_GROUPS,
		.table_if_grouped = true,
		.per_allocation = true,
		.has_aggregated = true,
		.several = true,
		.write = hl_export_csv},
	{.name = "parquet",
		.suffix = ".parquet",
		.viewer = "DuckDB, ClickHouse, Spark, Trino, pandas: tables (export-parquet.md)",
		.default_quantity = HL_EXPORT_ALL,
		.binary = true,
		.per_allocation = true,
		.tables = hl_export_parquet_tables,
		.write = hl_export_parquet},
	{.name = "chrome",
		.suffix = ".trace.json",
		.viewer = "Perfetto, chrome://tracing: counters over time, and marks",
		.whole_run = true,
		.heap_only = true,
		.several = true,
		.write = hl_export_chrome},
	{.name = "firefox",
		.suffix = ".json",
		.viewer = "profiler.firefox.com: counters, marks and call trees",
		.heap_only = true,
		.groups = TREE_GROUPS,
		.several = true,
		.write = hl_export_firefox,
		.drop = hl_export_tail_free},
	{.name = "replay",
		.suffix = ".replay",
		.viewer = "heaplapse-replay: repeats the calls on any allocator",
		.default_quantity = HL_EXPORT_ALL,
		.binary = true,
		.heap_only = true,
		.per_allocation = true,
		.unweighted = true,
		.write = hl_export_replay},
	{0},
};

const struct hl_export_format *hl_export_find(const char *name)
{
	for (const struct hl_export_format *f = hl_export_formats; f->name; f++) {
		if (strcmp(f->name, name) == 0)
			return f;
	}
	return NULL;
}

static bool needs_own_peak(const struct hl_export_format *f, const struct hl_export_job *x)
{
	return x->own_peak && !f->whole_run && x->query.quantity == HL_QUANTITY_LIVE &&
	       x->query.to.kind == HL_TIME_SPEC_PEAK;
}

/*
 * Appends to the error which formats can export a trace with aggregated blocks. Formats with
 * `has_aggregated` have all blocks that were allocated or are left; formats of sums have the values
 * that `report` shows.
 */
static int suggest_formats(const struct hl_export_format *f, struct hl_export_job *x)
{
	struct hl_query all = {
		.quantity = x->query.quantity, .to = x->query.to, .filter = x->query.filter};
	struct hl_strbuf b = {0};
	size_t old_len;

	hl_strbuf_puts(&b, hl_model_error(x->m));
	old_len = b.len;
	if (!f->has_aggregated && hl_aggregated_check(x->m, &all) == 0)
		hl_strbuf_puts(&b, "; json, csv and dhat contain the recorded blocks and the sums "
				   "of the others");
	if (hl_query_sums_suffice(x->m, &x->query))
		hl_strbuf_puts(&b, "; pprof, svg and collapsed contain the sums");
	if (b.len == old_len)
		hl_strbuf_puts(&b,
			"; json, csv and dhat support --allocated and --leaks of this trace, with "
			"filters on stacks: fn: (except allocation functions), file:, module:");
	hl_model_set_error(x->m, hl_strbuf_str(&b));
	hl_strbuf_fini(&b);
	return -ENODATA;
}

/* Checks that all single blocks are known, or the sums of the aggregated ones. The peak of a filter
 * is not found yet, and not before a base. */
static int check_lifetimes(
	const struct hl_export_format *f, struct hl_export_job *x, struct hl_aggregated *aggregated)
{
	struct hl_query q = x->query;
	int err;

	if (needs_own_peak(f, x))
		q.to = (struct hl_time_spec){.ns = hl_model_base(x->m)->time_ns};
	err = hl_query_plan_blocks(x->m, &q);
	q.to = x->query.to;
	if (err != -ENODATA || !hl_model_has_aggregated(x->m) || !hl_model_has_event_order(x->m))
		return err;
	if (x->grouped)
		q.key = hl_group_key(x->group);
	if (!f->has_aggregated || hl_aggregated_check(x->m, &q))
		return suggest_formats(f, x);
	x->aggregated = aggregated;
	return hl_aggregated_begin(aggregated, x->m, &x->query);
}

int hl_export_write(const struct hl_export_format *f, struct hl_export_job *x)
{
	bool table = f->table_if_grouped && x->grouped;
	struct hl_aggregated aggregated = {0};
	void *kept = NULL, **caller_kept = x->kept;
	int err = 0;

	x->kept = caller_kept ? caller_kept : &kept;
	if (!x->quantity_given && f->default_quantity == HL_EXPORT_ALL && !table) {
		x->query.quantity = HL_QUANTITY_ALLOCATED;
		x->query.from = (struct hl_time_spec){0};
		x->query.to = (struct hl_time_spec){.kind = HL_TIME_SPEC_END};
		x->query.with_base = true;
		x->title = "allocated";
	}
	/* As in `report`: the only state that a profile of another tool has is the memory in
	 * use. */
	if (!x->quantity_given && f->default_quantity == HL_EXPORT_PEAK &&
		!hl_model_has_event_order(x->m)) {
		x->query.quantity = HL_QUANTITY_LIVE;
		x->query.to = (struct hl_time_spec){.kind = HL_TIME_SPEC_END};
		x->title = "live at the end";
	}
	/* Checked before any output, because output on stdout cannot be undone. */
	if (f->per_allocation && !table)
		err = check_lifetimes(f, x, &aggregated);
	if (!err && needs_own_peak(f, x)) {
		err = hl_export_find_peak(x);
		x->query.to = x->has_peak ? x->peak.when : x->query.to;
		if (err == -ENODATA && f->explains_unknown)
			err = 0;
	}
	if (!err)
		err = f->write(x);
	hl_aggregated_fini(&aggregated);
	x->aggregated = NULL;
	x->kept = caller_kept;
	return err;
}
