/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event.h - the data types of a trace, shared by writer, reader and collector.
 *
 * The position of an event is its order: events are added, stored and read in the same order. All
 * ids (modules, nodes, threads) are dense, start at 0 and are defined before they are used.
 */
#ifndef HL_TRACE_EVENT_H
#define HL_TRACE_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc_func.h"

/* All times in a trace are multiples of this. */
#define HL_TIME_UNIT_BITS 6
#define HL_TIME_UNIT_NS   (1 << HL_TIME_UNIT_BITS)

/* No node; also the parent of an outermost frame. */
#define HL_NODE_NONE UINT32_MAX
/* No tag; also the parent of an outermost tag. */
#define HL_TAG_NONE UINT32_MAX
/* A pc outside of all modules (code generated at run time); the node's offset is the pc itself. */
#define HL_MODULE_NONE UINT32_MAX

enum hl_op {
	HL_OP_ALLOC,
	HL_OP_FREE,
};

/* Flags of an event. */
#define HL_EVENT_MOVED 1u /* one half of a realloc: a FREE, directly followed by its ALLOC */
/* In a slice: a FREE that directly follows the ALLOC of its block here, but did not in the original
 * trace (a split pair). The block is not temporary. The trace format calls this PARTED. */
#define HL_EVENT_SPLIT 2u
/* One half of a realloc whose halves are not adjacent. ALLOC: realloc_of is the old block. FREE:
 * the new block is not in the trace. */
#define HL_EVENT_LINKED 4u

/*
 * One heap event. A realloc is a FREE of the old block and, as the very next event and at the same
 * time, an ALLOC of the new one, both flagged MOVED. If another thread gets the old address before
 * realloc returns, the FREE comes before that thread's ALLOC, and the realloc's own ALLOC, flagged
 * LINKED, follows later.
 */
struct hl_event {
	uint64_t time_ns; /* since the start; a multiple of HL_TIME_UNIT_NS, never decreases */
	uint64_t addr;
	uint64_t size;    /* requested bytes of the block */
	uint64_t ordinal; /* zero-based index of the block's allocation in the trace */
	union {
		uint64_t alloc_ns;   /* FREE: time of its ALLOC (in hl_chunk_events: if known) */
		uint64_t realloc_of; /* LINKED ALLOC: ordinal of the block passed to realloc */
	};
	uint32_t node;       /* the stack that allocated the block */
	uint32_t free_node;  /* FREE with --free-stacks: the stack that freed it, or HL_NODE_NONE */
	uint32_t thread;     /* role of this event's thread, see struct hl_role */
	uint32_t alloc_role; /* FREE: role that allocated the block */
	uint8_t op;          /* enum hl_op */
	uint8_t func;        /* enum hl_func of this call */
	uint8_t flags;
	uint8_t lifetime_class; /* FREE: hl_lifetime_class(time_ns - alloc_ns) */
	uint32_t pair_index; /* decoded: 1 + index of the block's other event in the chunk; 0: none
			      */
	/*
	 * The weight of the block in all sums: 1 block and its size. For a sample it is an
	 * estimate, equal at its allocation and its free. A writer treats 0 blocks as 1 block and
	 * its size.
	 */
	uint64_t blocks, bytes;
};

/* Sets the weight of an event that has none. */
static inline void hl_event_set_weight(struct hl_event *e)
{
	if (e->blocks)
		return;
	e->blocks = 1;
	e->bytes = e->size;
}

/* The role that allocated the block. */
static inline uint32_t hl_event_alloc_role(const struct hl_event *e)
{
	return e->op == HL_OP_FREE ? e->alloc_role : e->thread;
}

/* Side events, which the trace format calls extras: rare, without an ordinal, in no heap total. */
enum hl_extra_kind {
	HL_EXTRA_MARK,         /* text: heaplapse_mark */
	HL_EXTRA_SNAPSHOT,     /* text: heaplapse_snapshot; value: enum hl_snapshot_cause */
	HL_EXTRA_START,        /* recording switched on in this process */
	HL_EXTRA_STOP,         /* recording switched off: the live set is unknown from here */
	HL_EXTRA_THREAD_NAME,  /* text: the name of `thread` from here on */
	HL_EXTRA_UNKNOWN_FREE, /* addr: a block never seen; value 1: inherited over a fork */
	HL_EXTRA_DROPPED,      /* value: the number of events of `thread` dropped about here */
	HL_EXTRA_MMAP,         /* addr, size, value = prot | flags << 32, node */
	HL_EXTRA_MUNMAP,       /* addr, size, node */
	HL_EXTRA_MREMAP, /* addr, size: the new range; value: old addr, value2: old size; node */
	/* value = enum hl_mode | HL_CONTROL_PAUSED: what is recorded from here on; value2: bytes
	 * between samples, or the lifetime limit of cull in ns */
	HL_EXTRA_MODE,
	HL_EXTRA_POOL,       /* value: id of a pool, from 0; text: its name */
	HL_EXTRA_POOL_ALLOC, /* addr, size, node; value: pool id; value2: ordinal over all pools */
	HL_EXTRA_POOL_FREE,  /* as its POOL_ALLOC; value2 HL_POOL_UNKNOWN, size 0 if never seen */
	HL_EXTRA_KIND_COUNT,
};

