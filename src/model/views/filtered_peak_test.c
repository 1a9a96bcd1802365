/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filtered_peak_test.c - timelines and peaks of random filters equal those computed from the plain
 * list of events, block by block. Also tests that summaries save decoding.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/attr.h"
#include "base/hash.h"
#include "model/views/filtered_peak.h"
#include "model/testing/test_fake_traces.h"

#define COLUMNS 37
#define FILTERS 200

/* A filter, as text and as numbers. */
struct terms {
	uint64_t size_from, size_to, time_from, time_to, life_from, life_to, alive;
	uint32_t thread, func; /* UINT32_MAX: any */
	const char *stack;     /* NULL: any */
	char text[256];
};

static void append_term(struct terms *t, const char *format, ...)
{
	size_t len = strlen(t->text);
	va_list args;

	va_start(args, format);
	vsnprintf(t->text + len, sizeof(t->text) - len, format, args);
	va_end(args);
}

/* At least one term. */
static struct terms random_terms(const struct hl_fake_trace *s, uint64_t rng)
{
	static const char *const stacks[] = {"0x10", "0x105", "0x11"};
	struct terms t = {.size_to = UINT64_MAX,
		.time_to = UINT64_MAX,
		.life_to = UINT64_MAX,
		.alive = UINT64_MAX,
		.thread = UINT32_MAX,
		.func = UINT32_MAX};
	uint64_t which = 1 + hl_hash_u64(rng) % 127, a = hl_hash_u64(rng + 1), b;

	if (which & 1) {
		t.size_from = a % 300;
		t.size_to = t.size_from + hl_hash_u64(rng + 2) % 3000;
		append_term(&t, "size:%" PRIu64 "..%" PRIu64 " ", t.size_from, t.size_to);
	}
	if ((which & 3) == 2) {
		t.thread = (uint32_t)(hl_hash_u64(rng + 3) % 2);
		append_term(&t, "thread:%u ", t.thread);
	}
	if ((which & 5) == 4) {
		t.func = HL_FUNC_REALLOC;
		append_term(&t, "call:realloc ");
	}
	if (which & 8) {
		t.time_from = a % (s->duration_ns / 2);
		t.time_to = t.time_from + hl_hash_u64(rng + 4) % (s->duration_ns - t.time_from);
		append_term(&t, "time:%" PRIu64 "ns..%" PRIu64 "ns ", t.time_from, t.time_to);
	}
	if ((which & 24) == 16) {
		b = hl_hash_u64(rng + 5) % (s->duration_ns / 4);
		t.life_from = a & 256 ? b : 0;
		t.life_to = a & 256 ? UINT64_MAX : b;
		append_term(&t, a & 256 ? "life:>=%" PRIu64 "ns " : "life:<=%" PRIu64 "ns ", b);
	}
	if ((which & 48) == 32) {
		t.alive = hl_hash_u64(rng + 6) % s->duration_ns;
		append_term(&t, "alive:%" PRIu64 "ns ", t.alive);
	}
	if ((which & 64) || !t.text[0]) {
		t.stack = stacks[a >> 10 & 1];
		append_term(&t, "fn:%s", t.stack);
	}
	return t;
}

static bool in_range(uint64_t n, uint64_t from, uint64_t to)
{
	return n >= from && n <= to;
}

/* Names are not tested here, so the model decides which stacks fit. */
static bool stack_fits(
	struct hl_model *m, struct hl_filter *stacks, const struct terms *t, uint32_t node)
{
	bool holds = true;

	if (t->stack)
		assert_int_equal(hl_filter_node(stacks, m, node, &holds), 0);
	return holds;
}

static bool block_fits(const struct terms *t, const struct hl_event *alloc, uint64_t free_ns)
{
	uint64_t life = free_ns == UINT64_MAX ? UINT64_MAX : free_ns - alloc->time_ns;

	return in_range(alloc->size, t->size_from, t->size_to) &&
	       in_range(alloc->time_ns, t->time_from, t->time_to) &&
	       in_range(life, t->life_from, t->life_to) &&
	       (t->thread == UINT32_MAX || t->thread == alloc->thread) &&
	       (t->func == UINT32_MAX || t->func == alloc->func) &&
	       (t->alive == UINT64_MAX || (alloc->time_ns <= t->alive && free_ns > t->alive));
}

/* For each ordinal: does its block fit? */
static bool *find_fitting(const struct hl_fake_trace *s, struct hl_model *m, const struct terms *t)
{
	uint64_t *freed_ns = malloc((s->n_events + 1) * sizeof(*freed_ns));
	bool *fits = calloc(s->n_events + 1, sizeof(*fits));
	struct hl_filter_error error;
	struct hl_filter *stacks = NULL;
	char text[64];

	snprintf(text, sizeof(text), "fn:%s", t->stack ? t->stack : "x");
	assert_int_equal(hl_filter_parse(&stacks, text, &error), 0);
	assert_int_equal(hl_filter_bind(stacks, m), 0);
	memset(freed_ns, 0xff, (s->n_events + 1) * sizeof(*freed_ns));
	for (size_t i = 0; i < s->n_events; i++) {
		if (s->events[i].op == HL_OP_FREE)
			freed_ns[s->events[i].ordinal] = s->events[i].time_ns;
	}
	for (size_t i = 0; i < s->n_events; i++) {
		const struct hl_event *e = &s->events[i];

		if (e->op == HL_OP_ALLOC)
			fits[e->ordinal] = block_fits(t, e, freed_ns[e->ordinal]) &&
					   stack_fits(m, stacks, t, e->node);
	}
	hl_filter_free(stacks);
	free(freed_ns);
	return fits;
}

