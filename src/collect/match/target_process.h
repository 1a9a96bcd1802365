/* SPDX-License-Identifier: Apache-2.0 */
/*
 * target_process.h - the state of one target: its threads, its call tree, its live blocks.
 *
 * Records arrive in their final order (merge.c) and leave as events of the trace, with frees
 * matched to allocations. The lengths of all records have been checked before (record_length.c),
 * but not their contents: a hostile program may write any values, and must damage only its own
 * trace.
 */
#ifndef HL_COLLECT_MATCH_TARGET_PROCESS_H
#define HL_COLLECT_MATCH_TARGET_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/drain/tsc_clock.h"
#include "collect/target/proc_image.h"
#include "collect/target/target_exit.h"
#include "collect/retain/retain.h"
#include "collect/match/base_extras.h"
#include "collect/match/live_table.h"
#include "collect/output/trace_output.h"
#include "collect/match/calltree.h"
#include "collect/match/pool_blocks.h"
#include "collect/match/tag_paths.h"
#include "util/vec.h"

/* The stream of records of one thread in one ring, its own or a shared one. */
struct hl_thread_stream {
	struct hl_target *target;
	uint32_t tid;
	uint32_t thread; /* its number in the trace; UINT32_MAX: none yet */
	uint32_t role;   /* its thread with the current tag; UINT32_MAX: no tag */
	/* 0: the thread owns its ring; else the index of the shared ring. A thread has a separate
	 * stream, with separate stacks, for each shared ring: a signal handler may write in one
	 * while its thread is writing in another. */
	uint32_t shared_ring;
	struct hl_tag_ids tags;
	char name[24]; /* as /proc had it last; "": not read yet */
	/* the last stack, outermost first; the last node is known */
	HL_VEC(struct hl_path_step)
	path;
	HL_VEC(uint64_t) path_pcs;    /* its pcs; path.len of them are valid */
	uint64_t epoch;               /* the epoch of the call tree that the path belongs to */
	HL_VEC(uint64_t) partial_pcs; /* pcs of a stack that is sent in parts, innermost first */
	/* The stack word, without the size, that means "the same stack as the last". UINT64_MAX:
	 * none. */
	uint64_t last_stack_word;
	uint32_t last_node;           /* the node of the last stack */
	HL_VEC(uint32_t) stack_nodes; /* by stack id; HL_NODE_NONE: not assigned */
};

/* An event that is decoded and not yet matched. */
struct hl_decoded_event {
	uint64_t stamp; /* 64 bits */
	uint64_t addr, size, old_addr;
	/* The home line of addr in the live table's index, valid until the index is replaced. */
	struct hl_live_line *home_line;
	struct hl_thread_stream *stream;
	uint32_t node;
	uint32_t role; /* the role of its stream when it was recorded; UINT32_MAX: not known yet */
	uint8_t type, func; /* enum hl_rec, enum hl_func */
	uint8_t rate_id;    /* id of the rate that it was sampled with; 0: not sampled */
};

enum hl_move_state {
	HL_MOVE_IN_PROGRESS, /* live, and in a realloc */
	HL_MOVE_ENDED,       /* its address was allocated by another thread meanwhile */
	HL_MOVE_UNKNOWN,     /* the old block is not known */
};

struct hl_move {
	struct hl_thread_stream *stream;
	uint64_t addr;
	enum hl_move_state state;
	uint8_t func; /* of the realloc */
	uint32_t role;
	uint64_t ordinal; /* ENDED: of the old block */
};

/* A role as the writer got it, for the tables of the next file. */
struct hl_match_role {
	uint32_t thread; /* the first role of its thread: its own number if it is that one */
	uint32_t tag;    /* HL_TAG_NONE for a first role */
	uint32_t tid;
};

#define HL_BATCH_MAX 128u

struct hl_base_task;
struct hl_region;
struct hl_steering;

/* Written by drain/. */
struct hl_target_drain {
	uint64_t scan_ns; /* HL_CLOCK_COUNTER: the time of the events that are processed now */
	uint64_t dropped_events; /* that never reached the matcher */
};

/* Written by match/. */
struct hl_target_match {
	uint64_t last_units; /* the trace's time of the last event, in units */
	uint64_t last_stamp;
	struct hl_calltree tree;
	struct hl_live_table live;
	HL_VEC(struct hl_thread_stream *) streams;
	HL_VEC(struct hl_module *) modules; /* by id; each in one allocation */
	HL_VEC(struct hl_move) moves;
	HL_VEC(struct hl_decoded_event) deferred;
	struct hl_decoded_event pending[HL_BATCH_MAX];
	uint32_t n_pending;
	uint32_t n_roles;                   /* threads, and threads with tags */
	HL_VEC(struct hl_match_role) roles; /* n_roles of them, unless memory was short */
	uint64_t n_allocs, n_frees;
	struct hl_tag_paths tags;
	struct hl_pool_blocks pools;
	struct hl_counters counters; /* see hl_target_counters() */
	bool out_of_memory;
	bool track_names; /* some thread was named by another one */
	bool names_due;   /* names may have changed since they were read */
	uint64_t names_read_ns;
	const struct hl_thread_stream *execing; /* the thread whose last record announces an exec */
	bool has_exit;                          /* the program has announced its exit */
	int32_t exit_status;
	struct hl_cost cost; /* as announced by the program at its exit */
	/* For the base of the next file. */
	struct hl_base_extras base_extras;
	struct hl_base_task *base; /* its live blocks are being copied; NULL: no */
	uint64_t n_earlier;        /* allocations and frees in earlier files */
};

