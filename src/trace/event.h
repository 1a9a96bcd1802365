/*
 * event.h - what a trace says, in the words that writer, reader and collector share.
 *
 * Order is position: events are handed over, stored and read back in the one true order.
 * All ids (modules, nodes, threads) are dense, start at 0 and are defined before they are used.
 */
#ifndef HL_TRACE_EVENT_H
#define HL_TRACE_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/func.h"

/* Times in a trace are multiples of this. */
#define HL_TIME_UNIT_BITS 6
#define HL_TIME_UNIT_NS   (1 << HL_TIME_UNIT_BITS)

/* No such node; also the parent of an outermost frame. */
#define HL_NODE_NONE UINT32_MAX
/* No scope; also the parent of an outermost tag. */
#define HL_TAG_NONE UINT32_MAX
/* A pc in no module (code made at run time); the node's offset is the pc itself. */
#define HL_MODULE_NONE UINT32_MAX

enum hl_op {
	HL_OP_ALLOC,
	HL_OP_FREE,
};

/* Event flags. */
#define HL_EVENT_MOVED 1u /* half of a realloc: a FREE and, directly after it, its ALLOC */
/* A FREE directly after the ALLOC of its block, but in the run, from which the trace was cut, there
 * were events between them: the block is not temporary. */
#define HL_EVENT_PARTED 2u
/* Half of a realloc whose halves are not neighbours. ALLOC: made_of is the old block. FREE: the new
 * block is not in the trace. */
#define HL_EVENT_LINKED 4u

/*
 * One heap event. A realloc is a FREE of the old block and, as the very next event and at the
 * same time, an ALLOC of the new one, both flagged MOVED. If another thread gets the old address
 * before realloc returns, the FREE stands before that thread's ALLOC, and the realloc's own ALLOC,
 * flagged LINKED, follows later.
 */
struct hl_event {
	uint64_t time_ns; /* since the start; a multiple of HL_TIME_UNIT_NS, never falling */
	uint64_t addr;
	uint64_t size;    /* bytes asked for when the block was allocated */
	uint64_t ordinal; /* the how-manieth allocation this block is, from 0 */
	union {
		uint64_t birth_ns; /* FREE: time of its ALLOC (hl_chunk_events: if known) */
		uint64_t made_of;  /* LINKED ALLOC: ordinal of the block that realloc took */
	};
	uint32_t node; /* the stack that allocated the block */
	uint32_t
		free_node; /* FREE with --free-stacks: the stack that freed it; else HL_NODE_NONE */
	uint32_t thread;   /* who does this: a role, see struct hl_role */
	uint32_t birth_thread; /* FREE: who allocated it, and in which scope */
	uint8_t op;            /* enum hl_op */
	uint8_t func;          /* enum hl_func of this call */
	uint8_t flags;
	uint8_t life_q;   /* FREE: lifetime class, hl_life_class(time_ns - birth_ns) */
	uint32_t pair_at; /* in a decoded chunk: the number there, from 1, of the event that began
			     or ended the block; 0: it is in none or another */
	/* What the block counts for in every sum: 1 and size; for a sample an estimate, the same at
	 * its allocation and its free. 0 blocks, given to a writer: 1 and size. */
	uint64_t blocks, bytes;
};

/* One that says nothing of what it stands for stands for itself. */
static inline void hl_event_complete(struct hl_event *e)
{
	if (e->blocks)
		return;
	e->blocks = 1;
	e->bytes = e->size;
}

/* Who allocated the block. */
static inline uint32_t hl_event_owner(const struct hl_event *e)
{
	return e->op == HL_OP_FREE ? e->birth_thread : e->thread;
}

