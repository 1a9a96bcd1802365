/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_sites.c - values, trends and short-lived blocks of each call site; see overview.h.
 *
 * Without a filter on single blocks, values and trends come from sums by stack, and one scan counts
 * short-lived blocks; a free has the lifetime class of its block. With such a filter no sum
 * suffices: then a stream delivers the blocks.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "base/bits.h"
#include "model/model_internal.h"
#include "model/query/suppress.h"
#include "model/scan/block_stream.h"
#include "model/scan/lifetime_class.h"
#include "model/stack/flat_table.h"
#include "model/overview/overview_internal.h"

#define NO_ROW   HL_OVERVIEW_NO_ROW
#define UNKNOWN  HL_OVERVIEW_UNKNOWN
#define POINTS   HL_OVERVIEW_POINTS
#define N_BOUNDS HL_SHORT_LIVED_BOUNDS
/* A trace with fewer chunks is read at the exact moments of a trend. */
#define EXACT_CHUNKS 64

/* --- sites --- */

static int add_site(struct hl_overview_builder *b, uint32_t frame, uint32_t *row)
{
	struct hl_overview_site site = {.frame = frame};
	int err;

	*row = (uint32_t)b->sites.len;
	err = hl_pair_map_put(&b->by_frame, frame, 0, *row);
	if (!err)
		err = hl_vec_push(&b->sites, site);
	if (!err && b->trends.len < HL_OVERVIEW_TRENDS_MAX)
		err = hl_vec_push(&b->trends, (struct hl_overview_trend){0});
	return err ? err : hl_vec_push(&b->shorts, (struct hl_overview_shorts){0});
}

static int look_up_row(struct hl_overview_builder *b, uint32_t node, uint32_t *row)
{
	bool holds = true;
	uint32_t frame;
	int err = 0;

	*row = NO_ROW;
	if (b->opt->filter && b->by_sums)
		err = hl_filter_node(b->opt->filter, b->m, node, &holds);
	if (err || !holds)
		return err;
	err = hl_model_find_site(b->m, node, &frame);
	if (err)
		return err;
	*row = hl_pair_map_get(&b->by_frame, frame, 0);
	return *row == HL_PAIR_MAP_NONE ? add_site(b, frame, row) : 0;
}

/* NO_ROW: the filter excludes the stack. */
static int find_row(struct hl_overview_builder *b, uint32_t node, uint32_t *row)
{
	uint32_t *known = &b->row_of[node < b->m->n_nodes ? node : b->m->n_nodes];
	int err = *known == UNKNOWN ? look_up_row(b, node, known) : 0;

	*row = *known;
	return err;
}

/* Adds an answer by stack to a value of each site. */
static int add_answer(struct hl_overview_builder *b, const struct hl_answer *a, size_t value_at)
{
	int err = 0;

	hl_work_begin(&b->m->work, HL_WORK_SHORT, HL_WORK_NAMES);
	for (uint32_t i = 0; i <= a->n_keys && !err; i++) {
		uint32_t row;

		err = hl_naming_tick(b->m, i, a->n_keys);
		if (err || a->values[i].blocks == 0)
			continue;
		err = find_row(b, i < a->n_keys ? i : HL_NODE_NONE, &row);
		if (!err && row != NO_ROW)
			hl_value_add((struct hl_value *)((char *)&b->sites.data[row] + value_at),
				&a->values[i]);
	}
	hl_work_end(&b->m->work, HL_WORK_SHORT);
	return err;
}

/* --- values of the sites: live at the peak, live at the end, allocated --- */

static struct hl_query peak_query(const struct hl_overview_builder *b)
{
	return (struct hl_query){
		.quantity = HL_QUANTITY_LIVE, .to = b->peak, .filter = b->opt->filter};
}

static struct hl_query end_query(const struct hl_overview_builder *b)
{
	return (struct hl_query){.quantity = HL_QUANTITY_LIVE,
		.to.kind = HL_TIME_SPEC_END,
		.filter = b->opt->filter,
		.suppressions = b->opt->suppressions};
}

