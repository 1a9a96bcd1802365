/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live_timeline.c - live bytes over the run; see live_timeline.h.
 *
 * Chunk headers have the live bytes at the chunk's start and the maximum inside. With a filter,
 * filtered_peak.c follows the events.
 */
#include "model/views/live_timeline.h"

#include <errno.h>
#include <string.h>

#include "base/bits.h"
#include "model/views/filtered_peak.h"
#include "model/model_internal.h"

size_t hl_timeline_column(const struct hl_model *m, uint64_t ns, size_t n)
{
	uint64_t end = hl_model_end_ns(m);
	size_t at = end && ns ? (size_t)(((unsigned __int128)ns * n - 1) / end) : 0;

	return at < n ? at : n - 1;
}

struct timeline_builder {
	struct hl_model *m;
	struct hl_timeline_bin *data;
	size_t n;
	size_t at; /* column of the newest event */
	uint64_t live;
};

/* Columns without an event keep the value of the last event. */
static void advance_to(struct timeline_builder *c, size_t column)
{
	c->data[c->at].end_bytes = c->live;
	while (c->at < column) {
		c->at++;
		c->data[c->at].max_bytes = c->data[c->at].end_bytes = c->live;
	}
}

static int decode_chunk(struct timeline_builder *c, size_t chunk, struct hl_chunk_events *events)
{
	int err = hl_reader_decode(c->m->reader, chunk, events);

	for (size_t i = 0; i < events->n_events && !err; i++) {
		const struct hl_event *e = &events->events[i];
		bool is_first_half = e->flags & HL_EVENT_MOVED && e->op == HL_OP_FREE;

		advance_to(c, hl_timeline_column(c->m, e->time_ns, c->n));
		c->live += e->op == HL_OP_ALLOC ? e->bytes : -e->bytes;
		if (!is_first_half)
			c->data[c->at].max_bytes = hl_max_u64(c->data[c->at].max_bytes, c->live);
	}
	return err;
}

static int add_chunk(struct timeline_builder *c, size_t chunk, struct hl_chunk_events *events)
{
	const struct hl_chunk_info *i = hl_reader_chunk(c->m->reader, chunk);
	size_t first, last;
	int err;

	if (hl_chunk_is_lost(c->m, chunk)) {
		c->data[c->at].lost = true;
		return 0;
	}
	first = hl_timeline_column(c->m, i->t0_ns, c->n);
	last = hl_timeline_column(c->m, i->t1_ns, c->n);
	advance_to(c, first);
	c->live = i->live_bytes;
	if (first == last) {
		const struct hl_chunk_info *next =
			chunk + 1 < hl_reader_n_chunks(c->m->reader)
				? hl_reader_chunk(c->m->reader, chunk + 1)
				: NULL;

		c->data[first].max_bytes = hl_max_u64(c->data[first].max_bytes, i->max_live_bytes);
		if (next && !next->header_lost) {
			c->live = next->live_bytes;
			return 0;
		}
	}
	err = decode_chunk(c, chunk, events);
	if (err == -EBADMSG) {
		hl_model_mark_bad(c->m, &c->m->bad_chunks[chunk]);
		c->data[c->at].lost = true;
		err = 0;
	}
	return err;
}

/* Traces with aggregated blocks: a keyframe has the live bytes and the maximum since the last
 * one. */
static void add_keyframe(struct timeline_builder *c, const struct hl_keyframe_info *k)
{
	size_t at = hl_timeline_column(c->m, k->time_ns, c->n);

	if (k->lost || !k->disjoint)
		return;
	if (at > c->at)
		advance_to(c, at);
	c->live = k->live_bytes;
	c->data[c->at].max_bytes = hl_max_u64(c->data[c->at].max_bytes, k->max_live_bytes);
	c->data[c->at].end_bytes = c->live;
}