/* Rare things between the heap events; no ordinal, in no heap total. */
enum hl_extra_kind {
	HL_EXTRA_MARK,     /* text: heaplapse_mark */
	HL_EXTRA_SNAPSHOT, /* text: heaplapse_snapshot; value: enum hl_snapshot_cause, who asked */
	HL_EXTRA_START,    /* recording switched on in this process */
	HL_EXTRA_STOP,     /* and off: live after this is unknown */
	HL_EXTRA_THREAD_NAME,  /* text: the name of `thread` from here on */
	HL_EXTRA_UNKNOWN_FREE, /* addr: a block that was never seen; value 1 = inherited over a fork
				*/
	HL_EXTRA_DROPPED,      /* value: how many events of `thread` were dropped about here */
	HL_EXTRA_MMAP,         /* addr, size, value = prot | flags << 32, node */
	HL_EXTRA_MUNMAP,       /* addr, size, node */
	HL_EXTRA_MREMAP, /* addr, size = the new range; value = old addr, value2 = old size; node */
	/* value = enum hl_mode | HL_STEER_PAUSED: how much is recorded from here on; value2 = bytes
	 * between samples, or the lifetime of cull in ns */
	HL_EXTRA_MODE,
	HL_EXTRA_POOL,       /* value: a pool's number, from 0; text: its name */
	HL_EXTRA_POOL_ALLOC, /* addr, size, value = the pool, value2 = which of all pools' blocks,
				from 0; node */
	HL_EXTRA_POOL_FREE,  /* the same of the block, with the node that allocated it; value2 is
				HL_POOL_UNKNOWN and size 0 if it was never seen */
	HL_EXTRA_KIND_COUNT,
};

#define HL_POOL_UNKNOWN UINT64_MAX
/* In the value of a POOL_FREE: as HL_EVENT_PARTED, of the blocks of pools. */
#define HL_POOL_PARTED (UINT64_C(1) << 32)

struct hl_extra {
	uint64_t time_ns;
	uint64_t addr, size, value, value2;
	uint32_t thread;
	uint32_t node;    /* HL_NODE_NONE when there is none */
	uint8_t kind;     /* enum hl_extra_kind */
	const char *text; /* NULL or UTF-8, not trusted to be either valid or printable */
};

/* How the recorded process ended. Stored: never renumber. */
enum hl_end_kind {
	HL_END_EXIT,    /* value: exit status */
	HL_END_SIGNAL,  /* value: signal, + HL_END_OOM */
	HL_END_EXEC,    /* another program took its place */
	HL_END_STOPPED, /* recording was ended by request */
	HL_END_LOST, /* nobody saw the end (a reader's word when the end is missing from the file)
		      */
	HL_END_RUNNING, /* never stored: the file is still being written */
};

/* In the file a signal has this too when the kernel sent it for want of memory. */
#define HL_END_OOM 0x100

struct hl_end {
	uint8_t kind;
	int32_t value;
	uint64_t duration_ns;
	bool oom; /* the kernel's signal, for want of memory */
};

/* What a writer could not write, a full disk for one: there is no room then but in the file's
 * head. */
struct hl_unwritten {
	uint32_t error;  /* Linux's number for why; 0: nothing is known to be missing */
	uint64_t events; /* UINT64_MAX: it is not known how many */
};

/* What the collector counts beside the events. */
struct hl_counters {
	uint64_t unknown_frees, implicit_frees, inherited_frees, late_events, dropped_events;
	uint64_t unrecorded_frees; /* of blocks that were allocated while not all was recorded */
	uint64_t early_blocks;     /* cull: written while young, for too many waited; END alone */
};

/* What recording cost, as far as its own parts know; zeros when the program could not tell (a
 * kill). */
struct hl_cost {
	uint64_t wait_ns; /* the program stood still for want of room in its rings */
	uint64_t unwinds, frames_walked, frames_verified, rule_misses;
	uint64_t collector_ns; /* CPU time of the collector up to this trace's end */
	uint64_t hook_ns;      /* in our hooks, waits apart; from one in HL_TIMED_EVERY */
};

