/*
 * run.h - plays a script on the allocator that is there: real malloc, real threads.
 *
 * The first lane is the thread that calls; the others are made once and stay. While they play
 * nothing is asked of the allocator but what the script says. In recorded order each turn waits for
 * the one before it; with `loose` a step waits only for the step before it on its slot, if that was
 * another thread's.
 */
#ifndef HL_REPLAY_RUN_H
#define HL_REPLAY_RUN_H

#include <stdbool.h>

#include "replay/script.h"

struct hl_run_options {
	bool loose;     /* threads wait only for blocks */
	bool touch;     /* write to each page of each block */
	bool real_time; /* not sooner than recorded */
};

struct hl_run_result {
	uint64_t allocations, frees, bytes;
	uint64_t failed; /* allocations */
	uint64_t wall_ns;
};

struct hl_run;

/* NULL, or what is wrong. */
const char *hl_run_new(
	struct hl_run **r, const struct hl_script *s, const struct hl_run_options *o);
/* Once from beginning to end. What the script leaves unfreed stays so. */
void hl_run_play(struct hl_run *r, struct hl_run_result *result);
/* Frees what is left, so that it can be played again. */
void hl_run_clear(struct hl_run *r);

#endif
