/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live_timeline.c - live bytes over the run; see live_timeline.h.
 *
 * Chunk headers have the live bytes at the chunk's start and the maximum inside. Events are needed
 * only of chunks that span several columns, which are many if the trace has more columns than
 * chunks; a scan provides them. With a filter, filtered_peak.c follows the events.
 */
#include "model/query/query_plan.h"
#include "model/views/live_timeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "model/views/filtered_peak.h"
#include "model/model_internal.h"
#include "model/scan/prefetch.h"

size_t hl_timeline_column(const struct hl_model *m, uint64_t ns, size_t n)
{
	uint64_t end = hl_model_end_ns(m);
	size_t at = end && ns ? (size_t)(((unsigned __int128)ns * n - 1) / end) : 0;

	return at < n ? at : n - 1;
}

struct timeline_query {
	struct hl_prefetch base; /* must be the first member */
	struct hl_scan_consumer reading;
	struct hl_timeline_bin *data;
	size_t n;
	size_t at; /* column of the newest event */
	uint64_t live;
	size_t key; /* the next keyframe */
};

/* Columns without an event keep the value of the last event. */
static void advance_to(struct timeline_query *c, size_t column)
{
	c->data[c->at].end_bytes = c->live;
	while (c->at < column) {
		c->at++;
		c->data[c->at].max_bytes = c->data[c->at].end_bytes = c->live;
	}
}

/* Traces with aggregated blocks: a keyframe has the live bytes and the maximum since the last
 * one. */
static void add_keyframe(struct timeline_query *c, const struct hl_keyframe_info *k)
{
	size_t at = hl_timeline_column(c->base.m, k->time_ns, c->n);

	if (k->lost || !k->disjoint)
		return;
	if (at > c->at)
		advance_to(c, at);
	c->live = k->live_bytes;
	c->data[c->at].max_bytes = hl_max_u64(c->data[c->at].max_bytes, k->max_live_bytes);
	c->data[c->at].end_bytes = c->live;
}

static void add_keyframes(struct timeline_query *c, size_t chunk)
{
	const struct hl_reader *r = c->base.m->reader;
	size_t n = c->base.m->n_segments > 0 ? hl_reader_n_keyframes(r) : 0;

	for (; c->key < n && hl_reader_keyframe(r, c->key)->chunk <= chunk; c->key++)
		add_keyframe(c, hl_reader_keyframe(r, c->key));
}

/* Traces with aggregated blocks: the end record has the peak and the live bytes at the end. */
static void add_end(struct timeline_query *c)
{
	const struct hl_trace_info *i = c->base.m->info;
	struct hl_timeline_bin *peak;

	if (c->base.m->n_segments == 0 || !i->has_end)
		return;
	peak = &c->data[hl_timeline_column(c->base.m, i->totals.peak_time_ns, c->n)];
	peak->max_bytes = hl_max_u64(peak->max_bytes, i->totals.peak_bytes);
	c->live = hl_sums_live_bytes(&i->totals.sums);
	c->data[c->n - 1].max_bytes = hl_max_u64(c->data[c->n - 1].max_bytes, c->live);
}

/* The curve of a trace that begins late begins with the live bytes of its base. */
static void begin_at_base(struct timeline_query *c)
{
	size_t key = hl_reader_base_keyframe(c->base.m->reader);

	if (!hl_model_base(c->base.m)->is_late)
		return;
	c->at = hl_timeline_column(c->base.m, hl_model_base(c->base.m)->time_ns, c->n);
	if (key == SIZE_MAX) {
		c->data[c->at].lost = true;
		return;
	}
	c->live = hl_reader_keyframe(c->base.m->reader, key)->live_bytes;
	c->data[c->at].max_bytes = c->live;
}

static void mark_before_base(const struct hl_model *m, struct hl_timeline_bin *columns, size_t n)
{
	size_t first = hl_timeline_column(m, hl_model_base(m)->time_ns, n);

	for (size_t i = 0; i < first && hl_model_base(m)->is_late; i++)
		columns[i].before_base = true;
}

/* --- the scan --- */

static int plan_scan(struct hl_scan_consumer *r)
{
	struct timeline_query *c = r->arg;

	/* Lost chunks are included: their columns are marked. */
	r->first = c->base.m->n_base_chunks;
	r->last_end = hl_reader_n_chunks(c->base.m->reader);
	return 0;
}

static int begin_scan(void *arg)
{
	struct timeline_query *c = arg;

	memset(c->data, 0, c->n * sizeof(*c->data));
	c->at = c->key = 0;
	c->live = 0;
	begin_at_base(c);
	return 0;
}

/* Returns whether the header of the chunk is enough, and adds it then. */
static bool add_header(struct timeline_query *c, size_t chunk)
{
	const struct hl_reader *r = c->base.m->reader;
	const struct hl_chunk_info *i = hl_reader_chunk(r, chunk),
				   *next = hl_reader_chunk(r, chunk + 1);
	size_t first = hl_timeline_column(c->base.m, i->t0_ns, c->n);

	advance_to(c, first);
	c->live = i->live_bytes;
	if (first != hl_timeline_column(c->base.m, i->t1_ns, c->n))
		return false;
	c->data[first].max_bytes = hl_max_u64(c->data[first].max_bytes, i->max_live_bytes);
	if (!next || next->header_lost)
		return false;
	c->live = next->live_bytes;
	return true;
}

