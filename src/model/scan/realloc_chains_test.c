/* SPDX-License-Identifier: Apache-2.0 */
/*
 * realloc_chains_test.c - realloc chains against a plain walk over the events, and the filter terms
 * about chains against a plain count.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "model/scan/realloc_chains.h"
#include "model/scan/lifetimes.h"
#include "model/testing/test_fake_traces.h"

/* The expected chain of each ordinal, from the list of events. */
struct expected_chains {
	struct hl_chain *of;
	uint64_t *size, *alloc_ns, *free_ns;
	uint64_t *next; /* the ordinal that a realloc made from it; UINT64_MAX: none */
	bool *made;
	uint64_t n;
};

static void find_links(struct expected_chains *t, const struct hl_fake_trace *s)
{
	for (size_t i = 0; i < s->n_events; i++) {
		const struct hl_event *e = &s->events[i];

		if (e->op == HL_OP_ALLOC) {
			t->size[e->ordinal] = e->size;
			t->alloc_ns[e->ordinal] = e->time_ns;
			t->n++;
		} else {
			t->free_ns[e->ordinal] = e->time_ns;
		}
		if (e->op == HL_OP_ALLOC && e->flags & (HL_EVENT_MOVED | HL_EVENT_LINKED)) {
			t->next[e->flags & HL_EVENT_MOVED ? s->events[i - 1].ordinal
							  : e->realloc_of] = e->ordinal;
			t->made[e->ordinal] = true;
		}
	}
}

static void find_chain(struct expected_chains *t, uint64_t first)
{
	struct hl_chain c = {.first_size = t->size[first], .alloc_ns = t->alloc_ns[first]};
	uint64_t last = first;

	for (uint64_t o = first; o != UINT64_MAX; o = t->next[o]) {
		c.length++;
		last = o;
	}
	c.last_size = t->size[last];
	c.free_ns = t->free_ns[last];
	for (uint64_t o = first; o != UINT64_MAX; o = t->next[o]) {
		c.position++;
		t->of[o] = c;
	}
}

static void expected_init(struct expected_chains *t, const struct hl_fake_trace *s)
{
	size_t n = s->n_events + 1;

	*t = (struct expected_chains){.of = calloc(n, sizeof(*t->of)),
		.size = calloc(n, sizeof(uint64_t)),
		.alloc_ns = calloc(n, sizeof(uint64_t)),
		.free_ns = malloc(n * sizeof(uint64_t)),
		.next = malloc(n * sizeof(uint64_t)),
		.made = calloc(n, sizeof(bool))};
	for (size_t i = 0; i < n; i++)
		t->free_ns[i] = t->next[i] = UINT64_MAX;
	find_links(t, s);
	for (uint64_t o = 0; o < t->n; o++) {
		if (!t->made[o])
			find_chain(t, o);
	}
}

static void expected_fini(struct expected_chains *t)
{
	free(t->of);
	free(t->size);
	free(t->alloc_ns);
	free(t->free_ns);
	free(t->next);
	free(t->made);
}

/* --- a trace with mostly reallocs: chains in the other samples are not longer than 2 --- */

#define SIM_LIVE   40u
#define SIM_EVENTS 20000u

struct realloc_sim {
	struct hl_event live[SIM_LIVE]; /* allocations of live blocks */
	size_t n_live;
	uint64_t random, now_ns, ordinal;
	uint64_t open; /* ordinal of the block that an unfinished realloc freed, plus 1; 0: none */
	struct hl_fake_trace *s;
	struct hl_writer *w;
};

static uint64_t sim_random(struct realloc_sim *o, uint64_t below)
{
	o->random = hl_hash_u64(o->random + 1);
	return (o->random >> 20) % below;
}

static void sim_add(struct realloc_sim *o, const struct hl_event *e)
{
	o->s->events[o->s->n_events++] = *e;
	assert_int_equal(hl_writer_add_event(o->w, e), 0);
}

static void sim_free(struct realloc_sim *o, size_t i, uint8_t flags)
{
	struct hl_event e = o->live[i];

	e.op = HL_OP_FREE;
	e.func = flags ? HL_FUNC_REALLOC : HL_FUNC_FREE;
	e.flags = flags;
	e.alloc_ns = e.time_ns;
	e.alloc_role = e.thread;
	e.time_ns = o->now_ns;
	e.thread = (uint32_t)sim_random(o, 3);
	e.lifetime_class = hl_lifetime_class(e.time_ns - e.alloc_ns);
	sim_add(o, &e);
	o->live[i] = o->live[--o->n_live];
}

