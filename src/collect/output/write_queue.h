/* SPDX-License-Identifier: Apache-2.0 */
/*
 * write_queue.h - the queue of chunks, and the second thread, which packs and writes them.
 *
 * The first thread makes whole chunks of each trace (trace/write/writer.h). They go through a queue
 * to the second thread, which may block on the disk for any time. The queue is bounded. The first
 * thread never waits for it: when the queue is full, it stops draining rings until there is room,
 * and the program waits for room in its rings.
 */
#ifndef HL_COLLECT_OUTPUT_WRITE_QUEUE_H
#define HL_COLLECT_OUTPUT_WRITE_QUEUE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/output/numbered_names.h"
#include "collect/output/session_dir.h"

/* Raw columns that wait to be packed: some millions of events. */
#define HL_QUEUE_BYTES_MAX (16u << 20)

struct hl_chunk_packer;
struct hl_map_sampler;
struct hl_queue_item;
struct hl_trace_output;
struct hl_trace_output_settings;

/* A trace that was closed. */
struct hl_closed_trace {
	uint64_t pid;
	const char *path; /* "" if it could not be created */
	int err;
	uint64_t unwritten_events; /* missing in the file because of the error */
	uint64_t early_blocks;     /* see hl_counters */
	bool continued;            /* the recording goes on in another file */
};

struct hl_write_queue {
	pthread_mutex_t lock;
	pthread_cond_t filled;
	struct hl_queue_item *head, **tail;
	_Atomic size_t bytes; /* waiting in the queue */
	_Atomic uint32_t n;   /* items to be written now */
	bool closing;
	pthread_t thread;
	struct hl_map_sampler *maps;      /* used by the first thread; NULL: not started */
	struct hl_trace_output *reserved; /* see hl_write_queue_reserve; written before any item */
	/* Used by the first thread. */
	uint64_t n_traces; /* begun so far */
	bool has_begun;    /* the first trace of the session is one of them */
	/* Used only by the second thread. */
	struct hl_trace_output *outputs; /* open or failed */
	struct hl_trace_output *waiting; /* for a descriptor, in the order of their first chunks */
	size_t waiting_bytes;            /* of their items */
	uint32_t n_open, open_max;       /* files */
	struct hl_chunk_packer *bench;   /* shared by all of them for packing */
	const struct hl_trace_output_settings *settings;
	struct hl_numbered_names series; /* names of this run's files */
	struct hl_session session;
	/* Called by the second thread. */
	void (*on_closed)(void *arg, const struct hl_closed_trace *trace);
	/* --churn-log cannot be written for this process. May be NULL. */
	void (*on_no_log)(void *arg, uint64_t pid, int err);
	/* The first trace of the session exists. May be NULL. */
	void (*on_first)(void *arg, const char *trace);
	/* The directory of the session cannot be used. May be NULL. */
	void (*on_no_session)(void *arg, const char *trace, int err);
	/* A sentence for each snapshot. May be NULL. */
	void (*on_snapshot)(void *arg, const char *sentence);
	void *arg;
};

int hl_write_queue_start(struct hl_write_queue *q);
/* Creates the file for the trace of this process. The program does not run yet, so no child of it
 * can take the name. The first output of this pid uses the file; without one it is removed. Call it
 * before the first hl_trace_output_new(). On error the file is created with the first output. */
void hl_write_queue_reserve(struct hl_write_queue *q, const char *program, uint64_t pid);
/* Writes everything that is queued and joins the thread. */
void hl_write_queue_stop(struct hl_write_queue *q);

static inline bool hl_write_queue_full(const struct hl_write_queue *q)
{
	return atomic_load_explicit(&q->bytes, memory_order_relaxed) >= HL_QUEUE_BYTES_MAX;
}

#endif