static void add_keyframes(struct timeline_builder *c, size_t *key, size_t chunk)
{
	size_t n = c->m->n_segments > 0 ? hl_reader_n_keyframes(c->m->reader) : 0;

	for (; *key < n && hl_reader_keyframe(c->m->reader, *key)->chunk <= chunk; (*key)++)
		add_keyframe(c, hl_reader_keyframe(c->m->reader, *key));
}

/* Traces with aggregated blocks: the end record has the peak and the live bytes at the end. */
static void add_end(struct timeline_builder *c)
{
	const struct hl_trace_info *i = c->m->info;
	struct hl_timeline_bin *peak;

	if (c->m->n_segments == 0 || !i->has_end)
		return;
	peak = &c->data[hl_timeline_column(c->m, i->totals.peak_time_ns, c->n)];
	peak->max_bytes = hl_max_u64(peak->max_bytes, i->totals.peak_bytes);
	c->live = hl_sums_live_bytes(&i->totals.sums);
	c->data[c->n - 1].max_bytes = hl_max_u64(c->data[c->n - 1].max_bytes, c->live);
}

/* The curve of a trace that begins late begins with the live bytes of its base. */
static void begin_at_base(struct timeline_builder *c)
{
	size_t key = hl_reader_base_keyframe(c->m->reader);

	if (!hl_model_base(c->m)->is_late)
		return;
	c->at = hl_timeline_column(c->m, hl_model_base(c->m)->time_ns, c->n);
	if (key == SIZE_MAX) {
		c->data[c->at].lost = true;
		return;
	}
	c->live = hl_reader_keyframe(c->m->reader, key)->live_bytes;
	c->data[c->at].max_bytes = c->live;
}

static void mark_before_base(const struct hl_model *m, struct hl_timeline_bin *columns, size_t n)
{
	size_t first = hl_timeline_column(m, hl_model_base(m)->time_ns, n);

	for (size_t i = 0; i < first && hl_model_base(m)->is_late; i++)
		columns[i].before_base = true;
}

static int fill_columns(struct timeline_builder *c)
{
	struct hl_chunk_events events = {0};
	size_t key = 0;
	int err = 0;

	begin_at_base(c);
	hl_progress_begin(HL_PROGRESS_READING);
	for (size_t i = c->m->n_base_chunks; i < hl_reader_n_chunks(c->m->reader) && !err; i++) {
		add_keyframes(c, &key, i);
		if (!hl_reader_chunk(c->m->reader, i)->disjoint)
			err = add_chunk(c, i, &events);
		hl_progress_tick(i + 1, hl_reader_n_chunks(c->m->reader));
	}
	hl_progress_end();
	add_keyframes(c, &key, hl_reader_n_chunks(c->m->reader));
	advance_to(c, c->n - 1);
	add_end(c);
	c->data[c->n - 1].end_bytes = c->live;
	hl_chunk_events_free(&events);
	return err ? hl_model_fail(c->m, err) : 0;
}

int hl_timeline(struct hl_model *m, struct hl_filter *filter, struct hl_timeline_bin *columns,
	size_t n, struct hl_peak *peak)
{
	struct timeline_builder c = {.m = m, .data = columns, .n = n};
	const struct hl_query whole_heap = {0};
	int err;

	if (filter && hl_model_has_aggregated(m))
		return hl_model_no_events(m, "a filtered timeline");
	if (!hl_model_has_event_order(m))
		return hl_model_no_event_order(m, "a timeline");
	if (filter) {
		err = hl_filtered_peak(m, filter, columns, n, peak);
	} else {
		memset(columns, 0, n * sizeof(*columns));
		err = fill_columns(&c);
		if (!err)
			err = hl_peak_find(m, &whole_heap, peak);
	}
	if (!err)
		mark_before_base(m, columns, n);
	return err;
}

void hl_timeline_prefetch(struct hl_model *m, struct hl_filter *filter, size_t n)
{
	if (filter) /* without a filter few chunks are decoded */
		hl_filtered_peak_prefetch(m, filter, n);
}
