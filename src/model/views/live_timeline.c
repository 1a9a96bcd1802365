/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live_timeline.c - live bytes over the run, or a range of it; see live_timeline.h.
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
#include "model/views/live/live_curve.h"
#include "model/model_internal.h"
#include "model/scan/prefetch.h"

struct hl_time_range hl_time_range_all(const struct hl_model *m)
{
	return (struct hl_time_range){0, hl_model_end_ns(m)};
}

size_t hl_timeline_column(const struct hl_model *m, uint64_t ns, size_t n)
{
	struct hl_time_range all = hl_time_range_all(m);

	return hl_time_range_column(&all, ns, n);
}

struct timeline_query {
	struct hl_prefetch base; /* must be the first member */
	struct hl_scan_consumer reading;
	struct hl_live_curve curve;
	bool lost_before; /* a loss before the range may extend into it */
	size_t key;       /* the next keyframe */
	uint64_t *ends;   /* of the columns */
};

/* Traces with aggregated blocks: a keyframe has the live bytes and the maximum since the last
 * one. */
static void add_keyframe(struct timeline_query *c, const struct hl_keyframe_info *k)
{
	if (k->lost || !k->disjoint)
		return;
	hl_live_curve_go_to(&c->curve, k->time_ns);
	c->curve.bytes = k->live_bytes;
	hl_live_curve_touch(&c->curve, k->max_live_bytes);
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
	struct hl_live_curve *curve = &c->curve;
	size_t peak;

	if (c->base.m->n_segments == 0 || !i->has_end)
		return;
	peak = hl_live_curve_column_of(curve, i->totals.peak_time_ns, i->totals.peak_time_ns);
	if (peak < curve->n)
		curve->columns[peak].max_bytes =
			hl_max_u64(curve->columns[peak].max_bytes, i->totals.peak_bytes);
	hl_live_curve_go_to(curve, hl_model_end_ns(c->base.m));
	if (curve->ended)
		return;
	curve->bytes = hl_sums_live_bytes(&i->totals.sums);
	hl_live_curve_end(curve);
	hl_live_curve_touch(curve, curve->bytes);
}

/* The curve of a trace that begins late begins with the live bytes of its base. */
static void begin_at_base(struct timeline_query *c)
{
	size_t key = hl_reader_base_keyframe(c->base.m->reader);

	if (!hl_model_base(c->base.m)->is_late)
		return;
	hl_live_curve_go_to(&c->curve, hl_model_base(c->base.m)->time_ns);
	if (key == SIZE_MAX) {
		c->curve.columns[c->curve.at].lost = true;
		return;
	}
	c->curve.bytes = hl_reader_keyframe(c->base.m->reader, key)->live_bytes;
	hl_live_curve_touch(&c->curve, c->curve.bytes);
}

static void mark_before_base(const struct hl_model *m, const struct hl_time_range *r,
	struct hl_timeline_bin *columns, size_t n)
{
	size_t first = hl_time_range_column(r, hl_model_base(m)->time_ns, n);

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

	hl_live_curve_begin(&c->curve);
	c->key = 0;
	c->lost_before = false;
	begin_at_base(c);
	return 0;
}

static void add_loss(struct timeline_query *c)
{
	if (hl_live_curve_in_range(&c->curve))
		c->curve.columns[c->curve.at].lost = true;
	else if (!c->curve.ended)
		c->lost_before = true;
}

/* The time at which a chunk begins. A column that was moved to end before the chunk may end at the
 * time of its first events: the events of that time are divided between two columns. */
static uint64_t first_ns(const struct timeline_query *c, const struct hl_chunk_info *i)
{
	size_t lo = 0, hi = c->curve.n - 1;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (c->ends[mid] < i->t0_ns)
			lo = mid + 1;
		else
			hi = mid;
	}
	return c->ends[lo] == i->t0_ns && i->t0_ns < i->t1_ns &&
			       c->ends[lo] != hl_time_range_end(&c->curve.range, lo, c->curve.n)
		       ? i->t0_ns + 1
		       : i->t0_ns;
}

/* A loss before the range is not in it if a chunk after the loss begins before the range, too. */
static void begin_chunk(struct timeline_query *c, const struct hl_chunk_info *i, uint64_t first_ns)
{
	hl_live_curve_go_to(&c->curve, first_ns);
	c->curve.bytes = i->live_bytes;
	if (c->lost_before && c->curve.has_begun)
		c->curve.columns[0].lost = true;
	c->lost_before = false;
}

