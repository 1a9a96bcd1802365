/* SPDX-License-Identifier: Apache-2.0 */
/*
 * quantity_test.c - every quantity by every key, against a plain count of the events; all keys give
 * the same total, and so do single blocks.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/attr.h"
#include "model/query/query.h"
#include "model/testing/test_fake_traces.h"

/* "a", or "a/d", as fake_trace.h names them; the paths of all tags inside "a" contain it. */
static bool fits_tag(const struct hl_event *e)
{
	return e->thread % 2;
}

static bool fits_size(const struct hl_event *e)
{
	return e->size >= 64 && e->size < 1024;
}

static bool expected_counts(const struct hl_fake_trace *s, const struct hl_query *q,
	size_t alloc_index, size_t free_index, size_t from, size_t to)
{
	bool in = alloc_index >= from && alloc_index < to, is_freed = free_index < to;

	switch (q->quantity) {
	case HL_QUANTITY_LIVE:
		return alloc_index < to && !is_freed;
	case HL_QUANTITY_ALLOCATED:
		return in;
	case HL_QUANTITY_TEMPORARY:
		if (!in || !is_freed)
			return false;
		if (q->temporary_ns == 0)
			return free_index == alloc_index + 1;
		return s->events[free_index].time_ns - s->events[alloc_index].time_ns <
		       q->temporary_ns;
	case HL_QUANTITY_GROWTH:
		return in && !is_freed;
	}
	return false;
}

static uint32_t expected_key(const struct hl_fake_trace *s, enum hl_key key, size_t alloc_index,
	size_t free_index, uint32_t n)
{
	const struct hl_event *e = &s->events[alloc_index];
	uint64_t life, bound = 1000;
	uint32_t class = 0;

	switch (key) {
	case HL_KEY_STACK:
		return e->node == HL_NODE_NONE ? n : e->node;
	case HL_KEY_THREAD:
		return s->tags ? e->thread / 2 : e->thread;
	case HL_KEY_TAG:
		return s->tags && e->thread % 2 ? e->thread / 2 : n;
	case HL_KEY_CALL:
		return e->func;
	case HL_KEY_SIZE:
		while (e->size >> class)
			class ++;
		return class;
	case HL_KEY_LIFETIME:
		if (free_index == SIZE_MAX)
			return n;
		life = s->events[free_index].time_ns - e->time_ns;
		for (; life >= bound && class < 10; bound *= 10)
			class ++;
		return class;
	default:
		return 0;
	}
}

static void check_query(const struct hl_fake_trace *s, struct hl_model *m, const size_t *frees,
	struct hl_query *q, bool (*fits)(const struct hl_event *e))
{
	size_t from = q->from.ns ? hl_fake_trace_prefix(s, q->from.ns - 1) : 0;
	size_t to = hl_fake_trace_prefix(s, q->to.ns);
	struct hl_fake_trace_value *want;
	struct hl_answer a;

	if (hl_model_query(m, q, &a))
		fail_msg("%s: %s", hl_quantity_name(q->quantity), hl_model_error(m));
	want = calloc((size_t)a.n_keys + 1, sizeof(*want));
	for (size_t i = 0; i < s->n_events; i++) {
		uint32_t key;

		if (s->events[i].op != HL_OP_ALLOC || (fits && !fits(&s->events[i])) ||
			!expected_counts(s, q, i, frees[i], from, to))
			continue;
		key = expected_key(s, q->key, i, frees[i], a.n_keys);
		assert_true(key <= a.n_keys);
		want[key].bytes += s->events[i].size;
		want[key].blocks++;
	}
	if (!equal(&a, want))
		fail_msg("%s: %s by key %d, %" PRIu64 "..%" PRIu64 " (decode %d, filter %d)",
			s->path, hl_quantity_name(q->quantity), (int)q->key, q->from.ns, q->to.ns,
			q->decode, fits != NULL);
	hl_answer_fini(&a);
	free(want);
}

/* For each event that is an allocation: the index of its free; SIZE_MAX: none. */
static size_t *find_frees(const struct hl_fake_trace *s)
{
	size_t *frees = malloc(s->n_events * sizeof(*frees));
	size_t *allocs = malloc(s->n_events * sizeof(*allocs));

	for (size_t i = 0; i < s->n_events; i++) {
		frees[i] = SIZE_MAX;
		if (s->events[i].op == HL_OP_ALLOC)
			allocs[s->events[i].ordinal] = i;
		else
			frees[allocs[s->events[i].ordinal]] = i;
	}
	free(allocs);
	return frees;
}

