/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay_run.h - plays a script on the process's allocator: with real malloc calls and real
 * threads.
 *
 * The first lane runs in the calling thread; the threads of the others are created once and stay.
 * During playback the allocator gets no calls but those of the script. In recorded order each turn
 * waits for the previous one. With `loose` a step waits only for the previous step on its slot, if
 * that was by another thread.
 */
#ifndef HL_REPLAY_REPLAY_RUN_H
#define HL_REPLAY_REPLAY_RUN_H

#include <stdbool.h>

#include "replay/replay_script.h"

struct hl_replay_run_options {
	bool loose;     /* threads wait only for blocks of other threads */
	bool touch;     /* write to each page of each block */
	bool real_time; /* not earlier than recorded */
};

struct hl_replay_run_result {
	uint64_t allocations, frees, bytes;
	uint64_t failed; /* failed allocations */
	uint64_t wall_ns;
};

struct hl_replay_run;

/* Creates the threads and the slots. Returns NULL, or a description of the error. */
const char *hl_replay_run_new(struct hl_replay_run **r, const struct hl_replay_script *s,
	const struct hl_replay_run_options *o);
/* Plays the script once. Blocks that the script does not free stay allocated. */
void hl_replay_run_play(struct hl_replay_run *r, struct hl_replay_run_result *result);
/* Frees the remaining blocks, so that the script can be played again. */
void hl_replay_run_clear(struct hl_replay_run *r);

#endif