/* Returns whether the header of the chunk is enough, and adds it then. */
static bool add_header(struct timeline_query *c, size_t chunk)
{
	const struct hl_reader *r = c->base.m->reader;
	const struct hl_chunk_info *i = hl_reader_chunk(r, chunk),
				   *next = hl_reader_chunk(r, chunk + 1);

	begin_chunk(c, i, first_ns(c, i));
	if (hl_live_curve_column_of(&c->curve, first_ns(c, i), i->t1_ns) == SIZE_MAX)
		return false;
	hl_live_curve_touch(&c->curve, i->max_live_bytes);
	if (!next || next->header_lost)
		return c->curve.ended;
	c->curve.bytes = next->live_bytes;
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
		add_loss(c);
	else if (!add_header(c, chunk))
		*want = HL_WANT_TIME | HL_WANT_OTHERS;
	return 0;
}

static int add_chunk(void *arg, size_t chunk, const struct hl_chunk_events *events)
{
	struct hl_live_curve *c = &((struct timeline_query *)arg)->curve;

	for (size_t i = 0; i < events->n_events && !c->ended; i++) {
		const struct hl_event *e = &events->events[i];
		bool is_first_half = e->flags & HL_EVENT_MOVED && e->op == HL_OP_FREE;

		hl_live_curve_go_to(c, e->time_ns);
		if (c->ended)
			break;
		c->bytes += e->op == HL_OP_ALLOC ? e->bytes : -e->bytes;
		if (!is_first_half)
			hl_live_curve_touch(c, c->bytes);
	}
	return 0;
}

static int end_scan(void *arg)
{
	struct timeline_query *c = arg;

	add_keyframes(c, hl_reader_n_chunks(c->base.m->reader));
	hl_live_curve_end(&c->curve);
	if (c->lost_before)
		c->curve.columns[0].lost = true;
	add_end(c);
	hl_live_curve_end(&c->curve);
	return 0;
}

/* --- where columns end --- */

/* A chunk in which columns end. */
struct cut_chunk {
	uint64_t length;
	size_t chunk;
};

static int compare_cuts(const void *pa, const void *pb)
{
	const struct cut_chunk *a = pa, *b = pb;

	if (a->length != b->length)
		return a->length > b->length ? -1 : 1;
	return a->chunk < b->chunk ? -1 : a->chunk > b->chunk;
}

/* The last time before a chunk, or that of its first event if that is the same. */
static uint64_t time_before(const struct hl_model *m, size_t chunk)
{
	const struct hl_chunk_info *before = hl_reader_chunk(m->reader, chunk - 1),
				   *c = hl_reader_chunk(m->reader, chunk);

	return before->t1_ns < c->t0_ns ? c->t0_ns - 1 : c->t0_ns;
}

/* Moves the columns that end in the chunk to its begin or its end, unless it has a neighbor that is
 * lost. */
static void move_ends(
	const struct hl_model *m, const struct hl_live_curve *curve, size_t chunk, uint64_t *ends)
{
	const struct hl_chunk_info *c = hl_reader_chunk(m->reader, chunk);
	size_t k = hl_time_range_column(&curve->range, c->t0_ns, curve->n);

	if (hl_chunk_is_lost(m, chunk - 1) || hl_chunk_is_lost(m, chunk + 1))
		return;
	for (; k + 1 < curve->n && ends[k] < c->t1_ns; k++) {
		if (ends[k] >= c->t0_ns)
			ends[k] = ends[k] - c->t0_ns < c->t1_ns - ends[k] ? time_before(m, chunk)
									  : c->t1_ns;
	}
}

static bool ends_in(const struct hl_live_curve *curve, const struct hl_chunk_info *c)
{
	return !c->header_lost && !c->disjoint &&
	       hl_live_curve_column_of(curve, c->t0_ns, c->t1_ns) == SIZE_MAX &&
	       c->t0_ns > curve->range.from_ns && c->t1_ns < curve->range.to_ns;
}

/* Returns 0 or -ENOMEM. */
static int choose_ends(const struct hl_model *m, const struct hl_live_curve *curve, uint64_t *ends)
{
	HL_VEC(struct cut_chunk) cuts = {0};
	int err = 0;

	for (size_t k = 0; k < curve->n; k++)
		ends[k] = hl_time_range_end(&curve->range, k, curve->n);
	/* The first and the last chunk have no neighbors. */
	for (size_t i = m->n_base_chunks + 1; i + 1 < hl_reader_n_chunks(m->reader) && !err; i++) {
		const struct hl_chunk_info *c = hl_reader_chunk(m->reader, i);

		if (ends_in(curve, c))
			err = hl_vec_push(&cuts, ((struct cut_chunk){c->t1_ns - c->t0_ns, i}));
	}
	if (cuts.len > HL_TIMELINE_CHUNKS)
		qsort(cuts.data, cuts.len, sizeof(*cuts.data), compare_cuts);
	for (size_t i = HL_TIMELINE_CHUNKS; i < cuts.len; i++)
		move_ends(m, curve, cuts.data[i].chunk, ends);
	hl_vec_free(&cuts);
	return err;
}

