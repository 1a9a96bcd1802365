/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base_task.h - the live blocks of a base, on their way from the live table to the file.
 *
 * The first thread copies them in steps (match/live_copy.h). The second thread waits until the copy
 * is complete, then sorts, packs and writes it. Events that follow the base stay in the queue until
 * then.
 */
#ifndef HL_COLLECT_OUTPUT_BASE_TASK_H
#define HL_COLLECT_OUTPUT_BASE_TASK_H

#include <pthread.h>

#include "collect/match/live_copy.h"
#include "trace/write/writer.h"

struct hl_base_task {
	struct hl_live_copy copy; /* the first thread's until it is complete */
	struct hl_base_place place;
	/* For the weights of samples, see match/sample_weight.h. */
	uint64_t rates[HL_LIVE_RATES + 1], salt;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool complete;
};

/* NULL: out of memory. rates: HL_LIVE_RATES + 1 of them, or NULL: no block is a sample. */
struct hl_base_task *hl_base_task_new(struct hl_live_table *l, const struct hl_base_place *place,
	const uint64_t *rates, uint64_t salt);
/* Only for a task that was not posted. */
void hl_base_task_free(struct hl_base_task *t);
/* First thread: the copy is complete. The task belongs to the second thread from here on. */
void hl_base_task_complete(struct hl_base_task *t);
/* Second thread: waits, writes the chunks and frees the task. sink may be NULL: nothing is written.
 * 0 or -errno. */
int hl_base_task_finish(struct hl_base_task *t, hl_chunk_sink *sink, void *arg);

#endif