static struct hl_query alloc_query(const struct hl_overview_builder *b)
{
	return (struct hl_query){.quantity = HL_QUANTITY_ALLOCATED,
		.to.kind = HL_TIME_SPEC_END,
		.filter = b->opt->filter};
}

/* The blocks that suppressions left out of the last query. */
static struct hl_value sum_suppressed(const struct hl_suppressions *s)
{
	const struct hl_suppressed *counts;
	struct hl_value sum = {0};
	size_t n = 0;

	counts = s ? hl_suppressions_counts(s, &n) : NULL;
	for (size_t i = 0; i < n; i++)
		hl_value_add(&sum, &counts[i].value);
	return sum;
}

/* Makes the queries; the totals are known then. */
static int make_queries(struct hl_overview_builder *b, struct hl_answer *a)
{
	const struct hl_query q[HL_ANSWERS] = {alloc_query(b), end_query(b), peak_query(b)};
	struct hl_overview *o = b->o;
	int err = 0;

	for (int i = 0; i < HL_ANSWERS && !err; i++) {
		if (i == HL_ANSWER_PEAK && o->peak_state != HL_OVERVIEW_KNOWN)
			continue;
		err = hl_model_query(b->m, &q[i], &a[i]);
		if (!err)
			o->before_damage |= a[i].before_damage;
	}
	if (err)
		return err;
	o->allocated = a[HL_ANSWER_ALLOCATED].total;
	o->begins_late = hl_model_base(b->m)->is_late;
	if (o->begins_late && !b->opt->filter)
		o->allocated = (struct hl_value){.bytes = b->m->info->totals.sums.alloc_bytes,
			.blocks = b->m->info->totals.sums.alloc_blocks,
			.variance = o->allocated.variance};
	o->at_end = a[HL_ANSWER_END].total;
	o->suppressed = sum_suppressed(b->opt->suppressions);
	o->peak = a[HL_ANSWER_PEAK].total;
	o->peak_ns = a[HL_ANSWER_PEAK].to_ns;
	b->has_totals = true;
	return 0;
}

int hl_overview_add_values(struct hl_overview_builder *b)
{
	static const size_t value_at[HL_ANSWERS] = {offsetof(struct hl_overview_site, allocated),
		offsetof(struct hl_overview_site, at_end),
		offsetof(struct hl_overview_site, at_peak)};
	int err = make_queries(b, b->answers);

	for (int i = 0; i < HL_ANSWERS && !err; i++) {
		if (b->answers[i].values)
			err = add_answer(b, &b->answers[i], value_at[i]);
	}
	return err;
}

/* --- trends from sums --- */

static uint64_t point_ns(const struct hl_overview_builder *b, unsigned k)
{
	return (uint64_t)((unsigned __int128)b->end_ns * (k + 1) / POINTS);
}

/* The keyframe nearest to the moment, if it is nearer to it than to the next moment. */
static bool find_near_keyframe(const struct hl_overview_builder *b, uint64_t ns, size_t *key)
{
	const struct hl_reader *r = b->m->reader;
	uint64_t step = b->end_ns / POINTS / 2, best = UINT64_MAX;

	for (size_t i = 0; i < hl_reader_n_keyframes(r); i++) {
		const struct hl_keyframe_info *k = hl_reader_keyframe(r, i);
		uint64_t far = k->time_ns > ns ? k->time_ns - ns : ns - k->time_ns;

		if (k->lost || b->m->bad_keyframes[i] || far >= best)
			continue;
		best = far;
		*key = i;
	}
	return best < step;
}

static struct hl_position find_point(const struct hl_overview_builder *b, unsigned k)
{
	uint64_t ns = point_ns(b, k);
	size_t key;

	if (k + 1 == POINTS)
		return hl_position_at(b->m, UINT64_MAX);
	if (hl_reader_n_chunks(b->m->reader) > EXACT_CHUNKS && find_near_keyframe(b, ns, &key))
		return hl_position_key(b->m, key);
	return hl_position_at(b->m, ns);
}

/* Until the differences are made, `allocs` has all allocations up to the moment, and the floors
 * what was freed up to it. */