#define HL_POOL_UNKNOWN UINT64_MAX
/* Set in the value of a POOL_FREE: as HL_EVENT_SPLIT, for blocks of pools. */
#define HL_POOL_PARTED (UINT64_C(1) << 32)

struct hl_extra {
	uint64_t time_ns;
	uint64_t addr, size, value, value2;
	uint32_t thread;
	uint32_t node;    /* or HL_NODE_NONE */
	uint8_t kind;     /* enum hl_extra_kind */
	const char *text; /* NULL or text, not trusted to be valid UTF-8 or printable */
};

/* How the recorded process ended. Stored: never renumber. */
enum hl_end_kind {
	HL_END_EXIT,      /* value: exit status */
	HL_END_SIGNAL,    /* value: signal */
	HL_END_EXEC,      /* exec replaced the program image */
	HL_END_STOPPED,   /* recording ended on request */
	HL_END_LOST,      /* end not observed; also the reader's value if the file has no END */
	HL_END_CONTINUED, /* the program runs on and another file has the rest */
	HL_END_RUNNING,   /* never stored: the file is still being written */
};

/* Added to the stored signal number if the kernel sent it for lack of memory. */
#define HL_END_OOM 0x100

struct hl_end {
	uint8_t kind;
	int32_t value;
	uint64_t duration_ns;
	bool oom; /* the kernel sent the signal for lack of memory */
	/* The first trace of a session: how many others had begun. 0: none, or not known. */
	uint64_t other_traces;
};

/* Events that could not be written, for example because the disk was full. Only the file header
 * still has space to record this. */
struct hl_unwritten {
	uint32_t error;  /* Linux error number; 0: nothing is known to be missing */
	uint64_t events; /* UINT64_MAX: the number is not known */
};

/* Counters of the collector beside the events. */
struct hl_counters {
	uint64_t unknown_frees, implicit_frees, inherited_frees, late_events, dropped_events;
	uint64_t unrecorded_frees; /* frees of blocks allocated while not everything was recorded */
	uint64_t early_blocks; /* cull: written early because too many were withheld; END only */
};

/* The cost of recording, as measured by its own parts. Zeros if the program could not report it (it
 * was killed). */
struct hl_cost {
	uint64_t wait_ns; /* time the program waited for space in its rings */
	uint64_t unwinds, frames_walked, frames_verified, rule_misses;
	uint64_t collector_ns; /* CPU time of the collector up to the end of this trace */
	uint64_t hook_ns; /* in hooks, without waits; one call in HL_HOOK_TIMER_EVERY is timed */
};

/*
 * Flags of a slice: a trace made from another trace. Its content is exact. Times are those of the
 * whole run, and blocks that were live at the start of the range are in it with their allocation at
 * its original time.
 */
#define HL_SLICE_RANGE    1u  /* without events after to_ns and blocks freed before from_ns */
#define HL_SLICE_LIFETIME 2u  /* without blocks with a lifetime below min_life_ns */
#define HL_SLICE_FILTER   4u  /* without blocks that the filter did not select */
#define HL_SLICE_NAMES    8u  /* functions, files and modules have made-up names */
#define HL_SLICE_ALL      16u /* everything else that could identify the program is made up too */
struct hl_slice_info {
	uint32_t flags; /* 0: not a slice */
	uint64_t from_ns, to_ns, min_life_ns;
	const char *filter; /* "" if it would reveal names; NULL is the same */
};

