/* SPDX-License-Identifier: Apache-2.0 */
/*
 * writer_aggregate.c - aggregated events, which are only in the sums, and snapshots.
 *
 * While any event is counted and not written, chunks are disjoint: a reader cannot carry sums from
 * one keyframe to the next by adding up events. The flag "apart" in the chunk header says so.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "base/bits.h"
#include "trace/write/writer_internal.h"

static hl_cold int grow_aggregated(struct hl_writer *w, size_t n)
{
	size_t old_len = w->aggregated.len;

	if (hl_vec_reserve(&w->aggregated, n) < 0 || hl_vec_reserve(&w->first_funcs, n) < 0)
		return w->error = -ENOMEM;
	memset(w->aggregated.data + old_len, 0, (n - old_len) * sizeof(*w->aggregated.data));
	memset(w->first_funcs.data + old_len, 0, n - old_len);
	w->aggregated.len = w->first_funcs.len = n;
	return 0;
}

int hl_writer_add_event_sums_only(struct hl_writer *w, const struct hl_event *e)
{
	uint64_t time = e->time_ns / HL_TIME_UNIT_NS;

	if (hl_unlikely(w->error))
		return w->error;
	if (hl_unlikely(w->ended || e->thread >= w->n_threads || e->op > HL_OP_FREE ||
			(e->node >= w->n_nodes && e->node != HL_NODE_NONE)))
		return w->error = -EINVAL;
	if (e->node != HL_NODE_NONE && hl_unlikely(e->node >= w->aggregated.len) &&
		grow_aggregated(w, w->n_nodes) < 0)
		return w->error;
	if (hl_likely(time > w->sums_time))
		w->sums_time = time;
	w->disjoint = true;
	w->n_sums_only++;
	if (e->node != HL_NODE_NONE) {
		hl_sums_add(&w->aggregated.data[e->node], e->op, e->blocks, e->bytes);
		if (hl_unlikely(w->first_funcs.data[e->node] == 0) && e->op == HL_OP_ALLOC)
			w->first_funcs.data[e->node] = (uint8_t)(e->func + 1);
	}
	hl_sums_add(&w->aggregated_all, e->op, e->blocks, e->bytes);
	return hl_writer_count(w, e);
}

int hl_writer_add_event_columns_only(struct hl_writer *w, const struct hl_event *e)
{
	struct hl_event timed;

	e = hl_writer_put_columns(w, e, &timed);
	if (!e)
		return w->error;
	if (e->node != HL_NODE_NONE && e->node < w->aggregated.len)
		hl_sums_add(&w->aggregated.data[e->node], e->op, -e->blocks, -e->bytes);
	hl_sums_add(&w->aggregated_all, e->op, -e->blocks, -e->bytes);
	w->disjoint = true;
	w->n_columns_only++;
	/* The written part of the node's sums has changed, so the next keyframe needs a row for
	 * it. */
	if (w->node_state.data[hl_node_code(e->node)] != HL_SINCE_KEYFRAME &&
		hl_keyframe_touch(w, e->thread, e->node) < 0)
		return w->error = -ENOMEM;
	return 0;
}

void hl_writer_renumber(struct hl_writer *w, uint64_t from, uint64_t to)
{
	if (w->totals.last_alloc_ordinal == from)
		w->totals.last_alloc_ordinal = to;
}

const struct hl_sums *hl_writer_aggregated_sums(const struct hl_writer *w)
{
	return &w->aggregated_all;
}

int hl_writer_snapshot(struct hl_writer *w, const struct hl_snapshot *s)
{
	if (w->error || w->pair_open)
		return w->error;
	if (s->time_ns / HL_TIME_UNIT_NS > w->sums_time)
		w->sums_time = s->time_ns / HL_TIME_UNIT_NS;
	if (hl_writer_close_chunk(w) < 0)
		return w->error;
	w->error = hl_write_tables(w);
	if (!w->error)
		w->error = hl_write_keyframe(w, hl_keyframe_full_due(w), s);
	return w->error;
}

int hl_writer_keyframe(struct hl_writer *w, uint64_t time_ns)
{
	if (w->error || w->pair_open || w->key_event == w->totals.events)
		return w->error;
	w->sums_time = hl_max_u64(w->sums_time, time_ns / HL_TIME_UNIT_NS);
	if (hl_writer_close_chunk(w) < 0)
		return w->error;
	w->error = hl_write_tables(w);
	if (!w->error)
		w->error = hl_write_keyframe(w, hl_keyframe_full_due(w), NULL);
	return w->error;
}

int hl_writer_end_snapshot(struct hl_writer *w, const struct hl_snapshot *s)
{
	char *label = s->label ? strdup(s->label) : NULL;

	if (s->label && !label)
		return -ENOMEM;
	free(w->end_label);
	w->end_label = label;
	w->end_snapshot = *s;
	w->end_snapshot.label = label;
	w->has_end_snapshot = true;
	return 0;
}