static void add_point(struct hl_overview_builder *b, unsigned k, const struct hl_sums *sums)
{
	for (uint32_t i = 0; i <= b->m->n_nodes; i++) {
		struct hl_overview_trend *s;

		if (b->row_of[i] >= b->trends.len)
			continue;
		s = &b->trends.data[b->row_of[i]];
		s->live[k] += hl_sums_live_bytes(&sums[i]);
		s->blocks[k] += hl_sums_live_blocks(&sums[i]);
		s->allocs[k] += sums[i].alloc_blocks;
		s->floor_bytes[k] += sums[i].free_bytes;
		s->floor_blocks[k] += sums[i].free_blocks;
	}
}

static void make_differences(struct hl_overview_builder *b)
{
	for (size_t i = 0; i < b->trends.len; i++) {
		struct hl_overview_trend *s = &b->trends.data[i];

		for (unsigned k = POINTS - 1; k > 0; k--)
			s->allocs[k] -= hl_min_u64(s->allocs[k - 1], s->allocs[k]);
	}
}

/* A moment before the base of a trace, or behind damage, is not known; it has the values of the
 * moment before it. */
static void repeat_point(struct hl_overview_builder *b, unsigned k)
{
	for (size_t i = 0; i < b->trends.len && k > 0; i++) {
		struct hl_overview_trend *s = &b->trends.data[i];

		s->live[k] = s->live[k - 1];
		s->blocks[k] = s->blocks[k - 1];
		s->allocs[k] = s->allocs[k - 1];
		s->floor_bytes[k] = s->floor_bytes[k - 1];
		s->floor_blocks[k] = s->floor_blocks[k - 1];
	}
}

static int read_point(struct hl_overview_builder *b, unsigned k, struct hl_sums *sums)
{
	struct hl_position p = find_point(b, k);
	uint64_t ns = k + 1 == POINTS ? b->end_ns : p.time_ns;
	int err = 0;

	b->o->times[k] = point_ns(b, k);
	if (!hl_model_base(b->m)->is_late || point_ns(b, k) >= hl_model_base(b->m)->time_ns) {
		err = hl_sums_at(b->m, &p, sums);
		b->o->before_damage |= p.before_damage;
		b->o->known[k] = !err && !p.before_damage;
		/* of traces with aggregated blocks, only the moments of keyframes are known */
		if (p.cut == HL_CUT_KEY)
			b->o->times[k] = hl_max_u64(ns, k ? b->o->times[k - 1] : 0);
	}
	if (b->o->known[k])
		add_point(b, k, sums);
	else
		repeat_point(b, k);
	return err;
}

int hl_overview_read_trends(struct hl_overview_builder *b)
{
	struct hl_sums *sums = malloc(((size_t)b->m->n_nodes + 1) * sizeof(*sums));
	int err = sums ? 0 : hl_model_fail(b->m, -ENOMEM);

	for (unsigned k = 0; k < POINTS && !err; k++) {
		err = hl_work_check(&b->m->work);
		if (err)
			b->m->work.stopped = err;
		else
			err = read_point(b, k, sums);
	}
	free(sums);
	make_differences(b);
	hl_overview_bound_floors(b);
	return err;
}

/* --- the scan: short-lived blocks, and with a filter on blocks also trends --- */

struct scan {
	struct hl_scan_consumer consumer;
	struct hl_block_stream stream;
	struct hl_position to;
	bool floors; /* the scan finds them, too */
	struct hl_overview_builder *b;
};

static uint64_t class_end_ns(unsigned class)
{
	return class < 255 ? hl_lifetime_class_ns((uint8_t)(class + 1)) : UINT64_MAX;
}

static void make_bounds(struct hl_overview_builder *b)
{
	for (unsigned c = 0; c < 256; c++) {
		uint8_t *bound = &b->bound_of[c];

		for (*bound = 0;
			*bound < N_BOUNDS && class_end_ns(c) > hl_short_lived_bounds[*bound];)
			++*bound;
	}
}

static void reset_scan(void *arg)
{
	struct scan *x = arg;

	for (size_t i = 0; i < x->b->shorts.len; i++)
		x->b->shorts.data[i] = (struct hl_overview_shorts){0};
	for (size_t i = 0; i < x->b->trends.len && !x->b->by_sums; i++)
		x->b->trends.data[i] = (struct hl_overview_trend){0};
}