/* Every third realloc is in place. Sizes are random. */
static void sim_alloc(struct realloc_sim *o, uint8_t flags)
{
	struct hl_event e = {.time_ns = o->now_ns,
		.addr = o->ordinal % 3 == 0 && flags & HL_EVENT_MOVED
				? o->s->events[o->s->n_events - 1].addr
				: 0x10000 + o->ordinal * 4096,
		.size = sim_random(o, 4096),
		.ordinal = o->ordinal++,
		.node = (uint32_t)sim_random(o, 9),
		.free_node = HL_NODE_NONE,
		.thread = (uint32_t)sim_random(o, 3),
		.op = HL_OP_ALLOC,
		.func = flags ? HL_FUNC_REALLOC : HL_FUNC_MALLOC,
		.flags = flags,
		.realloc_of = o->open - 1,
		.blocks = 1};

	if (flags & HL_EVENT_MOVED)
		e.thread = o->s->events[o->s->n_events - 1].thread;
	e.bytes = e.size;
	sim_add(o, &e);
	o->live[o->n_live++] = e;
}

static void sim_step(struct realloc_sim *o)
{
	uint64_t what = sim_random(o, 100);
	size_t i = o->n_live ? (size_t)sim_random(o, o->n_live) : 0;

	o->now_ns += HL_TIME_UNIT_NS * sim_random(o, 4);
	if (o->n_live == 0 || (what < 20 && o->n_live < SIM_LIVE)) {
		sim_alloc(o, 0);
	} else if (what < 36) {
		sim_free(o, i, 0);
	} else if (o->open && what < 37 && o->n_live < SIM_LIVE) {
		sim_alloc(o, HL_EVENT_LINKED);
		o->open = 0;
	} else if (!o->open && what < 38) {
		o->open = o->live[i].ordinal + 1;
		sim_free(o, i, 0);
	} else {
		sim_free(o, i, HL_EVENT_MOVED);
		sim_alloc(o, HL_EVENT_MOVED);
	}
}

static int make_realloc_trace(struct hl_fake_trace *s)
{
	static const struct hl_meta meta = {
		.program = "/bin/own", .command = "", .arch = "cpu", .mode = "trace"};
	static const struct hl_fake_trace_opts tables = {.nodes = 9, .threads = 3};
	struct hl_writer_options wo = {.max_events = 64, .keyframe_events = 4000};
	struct realloc_sim o = {.s = s};
	struct hl_counters counters = {0};
	struct hl_end end = {.kind = HL_END_EXIT};

	*s = (struct hl_fake_trace){.path = "/tmp/hl-chains-XXXXXX", .nodes = 9};
	s->events = calloc(SIM_EVENTS + 2, sizeof(*s->events));
	assert_int_equal(hl_writer_open_with(&o.w, mkstemp(s->path), &meta, &wo), 0);
	hl_fake_trace_tables(o.w, &tables);
	while (s->n_events < SIM_EVENTS)
		sim_step(&o);
	end.duration_ns = o.now_ns;
	assert_int_equal(hl_writer_end(o.w, &end, &counters), 0);
	hl_writer_close(o.w);
	return 0;
}

#define N_SAMPLES (HL_ARRAY_LEN(samples) + 1)

static int make_sample(struct hl_fake_trace *s, size_t i)
{
	return i < HL_ARRAY_LEN(samples) ? hl_fake_trace_make(s, &samples[i])
					 : make_realloc_trace(s);
}

/* --- tests --- */

