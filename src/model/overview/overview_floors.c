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

static void link_nodes(struct hl_overview_builder *b, const uint32_t *watch_of_row)
{
	for (uint32_t i = 0; i <= b->m->n_nodes; i++)
		b->watch_of[i] = b->row_of[i] < b->trends.len ? watch_of_row[b->row_of[i]]
							      : HL_OVERVIEW_NO_ROW;
}

int hl_overview_watch_begin(struct hl_overview_builder *b)
{
	uint32_t *watch_of_row = malloc((b->trends.len + 1) * sizeof(*watch_of_row));
	int err = 0;

	if (!b->watch_of)
		b->watch_of = malloc(((size_t)b->m->n_nodes + 1) * sizeof(*b->watch_of));
	b->watches.len = 0;
	b->watch_k = 0;
	err = watch_of_row && b->watch_of ? 0 : -ENOMEM;
	for (uint32_t i = 0; i < b->trends.len && !err; i++) {
		bool on = holds_at_late_moments(&b->trends.data[i]);

		watch_of_row[i] = on ? (uint32_t)b->watches.len : HL_OVERVIEW_NO_ROW;
		if (on)
			err = hl_vec_push(&b->watches, ((struct hl_overview_watch){.row = i}));
	}
	if (!err)
		link_nodes(b, watch_of_row);
	free(watch_of_row);
	return err ? hl_model_fail(b->m, err) : 0;
}

/* A moment that moved to a keyframe may be among events of one time; its floor is not above its
 * values in any case. */
static void end_interval(struct hl_overview_builder *b, struct hl_overview_watch *w, unsigned k)
{
	struct hl_overview_trend *t = &b->trends.data[w->row];

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
		for (size_t i = 0; i < b->watches.len; i++)
			end_interval(b, &b->watches.data[i], b->watch_k);
	}
}

void hl_overview_watch_end(struct hl_overview_builder *b)
{
	hl_overview_watch_pass(b, UINT64_MAX);
	b->o->floors_are_exact = true;
}
