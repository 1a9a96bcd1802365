/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_floors.c - the lowest live values of each site between two moments; see overview.h.
 *
 * Moments alone do not prove growth: each moment may find a program that works in rounds at a later
 * part of its round each time. The sums give a bound, and a scan of the events the exact values. A
 * floor that is not exact is never too high.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/bits.h"
#include "model/model_internal.h"
#include "model/overview/overview_internal.h"

#define POINTS HL_OVERVIEW_POINTS

/* --- by sums --- */

static uint64_t subtract(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

void hl_overview_bound_floors(struct hl_overview_builder *b)
{
	for (size_t i = 0; i < b->trends.len; i++) {
		struct hl_overview_trend *t = &b->trends.data[i];

		for (unsigned k = POINTS - 1; k > 0; k--) {
			t->floor_bytes[k] = subtract(
				t->live[k - 1], subtract(t->floor_bytes[k], t->floor_bytes[k - 1]));
			t->floor_blocks[k] = subtract(t->blocks[k - 1],
				subtract(t->floor_blocks[k], t->floor_blocks[k - 1]));
		}
		t->floor_bytes[0] = t->floor_blocks[0] = 0;
	}
}

/* --- by events --- */

/* A site without live bytes at a late moment does not grow: its events are not followed. */
static bool holds_at_late_moments(const struct hl_overview_trend *t)
{
	for (unsigned k = HL_GROWTH_LATE; k < HL_GROWTH_END; k++) {
		if (t->live[k] == 0)
			return false;
	}
	return true;
}

int hl_overview_watch_begin(struct hl_overview_builder *b)
{
	if (!b->watches)
		b->watches = malloc((b->trends.len + 1) * sizeof(*b->watches));
	if (!b->watches)
		return hl_model_fail(b->m, -ENOMEM);
	for (size_t i = 0; i < b->trends.len; i++)
		b->watches[i] =
			(struct hl_overview_watch){.on = holds_at_late_moments(&b->trends.data[i])};
	b->watch_k = 0;
	return 0;
}

/* A moment that moved to a keyframe may be among events of one time; its floor is not above its
 * values in any case. */
static void end_interval(struct hl_overview_builder *b, size_t i, unsigned k)
{
	struct hl_overview_watch *w = &b->watches[i];
	struct hl_overview_trend *t = &b->trends.data[i];

	w->floor_bytes = hl_min_u64(w->floor_bytes, w->bytes);
	w->floor_blocks = hl_min_u64(w->floor_blocks, w->blocks);
	t->floor_bytes[k] = hl_min_u64(w->floor_bytes, t->live[k]);
	t->floor_blocks[k] = hl_min_u64(w->floor_blocks, t->blocks[k]);
	w->floor_bytes = w->bytes;
	w->floor_blocks = w->blocks;
}

void hl_overview_watch_pass(struct hl_overview_builder *b, uint64_t ns)
{
	for (; b->watch_k < POINTS && ns > b->o->times[b->watch_k]; b->watch_k++) {
		for (size_t i = 0; i < b->trends.len; i++) {
			if (b->watches[i].on)
				end_interval(b, i, b->watch_k);
		}
	}
}

void hl_overview_watch_end(struct hl_overview_builder *b)
{
	hl_overview_watch_pass(b, UINT64_MAX);
	b->o->floors_are_exact = true;
}
