/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group_curves_fill.c - the values of all rows at all moments: from sums by stack, from sums by
 * another key, or from single blocks.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "model/query/query_plan.h"
#include "model/query/sums_by_key.h"
#include "model/scan/block_stream.h"
#include "model/views/curves/group_curves_internal.h"
#include "model/views/curves/moments.h"

int hl_curves_choose_moments(struct hl_curves_builder *b)
{
	const struct hl_time_range *r = &b->request->range;
	struct hl_group_curves *c = b->c;

	c->n_points = b->request->points;
	if (!c->by_events)
		c->n_points = hl_moments_choose(
			b->m, r, b->key == HL_KEY_STACK, b->positions, c->n_points);
	for (size_t k = 0; k < c->n_points; k++)
		c->times[k] = c->by_events ? hl_time_range_end(r, k, c->n_points)
					   : b->positions[k].time_ns;
	/* The end of the run is the last moment, also if its last chunk ended before it. */
	if (r->to_ns >= hl_model_end_ns(b->m))
		c->times[c->n_points - 1] = hl_model_end_ns(b->m);
	return 0;
}

static void add_value(struct hl_curves_builder *b, uint32_t key, size_t moment, uint64_t bytes)
{
	struct hl_group_curves *c = b->c;
	uint32_t row = b->row_of[key < b->n_keys ? key : b->n_keys];

	if (row < c->table.n)
		c->live[row * c->n_points + moment] += bytes;
	/* A stack without a row is one that the filter excludes. A block was selected before. */
	if (row < c->table.n || c->by_events)
		c->total[moment] += bytes;
}

/* --- from sums by stack --- */

static int add_moment(struct hl_curves_builder *b, struct hl_sums_walk *w, size_t k)
{
	struct hl_position p = b->positions[k];
	int err = p.is_exact ? hl_sums_walk_to(w, &p) : 0;

	b->c->known[k] = p.is_exact && !err && !p.before_damage;
	b->c->before_damage |= p.before_damage;
	for (uint32_t i = 0; i <= b->n_keys && b->c->known[k]; i++)
		add_value(b, i, k, hl_sums_live_bytes(&w->sums[i]));
	return err;
}

static int fill_by_stack(struct hl_curves_builder *b)
{
	struct hl_sums_walk w;
	int err = hl_sums_walk_init(&w, b->m);

	hl_work_begin(&b->m->work, HL_WORK_SHORT, HL_WORK_READING);
	for (size_t k = 0; k < b->c->n_points && !err; k++) {
		err = hl_work_tick(&b->m->work, k, b->c->n_points);
		if (!err)
			err = add_moment(b, &w, k);
	}
	hl_work_end(&b->m->work, HL_WORK_SHORT);
	hl_sums_walk_fini(&w);
	return err;
}

/* --- from sums by thread, size or tag --- */

struct key_fill {
	struct hl_curves_builder *b;
	struct hl_key_sums sums;
};

static void reset_moment(struct hl_group_curves *c, size_t k)
{
	c->total[k] = 0;
	for (size_t i = 0; i < c->table.n; i++)
		c->live[i * c->n_points + k] = 0;
}

static void add_stop(void *arg, size_t k)
{
	struct key_fill *f = arg;

	reset_moment(f->b->c, k); /* the scan may have begun again */
	for (uint32_t i = 0; i <= f->b->n_keys; i++)
		add_value(f->b, i, k, hl_tally_live_bytes(f->sums.tallies[i]));
	f->b->c->known[k] = true;
}

/* More was freed than allocated, which is impossible. */
static int verify_keys(struct key_fill *f)
{
	struct hl_sums *sums = malloc(((size_t)f->b->n_keys + 1) * sizeof(*sums));
	int err = sums ? hl_key_sums_load(&f->sums, sums) : -ENOMEM;

	free(sums);
	return err;
}

