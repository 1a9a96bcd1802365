/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filtered_peak.c - see filtered_peak.h.
 *
 * One bit per allocation says whether its block is selected. A filter on properties of the
 * allocation sets it at the allocation, so one scan is enough. A filter on lifetimes selects a
 * block only when it is freed: a first scan sets the bits, a second one follows the live bytes.
 *
 * A filter on stacks needs no bits, because a free has the stack of its block. In that case a chunk
 * is not decoded if its summary proves that even the sum of all its allocations does not reach a
 * known maximum: the maximum so far, or the live bytes at the end of another chunk.
 */
#include "model/query/query_plan.h"
#include "model/views/filtered_peak.h"
#include "model/views/live/live_curve.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "model/model_internal.h"
#include "model/scan/prefetch.h"
#include "model/scan/block_stream.h"
#include "util/safe_text.h"

enum round { ROUND_SELECT, ROUND_SELECTED, ROUND_FOLLOW };

/* The sums of the selected blocks of a chunk. known: it has a summary. */
struct chunk_sums {
	struct hl_sums sums;
	bool known;
};

struct peak_query {
	struct hl_prefetch base; /* must be the first member */
	struct hl_filter *filter;
	struct hl_live_curve curve; /* its bytes are those of the selected blocks */
	bool by_stack, by_lifetime; /* subject of the filter; neither: allocation */
	unsigned want;              /* the fields of events that follow_event uses */
	enum round round;
	struct hl_block_stream stream;   /* by_lifetime: the first scan */
	struct hl_scan_consumer reading; /* the consumer that the scan sees */
	struct hl_position to;
	uint8_t *bits; /* NULL if by_stack */
	uint64_t n_bits;
	struct hl_summary summary;
	struct chunk_sums *chunks; /* by_stack: one per chunk */
	uint64_t *floors; /* by_stack: lower bounds of the columns' maxima, and one for the rest */

	uint64_t blocks;
	struct hl_peak peak;
};

/* --- selected blocks --- */

static bool get_bit(const struct peak_query *c, uint64_t ordinal)
{
	return ordinal < c->n_bits && c->bits[ordinal / 8] >> ordinal % 8 & 1;
}

static void set_bit(struct peak_query *c, uint64_t ordinal, bool to)
{
	uint8_t bit = (uint8_t)(1u << ordinal % 8);

	if (ordinal >= c->n_bits)
		return;
	c->bits[ordinal / 8] =
		(uint8_t)(to ? c->bits[ordinal / 8] | bit : c->bits[ordinal / 8] & ~bit);
}

static void begin_selection(void *arg)
{
	struct peak_query *c = arg;

	memset(c->bits, 0, c->n_bits / 8 + 1);
}

static int select_block(void *arg, const struct hl_block *b)
{
	set_bit(arg, b->ordinal, true);
	return 0;
}

static int select_by_alloc(struct peak_query *c, const struct hl_event *e, bool *selected)
{
	struct hl_model *m = c->base.m;
	struct hl_block b;
	int err;

	if (e->node != HL_NODE_NONE && e->node >= m->n_nodes)
		return -EBADMSG;
	b = hl_block_from_alloc(m, e, HL_RANGE_IN);
	err = hl_filter_block(c->filter, m, &b, selected);
	if (!err && *selected)
		set_bit(c, e->ordinal, true);
	return err;
}

static int is_selected(struct peak_query *c, const struct hl_event *e, bool *selected)
{
	if (c->by_stack && e->node != HL_NODE_NONE && e->node >= c->base.m->n_nodes)
		return -EBADMSG;
	if (c->by_stack)
		return hl_filter_node(c->filter, c->base.m, e->node, selected);
	if (e->op == HL_OP_ALLOC && !c->by_lifetime)
		return select_by_alloc(c, e, selected);
	*selected = get_bit(c, e->ordinal);
	/* A block is freed only once, so its bit is not needed any more. */
	if (e->op == HL_OP_FREE)
		set_bit(c, e->ordinal, false);
	return 0;
}