/* --- the query --- */

static int start_query(struct hl_prefetch *q)
{
	struct timeline_query *c = (struct timeline_query *)q;
	struct hl_live_curve *curve = &c->curve;

	curve->columns = calloc(curve->n, sizeof(*curve->columns));
	c->ends = calloc(curve->n, sizeof(*c->ends));
	if (!curve->columns || !c->ends || choose_ends(q->m, curve, c->ends))
		return -ENOMEM;
	curve->ends = c->ends;
	c->reading = (struct hl_scan_consumer){.plan = plan_scan,
		.begin = begin_scan,
		.want = select_columns,
		.chunk = add_chunk,
		.end = end_scan,
		.arg = c,
		.memory = curve->n * sizeof(*curve->columns)};
	q->consumers[0] = &c->reading;
	return 0;
}

static bool equals_query(const struct hl_prefetch *qa, const struct hl_prefetch *qb)
{
	const struct hl_live_curve *a = &((const struct timeline_query *)qa)->curve,
				   *b = &((const struct timeline_query *)qb)->curve;

	return a->n == b->n && hl_time_range_equal(&a->range, &b->range);
}

static void free_query(struct hl_prefetch *q)
{
	free(((struct timeline_query *)q)->curve.columns);
	free(((struct timeline_query *)q)->ends);
	free(q);
}

static struct hl_prefetch *new_query(struct hl_model *m, const struct hl_time_range *r, size_t n)
{
	static const struct hl_prefetch_kind kind = {start_query, equals_query, free_query};
	struct timeline_query *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->base = (struct hl_prefetch){.kind = &kind, .m = m};
	c->curve = (struct hl_live_curve){.n = n, .range = *r, .end_ns = hl_model_end_ns(m)};
	return &c->base;
}

static void copy_columns(const struct timeline_query *c, struct hl_timeline_bin *columns)
{
	for (size_t i = 0; i < c->curve.n; i++) {
		columns[i] = c->curve.columns[i];
		columns[i].end_ns = c->ends[i];
	}
}

static int read_columns(struct hl_model *m, const struct hl_time_range *r,
	struct hl_timeline_bin *columns, size_t n)
{
	struct hl_prefetch *q = new_query(m, r, n);
	int err = q ? hl_prefetch_run(&q) : hl_model_fail(m, -ENOMEM);

	if (!err)
		copy_columns((struct timeline_query *)q, columns);
	if (q)
		free_query(q);
	return err;
}

int hl_timeline_range(struct hl_model *m, struct hl_filter *filter, const struct hl_time_range *r,
	struct hl_timeline_bin *columns, size_t n, struct hl_peak *peak)
{
	const struct hl_query whole_heap = {0};
	int err = filter ? hl_model_require(m, HL_NEEDS_EVENTS, "a filtered timeline") : 0;

	if (!err)
		err = hl_model_require(m, HL_NEEDS_ORDER, "a timeline");
	if (err)
		return err;
	err = filter ? hl_filtered_peak(m, filter, r, columns, n, peak)
		     : read_columns(m, r, columns, n);
	if (!err && !filter)
		err = hl_peak_find(m, &whole_heap, peak);
	if (!err && filter) {
		for (size_t i = 0; i < n; i++)
			columns[i].end_ns = hl_time_range_end(r, i, n);
	}
	if (!err)
		mark_before_base(m, r, columns, n);
	return err;
}

void hl_timeline_range_prefetch(
	struct hl_model *m, struct hl_filter *filter, const struct hl_time_range *r, size_t n)
{
	struct hl_prefetch *q;

	if (filter) {
		hl_filtered_peak_prefetch(m, filter, r, n);
		return;
	}
	q = hl_model_has_event_order(m) ? new_query(m, r, n) : NULL;
	if (q)
		hl_prefetch_add(q);
}

int hl_timeline(struct hl_model *m, struct hl_filter *filter, struct hl_timeline_bin *columns,
	size_t n, struct hl_peak *peak)
{
	struct hl_time_range all = hl_time_range_all(m);

	return hl_timeline_range(m, filter, &all, columns, n, peak);
}

void hl_timeline_prefetch(struct hl_model *m, struct hl_filter *filter, size_t n)
{
	struct hl_time_range all = hl_time_range_all(m);

	hl_timeline_range_prefetch(m, filter, &all, n);
}