/*
 * A trace that was cut from another. What is left in it is exact: times are those of the whole run,
 * and blocks that were live when the range begins are in it from their own birth on.
 */
#define HL_CUT_RANGE \
	1u /* events after to_ns, and blocks that were dead at from_ns, are not in it */
#define HL_CUT_LIFE   2u  /* nor blocks that lived shorter than min_life_ns */
#define HL_CUT_FILTER 4u  /* nor those that the filter did not choose */
#define HL_CUT_NAMES  8u  /* functions, files and modules have made-up names */
#define HL_CUT_ALL    16u /* and so has everything else that could tell whose it is */
struct hl_cut_note {
	uint32_t flags; /* 0: nothing was cut */
	uint64_t from_ns, to_ns, min_life_ns;
	const char *filter; /* "" when it would tell names; NULL is as good */
};

/* How much was cut. */
struct hl_left_out {
	uint64_t blocks, bytes;             /* allocations that are not in the trace */
	uint64_t older_blocks, older_bytes; /* that are in it, but from before its range */
};
/* What an imported trace does not know. Stored: never renumber. */
#define HL_UNKNOWN_ADDRESSES 1u  /* all are 0 */
#define HL_UNKNOWN_THREADS   2u  /* one stands for all */
#define HL_UNKNOWN_CALLS     4u  /* all are HL_FUNC_UNKNOWN */
#define HL_UNKNOWN_TIMES     8u  /* an event has the time of the last stamp before it */
#define HL_UNKNOWN_LIVES     16u /* which block of its size and stack a free ended */
#define HL_UNKNOWN_ORDER     32u /* sums of a profile: events stand for many, in no order */
#define HL_UNKNOWN_COUNTS    64u /* how many blocks: one stands for those of a stack */
#define HL_UNKNOWN_ALL       127u

/* Everything that is known when a trace begins. All strings belong to whoever made the struct. */
struct hl_meta {
	const char *program; /* path of the executable */
	const char *command; /* argv, each ended by NUL, command_len bytes in all */
	uint32_t command_len;
	const char *arch;      /* "x86_64" */
	const char *clock;     /* where stamps come from: "tsc" ... */
	const char *mode;      /* "trace" */
	const char *allocator; /* path of the next allocator's module; "" when not known */
	uint64_t start_unix_ns;
	uint64_t pid, parent_pid; /* parent_pid: 0 when not known */
	bool free_stacks;         /* frees have stacks */
	bool maps;                /* --mmap */
	bool forked;              /* a fork child: its books started empty */
	bool start_off;           /* recording began when the program asked for it */
	bool continued;           /* a collector before this one died: books started empty */
	bool zeroed;              /* --zero-memory: what malloc gave was zeroed */
	struct hl_cut_note cut;   /* what is not in it because it was cut */
	const char *source;       /* what it was imported from; "" or NULL: it was recorded */
	uint32_t unknown;         /* HL_UNKNOWN_*: what the source could not tell */
};

struct hl_module {
	const char *path;
	const uint8_t *build_id;
	uint32_t build_id_len; /* 0 when there is none */
};

struct hl_node {
	uint32_t parent; /* HL_NODE_NONE for an outermost frame */
	uint32_t module; /* or HL_MODULE_NONE */
	uint64_t offset; /* return address relative to the module (an ELF address) */
};

/*
 * A thread in one of its scopes. Events name roles where they seem to name threads: a thread
 * outside of any scope is the first of its roles, and the only one in a program without tags. So
 * tags cost nothing where there are none, and all that goes by threads goes by tags too.
 */
struct hl_role {
	uint32_t thread; /* its number among the threads, from 0 */
	uint32_t tag;    /* or HL_TAG_NONE */
};

/* A named scope, inside of another or of none. */
struct hl_tag {
	const char *name;
	uint32_t parent; /* HL_TAG_NONE for an outermost one; always less than the tag's own id */
};