static int plan_events(struct hl_scan_consumer *r)
{
	struct scan *x = r->arg;

	hl_scan_consumer_up_to(r, x->b->m, &x->to);
	return 0;
}

static int begin_events(void *arg)
{
	struct scan *x = arg;

	reset_scan(arg);
	return x->floors ? hl_overview_watch_begin(x->b) : 0;
}

static int want_fields(void *arg, size_t chunk, unsigned *want)
{
	*want = HL_WANT_TIME | HL_WANT_NODE;
	return 0;
}

static int add_events(void *arg, size_t chunk, const struct hl_chunk_events *c)
{
	struct hl_overview_builder *b = ((struct scan *)arg)->b;
	uint32_t n_nodes = b->m->n_nodes;

	for (const struct hl_event *e = c->events; e < c->events + c->n_events; e++) {
		uint32_t node = e->node < n_nodes ? e->node : n_nodes, at;
		unsigned bound = b->bound_of[e->lifetime_class];

		hl_scan_prefetch_event(e);
		at = e->op == HL_OP_FREE && bound < N_BOUNDS ? b->row_of[node] : NO_ROW;
		if (at < UNKNOWN)
			b->shorts.data[at].below[bound] += e->blocks;
		at = b->watch_of ? b->watch_of[node] : NO_ROW;
		if (at == NO_ROW)
			continue;
		hl_overview_watch_time(b, e->time_ns);
		hl_overview_watch_event(&b->watches.data[at], e);
	}
	return 0;
}

/* The first moment at or after a time. */
static unsigned point_after(const struct hl_overview_builder *b, uint64_t ns)
{
	unsigned k =
		b->end_ns ? (unsigned)hl_min_u64((unsigned __int128)ns * POINTS / b->end_ns, POINTS)
			  : 0;

	while (k > 0 && point_ns(b, k - 1) >= ns)
		k--;
	while (k < POINTS && point_ns(b, k) < ns)
		k++;
	return k;
}

/* Points hold differences until the scan is complete. */
static void add_to_trend(
	const struct hl_overview_builder *b, struct hl_overview_trend *t, const struct hl_block *x)
{
	unsigned k = point_after(b, x->alloc_ns), end;

	if (k < POINTS) {
		t->live[k] += x->bytes;
		t->blocks[k] += x->blocks;
		t->allocs[k] += x->blocks;
	}
	end = x->free_ns == UINT64_MAX ? POINTS : point_after(b, x->free_ns);
	if (end < POINTS) {
		t->live[end] -= x->bytes;
		t->blocks[end] -= x->blocks;
	}
	if (k + 1 >= end)
		return;
	/* It was live at moment k, and is at all up to the last before its free. */
	t->floor_bytes[k + 1] += x->bytes;
	t->floor_blocks[k + 1] += x->blocks;
	if (end < POINTS) {
		t->floor_bytes[end] -= x->bytes;
		t->floor_blocks[end] -= x->blocks;
	}
}

static int add_block(void *arg, const struct hl_block *x)
{
	struct hl_overview_builder *b = ((struct scan *)arg)->b;
	unsigned bound;
	uint32_t row;
	int err = find_row(b, x->node, &row);

	if (err || row == NO_ROW)
		return err;
	if (row < b->trends.len)
		add_to_trend(b, &b->trends.data[row], x);
	if (x->free_ns == UINT64_MAX)
		return 0;
	bound = b->bound_of[hl_lifetime_class(x->free_ns - x->alloc_ns)];
	if (bound < N_BOUNDS)
		b->shorts.data[row].below[bound] += x->blocks;
	return 0;
}

static void sum_differences(struct hl_overview_builder *b)
{
	for (size_t i = 0; i < b->trends.len; i++) {
		struct hl_overview_trend *s = &b->trends.data[i];

		for (unsigned k = 1; k < POINTS; k++) {
			s->live[k] += s->live[k - 1];
			s->blocks[k] += s->blocks[k - 1];
			s->floor_bytes[k] += s->floor_bytes[k - 1];
			s->floor_blocks[k] += s->floor_blocks[k - 1];
		}
	}
	for (unsigned k = 0; k < POINTS; k++) {
		b->o->times[k] = point_ns(b, k);
		b->o->known[k] = point_ns(b, k) >= hl_model_base(b->m)->time_ns;
	}
}