struct expected {
	struct hl_timeline_bin columns[COLUMNS];
	uint64_t bytes, time_ns;
	size_t events; /* number of events up to the peak */
};

static void compute_expected(const struct hl_fake_trace *s, const bool *fits, struct expected *x)
{
	uint64_t live = 0;
	size_t i = 0;

	memset(x, 0, sizeof(*x));
	for (size_t k = 0; k < COLUMNS; k++) {
		/* Column k ends at (k + 1) / COLUMNS of the run, inclusive. */
		x->columns[k].max_bytes = live;
		for (; i < s->n_events && (unsigned __int128)s->events[i].time_ns * COLUMNS <=
						  (unsigned __int128)s->duration_ns * (k + 1);
			i++) {
			const struct hl_event *e = &s->events[i];

			if (!fits[e->ordinal])
				continue;
			live += e->op == HL_OP_ALLOC ? e->size : -e->size;
			if (live > x->columns[k].max_bytes)
				x->columns[k].max_bytes = live;
			if (live > x->bytes) {
				x->bytes = live;
				x->time_ns = e->time_ns;
				x->events = i + 1;
			}
		}
		x->columns[k].end_bytes = live;
	}
}

static void compare_timeline(const char *filter, const struct expected *x,
	const struct hl_timeline_bin *columns, const struct hl_peak *peak)
{
	for (size_t k = 0; k < COLUMNS; k++) {
		if (columns[k].max_bytes != x->columns[k].max_bytes ||
			columns[k].end_bytes != x->columns[k].end_bytes || columns[k].lost)
			fail_msg("%s: column %zu has %" PRIu64 " and %" PRIu64 ", not %" PRIu64
				 " and %" PRIu64,
				filter, k, columns[k].max_bytes, columns[k].end_bytes,
				x->columns[k].max_bytes, x->columns[k].end_bytes);
	}
	if (peak->bytes != x->bytes || peak->time_ns != x->time_ns || peak->before_damage)
		fail_msg("%s: the peak is %" PRIu64 " at %" PRIu64 ", not %" PRIu64 " at %" PRIu64,
			filter, peak->bytes, peak->time_ns, x->bytes, x->time_ns);
}

/* Compares the live blocks at the peak by stack. */
static void compare_answer(const struct hl_fake_trace *s, struct hl_model *m, const bool *fits,
	const struct expected *x, const struct hl_query *q)
{
	struct hl_fake_trace_value *want = calloc((size_t)s->nodes + 1, sizeof(*want));
	struct hl_answer a;

	for (size_t i = 0; i < x->events; i++) {
		const struct hl_event *e = &s->events[i];
		struct hl_fake_trace_value *v = &want[e->node == HL_NODE_NONE ? s->nodes : e->node];

		if (!fits[e->ordinal])
			continue;
		v->bytes += e->op == HL_OP_ALLOC ? e->size : -e->size;
		v->blocks += e->op == HL_OP_ALLOC ? 1 : (uint64_t)-1;
	}
	assert_int_equal(hl_model_query(m, q, &a), 0);
	assert_true(equal(&a, want));
	assert_true(a.total.bytes == x->bytes && a.to_ns == x->time_ns && !a.before_damage);
	hl_answer_fini(&a);
	free(want);
}

/* Returns whether any block fits. */
static bool check_filter(const struct hl_fake_trace *s, struct hl_model *m, uint64_t rng)
{
	struct terms t = random_terms(s, rng);
	bool *fits = find_fitting(s, m, &t);
	struct hl_timeline_bin columns[COLUMNS];
	struct hl_filter_error error;
	struct hl_query q = {0};
	struct hl_peak peak;
	struct expected x;

	assert_int_equal(hl_filter_parse(&q.filter, t.text, &error), 0);
	compute_expected(s, fits, &x);
	if (rng % 2) /* both queries in one scan */
		hl_timeline_prefetch(m, q.filter, COLUMNS);
	assert_int_equal(hl_peak_find(m, &q, &peak), 0);
	assert_int_equal(hl_timeline(m, q.filter, columns, COLUMNS, &peak), 0);
	compare_timeline(t.text, &x, columns, &peak);
	assert_int_equal(hl_peak_find(m, &q, &peak), 0);
	compare_timeline(t.text, &x, columns, &peak);
	q.to = peak.when;
	compare_answer(s, m, fits, &x, &q);
	hl_filter_free(q.filter);
	free(fits);
	return x.bytes > 0;
}