/* --- live bytes --- */

/* The peak of blocks that do not exist is at the begin of the trace. */
static struct hl_peak no_peak(struct hl_model *m)
{
	struct hl_position first = hl_position_first(m);

	return (struct hl_peak){.time_ns = first.time_ns,
		.when = {.kind = HL_TIME_SPEC_EVENT, .ns = first.time_ns, .key = first.chunk}};
}

static void update_maximum(struct peak_query *c, size_t chunk, size_t event, uint64_t time_ns)
{
	hl_live_curve_touch(&c->curve, c->curve.bytes);
	if (c->curve.bytes > c->peak.bytes)
		c->peak = (struct hl_peak){.bytes = c->curve.bytes,
			.blocks = c->blocks,
			.time_ns = time_ns,
			.when = {.kind = HL_TIME_SPEC_EVENT,
				.ns = time_ns,
				.key = chunk,
				.events = event + 1}};
}

/* The curve of a trace that begins late begins at its base, with all blocks that are live there. */
static uint64_t time_of(const struct peak_query *c, size_t chunk, const struct hl_event *e)
{
	const struct hl_model *m = c->base.m;

	return chunk < m->n_base_chunks ? hl_model_base(m)->time_ns : e->time_ns;
}

static int follow_event(struct peak_query *c, size_t chunk, size_t i, const struct hl_event *e)
{
	uint64_t time_ns = time_of(c, chunk, e);
	bool selected = false;
	int err = is_selected(c, e, &selected);

	if (err || !selected)
		return err;
	hl_live_curve_go_to(&c->curve, time_ns);
	if (e->op == HL_OP_ALLOC) {
		c->curve.bytes += e->bytes;
		c->blocks += e->blocks;
		update_maximum(c, chunk, i, time_ns);
	} else if (e->bytes > c->curve.bytes) {
		return -EBADMSG;
	} else {
		c->curve.bytes -= e->bytes;
		c->blocks -= e->blocks;
	}
	return 0;
}

/* --- chunks that need not be decoded --- */

static int sum_chunk(struct peak_query *c, struct hl_sums *sums)
{
	int err = 0;

	*sums = (struct hl_sums){0};
	for (size_t i = 0; i < c->summary.n && !err; i++) {
		const struct hl_summary_row *r = &c->summary.rows[i];
		bool selected = false;

		if (r->node != HL_NODE_NONE && r->node >= c->base.m->n_nodes)
			return -EBADMSG;
		err = hl_filter_node(c->filter, c->base.m, r->node, &selected);
		if (err || !selected)
			continue;
		sums->alloc_blocks += r->sums.alloc_blocks;
		sums->alloc_bytes += r->sums.alloc_bytes;
		sums->free_blocks += r->sums.free_blocks;
		sums->free_bytes += r->sums.free_bytes;
	}
	return err;
}

/* The column that contains a chunk; n: it is outside of the range; SIZE_MAX: it spans several. */
static size_t column_of_chunk(const struct peak_query *c, size_t chunk)
{
	const struct hl_chunk_info *i = hl_reader_chunk(c->base.m->reader, chunk);

	return hl_live_curve_column_of(&c->curve, i->t0_ns, i->t1_ns);
}

/* The live bytes at the end of a chunk are a lower bound of its column's maximum. */
static void find_floors(struct peak_query *c, size_t end)
{
	uint64_t live = 0;

	for (size_t i = 0; i < end && c->chunks[i].known; i++) {
		const struct hl_sums *sums = &c->chunks[i].sums;
		size_t column = column_of_chunk(c, i);

		if (live + sums->alloc_bytes < sums->free_bytes)
			return;
		live += sums->alloc_bytes - sums->free_bytes;
		if (column != SIZE_MAX)
			c->floors[column] = hl_max_u64(c->floors[column], live);
	}
}