static void chains_equal_plain_walk(void **state)
{
	uint64_t longest = 0;

	for (size_t k = 0; k < N_SAMPLES; k++) {
		struct hl_fake_trace s;
		struct hl_model *m;
		struct expected_chains t;

		assert_int_equal(make_sample(&s, k), 0);
		expected_init(&t, &s);
		m = open_model(s.path);
		assert_int_equal(hl_model_load_chains(m), 0);
		for (uint64_t o = 0; o < t.n; o++) {
			struct hl_block b = {.ordinal = o,
				.size = t.size[o],
				.alloc_ns = t.alloc_ns[o],
				.free_ns = t.free_ns[o],
				.pool = UINT32_MAX};
			struct hl_chain c = hl_chain_of(m, &b), *want = &t.of[o];

			if (c.length != want->length || c.position != want->position ||
				c.first_size != want->first_size ||
				c.last_size != want->last_size || c.alloc_ns != want->alloc_ns ||
				c.free_ns != want->free_ns)
				fail_msg("sample %zu, block %" PRIu64 ": %u of %u, should be %u of "
					 "%u",
					k, o, c.position, c.length, want->position, want->length);
			longest = want->length > longest ? want->length : longest;
		}
		hl_model_close(m);
		expected_fini(&t);
		hl_fake_trace_free(&s);
	}
	assert_true(longest >= 10); /* or the test checks nothing */
}

/* Blocks of pools have ordinals of their own. */
static void pool_blocks_are_chains_of_length_1(void **state)
{
	struct hl_fake_trace s;
	struct hl_model *m;
	struct expected_chains t;
	uint64_t o = 0;

	assert_int_equal(hl_fake_trace_make(&s, &samples[0]), 0);
	expected_init(&t, &s);
	while (t.of[o].length < 2)
		o++;
	m = open_model(s.path);
	assert_int_equal(hl_model_load_chains(m), 0);
	assert_int_equal(
		hl_chain_of(m, &(struct hl_block){.ordinal = o, .pool = UINT32_MAX}).length,
		t.of[o].length);
	assert_int_equal(hl_chain_of(m, &(struct hl_block){.ordinal = o, .pool = 0}).length, 1);
	hl_model_close(m);
	expected_fini(&t);
	hl_fake_trace_free(&s);
}

static uint64_t life_of(const struct hl_chain *c)
{
	return c->free_ns == UINT64_MAX ? UINT64_MAX : c->free_ns - c->alloc_ns;
}

static bool is_long(const struct hl_chain *c)
{
	return c->length >= 3;
}
static bool is_second(const struct hl_chain *c)
{
	return c->position == 2;
}
static bool is_last(const struct hl_chain *c)
{
	return c->position == c->length;
}
static bool starts_small(const struct hl_chain *c)
{
	return c->first_size < 100;
}
static bool ends_large(const struct hl_chain *c)
{
	return c->last_size >= 100 && c->last_size <= 2048;
}
static bool is_short_lived(const struct hl_chain *c)
{
	return life_of(c) < 5000;
}
static bool is_never_freed(const struct hl_chain *c)
{
	return c->free_ns == UINT64_MAX;
}
static bool not_second(const struct hl_chain *c)
{
	return !is_second(c);
}

static const struct {
	const char *expr;
	bool (*holds)(const struct hl_chain *c);
} terms[] = {
	{"chain-length:>=3", is_long},
	{"chain-length>2", is_long},
	{"chain-position:2", is_second},
	{"-chain-position:2", not_second},
	{"chain-position:last", is_last},
	{"chain-first:<100", starts_small},
	{"chain-last:100..2K", ends_large},
	{"chain-life:<5us", is_short_lived},
	{"chain-alive:end", is_never_freed},
};

static void chain_filters_equal_plain_count(void **state)
{
	static const enum hl_quantity quantities[] = {HL_QUANTITY_ALLOCATED, HL_QUANTITY_LIVE};

	for (size_t k = 0; k < N_SAMPLES * HL_ARRAY_LEN(terms) * 2; k++) {
		size_t term = k / 2 % HL_ARRAY_LEN(terms);
		struct hl_query q = {
			.quantity = quantities[k % 2], .to = {.kind = HL_TIME_SPEC_END}};
		struct hl_filter_error error;
		struct hl_answer a;
		struct hl_fake_trace s;
		struct hl_model *m;
		struct expected_chains t;
		uint64_t blocks = 0, bytes = 0;

		assert_int_equal(make_sample(&s, k / 2 / HL_ARRAY_LEN(terms)), 0);
		expected_init(&t, &s);
		for (uint64_t o = 0; o < t.n; o++) {
			if (!terms[term].holds(&t.of[o]) ||
				(q.quantity == HL_QUANTITY_LIVE && t.free_ns[o] != UINT64_MAX))
				continue;
			blocks++;
			bytes += t.size[o];
		}
		m = open_model(s.path);
		assert_int_equal(hl_filter_parse(&q.filter, terms[term].expr, &error), 0);
		assert_int_equal(hl_model_query(m, &q, &a), 0);
		if (a.total.blocks != blocks || a.total.bytes != bytes)
			fail_msg("sample %zu, %s, %s: %" PRIu64 " blocks and not %" PRIu64,
				k / 2 / HL_ARRAY_LEN(terms), terms[term].expr,
				hl_quantity_name(q.quantity), a.total.blocks, blocks);
		hl_answer_fini(&a);
		hl_filter_free(q.filter);
		hl_model_close(m);
		expected_fini(&t);
		hl_fake_trace_free(&s);
	}
}