static void random_filters_match_the_plain_computation(void **state)
{
	unsigned fitting = 0;

	for (unsigned k = 0; k < HL_ARRAY_LEN(samples); k++) {
		struct hl_fake_trace_opts opts = samples[k];
		struct hl_fake_trace s;
		struct hl_model *m;

		opts.summary_share = 1;
		assert_int_equal(hl_fake_trace_make(&s, &opts), 0);
		m = open_model(s.path);
		for (unsigned i = 0; i < (FILTERS + 5) / HL_ARRAY_LEN(samples); i++)
			fitting += check_filter(&s, m, (k * 1000 + i) * 16);
		hl_model_close(m);
		hl_fake_trace_free(&s);
	}
	print_message("%u filters select something\n", fitting);
	assert_true(fitting > FILTERS / 2);
}

#define GROWN 100000

/* A heap that grows and then shrinks. The blocks of a second stack are freed at once. */
static void write_growth(char *path)
{
	static const struct hl_fake_trace_opts opts = {.nodes = 3, .threads = 1};
	const struct hl_meta meta = {.program = "/bin/sample",
		.command = "",
		.arch = "cpu",
		.clock = "tsc",
		.mode = "trace",
		.allocator = ""};
	struct hl_writer_options wo = {.max_events = 8000, .summary_share = 1};
	struct hl_counters counters = {0};
	struct hl_end end = {.kind = HL_END_EXIT, .duration_ns = GROWN * 4 * 64};
	struct hl_writer *w;
	uint64_t ordinal = 0;

	assert_int_equal(hl_writer_open_with(&w, mkstemp(path), &meta, &wo), 0);
	hl_fake_trace_tables(w, &opts);
	for (uint64_t i = 0; i < GROWN; i++) {
		uint64_t at = i < GROWN / 2 ? i : GROWN - 1 - i;
		struct hl_event kept = {.time_ns = i * 64,
			.addr = 0x1000 + at * 256,
			.size = 100,
			.ordinal = i < GROWN / 2 ? ordinal : at * 2,
			.alloc_ns = at * 64,
			.free_node = HL_NODE_NONE,
			.op = i < GROWN / 2 ? HL_OP_ALLOC : HL_OP_FREE};
		struct hl_event temporary = {.time_ns = i * 64,
			.addr = 0x80000000,
			.size = 10,
			.alloc_ns = i * 64,
			.node = 2,
			.free_node = HL_NODE_NONE,
			.op = HL_OP_ALLOC};

		if (kept.op == HL_OP_ALLOC)
			ordinal++;
		else
			kept.func = HL_FUNC_FREE;
		assert_int_equal(hl_writer_add_event(w, &kept), 0);
		temporary.ordinal = ordinal++;
		assert_int_equal(hl_writer_add_event(w, &temporary), 0);
		temporary.op = HL_OP_FREE;
		temporary.func = HL_FUNC_FREE;
		assert_int_equal(hl_writer_add_event(w, &temporary), 0);
	}
	assert_int_equal(hl_writer_end(w, &end, &counters), 0);
	hl_writer_close(w);
}

/* Few chunks can contain the peak; the summaries exclude the others. */
static void summaries_save_decoding(void **state)
{
	char path[] = "/tmp/hl-curve-XXXXXX";
	struct hl_filter_error error;
	struct hl_query q = {0};
	struct hl_model *m;
	struct hl_peak peak, slow;
	struct hl_timeline_bin columns[2][COLUMNS] = {0};

	write_growth(path);
	m = open_model(path);
	assert_int_equal(hl_filter_parse(&q.filter, "fn:0x", &error), 0);
	assert_int_equal(hl_peak_find(m, &q, &peak), 0);
	print_message("%" PRIu64 " of %d events decoded\n", hl_model_events_decoded(m), GROWN * 3);
	assert_true(peak.bytes == GROWN / 2 * 100 + 10 && peak.blocks == GROWN / 2 + 1);
	assert_true(hl_model_events_decoded(m) <= 24000);
	hl_filter_free(q.filter);
	/* The same blocks, selected by a filter that needs every event. */
	assert_int_equal(hl_filter_parse(&q.filter, "fn:0x size:>=0", &error), 0);
	assert_int_equal(hl_peak_find(m, &q, &slow), 0);
	assert_true(slow.bytes == peak.bytes && slow.blocks == peak.blocks);
	assert_true(hl_time_spec_equal(&slow.when, &peak.when));
	assert_int_equal(hl_timeline(m, q.filter, columns[0], COLUMNS, &slow), 0);
	hl_filter_free(q.filter);
	assert_int_equal(hl_filter_parse(&q.filter, "fn:0x", &error), 0);
	assert_int_equal(hl_timeline(m, q.filter, columns[1], COLUMNS, &slow), 0);
	assert_memory_equal(columns[0], columns[1], sizeof(columns[0]));
	hl_filter_free(q.filter);
	hl_model_close(m);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_filters_match_the_plain_computation),
		cmocka_unit_test(summaries_save_decoding),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
