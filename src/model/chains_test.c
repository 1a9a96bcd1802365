/*
 * chains_test.c - realloc chains against a plain walk over the events, and the filter's terms about
 * them against a plain count.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "model/chains.h"
#include "model/lives.h"
#include "model/test_samples.h"

/* Of each ordinal: its chain as the list of events has it. */
struct truth {
	struct hl_chain *of;
	uint64_t *size, *birth, *death;
	uint64_t *next; /* the ordinal that a realloc made of it; UINT64_MAX: none */
	bool *made;
	uint64_t n;
};

static void find_links(struct truth *t, const struct hl_sample *s)
{
	for (size_t i = 0; i < s->n_events; i++) {
		const struct hl_event *e = &s->events[i];

		if (e->op == HL_OP_ALLOC) {
			t->size[e->ordinal] = e->size;
			t->birth[e->ordinal] = e->time_ns;
			t->n++;
		} else {
			t->death[e->ordinal] = e->time_ns;
		}
		if (e->op == HL_OP_ALLOC && e->flags & (HL_EVENT_MOVED | HL_EVENT_LINKED)) {
			t->next[e->flags & HL_EVENT_MOVED ? s->events[i - 1].ordinal : e->made_of] =
				e->ordinal;
			t->made[e->ordinal] = true;
		}
	}
}

static void find_chain(struct truth *t, uint64_t first)
{
	struct hl_chain c = {.first_size = t->size[first], .birth_ns = t->birth[first]};
	uint64_t last = first;

	for (uint64_t o = first; o != UINT64_MAX; o = t->next[o]) {
		c.length++;
		last = o;
	}
	c.last_size = t->size[last];
	c.death_ns = t->death[last];
	for (uint64_t o = first; o != UINT64_MAX; o = t->next[o]) {
		c.position++;
		t->of[o] = c;
	}
}

static void truth_init(struct truth *t, const struct hl_sample *s)
{
	size_t n = s->n_events + 1;

	*t = (struct truth){.of = calloc(n, sizeof(*t->of)),
		.size = calloc(n, sizeof(uint64_t)),
		.birth = calloc(n, sizeof(uint64_t)),
		.death = malloc(n * sizeof(uint64_t)),
		.next = malloc(n * sizeof(uint64_t)),
		.made = calloc(n, sizeof(bool))};
	for (size_t i = 0; i < n; i++)
		t->death[i] = t->next[i] = UINT64_MAX;
	find_links(t, s);
	for (uint64_t o = 0; o < t->n; o++) {
		if (!t->made[o])
			find_chain(t, o);
	}
}

static void truth_fini(struct truth *t)
{
	free(t->of);
	free(t->size);
	free(t->birth);
	free(t->death);
	free(t->next);
	free(t->made);
}

/* --- a trace that mostly reallocates: the made-up ones have no chain longer than 2 --- */

#define OWN_LIVE   40u
#define OWN_EVENTS 20000u

struct own {
	struct hl_event live[OWN_LIVE]; /* allocations of blocks that are not freed */
	size_t n_live;
	uint64_t random, now_ns, ordinal;
	uint64_t open; /* of the block that an unfinished realloc has taken, plus 1; 0: none */
	struct hl_sample *s;
	struct hl_writer *w;
};

static uint64_t own_random(struct own *o, uint64_t below)
{
	o->random = hl_hash_u64(o->random + 1);
	return (o->random >> 20) % below;
}

static void own_add(struct own *o, const struct hl_event *e)
{
	o->s->events[o->s->n_events++] = *e;
	assert_int_equal(hl_writer_add_event(o->w, e), 0);
}

static void own_free(struct own *o, size_t i, uint8_t flags)
{
	struct hl_event e = o->live[i];

	e.op = HL_OP_FREE;
	e.func = flags ? HL_FUNC_REALLOC : HL_FUNC_FREE;
	e.flags = flags;
	e.birth_ns = e.time_ns;
	e.birth_thread = e.thread;
	e.time_ns = o->now_ns;
	e.thread = (uint32_t)own_random(o, 3);
	e.life_q = hl_life_class(e.time_ns - e.birth_ns);
	own_add(o, &e);
	o->live[i] = o->live[--o->n_live];
}