/* A damaged summary is treated like a missing one: the chunk is decoded. */
static int read_summaries(struct peak_query *c, size_t end)
{
	memset(c->floors, 0, (c->curve.n + 1) * sizeof(*c->floors));
	free(c->chunks);
	c->chunks = calloc(end + 1, sizeof(*c->chunks));
	if (!c->chunks)
		return -ENOMEM;
	for (size_t i = 0; i < end; i++) {
		int err = hl_reader_summary(c->base.m->reader, i, &c->summary);

		if (!err)
			err = sum_chunk(c, &c->chunks[i].sums);
		c->chunks[i].known = !err;
		if (err && err != -ENOENT && err != -EBADMSG)
			return err;
	}
	find_floors(c, end);
	return 0;
}

/* Applies a chunk by its summary if it cannot contain a maximum in any order of its events. */
static bool apply_summary(struct peak_query *c, size_t chunk)
{
	const struct hl_sums *sums = &c->chunks[chunk].sums;
	uint64_t most = c->curve.bytes + sums->alloc_bytes, known = c->peak.bytes;
	size_t column = column_of_chunk(c, chunk);

	if (!c->chunks[chunk].known || most < c->curve.bytes || sums->free_bytes > most ||
		column == SIZE_MAX)
		return false;
	hl_live_curve_go_to(&c->curve, hl_reader_chunk(c->base.m->reader, chunk)->t0_ns);
	if (column < c->curve.n)
		known = c->curve.columns[column].max_bytes;
	if (most > known && most >= c->floors[column])
		return false;
	c->curve.bytes = most - sums->free_bytes;
	c->blocks += sums->alloc_blocks - sums->free_blocks;
	return true;
}

/* --- the scan --- */

static int plan_scan(struct hl_scan_consumer *r)
{
	struct peak_query *c = r->arg;
	int err = 0;

	/* The second round follows a complete first one. In all other cases the scan begins, or
	 * begins again after damage: start with the first round. */
	if (c->round == ROUND_SELECTED) {
		c->round = ROUND_FOLLOW;
		hl_scan_consumer_up_to(r, c->base.m, &c->to);
		return 0;
	}
	c->round = c->by_lifetime ? ROUND_SELECT : ROUND_FOLLOW;
	c->to = hl_position_at(c->base.m, UINT64_MAX);
	if (c->by_lifetime) {
		c->stream.consumer.is_prefetched = r->is_prefetched;
		err = c->stream.consumer.plan(&c->stream.consumer);
		r->first = c->stream.consumer.first;
		r->last_end = c->stream.consumer.last_end;
	} else {
		hl_scan_consumer_up_to(r, c->base.m, &c->to);
	}
	return err;
}

static int begin_scan(void *arg)
{
	struct peak_query *c = arg;

	if (c->round == ROUND_SELECT)
		return c->stream.consumer.begin(c->stream.consumer.arg);
	hl_live_curve_begin(&c->curve);
	if (c->bits && !c->by_lifetime)
		memset(c->bits, 0, c->n_bits / 8 + 1);
	c->blocks = 0;
	c->peak = no_peak(c->base.m);
	return c->by_stack ? read_summaries(c, c->reading.last_end) : 0;
}

static int select_columns(void *arg, size_t chunk, unsigned *want)
{
	struct peak_query *c = arg;

	*want = c->want;
	if (c->round == ROUND_SELECT)
		return c->stream.consumer.want(c->stream.consumer.arg, chunk, want);
	if (c->by_stack && apply_summary(c, chunk))
		*want = HL_WANT_NO_EVENTS;
	return 0;
}

static int apply_chunk(void *arg, size_t chunk, const struct hl_chunk_events *events)
{
	struct peak_query *c = arg;
	int err = 0;

	if (c->round == ROUND_SELECT)
		return c->stream.consumer.chunk(c->stream.consumer.arg, chunk, events);
	for (size_t i = 0; i < events->n_events && !err; i++) {
		hl_scan_prefetch_event(&events->events[i]);
		err = follow_event(c, chunk, i, &events->events[i]);
	}
	/* A stack that is not in the table, or more bytes freed than live: the chunk is damaged. */
	if (err == -EBADMSG)
		hl_model_mark_bad(c->base.m, &c->base.m->bad_chunks[chunk]);
	return err;
}