static void random_query(const struct hl_fake_trace *s, struct hl_query *q, uint64_t rng)
{
	uint64_t from = hl_hash_u64(rng) % (s->duration_ns + 1);

	*q = (struct hl_query){.quantity = hl_hash_u64(rng + 1) % 4,
		.key = hl_hash_u64(rng + 2) % (HL_KEY_TAG + 1),
		.decode = hl_hash_u64(rng + 3) % 2};
	q->from.ns = hl_hash_u64(rng + 4) % 3 ? from : 0;
	q->to.ns = from + hl_hash_u64(rng + 5) % (s->duration_ns + 1 - from);
	if (hl_hash_u64(rng + 6) % 2)
		q->temporary_ns = hl_hash_u64(rng + 7) % 100000;
}

/* Threads that are in scopes half of the time. */
static const struct hl_fake_trace_opts tagged = {.seed = 7,
	.events = 30000,
	.nodes = 50,
	.threads = 8,
	.live = 300,
	.chunk = 600,
	.keyframe = 1000,
	.live_set = 2001,
	.has_odd_events = true,
	.tags = true};

/* 200 random queries, half of them by decoding, a third with a filter. */
static void check_sample(const struct hl_fake_trace_opts *o, uint64_t seed)
{
	struct hl_filter_error error;
	struct hl_fake_trace s;
	struct hl_model *m;
	size_t *frees;

	assert_int_equal(hl_fake_trace_make(&s, o), 0);
	m = open_model(s.path);
	frees = find_frees(&s);
	for (uint64_t i = 0; i < 200; i++) {
		bool filter = i % 3 == 0, tag = filter && i % 2 && o->tags;
		struct hl_query q;

		random_query(&s, &q, (seed * 1000 + i) * 16);
		if (filter)
			assert_int_equal(hl_filter_parse(&q.filter,
						 tag ? "tag:a,/d$/" : "size:64..1023", &error),
				0);
		check_query(&s, m, frees, &q, tag ? fits_tag : filter ? fits_size : NULL);
		hl_filter_free(q.filter);
	}
	free(frees);
	hl_model_close(m);
	hl_fake_trace_free(&s);
}

static void random_queries_equal_plain_count(void **state)
{
	for (size_t k = 0; k < HL_ARRAY_LEN(samples); k++) {
		if (!samples[k].no_end) /* queries may be about times after the known end */
			check_sample(&samples[k], k);
	}
	check_sample(&tagged, 100);
}

/* For every quantity, the values by each key have the same total; and the blocks that a filter
 * selects and those that it does not select are all blocks. */
static void totals_are_equal_by_all_keys(void **state)
{
	static const char *const halves[][2] = {{"life:<10us", "-life:<10us"},
		{"alive:50%", "-alive:50%"}, {"thread:0,1", "-thread:0,1"}, {"tag:a/*", "-tag:a/*"},
		{"tag:*", "-tag:*"}, {"call:malloc,size:>100", "-call:malloc -size:>100"}};
	struct hl_fake_trace s;
	struct hl_model *m;

	assert_int_equal(hl_fake_trace_make(&s, &tagged), 0);
	m = open_model(s.path);
	for (int quantity = 0; quantity < 4; quantity++) {
		struct hl_query q = {.quantity = quantity,
			.from = {.kind = HL_TIME_SPEC_PERCENT, .percent = 20},
			.to = {.kind = HL_TIME_SPEC_PERCENT, .percent = 80}};
		struct hl_answer all, part;
		struct hl_filter_error error;

		assert_int_equal(hl_model_query(m, &q, &all), 0);
		for (q.key = 1; q.key <= HL_KEY_TAG; q.key++) {
			assert_int_equal(hl_model_query(m, &q, &part), 0);
			assert_int_equal(part.total.bytes, all.total.bytes);
			assert_int_equal(part.total.blocks, all.total.blocks);
			hl_answer_fini(&part);
		}
		q.key = HL_KEY_STACK;
		for (size_t i = 0; i < HL_ARRAY_LEN(halves); i++) {
			struct hl_value sum = {0};

			for (int half = 0; half < 2; half++) {
				assert_int_equal(
					hl_filter_parse(&q.filter, halves[i][half], &error), 0);
				assert_int_equal(hl_model_query(m, &q, &part), 0);
				sum.bytes += part.total.bytes;
				sum.blocks += part.total.blocks;
				hl_answer_fini(&part);
				hl_filter_free(q.filter);
			}
			q.filter = NULL;
			assert_int_equal(sum.bytes, all.total.bytes);
			assert_int_equal(sum.blocks, all.total.blocks);
		}
		hl_answer_fini(&all);
	}
	hl_model_close(m);
	hl_fake_trace_free(&s);
}