/* In place every third time, smaller or larger. */
static void own_alloc(struct own *o, uint8_t flags)
{
	struct hl_event e = {.time_ns = o->now_ns,
		.addr = o->ordinal % 3 == 0 && flags & HL_EVENT_MOVED
				? o->s->events[o->s->n_events - 1].addr
				: 0x10000 + o->ordinal * 4096,
		.size = own_random(o, 4096),
		.ordinal = o->ordinal++,
		.node = (uint32_t)own_random(o, 9),
		.free_node = HL_NODE_NONE,
		.thread = (uint32_t)own_random(o, 3),
		.op = HL_OP_ALLOC,
		.func = flags ? HL_FUNC_REALLOC : HL_FUNC_MALLOC,
		.flags = flags,
		.made_of = o->open - 1,
		.blocks = 1};

	if (flags & HL_EVENT_MOVED)
		e.thread = o->s->events[o->s->n_events - 1].thread;
	e.bytes = e.size;
	own_add(o, &e);
	o->live[o->n_live++] = e;
}

static void own_step(struct own *o)
{
	uint64_t what = own_random(o, 100);
	size_t i = o->n_live ? (size_t)own_random(o, o->n_live) : 0;

	o->now_ns += HL_TIME_UNIT_NS * own_random(o, 4);
	if (o->n_live == 0 || (what < 20 && o->n_live < OWN_LIVE)) {
		own_alloc(o, 0);
	} else if (what < 36) {
		own_free(o, i, 0);
	} else if (o->open && what < 37 && o->n_live < OWN_LIVE) {
		own_alloc(o, HL_EVENT_LINKED);
		o->open = 0;
	} else if (!o->open && what < 38) {
		o->open = o->live[i].ordinal + 1;
		own_free(o, i, 0);
	} else {
		own_free(o, i, HL_EVENT_MOVED);
		own_alloc(o, HL_EVENT_MOVED);
	}
}

static int own_make(struct hl_sample *s)
{
	static const struct hl_meta meta = {
		.program = "/bin/own", .command = "", .arch = "x86_64", .mode = "trace"};
	static const struct hl_sample_opts tables = {.nodes = 9, .threads = 3};
	struct hl_writer_options wo = {.max_events = 64, .keyframe_events = 4000};
	struct own o = {.s = s};
	struct hl_counters counters = {0};
	struct hl_end end = {.kind = HL_END_EXIT};

	*s = (struct hl_sample){.path = "/tmp/hl-chains-XXXXXX", .nodes = 9};
	s->events = calloc(OWN_EVENTS + 2, sizeof(*s->events));
	assert_int_equal(hl_writer_open_with(&o.w, mkstemp(s->path), &meta, &wo), 0);
	hl_sample_tables(o.w, &tables);
	while (s->n_events < OWN_EVENTS)
		own_step(&o);
	end.duration_ns = o.now_ns;
	assert_int_equal(hl_writer_end(o.w, &end, &counters), 0);
	hl_writer_close(o.w);
	return 0;
}

#define N_SAMPLES (HL_ARRAY_LEN(samples) + 1)

static int make_sample(struct hl_sample *s, size_t i)
{
	return i < HL_ARRAY_LEN(samples) ? hl_sample_make(s, &samples[i]) : own_make(s);
}

/* --- */

static void chains(void **state)
{
	uint64_t longest = 0;

	for (size_t k = 0; k < N_SAMPLES; k++) {
		struct hl_sample s;
		struct hl_model *m;
		struct truth t;

		assert_int_equal(make_sample(&s, k), 0);
		truth_init(&t, &s);
		m = open_model(s.path);
		assert_int_equal(hl_model_load_chains(m), 0);
		for (uint64_t o = 0; o < t.n; o++) {
			struct hl_block b = {.ordinal = o,
				.size = t.size[o],
				.birth_ns = t.birth[o],
				.death_ns = t.death[o],
				.pool = UINT32_MAX};
			struct hl_chain c = hl_chain_of(m, &b), *want = &t.of[o];

			if (c.length != want->length || c.position != want->position ||
				c.first_size != want->first_size ||
				c.last_size != want->last_size || c.birth_ns != want->birth_ns ||
				c.death_ns != want->death_ns)
				fail_msg("sample %zu, block %" PRIu64 ": %u of %u, should be %u of "
					 "%u",
					k, o, c.position, c.length, want->position, want->length);
			longest = want->length > longest ? want->length : longest;
		}
		hl_model_close(m);
		truth_fini(&t);
		hl_sample_free(&s);
	}
	assert_true(longest >= 10); /* or nothing was tried */
}

/* A pool's blocks have numbers of their own. */
static void pools(void **state)
{
	struct hl_sample s;
	struct hl_model *m;
	struct truth t;
	uint64_t o = 0;

	assert_int_equal(hl_sample_make(&s, &samples[0]), 0);
	truth_init(&t, &s);
	while (t.of[o].length < 2)
		o++;
	m = open_model(s.path);
	assert_int_equal(hl_model_load_chains(m), 0);
	assert_int_equal(
		hl_chain_of(m, &(struct hl_block){.ordinal = o, .pool = UINT32_MAX}).length,
		t.of[o].length);
	assert_int_equal(hl_chain_of(m, &(struct hl_block){.ordinal = o, .pool = 0}).length, 1);
	hl_model_close(m);
	truth_fini(&t);
	hl_sample_free(&s);
}