/* In a node of a stack that was cut in the middle stands this offset, with no module. */
#define HL_OFFSET_CUT UINT64_C(1)

/*
 * A name that the trace itself has for a place in the code: of an imported trace, or of one whose
 * names are made up. For a module that has any no file is asked.
 */
struct hl_name_frame {
	const char *function; /* NULL or "" when not known */
	const char *file;     /* the same */
	uint32_t line;        /* 0 when not known */
	bool inlined;         /* into the frame before it */
};
struct hl_named_site {
	uint32_t module; /* or HL_MODULE_NONE */
	uint64_t offset;
	const struct hl_name_frame *frames; /* outermost first */
	size_t n_frames;
};

/* A file that a trace carries. Stored: never renumber. */
enum hl_carried_kind {
	HL_CARRIED_MODULE, /* a program or a library */
	HL_CARRIED_DEBUG,  /* its debug file */
	HL_CARRIED_SHARED, /* what several debug files share (dwz) */
};
struct hl_carried {
	uint8_t kind;
	const char *path; /* where it was; hostile like all of a trace */
	bool path_cut;    /* read: a NUL is in it, and this is what comes before */
	const uint8_t *build_id;
	uint32_t build_id_len; /* 0 when there is none */
	uint64_t size;
};

/* The resident set of the program, seen from outside. */
struct hl_rss_sample {
	uint64_t time_ns, rss_bytes;
};

/* A live set has at most so many. */
#define HL_LIVE_SET_MAX (1u << 20)
struct hl_live_block {
	uint64_t addr, size, ordinal, birth_ns;
	uint32_t node, thread;
	uint64_t blocks, bytes; /* what it stands for, as in struct hl_event */
};

/* Totals of one node or of everything. live = allocated - freed. */
struct hl_sums {
	uint64_t alloc_blocks, alloc_bytes, free_blocks, free_bytes;
};

/* Why a snapshot was made. Stored: never renumber. */
enum hl_snapshot_cause {
	HL_SNAPSHOT_ASKED,  /* heaplapse_snapshot() */
	HL_SNAPSHOT_CHURN,  /* so many bytes were allocated and freed */
	HL_SNAPSHOT_TIME,   /* so much time has passed */
	HL_SNAPSHOT_LIVE,   /* live bytes reached the threshold */
	HL_SNAPSHOT_RSS,    /* the resident set did */
	HL_SNAPSHOT_CTL,    /* somebody asked from outside: heaplapse ctl */
	HL_SNAPSHOT_END,    /* the recording ended */
	HL_SNAPSHOT_BORDER, /* the mode changed */
	HL_SNAPSHOT_SIGNAL, /* --snapshot-signal */
	HL_SNAPSHOT_CAUSES,
};

struct hl_snapshot {
	uint64_t time_ns;
	uint64_t threshold;   /* of its cause: bytes, or ns for TIME; 0: none */
	uint64_t churn_bytes; /* between two, if nothing else happens; 0: none */
	uint32_t cause;       /* enum hl_snapshot_cause; a newer file may have others */
	const char *label;    /* NULL or text, not trusted */
};

/* The class of a size that summaries and reports go by: 0 for 0, else 1 + its logarithm to base 2.
 */
static inline uint8_t hl_size_octave(uint64_t size)
{
	return size >> 63 ? 64 : (uint8_t)(63u - (unsigned)__builtin_clzll(size << 1 | 1));
}

/* One line for each lifetime class: quarter-octaves of nanoseconds; 0 is under 64 ns. */
static inline uint8_t hl_life_class(uint64_t ns)
{
	uint64_t u = ns / HL_TIME_UNIT_NS;
	unsigned oct;

	if (u == 0)
		return 0;
	oct = 63u - (unsigned)__builtin_clzll(u);
	/* the two bits below the leading one choose the quarter */
	return (uint8_t)(1 + oct * 4 + (unsigned)(u << 2 >> oct & 3));
}

#endif
