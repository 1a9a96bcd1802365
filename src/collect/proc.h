/*
 * proc.h - the books of one recorded process: its threads, its call tree, its live blocks.
 *
 * Records come in the one true order (region.c merges them) and leave as events for the trace,
 * frees matched to their allocations. Everything read from records has been checked for length
 * before (record.c), but not for sense: a hostile program may lie, and must hurt only its own
 * trace.
 */
#ifndef HL_COLLECT_PROC_H
#define HL_COLLECT_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/clock.h"
#include "collect/image.h"
#include "collect/keep.h"
#include "collect/live.h"
#include "collect/output.h"
#include "collect/calltree.h"
#include "collect/pools.h"
#include "collect/tags.h"
#include "util/vec.h"

/* One thread of the program as the collector hears it: the owner of a ring, or a voice in a shared
 * one. */
struct hl_feed {
	struct hl_proc *proc;
	uint32_t tid;
	uint32_t thread; /* its number in the trace; UINT32_MAX until it has one */
	uint32_t role;   /* the same in its current scope; UINT32_MAX: in none */
	uint32_t aside;  /* 0: it owns a ring; else its voice in that shared ring, with stacks of
			    its own: a handler may speak in one while its thread does in another */
	struct hl_feed_tags tags;
	char name[24];               /* as /proc had it last; "": not looked at */
	HL_VEC(struct hl_step) path; /* its last stack, outermost first; the last node is known */
	HL_VEC(uint64_t) pcs;        /* and its pcs; as many as steps are meant */
	uint64_t epoch;              /* of the call tree, that the path is of */
	HL_VEC(uint64_t) parts;      /* pcs of a stack that comes in parts, innermost first */
	uint64_t again;      /* of the stack word of that path, all but the size; UINT64_MAX: ask */
	uint32_t again_node; /* and where it ends */
	HL_VEC(uint32_t) ways; /* nodes of stacks with numbers; of the others none */
};

/* An event between parsing and books. */
struct hl_pending {
	uint64_t stamp; /* 64 bits */
	uint64_t addr, size, old;
	struct hl_live_line *home; /* of addr, until the index of live blocks is another */
	struct hl_feed *feed;
	uint32_t node;
	uint32_t role;      /* as that of the feed when it said this */
	uint8_t type, func; /* enum hl_rec, enum hl_func */
	uint8_t rate; /* number of the rate that it was sampled with; 0: it is for itself alone */
};

enum hl_move_state {
	HL_MOVE_LIMBO,   /* live, and in a realloc */
	HL_MOVE_ENDED,   /* its address went to someone else meanwhile */
	HL_MOVE_UNKNOWN, /* we never saw it */
};

struct hl_move {
	struct hl_feed *feed;
	uint64_t addr;
	enum hl_move_state state;
	uint8_t func; /* of the realloc */
	uint32_t role;
	uint64_t ordinal; /* ENDED: of the old block */
};

#define HL_PENDING_MAX 128u

struct hl_region;
struct hl_steering;

struct hl_proc {
	uint32_t serial;
	uint64_t pid;
	int pidfd; /* -1 when there is none; the region closes it */
	bool forked;
	bool told_end; /* `record` has told us how it ended */
	struct hl_end end;
	const struct hl_feed *execing; /* the thread whose last word was that it calls exec */
	bool has_exit;                 /* the program said it was about to exit */
	int32_t exit_status;
	struct hl_cost cost; /* as the program told it at its exit */

	struct hl_output *output;
	struct hl_writer *writer; /* the output's */

	const struct hl_ticks *ticks;
	uint64_t start_ns;   /* CLOCK_MONOTONIC of time zero */
	uint64_t last_units; /* of the last event, in the trace's time */
	uint64_t scan_ns;    /* HL_CLOCK_COUNTER: the time of what is emitted now */
	uint64_t last_stamp;

	struct hl_keep keep;
	struct hl_calltree tree;
	struct hl_live live;
	HL_VEC(struct hl_feed *) feeds;
	HL_VEC(struct hl_module *) modules; /* by id; each one block of memory */
	HL_VEC(struct hl_move) moves;
	HL_VEC(struct hl_pending) parked;
	struct hl_pending pending[HL_PENDING_MAX];
	uint32_t n_pending;
	struct hl_proc_tags tags;
	struct hl_pools pools;
	uint32_t n_roles; /* threads, and threads in scopes */
	uint64_t n_allocs, n_frees;
	struct hl_counters counters;
	bool out_of_memory;
	bool has_named; /* threads have been named by others */
	bool names_due; /* and were not looked at since */
	uint64_t names_ns;