/* If the file is damaged, the curve ends before the damage. */
static void finish_columns(struct peak_query *c)
{
	size_t n = c->curve.n, first = n;

	hl_live_curve_end(&c->curve);
	if (c->to.before_damage && n > 0 && c->to.time_ns <= c->curve.range.to_ns)
		first = hl_time_range_column(&c->curve.range, c->to.time_ns, n);
	for (size_t i = first; i < n; i++)
		c->curve.columns[i].lost = true;
	c->peak.before_damage = c->to.before_damage;
}

static int end_scan(void *arg)
{
	struct peak_query *c = arg;
	int err;

	if (c->round != ROUND_SELECT) {
		finish_columns(c);
		return 0;
	}
	/* -EAGAIN from the stream: it needs another scan. */
	err = c->stream.consumer.end(c->stream.consumer.arg);
	if (err)
		return err;
	c->round = ROUND_SELECTED;
	return -EAGAIN;
}

/* --- the query --- */

static int alloc_bits(struct peak_query *c)
{
	int err = hl_model_n_ordinals(c->base.m, false, &c->n_bits);

	if (!err)
		c->bits = calloc(c->n_bits / 8 + 1, 1);
	return err || c->bits ? err : -ENOMEM;
}

static void start_stream(struct peak_query *c)
{
	c->stream = (struct hl_block_stream){.filter = c->filter,
		.from = {.is_exact = true},
		.to = hl_position_at(c->base.m, UINT64_MAX),
		.begin = begin_selection,
		.block = select_block,
		.arg = c};
	hl_block_stream_init(&c->stream, c->base.m);
	c->reading.memory += c->stream.consumer.memory;
}

/* The advice in the message depends on the subject of the filter. */
static int check_trace(struct hl_model *m, unsigned subjects)
{
	char held[HL_TEXT_SIZE_MAX], all[HL_TEXT_SIZE_MAX];
	int err = hl_model_require(m, HL_NEEDS_ORDER, "the peak of blocks that match a filter");

	if (err || !hl_model_has_aggregated(m))
		return err;
	if (subjects & ~HL_FILTER_STACK)
		return hl_model_require(m, HL_NEEDS_EVENTS, "this");
	snprintf(m->error, sizeof(m->error),
		"the peak of blocks that match a filter needs every event, but the trace has only "
		"sums of %s of %s blocks (mode %s); use --at @peak for matching blocks at the peak "
		"of the whole heap, or record with --mode=trace",
		hl_text_count(held, m->info->aggregated.alloc_blocks),
		hl_text_count(all, m->info->totals.sums.alloc_blocks), hl_model_sums_mode(m));
	return -ENODATA;
}

/* If the lifetime selects the blocks, the bits are complete before events are followed. */
static unsigned fields_of(unsigned subjects)
{
	return HL_WANT_TIME | (subjects & HL_FILTER_FREE_TIME ? 0 : HL_WANT_NODE) |
	       (subjects & HL_FILTER_ADDR ? HL_WANT_ADDR : 0) |
	       (subjects & HL_FILTER_FUNC ? HL_WANT_FUNC : 0);
}

