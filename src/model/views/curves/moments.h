/* SPDX-License-Identifier: Apache-2.0 */
/*
 * moments.h - positions for the values of a plot, chosen so that sums are cheap there.
 *
 * Sums at an exact time need the events of a chunk. In a range of many chunks the positions are
 * between two chunks, which needs none; and sums by stack are at keyframes if it has enough of
 * them.
 */
#ifndef HL_MODEL_VIEWS_CURVES_MOMENTS_H
#define HL_MODEL_VIEWS_CURVES_MOMENTS_H

#include "model/query/sums.h"
#include "model/views/live_timeline.h"

/* A range of at most this many chunks is read at exact times. */
#define HL_MOMENTS_EXACT_CHUNKS 64
/* Sums by stack are carried over at most this many chunks, if there are keyframes instead. */
#define HL_MOMENTS_WALK_CHUNKS 160
/* From this number on keyframes make a plot, and no more are loaded for one than the maximum. */
#define HL_MOMENTS_KEYFRAMES_MIN 14
#define HL_MOMENTS_KEYFRAMES_MAX 100

/* Does a plot of sums by stack read only keyframes, or few chunks? */
bool hl_moments_are_cheap(const struct hl_model *m, const struct hl_time_range *r);
/*
 * Chooses at most n positions in the order of time, at least one, and returns their number.
 * by_stack: for sums by stack. A position that is not known (a moment before the base, or before
 * the first keyframe of a trace with aggregated blocks) is not exact.
 */
size_t hl_moments_choose(struct hl_model *m, const struct hl_time_range *r, bool by_stack,
	struct hl_position *positions, size_t n);

#endif