/* For each event the filter gives the result that it gives for the event's block. */
static void events_are_filtered_by_their_block(void **state)
{
	static const char *const exprs[] = {"life:<2us", "alive:50%", "chain-life:>=2us"};

	for (size_t k = 0; k < HL_ARRAY_LEN(exprs); k++) {
		struct hl_filter_error error;
		struct hl_filter *f;
		struct hl_fake_trace s;
		struct hl_model *m;
		struct expected_chains t;
		uint64_t held = 0, at;

		assert_int_equal(make_realloc_trace(&s), 0);
		expected_init(&t, &s);
		m = open_model(s.path);
		at = hl_model_end_ns(m) / 2;
		assert_int_equal(hl_filter_parse(&f, exprs[k], &error), 0);
		assert_int_equal(hl_filter_bind(f, m), 0);
		assert_int_equal(hl_filter_load_frees(f, m), 0);
		for (size_t i = 0; i < s.n_events; i++) {
			uint64_t o = s.events[i].ordinal, life;
			bool holds, want;

			life = t.free_ns[o] == UINT64_MAX ? UINT64_MAX
							  : t.free_ns[o] - t.alloc_ns[o];
			want = k == 0   ? life < 2000
			       : k == 1 ? t.alloc_ns[o] <= at && t.free_ns[o] > at
					: life_of(&t.of[o]) >= 2000;
			assert_int_equal(hl_filter_event(f, m, &s.events[i], i, &holds), 0);
			if (holds != want)
				fail_msg("%s, event %zu: %d", exprs[k], i, holds);
			held += holds;
		}
		assert_true(held > 0 && held < s.n_events);
		hl_filter_free(f);
		hl_model_close(m);
		expected_fini(&t);
		hl_fake_trace_free(&s);
	}
}

/* If a part is lost, it may contain the realloc of a block. */
static void damaged_trace_has_no_chains(void **state)
{
	struct hl_fake_trace s;
	struct hl_model *m;
	struct hl_filter *f;
	struct hl_filter_error error;

	assert_int_equal(hl_fake_trace_make(&s, &samples[0]), 0);
	flip(s.path, 60000, 8);
	m = open_model(s.path);
	assert_int_equal(hl_filter_parse(&f, "chain-length:2", &error), 0);
	assert_int_equal(hl_filter_bind(f, m), -ENODATA);
	assert_non_null(strstr(hl_model_error(m), "realloc chains are not known"));
	hl_filter_free(f);
	hl_model_close(m);
	hl_fake_trace_free(&s);
}

/* Errors point at the wrong part of the expression. */
static void errors_point_at_the_wrong_value(void **state)
{
	static const struct {
		const char *expr;
		size_t at;
	} cases[] = {
		{"chain-length:x", 13},
		{"chain-position:first", 15},
		{"chain-last:4Q", 12},
		{"chain-life:soon", 11},
		{"chain-alive:>end", 11},
		{"chain-size:4", 0},
	};

	for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
		struct hl_filter_error error = {0};
		struct hl_filter *f;

		assert_int_equal(hl_filter_parse(&f, cases[i].expr, &error), -EINVAL);
		if (error.at != cases[i].at)
			fail_msg("%s: at %zu: %s", cases[i].expr, error.at, error.text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chains_equal_plain_walk),
		cmocka_unit_test(pool_blocks_are_chains_of_length_1),
		cmocka_unit_test(chain_filters_equal_plain_count),
		cmocka_unit_test(events_are_filtered_by_their_block),
		cmocka_unit_test(damaged_trace_has_no_chains),
		cmocka_unit_test(errors_point_at_the_wrong_value),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