static int start_query(struct hl_prefetch *q)
{
	struct peak_query *c = (struct peak_query *)q;
	unsigned subjects = hl_filter_subjects(c->filter);
	int err = check_trace(q->m, subjects);

	if (!err)
		err = hl_filter_bind(c->filter, q->m);
	if (err)
		return err;
	c->by_stack = !(subjects & ~HL_FILTER_STACK);
	c->by_lifetime = subjects & HL_FILTER_FREE_TIME;
	c->want = fields_of(subjects);
	c->reading = (struct hl_scan_consumer){.plan = plan_scan,
		.begin = begin_scan,
		.want = select_columns,
		.chunk = apply_chunk,
		.end = end_scan,
		.arg = c};
	err = c->by_stack ? 0 : alloc_bits(c);
	c->curve.columns = calloc(c->curve.n + 1, sizeof(*c->curve.columns));
	c->floors = calloc(c->curve.n + 1, sizeof(*c->floors));
	if (err || !c->curve.columns || !c->floors)
		return err ? err : -ENOMEM;
	c->reading.memory = c->n_bits / 8 + c->curve.n * sizeof(*c->curve.columns) +
			    hl_reader_n_chunks(q->m->reader) * sizeof(*c->chunks);
	if (c->by_lifetime)
		start_stream(c);
	q->consumers[0] = &c->reading;
	return 0;
}

static bool equals_query(const struct hl_prefetch *qa, const struct hl_prefetch *qb)
{
	const struct peak_query *a = (const struct peak_query *)qa,
				*b = (const struct peak_query *)qb;

	return a->filter == b->filter && a->curve.n == b->curve.n &&
	       hl_time_range_equal(&a->curve.range, &b->curve.range);
}

static void free_query(struct hl_prefetch *q)
{
	struct peak_query *c = (struct peak_query *)q;

	free(c->curve.columns);
	free(c->floors);
	free(c->chunks);
	free(c->bits);
	hl_summary_free(&c->summary);
	hl_block_stream_fini(&c->stream);
	free(c);
}

static struct hl_prefetch *new_query(
	struct hl_model *m, struct hl_filter *filter, const struct hl_time_range *r, size_t n)
{
	static const struct hl_prefetch_kind kind = {start_query, equals_query, free_query};
	struct peak_query *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->base = (struct hl_prefetch){.kind = &kind, .m = m};
	c->filter = filter;
	c->curve = (struct hl_live_curve){
		.n = n, .range = r ? *r : hl_time_range_all(m), .end_ns = hl_model_end_ns(m)};
	return &c->base;
}

int hl_filtered_peak(struct hl_model *m, struct hl_filter *filter, const struct hl_time_range *r,
	struct hl_timeline_bin *columns, size_t n, struct hl_peak *peak)
{
	struct hl_prefetch *q = new_query(m, filter, r, n);
	int err = q ? hl_prefetch_run(&q) : hl_model_fail(m, -ENOMEM);

	if (!err) {
		const struct peak_query *c = (const struct peak_query *)q;

		if (n > 0)
			memcpy(columns, c->curve.columns, n * sizeof(*columns));
		*peak = c->peak;
	}
	if (q)
		free_query(q);
	return err;
}

void hl_filtered_peak_prefetch(
	struct hl_model *m, struct hl_filter *filter, const struct hl_time_range *r, size_t n)
{
	struct hl_prefetch *q = new_query(m, filter, r, n);

	if (q)
		hl_prefetch_add(q);
}

/* The base itself may be at the peak. Its time does not show that, because several events have one
 * time. */
static bool is_before_base(const struct hl_model *m)
{
	size_t key = hl_reader_base_keyframe(m->reader);

	return hl_model_peak_is_before_base(m) && key != SIZE_MAX &&
	       hl_reader_keyframe(m->reader, key)->live_bytes < m->info->totals.peak_bytes;
}

int hl_peak_find(struct hl_model *m, const struct hl_query *q, struct hl_peak *peak)
{
	const struct hl_totals *t = &m->info->totals;
	int err;

	if (q->filter && !q->pool)
		return hl_filtered_peak(m, q->filter, NULL, NULL, 0, peak);
	err = hl_model_check_base(m);
	if (err)
		return err;
	*peak = (struct hl_peak){.bytes = t->peak_bytes,
		.blocks = t->peak_blocks,
		.time_ns = t->peak_time_ns,
		.before_base = is_before_base(m),
		.when = {.kind = HL_TIME_SPEC_PEAK}};
	return 0;
}