static int select_columns(void *arg, size_t chunk, unsigned *want)
{
	struct timeline_query *c = arg;
	bool is_lost = hl_chunk_is_lost(c->base.m, chunk);

	*want = HL_WANT_NO_EVENTS;
	add_keyframes(c, chunk);
	if (hl_reader_chunk(c->base.m->reader, chunk)->disjoint)
		return 0;
	if (is_lost)
		c->data[c->at].lost = true;
	else if (!add_header(c, chunk))
		*want = HL_WANT_TIME | HL_WANT_OTHERS;
	return 0;
}

/* The first time that is not in the column. */
static uint64_t column_end(const struct timeline_query *c, size_t column)
{
	uint64_t end = hl_model_end_ns(c->base.m);

	return column + 1 < c->n ? (uint64_t)((unsigned __int128)(column + 1) * end / c->n) + 1
				 : UINT64_MAX;
}

static int add_chunk(void *arg, size_t chunk, const struct hl_chunk_events *events)
{
	struct timeline_query *c = arg;
	uint64_t end = column_end(c, c->at);

	for (size_t i = 0; i < events->n_events; i++) {
		const struct hl_event *e = &events->events[i];
		bool is_first_half = e->flags & HL_EVENT_MOVED && e->op == HL_OP_FREE;

		if (e->time_ns >= end) {
			advance_to(c, hl_timeline_column(c->base.m, e->time_ns, c->n));
			end = column_end(c, c->at);
		}
		c->live += e->op == HL_OP_ALLOC ? e->bytes : -e->bytes;
		if (!is_first_half)
			c->data[c->at].max_bytes = hl_max_u64(c->data[c->at].max_bytes, c->live);
	}
	return 0;
}

static int end_scan(void *arg)
{
	struct timeline_query *c = arg;

	add_keyframes(c, hl_reader_n_chunks(c->base.m->reader));
	advance_to(c, c->n - 1);
	add_end(c);
	c->data[c->n - 1].end_bytes = c->live;
	return 0;
}

/* --- the query --- */

static int start_query(struct hl_prefetch *q)
{
	struct timeline_query *c = (struct timeline_query *)q;

	c->data = calloc(c->n, sizeof(*c->data));
	if (!c->data)
		return -ENOMEM;
	c->reading = (struct hl_scan_consumer){.plan = plan_scan,
		.begin = begin_scan,
		.want = select_columns,
		.chunk = add_chunk,
		.end = end_scan,
		.arg = c,
		.memory = c->n * sizeof(*c->data)};
	q->consumers[0] = &c->reading;
	return 0;
}

static bool equals_query(const struct hl_prefetch *a, const struct hl_prefetch *b)
{
	return ((const struct timeline_query *)a)->n == ((const struct timeline_query *)b)->n;
}

static void free_query(struct hl_prefetch *q)
{
	free(((struct timeline_query *)q)->data);
	free(q);
}

static struct hl_prefetch *new_query(struct hl_model *m, size_t n)
{
	static const struct hl_prefetch_kind kind = {start_query, equals_query, free_query};
	struct timeline_query *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->base = (struct hl_prefetch){.kind = &kind, .m = m};
	c->n = n;
	return &c->base;
}

static int read_columns(struct hl_model *m, struct hl_timeline_bin *columns, size_t n)
{
	struct hl_prefetch *q = new_query(m, n);
	int err = q ? hl_prefetch_run(&q) : hl_model_fail(m, -ENOMEM);

	if (!err)
		memcpy(columns, ((struct timeline_query *)q)->data, n * sizeof(*columns));
	if (q)
		free_query(q);
	return err;
}

int hl_timeline(struct hl_model *m, struct hl_filter *filter, struct hl_timeline_bin *columns,
	size_t n, struct hl_peak *peak)
{
	const struct hl_query whole_heap = {0};
	int err = filter ? hl_model_require(m, HL_NEEDS_EVENTS, "a filtered timeline") : 0;

	if (!err)
		err = hl_model_require(m, HL_NEEDS_ORDER, "a timeline");
	if (err)
		return err;
	err = filter ? hl_filtered_peak(m, filter, columns, n, peak) : read_columns(m, columns, n);
	if (!err && !filter)
		err = hl_peak_find(m, &whole_heap, peak);
	if (!err)
		mark_before_base(m, columns, n);
	return err;
}

void hl_timeline_prefetch(struct hl_model *m, struct hl_filter *filter, size_t n)
{
	struct hl_prefetch *q;

	if (filter) {
		hl_filtered_peak_prefetch(m, filter, n);
		return;
	}
	q = hl_model_has_event_order(m) ? new_query(m, n) : NULL;
	if (q)
		hl_prefetch_add(q);
}