/* The blocks that a slice leaves out. */
struct hl_left_out {
	uint64_t blocks, bytes;             /* allocations that are not in the trace */
	uint64_t older_blocks, older_bytes; /* allocations in the trace from before its range */
};
/* Data that the source of an imported trace does not have. Stored: never renumber. */
#define HL_UNKNOWN_ADDRESSES 1u  /* all addresses are 0 */
#define HL_UNKNOWN_THREADS   2u  /* one thread represents all */
#define HL_UNKNOWN_CALLS     4u  /* all functions are HL_FUNC_UNKNOWN */
#define HL_UNKNOWN_TIMES     8u  /* an event has the time of the last time stamp before it */
#define HL_UNKNOWN_LIFETIMES 16u /* which block of its size and stack a free belongs to */
#define HL_UNKNOWN_ORDER     32u /* sums of a profile: each event represents many, in no order */
#define HL_UNKNOWN_COUNTS    64u /* the number of blocks: one represents all of a stack */
#define HL_UNKNOWN_ALL       127u

/*
 * A trace that begins late has a base: its tables, the sums and the live blocks of one moment of
 * the run. Ordinals, numbers of events, times and totals go on counting from the start of the run.
 */
struct hl_base {
	bool is_late;     /* false: the trace begins with the run, and the rest is 0 */
	uint64_t time_ns; /* the moment of the base */
	uint64_t events;  /* heap events and allocations of the run that are in earlier files */
	uint64_t allocs;
	uint64_t blocks;    /* live blocks in the base; none of a mode that records no blocks */
	uint64_t snapshots; /* of the run before the base; 0 if not known */
};

/* Everything that is known when a trace begins. All strings belong to the creator of the struct. */
struct hl_meta {
	const char *program; /* path of the executable */
	const char *command; /* argv, each argument NUL-terminated; command_len bytes in total */
	uint32_t command_len;
	const char *arch;      /* the CPU, as uname -m prints it */
	const char *clock;     /* source of the stamps: "tsc" ... */
	const char *mode;      /* "trace" */
	const char *allocator; /* path of the next allocator's module; "" if not known */
	uint64_t start_unix_ns;
	uint64_t pid, parent_pid; /* parent_pid: 0 if not known */
	bool free_stacks;         /* frees have stacks */
	bool record_mmap;         /* --mmap */
	bool forked;              /* a fork child: the live table started empty */
	bool started_off;         /* recording began when the program requested it */
	bool taken_over; /* takeover from a collector that died: the live table started empty */
	bool zeroed;     /* --zero-memory: memory from malloc was zeroed */
	/* Interpreters that the program's environment made take each object from malloc. */
	bool python_malloc;         /* PYTHONMALLOC=malloc */
	bool php_malloc;            /* USE_ZEND_ALLOC=0 */
	struct hl_slice_info slice; /* how the slice was made, if it is one */
	const char *source;         /* the imported file's program; "" or NULL: recorded */
	uint32_t unknown;           /* HL_UNKNOWN_*: data that the source does not have */
	struct hl_base base;        /* if it begins late */
};

struct hl_module {
	const char *path;
	const uint8_t *build_id;
	uint32_t build_id_len; /* 0 if there is none */
};

struct hl_node {
	uint32_t parent; /* HL_NODE_NONE for an outermost frame */
	uint32_t module; /* or HL_MODULE_NONE */
	uint64_t offset; /* return address relative to the module (an ELF address) */
};

/*
 * A role: a thread together with its current tag. The `thread` of an event is the id of a role. A
 * thread outside of any scope is its first role, the only one in a program without tags. So tags
 * cost nothing where there are none, and data by thread is also data by tag.
 */
struct hl_role {
	uint32_t thread; /* number of the thread, from 0 */
	uint32_t tag;    /* or HL_TAG_NONE */
};

/* A named scope, inside another one or outermost. */
struct hl_tag {
	const char *name;
	uint32_t parent; /* HL_TAG_NONE for an outermost one; always less than the tag's own id */
};

/* The offset of a node without module that replaces frames removed from the middle of a stack. */
#define HL_OFFSET_REMOVED_FRAMES UINT64_C(1)

/* The names that the trace itself has for a code address: in imported and anonymized traces. Names
 * of a module that has any of these are not looked up in files. */
struct hl_name_frame {
	const char *function; /* NULL or "" if not known */
	const char *file;     /* NULL or "" if not known */
	uint32_t line;        /* 0 if not known */
	bool inlined;         /* inlined into the frame before it */
};
struct hl_named_site {
	uint32_t module; /* or HL_MODULE_NONE */
	uint64_t offset;
	const struct hl_name_frame *frames; /* outermost first */
	size_t n_frames;
};