/* --- single blocks --- */

struct delivered {
	const struct hl_fake_trace *s;
	const size_t *frees; /* of events */
	size_t *allocs;      /* events, by ordinal */
	struct hl_fake_trace_value *values;
	struct hl_answer a;
	size_t begun;
	bool with_frees;
};

static void begin_blocks(void *arg)
{
	struct delivered *d = arg;

	memset(d->values, 0, ((size_t)d->s->nodes + 1) * sizeof(*d->values));
	d->begun++;
}

static int check_block(void *arg, const struct hl_block *b, const struct hl_value *value)
{
	struct delivered *d = arg;
	size_t alloc = d->allocs[b->ordinal];
	uint32_t node = b->node == HL_NODE_NONE ? d->s->nodes : b->node;
	uint64_t free_ns = UINT64_MAX;

	assert_true(d->begun > 0);
	assert_int_equal(value->bytes, d->s->events[alloc].size);
	assert_int_equal(value->blocks, 1);
	if (d->frees[alloc] != SIZE_MAX)
		free_ns = d->s->events[d->frees[alloc]].time_ns;
	if (d->with_frees)
		assert_true(b->free_ns == free_ns);
	d->values[node].bytes += value->bytes;
	d->values[node].blocks++;
	return 0;
}

/* The blocks have the sums, the total and the times of the answer by stack. */
static void check_blocks(struct hl_model *m, const struct hl_query *q, struct delivered *d)
{
	const struct hl_block_sink sink = {
		.begin = begin_blocks, .block = check_block, .with_frees = d->with_frees, .arg = d};
	struct hl_answer a;

	d->begun = 0;
	assert_int_equal(hl_model_query(m, q, &a), 0);
	if (hl_query_blocks(m, q, &sink, &d->a))
		fail_msg("%s: %s", hl_quantity_name(q->quantity), hl_model_error(m));
	assert_true(equal(&a, d->values));
	assert_int_equal(d->a.total.bytes, a.total.bytes);
	assert_int_equal(d->a.total.blocks, a.total.blocks);
	assert_int_equal(d->a.from_ns, a.from_ns);
	assert_int_equal(d->a.to_ns, a.to_ns);
	assert_int_equal(d->a.asked_ns, a.asked_ns);
	assert_int_equal(d->a.quantity, q->quantity);
	assert_null(d->a.values);
	assert_false(d->a.before_damage);
	hl_answer_fini(&a);
}

static size_t *find_allocs(const struct hl_fake_trace *s)
{
	size_t *allocs = malloc(s->n_events * sizeof(*allocs));

	for (size_t i = 0; i < s->n_events; i++) {
		if (s->events[i].op == HL_OP_ALLOC)
			allocs[s->events[i].ordinal] = i;
	}
	return allocs;
}

static void blocks_equal_the_answer(void **state)
{
	static const char *const filters[] = {NULL, "size:64..1023", "life:<10us", "fn:malloc"};
	struct hl_fake_trace s;
	struct hl_model *m;
	struct delivered d = {.s = &s};
	size_t *frees;

	assert_int_equal(hl_fake_trace_make(&s, &tagged), 0);
	m = open_model(s.path);
	d.frees = frees = find_frees(&s);
	d.allocs = find_allocs(&s);
	d.values = calloc((size_t)s.nodes + 1, sizeof(*d.values));
	for (uint64_t i = 0; i < 96; i++) {
		const char *filter = filters[i / 4 % HL_ARRAY_LEN(filters)];
		struct hl_filter_error error;
		struct hl_query q;

		random_query(&s, &q, i * 16);
		q.quantity = i % 4;
		q.key = HL_KEY_STACK;
		d.with_frees = i / 16 % 2;
		if (filter)
			assert_int_equal(hl_filter_parse(&q.filter, filter, &error), 0);
		check_blocks(m, &q, &d);
		hl_filter_free(q.filter);
	}
	free(d.values);
	free(d.allocs);
	free(frees);
	hl_model_close(m);
	hl_fake_trace_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(random_queries_equal_plain_count),
		cmocka_unit_test(totals_are_equal_by_all_keys),
		cmocka_unit_test(blocks_equal_the_answer)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