/* Written by control/: how the target is steered. */
struct hl_target_control {
	bool stopped; /* by heaplapse_stop(), or not started yet */
	/* HL_CONTROL_STOP or HL_CONTROL_START: it was requested, and the program has not done it
	 * yet; 0: nothing was. */
	uint32_t pending;
	bool paused; /* by heaplapse_pause() */
	bool gaps;   /* not every allocation was recorded: a free may be of an unrecorded block */
	uint64_t announced_mode, announced_rate; /* of the last HL_EXTRA_MODE, or of META */
	struct hl_region *filter; /* the region with the sampling filter (ring/sample_filter.h) */
	const struct hl_steering *steering; /* NULL: not steered */
	uint64_t salt;                      /* for sample_weight.h */
	/* A requested next file, which is being created; NULL: none. */
	struct hl_trace_output *next_output;
};

/* Each part is written only in the directory that it is named after; other directories read it, and
 * call a function of that directory to change it (tools/check-owners.py). The part of output/ is
 * behind a pointer. */
struct hl_target {
	/* Set when the target is created. */
	uint32_t serial;
	uint64_t pid;
	int pidfd; /* -1: none; the region closes it */
	bool forked;
	bool pid_unknown; /* it is in another pid namespace and `pid` is not valid here */
	const struct hl_tsc_clock *clock;
	uint64_t start_ns; /* CLOCK_MONOTONIC of the trace's time zero */
	struct hl_trace_output *output;
	struct hl_writer *writer; /* owned by the output */

	struct hl_target_drain drain;
	struct hl_target_match match;
	struct hl_retain retain;
	struct hl_target_control control;
	struct hl_target_exit exit; /* written by target/ */
};

struct hl_target_settings {
	uint32_t serial;
	uint64_t start_stamp;
	bool free_stacks, maps, forked, continued, start_off, pid_unknown;
	const struct hl_steering *steering;
	struct hl_region *filter;
	uint64_t pid, parent_pid;
	int pidfd; /* -1: none; stays the caller's */
	const struct hl_proc_image *image;
	const struct hl_tsc_clock *clock;
	struct hl_write_queue *queue;
	size_t memory_limit;
	int dir_fd;
	struct hl_durable *durable;
	enum hl_mode mode;
	const struct hl_retain_settings *retain;
	const struct hl_log_file *log; /* NULL: none */
};

/* NULL: out of memory. */
struct hl_target *hl_target_new(const struct hl_target_settings *settings);
/* Ends the trace with the given END item and frees the target. The output continues until it is
 * written. */
void hl_target_end(struct hl_target *p, const struct hl_end *end);

/* The owner of a ring is always a new thread. The streams of a shared ring are found by tid. NULL:
 * out of memory. */
struct hl_thread_stream *hl_target_ring_owner(struct hl_target *p, uint32_t tid);
struct hl_thread_stream *hl_target_shared_stream(struct hl_target *p, uint32_t tid, uint32_t ring);
/* Another stream of the same thread, preferably one with a thread number; NULL: none. */
struct hl_thread_stream *hl_thread_stream_sibling(const struct hl_thread_stream *f);
/* Ends the streams in shared rings of the thread that owned this ring. */
void hl_thread_stream_end_shared(const struct hl_thread_stream *owner);
/* The thread has ended. Frees the stream, unless one of its events is still deferred: then it is
 * freed with the target. */
void hl_thread_stream_end(struct hl_thread_stream *f);

/* Adds a module at this range. range.module is ignored: it is found by path and build-id. */
void hl_target_add_module(struct hl_target *p, struct hl_module_range range, const char *path,
	const uint8_t *id, uint32_t id_len);
/* The counters of the target, those of all parts together. */
struct hl_counters hl_target_counters(const struct hl_target *p);
/* Applies all pending events. */
void hl_target_flush(struct hl_target *p);
/* Counts a role that the writer has got. */
uint32_t hl_target_add_role(struct hl_target *p, const struct hl_match_role *role);

/* The trace's time of the last event. */
static inline uint64_t hl_target_last_ns(const struct hl_target *p)
{
	return p->match.last_units * HL_TIME_UNIT_NS;
}

/* The role of the stream's events; UINT32_MAX: not known yet, the matcher assigns it. */
static inline uint32_t hl_thread_stream_role(const struct hl_thread_stream *f)
{
	return f->role != UINT32_MAX ? f->role : f->thread;
}

#endif