	/* How it is steered (steer.c). */
	bool stopped; /* by heaplapse_stop(), or not begun yet */
	bool paused;  /* by heaplapse_pause() */
	bool gaps;    /* not every allocation was recorded: a free may be of such a block */
	uint64_t told_mode, told_rate;      /* of the last HL_EXTRA_MODE, or the trace's head */
	struct hl_region *filter;           /* where ring/filter.h's is */
	const struct hl_steering *steering; /* NULL: there is nobody who steers */
	uint64_t salt;                      /* of weigh.h */

	/* Its end, as the main loop learns of it. */
	bool nameless;       /* in another pid namespace: its pid means nothing here */
	bool gone;           /* dead, or another program by now */
	struct hl_ack ack;   /* it has recorded its last event, and waits for its trace */
	uint32_t last_looks; /* scans since then */
	uint64_t gone_ns, end_mono_ns, exec_check_ns;
};

struct hl_proc_birth {
	uint32_t serial;
	uint64_t start_stamp;
	bool free_stacks, maps, forked, continued, start_off, nameless;
	const struct hl_steering *steering;
	struct hl_region *filter;
	uint64_t pid, parent_pid;
	const struct hl_image *image;
	const struct hl_ticks *ticks;
	struct hl_queue *queue;
	size_t memory_limit;
	int dir_fd;
	struct hl_durable *durable;
	enum hl_mode mode;
	const struct hl_keep_settings *keep;
	const struct hl_logfile *log; /* NULL: none */
};

/* NULL when memory is short. */
struct hl_proc *hl_proc_new(const struct hl_proc_birth *birth);
/* The END item goes out with what is known, then everything is freed; the output lives on to be
 * written. */
void hl_proc_end(struct hl_proc *p, const struct hl_end *end);

/* The owner of a ring is always a new thread; who speaks in a shared ring is known by its tid. */
struct hl_feed *hl_proc_owner(struct hl_proc *p, uint32_t tid);
struct hl_feed *hl_proc_aside(struct hl_proc *p, uint32_t tid, uint32_t ring);
/* Another voice of the same thread, if possible one that has its number; NULL: there is none. */
struct hl_feed *hl_feed_other(const struct hl_feed *f);
/* What the thread of this owner said in shared rings is over. */
void hl_feed_forget_asides(const struct hl_feed *owner);
/* The thread has ended: the feed is freed, at the latest with the process. */
void hl_feed_done(struct hl_feed *f);

/* One whole, checked record. `stamp` is its stamp of 64 bits. */
void hl_proc_record(
	struct hl_proc *p, struct hl_feed *f, const uint64_t *words, uint32_t n, uint64_t stamp);
/* Records of one ring, checked for length. `near`: a recent stamp, to know whole ones by. */
struct hl_cursor {
	const uint64_t *at, *end;
	uint64_t stamp, near; /* stamp: of the record at `at` */
};
/*
 * The same for the records from the cursor on that are allocations and frees and whose stamps are
 * below `before`, as many as there are in a row; the cursor moves behind them. Stops early when
 * what was pending has gone through the books, so that the caller can see where that has got to.
 */
void hl_proc_records(
	struct hl_proc *p, struct hl_feed *f, struct hl_cursor *cursor, uint64_t before);
/* A module lies at this range now; range.module is found by its name and build-id. */
void hl_proc_module(struct hl_proc *p, struct hl_range range, const char *path, const uint8_t *id,
	uint32_t id_len);
/* Everything parsed so far goes through the books. */
void hl_proc_settle(struct hl_proc *p);

/* The node of a stack word, the pcs that belong to it, and the size in it. */
uint32_t hl_feed_stack(struct hl_feed *f, uint64_t stack, const uint64_t *after, uint64_t *size);
/* The same of an HL_REC_ALLOC_WAY, whose stack has its number from now on. */
uint32_t hl_feed_stack_named(struct hl_feed *f, const uint64_t *words, uint64_t *size);

/* When the last event was, in the trace's time. */
static inline uint64_t hl_proc_last_ns(const struct hl_proc *p)
{
	return p->last_units * HL_TIME_UNIT_NS;
}

/* Whose event it is that this feed tells, if that is known yet: else the books will ask. */
static inline uint32_t hl_feed_role(const struct hl_feed *f)
{
	return f->role != UINT32_MAX ? f->role : f->thread;
}

#endif
