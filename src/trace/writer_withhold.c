/*
 * writer_withhold.c - events that only the sums hear of, and keyframes that somebody asked for.
 *
 * While any event is counted and not written, chunks are «apart»: a reader cannot get from one
 * keyframe to the next by adding up events, and is told so by a flag.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "trace/writer_internal.h"

static hl_cold int grow(struct hl_writer *w, size_t n)
{
	size_t was = w->withheld.len;

	if (hl_vec_reserve(&w->withheld, n) < 0 || hl_vec_reserve(&w->called, n) < 0)
		return w->error = -ENOMEM;
	memset(w->withheld.data + was, 0, (n - was) * sizeof(*w->withheld.data));
	memset(w->called.data + was, 0, n - was);
	w->withheld.len = w->called.len = n;
	return 0;
}

int hl_writer_count_event(struct hl_writer *w, const struct hl_event *e)
{
	uint64_t time = e->time_ns / HL_TIME_UNIT_NS;

	if (hl_unlikely(w->error))
		return w->error;
	if (hl_unlikely(w->ended || e->thread >= w->n_threads || e->op > HL_OP_FREE ||
			(e->node >= w->n_nodes && e->node != HL_NODE_NONE)))
		return w->error = -EINVAL;
	if (e->node != HL_NODE_NONE && hl_unlikely(e->node >= w->withheld.len) &&
		grow(w, w->n_nodes) < 0)
		return w->error;
	if (hl_likely(time > w->now))
		w->now = time;
	w->apart = true;
	w->counted++;
	if (e->node != HL_NODE_NONE) {
		hl_sums_add(&w->withheld.data[e->node], e->op, e->blocks, e->bytes);
		if (hl_unlikely(w->called.data[e->node] == 0) && e->op == HL_OP_ALLOC)
			w->called.data[e->node] = (uint8_t)(e->func + 1);
	}
	hl_sums_add(&w->withheld_all, e->op, e->blocks, e->bytes);
	return hl_writer_count(w, e);
}

int hl_writer_put_event(struct hl_writer *w, const struct hl_event *e)
{
	struct hl_event timed;

	e = hl_writer_put_columns(w, e, &timed);
	if (!e)
		return w->error;
	if (e->node != HL_NODE_NONE && e->node < w->withheld.len)
		hl_sums_add(&w->withheld.data[e->node], e->op, -e->blocks, -e->bytes);
	hl_sums_add(&w->withheld_all, e->op, -e->blocks, -e->bytes);
	w->apart = true;
	w->again++;
	/* Its sums are others now, and the next keyframe must say so. */
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

const struct hl_sums *hl_writer_withheld(const struct hl_writer *w)
{
	return &w->withheld_all;
}

const struct hl_sums *hl_writer_sums(const struct hl_writer *w)
{
	return &w->totals.sums;
}

int hl_writer_snapshot(struct hl_writer *w, const struct hl_snapshot *s)
{
	if (w->error || w->pair_open)
		return w->error;
	if (s->time_ns / HL_TIME_UNIT_NS > w->now)
		w->now = s->time_ns / HL_TIME_UNIT_NS;
	if (hl_writer_close_chunk(w) < 0)
		return w->error;
	w->error = hl_write_tables(w);
	if (!w->error)
		w->error = hl_write_keyframe(w, hl_keyframe_full_due(w), s);
	return w->error;
}

int hl_writer_end_snapshot(struct hl_writer *w, const struct hl_snapshot *s)
{
	char *label = s->label ? strdup(s->label) : NULL;

	if (s->label && !label)
		return -ENOMEM;
	free(w->last_label);
	w->last_label = label;
	w->last = *s;
	w->last.label = label;
	w->has_last = true;
	return 0;
}