static uint64_t life_of(const struct hl_chain *c)
{
	return c->death_ns == UINT64_MAX ? UINT64_MAX : c->death_ns - c->birth_ns;
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
static bool was_small(const struct hl_chain *c)
{
	return c->first_size < 100;
}
static bool gets_large(const struct hl_chain *c)
{
	return c->last_size >= 100 && c->last_size <= 2048;
}
static bool is_short_lived(const struct hl_chain *c)
{
	return life_of(c) < 5000;
}
static bool stays(const struct hl_chain *c)
{
	return c->death_ns == UINT64_MAX;
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
	{"chain-first:<100", was_small},
	{"chain-last:100..2K", gets_large},
	{"chain-life:<5us", is_short_lived},
	{"chain-alive:end", stays},
};

static void filters(void **state)
{
	static const enum hl_quantity quantities[] = {HL_QUANTITY_ALLOCATED, HL_QUANTITY_LIVE};

	for (size_t k = 0; k < N_SAMPLES * HL_ARRAY_LEN(terms) * 2; k++) {
		size_t term = k / 2 % HL_ARRAY_LEN(terms);
		struct hl_query q = {.quantity = quantities[k % 2], .to = {.kind = HL_WHEN_END}};
		struct hl_filter_error error;
		struct hl_answer a;
		struct hl_sample s;
		struct hl_model *m;
		struct truth t;
		uint64_t blocks = 0, bytes = 0;

		assert_int_equal(make_sample(&s, k / 2 / HL_ARRAY_LEN(terms)), 0);
		truth_init(&t, &s);
		for (uint64_t o = 0; o < t.n; o++) {
			if (!terms[term].holds(&t.of[o]) ||
				(q.quantity == HL_QUANTITY_LIVE && t.death[o] != UINT64_MAX))
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
		truth_fini(&t);
		hl_sample_free(&s);
	}
}

/* Of each event the filter says what it says of the event's block. */
static void events(void **state)
{
	static const char *const exprs[] = {"life:<2us", "alive:50%", "chain-life:>=2us"};

	for (size_t k = 0; k < HL_ARRAY_LEN(exprs); k++) {
		struct hl_filter_error error;
		struct hl_filter *f;
		struct hl_sample s;
		struct hl_model *m;
		struct truth t;
		uint64_t held = 0, at;

		assert_int_equal(own_make(&s), 0);
		truth_init(&t, &s);
		m = open_model(s.path);
		at = hl_model_end_ns(m) / 2;
		assert_int_equal(hl_filter_parse(&f, exprs[k], &error), 0);
		assert_int_equal(hl_filter_bind(f, m), 0);
		assert_int_equal(hl_filter_learn_deaths(f, m), 0);
		for (size_t i = 0; i < s.n_events; i++) {
			uint64_t o = s.events[i].ordinal, life;
			bool holds, want;

			life = t.death[o] == UINT64_MAX ? UINT64_MAX : t.death[o] - t.birth[o];
			want = k == 0   ? life < 2000
			       : k == 1 ? t.birth[o] <= at && t.death[o] > at
					: life_of(&t.of[o]) >= 2000;
			assert_int_equal(hl_filter_event(f, m, &s.events[i], i, &holds), 0);
			if (holds != want)
				fail_msg("%s, event %zu: %d", exprs[k], i, holds);
			held += holds;
		}
		assert_true(held > 0 && held < s.n_events);
		hl_filter_free(f);
		hl_model_close(m);
		truth_fini(&t);
		hl_sample_free(&s);
	}
}

/* Where a part is lost, what a realloc made of a block may be in it. */
static void damaged(void **state)
{
	struct hl_sample s;
	struct hl_model *m;
	struct hl_filter *f;
	struct hl_filter_error error;

	assert_int_equal(hl_sample_make(&s, &samples[0]), 0);
	flip(s.path, 60000, 8);
	m = open_model(s.path);
	assert_int_equal(hl_filter_parse(&f, "chain-length:2", &error), 0);
	assert_int_equal(hl_filter_bind(f, m), -ENODATA);
	assert_non_null(strstr(hl_model_error(m), "realloc chains cannot be known"));
	hl_filter_free(f);
	hl_model_close(m);
	hl_sample_free(&s);
}

/* What is wrong is said where it stands. */
static void wrong(void **state)
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
		cmocka_unit_test(chains),
		cmocka_unit_test(pools),
		cmocka_unit_test(filters),
		cmocka_unit_test(events),
		cmocka_unit_test(damaged),
		cmocka_unit_test(wrong),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