static int fill_by_key(struct hl_curves_builder *b)
{
	struct key_fill f = {.b = b};
	struct hl_position last = b->positions[b->c->n_points - 1];
	int err = hl_key_sums_init(&f.sums, b->m, b->key, b->n_keys, &last);

	f.sums.stops = b->positions;
	f.sums.n_stops = b->c->n_points;
	f.sums.at_stop = add_stop;
	f.sums.arg = &f;
	if (!err)
		err = hl_scan(b->m, &f.sums.consumer, NULL);
	if (!err)
		err = verify_keys(&f);
	b->c->before_damage |= f.sums.position.before_damage;
	for (size_t k = f.sums.next; k < b->c->n_points && !err; k++)
		b->c->known[k] = false; /* of a scan that ended later and began again */
	hl_key_sums_fini(&f.sums);
	return err;
}

/* --- from single blocks --- */

struct block_fill {
	struct hl_curves_builder *b;
	struct hl_block_stream stream;
	bool to_end;
};

static void begin_blocks(void *arg)
{
	struct hl_group_curves *c = ((struct block_fill *)arg)->b->c;

	memset(c->total, 0, c->n_points * sizeof(*c->total));
	memset(c->live, 0, c->table.n * c->n_points * sizeof(*c->live));
}

/* The first moment at or after a time; n_points: there is none. */
static size_t moment_after(const struct block_fill *f, uint64_t ns)
{
	const struct hl_group_curves *c = f->b->c;
	size_t lo = 0, hi = c->n_points;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (c->times[mid] < ns && !(f->to_end && mid + 1 == c->n_points))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Cells hold differences until the scan is complete. */
static int add_block(void *arg, const struct hl_block *x)
{
	struct block_fill *f = arg;
	size_t n = f->b->c->n_points, first = moment_after(f, x->alloc_ns), end = n;
	uint32_t key = hl_key_of(f->b->m, f->b->key, x);

	if (x->free_ns != UINT64_MAX && x->free_phase != HL_RANGE_AFTER)
		end = moment_after(f, x->free_ns);
	if (first >= end)
		return 0;
	add_value(f->b, key, first, x->bytes);
	if (end < n)
		add_value(f->b, key, end, -x->bytes);
	return 0;
}

static void sum_up(uint64_t *values, size_t n)
{
	for (size_t k = 1; k < n; k++)
		values[k] += values[k - 1];
}

static void finish_blocks(struct block_fill *f)
{
	struct hl_group_curves *c = f->b->c;
	const struct hl_position *to = &f->stream.to;
	const struct hl_base *base = hl_model_base(f->b->m);

	sum_up(c->total, c->n_points);
	for (size_t i = 0; i < c->table.n; i++)
		sum_up(c->live + i * c->n_points, c->n_points);
	c->before_damage = to->before_damage;
	for (size_t k = 0; k < c->n_points; k++) {
		c->known[k] = !(base->is_late && c->times[k] < base->time_ns) &&
			      !(to->before_damage && c->times[k] > to->time_ns);
		if (!c->known[k])
			reset_moment(c, k);
	}
}

static int fill_by_block(struct hl_curves_builder *b)
{
	const struct hl_time_range *r = &b->request->range;
	struct block_fill f = {.b = b, .to_end = r->to_ns >= hl_model_end_ns(b->m)};
	int err;

	f.stream = (struct hl_block_stream){.filter = b->request->filter,
		.from = {.is_exact = true},
		.to = hl_position_at(b->m, f.to_end ? UINT64_MAX : r->to_ns),
		.read_all_frees = b->key == HL_KEY_LIFETIME,
		.func = b->key == HL_KEY_CALL,
		.unused = HL_WANT_ADDR | (b->key == HL_KEY_CALL ? 0 : HL_WANT_FUNC),
		.begin = begin_blocks,
		.block = add_block,
		.arg = &f};
	hl_block_stream_init(&f.stream, b->m);
	err = hl_scan(b->m, &f.stream.consumer, NULL);
	if (!err)
		finish_blocks(&f);
	hl_block_stream_fini(&f.stream);
	return err;
}

int hl_curves_fill(struct hl_curves_builder *b)
{
	if (b->c->by_events)
		return fill_by_block(b);
	return b->key == HL_KEY_STACK ? fill_by_stack(b) : fill_by_key(b);
}