/* An embedded file. Stored: never renumber. */
enum hl_embedded_kind {
	HL_EMBEDDED_MODULE, /* a program or a library */
	HL_EMBEDDED_DEBUG,  /* the debug file of a program or library */
	HL_EMBEDDED_SHARED, /* a file shared by several debug files (dwz) */
};
struct hl_embedded_file {
	uint8_t kind;
	const char *path;    /* original path; untrusted like all data of a trace */
	bool path_truncated; /* read: the stored path contains a NUL; `path` ends there */
	const uint8_t *build_id;
	uint32_t build_id_len; /* 0 if there is none */
	uint64_t size;
};

/* The resident set size of the program, measured from outside. */
struct hl_rss_sample {
	uint64_t time_ns, rss_bytes;
};

/* A mapping of the process at a moment, as the kernel reports it (/proc/PID/smaps). */
enum { HL_MAP_READ = 1, HL_MAP_WRITE = 2, HL_MAP_EXECUTE = 4, HL_MAP_SHARED = 8 };
enum hl_map_amount {
	HL_MAP_SHARED_CLEAN,
	HL_MAP_SHARED_DIRTY,
	HL_MAP_PRIVATE_CLEAN,
	HL_MAP_PRIVATE_DIRTY,
	HL_MAP_ANONYMOUS, /* a part of the four above, which add up to the resident memory */
	HL_MAP_SWAP,
	HL_MAP_AMOUNTS,
};
#define HL_MAP_NAME_MAX 4096u      /* longer names are cut */
#define HL_MAPS_MAX     (1u << 20) /* mappings of a sample */
struct hl_map_entry {
	uint64_t start, end, offset; /* addresses; offset in the file */
	const char *name;            /* "" for none; untrusted */
	uint64_t kib[HL_MAP_AMOUNTS];
	uint8_t perms; /* HL_MAP_* */
};
/* All mappings at a moment, by ascending address. */
struct hl_map_sample {
	uint64_t time_ns;
	uint64_t read_ns; /* how long it took to read them */
	const struct hl_map_entry *maps;
	size_t n;
};

/* The maximum number of blocks in a live set. */
#define HL_LIVE_SET_MAX (1u << 20)
struct hl_live_block {
	uint64_t addr, size, ordinal, alloc_ns;
	uint32_t node, thread;
	uint64_t blocks, bytes; /* the weight, as in struct hl_event */
};

/* Sums of one node or of everything. live = allocated - freed. */
struct hl_sums {
	uint64_t alloc_blocks, alloc_bytes, free_blocks, free_bytes;
};

/* The cause of a snapshot. Stored: never renumber. */
enum hl_snapshot_cause {
	HL_SNAPSHOT_PROGRAM,     /* heaplapse_snapshot() */
	HL_SNAPSHOT_CHURN,       /* a number of bytes was allocated and freed */
	HL_SNAPSHOT_TIME,        /* a period has passed */
	HL_SNAPSHOT_LIVE,        /* live bytes reached the threshold */
	HL_SNAPSHOT_RSS,         /* the resident set reached the threshold */
	HL_SNAPSHOT_CTL,         /* requested from outside: heaplapse ctl */
	HL_SNAPSHOT_END,         /* the recording ended */
	HL_SNAPSHOT_MODE_CHANGE, /* the mode changed */
	HL_SNAPSHOT_SIGNAL,      /* --snapshot-signal */
	HL_SNAPSHOT_CAUSE_COUNT,
};

struct hl_snapshot {
	uint64_t time_ns;
	uint64_t threshold;   /* threshold of the cause: bytes, or ns for TIME; 0: none */
	uint64_t churn_bytes; /* churn between two snapshots if there is no other cause; 0: none */
	uint32_t cause;       /* enum hl_snapshot_cause; a newer file may have others */
	const char *label;    /* NULL or text, untrusted */
};

/* The size class of summaries and reports: 0 for size 0, else 1 + floor(log2 size). */
static inline uint8_t hl_size_octave(uint64_t size)
{
	return size >> 63 ? 64 : (uint8_t)(63u - (unsigned)__builtin_clzll(size << 1 | 1));
}

/* The lifetime class: 0 for less than 64 ns, then four classes for each octave. */
#define HL_LIFETIME_CLASSES_MAX 256 /* no class is this high */
static inline uint8_t hl_lifetime_class(uint64_t ns)
{
	uint64_t u = ns / HL_TIME_UNIT_NS;
	unsigned oct;

	if (u == 0)
		return 0;
	oct = 63u - (unsigned)__builtin_clzll(u);
	/* the two bits below the leading one select the quarter of the octave */
	return (uint8_t)(1 + oct * 4 + (unsigned)(u << 2 >> oct & 3));
}

#endif