static int scan_events(struct hl_overview_builder *b)
{
	struct scan x = {.b = b, .to = hl_position_at(b->m, UINT64_MAX)};
	int err;

	/* The events of a trace that begins late do not add up to live values; nor do those behind
	 * a loss, where the trends end. */
	x.floors = b->o->trend_state == HL_OVERVIEW_KNOWN && !hl_model_base(b->m)->is_late &&
		   b->trends.len == b->sites.len;

	x.consumer = (struct hl_scan_consumer){.plan = plan_events,
		.begin = begin_events,
		.want = want_fields,
		.chunk = add_events,
		.arg = &x};
	err = hl_scan(b->m, &x.consumer, NULL);
	if (!err && x.floors)
		hl_overview_watch_end(b);
	b->scan_cut = x.to.before_damage;
	b->o->before_damage |= x.to.before_damage;
	return err;
}

static int scan_blocks(struct hl_overview_builder *b)
{
	struct scan x = {.b = b};
	int err;

	x.stream = (struct hl_block_stream){.filter = b->opt->filter,
		.from = {.is_exact = true},
		.to = hl_position_at(b->m, UINT64_MAX),
		.read_all_frees = true,
		.unused = HL_WANT_ADDR | HL_WANT_FUNC,
		.begin = reset_scan,
		.block = add_block,
		.arg = &x};
	hl_block_stream_init(&x.stream, b->m);
	err = hl_scan(b->m, &x.stream.consumer, NULL);
	b->scan_cut = x.stream.to.before_damage;
	b->o->before_damage |= x.stream.to.before_damage;
	hl_block_stream_fini(&x.stream);
	if (!err)
		sum_differences(b);
	return err;
}

void hl_overview_count_short_lived(struct hl_overview_builder *b)
{
	uint64_t below[N_BOUNDS] = {0};
	struct hl_overview *o = b->o;
	size_t bound = 0;

	for (size_t i = 0; i < b->shorts.len; i++) {
		uint64_t *of_site = b->shorts.data[i].below;

		for (unsigned k = 0; k < N_BOUNDS; k++) {
			of_site[k] += k ? of_site[k - 1] : 0;
			below[k] += of_site[k];
		}
	}
	if (o->short_state == HL_OVERVIEW_KNOWN) {
		while (bound + 1 < N_BOUNDS && hl_short_lived_bounds[bound] < o->short_bound_ns)
			bound++;
	} else {
		bound = hl_short_lived_choose(below, b->end_ns);
		o->short_state = HL_OVERVIEW_KNOWN;
		o->short_bound_ns = hl_short_lived_bounds[bound];
		o->short_blocks = below[bound];
		o->short_of = o->allocated.blocks;
	}
	for (size_t i = 0; i < b->sites.len; i++)
		b->sites.data[i].short_blocks = b->shorts.data[i].below[bound];
}

int hl_overview_scan(struct hl_overview_builder *b)
{
	return b->by_sums ? scan_events(b) : scan_blocks(b);
}

int hl_overview_sites_init(struct hl_overview_builder *b)
{
	size_t n = (size_t)b->m->n_nodes + 1;

	make_bounds(b);
	b->row_of = malloc(n * sizeof(*b->row_of));
	for (size_t i = 0; i < n && b->row_of; i++)
		b->row_of[i] = UNKNOWN;
	return b->row_of ? 0 : hl_model_fail(b->m, -ENOMEM);
}

void hl_overview_sites_fini(struct hl_overview_builder *b)
{
	for (int i = 0; i < HL_ANSWERS; i++)
		hl_answer_fini(&b->answers[i]);
	hl_vec_free(&b->shorts);
	hl_vec_free(&b->watches);
	free(b->watch_of);
	hl_pair_map_fini(&b->by_frame);
	free(b->row_of);
}
