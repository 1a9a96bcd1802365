/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_test.c - the overview by sums against the overview by single blocks and a plain count;
 * and the statements, with traces that prove them and traces that nearly do.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/attr.h"
#include "model/overview/verdicts.h"
#include "model/testing/test_fake_traces.h"
#include "model/views/page_usage.h"

static void read_overview(struct hl_overview *o, struct hl_model *m, const char *expr)
{
	struct hl_overview_options options = {.columns = 30};
	struct hl_filter_error error;

	if (expr)
		assert_int_equal(hl_filter_parse(&options.filter, expr, &error), 0);
	assert_int_equal(hl_overview(o, m, &options), 0);
	hl_filter_free(options.filter);
}

/* --- by sums and by blocks --- */

static const struct hl_overview_site *find_site(const struct hl_overview *o, uint32_t frame)
{
	for (size_t i = 0; i < o->n_sites; i++) {
		if (o->sites[i].frame == frame)
			return &o->sites[i];
	}
	return NULL;
}

static void assert_value(const struct hl_value *a, const struct hl_value *b)
{
	assert_int_equal(a->bytes, b->bytes);
	assert_int_equal(a->blocks, b->blocks);
}

static void assert_same_site(
	const struct hl_overview_site *a, const struct hl_overview_site *b, bool trends)
{
	assert_non_null(a);
	assert_non_null(b);
	assert_value(&a->at_peak, &b->at_peak);
	assert_value(&a->at_end, &b->at_end);
	assert_value(&a->allocated, &b->allocated);
	assert_int_equal(a->short_blocks, b->short_blocks);
	if (!trends)
		return;
	assert_value(&a->churned, &b->churned);
	assert_memory_equal(a->trend->live, b->trend->live, sizeof(a->trend->live));
	assert_memory_equal(a->trend->blocks, b->trend->blocks, sizeof(a->trend->blocks));
	assert_memory_equal(a->trend->allocs, b->trend->allocs, sizeof(a->trend->allocs));
	/* events prove more than single blocks do */
	assert_true(a->grown.bytes >= b->grown.bytes);
	for (unsigned k = 0; k < HL_OVERVIEW_POINTS; k++) {
		assert_true(a->trend->floor_bytes[k] <= a->trend->live[k]);
		assert_true(b->trend->floor_bytes[k] <= b->trend->live[k]);
	}
}

/* A filter that every block matches takes the other path. Moments move to keyframes only in a trace
 * of many chunks. */
static void sums_and_blocks_give_the_same_sites(void **state)
{
	for (size_t k = 0; k < HL_ARRAY_LEN(samples); k++) {
		struct hl_overview by_sums, by_blocks;
		struct hl_fake_trace s;
		struct hl_model *m;

		assert_int_equal(hl_fake_trace_make(&s, &samples[k]), 0);
		m = open_model(s.path);
		read_overview(&by_sums, m, NULL);
		read_overview(&by_blocks, m, "size:>=0");
		assert_int_equal(by_sums.n_sites, by_blocks.n_sites);
		assert_value(&by_sums.peak, &by_blocks.peak);
		assert_value(&by_sums.at_end, &by_blocks.at_end);
		assert_value(&by_sums.allocated, &by_blocks.allocated);
		assert_int_equal(by_sums.short_blocks, by_blocks.short_blocks);
		assert_int_equal(by_sums.short_bound_ns, by_blocks.short_bound_ns);
		for (size_t i = 0; i < by_sums.n_sites; i++)
			assert_same_site(&by_sums.sites[i],
				find_site(&by_blocks, by_sums.sites[i].frame),
				hl_reader_n_chunks(hl_model_reader(m)) < 64);
		hl_overview_fini(&by_sums);
		hl_overview_fini(&by_blocks);
		hl_model_close(m);
		hl_fake_trace_free(&s);
	}
}

static uint64_t count_short(const struct hl_fake_trace *s, uint64_t bound_ns)
{
	uint64_t n = 0;

	for (size_t i = 0; i < s->n_events; i++) {
		const struct hl_event *e = &s->events[i];

		n += e->op == HL_OP_FREE && e->time_ns - e->alloc_ns < bound_ns;
	}
	return n;
}

static void totals_equal_a_plain_count(void **state)
{
	for (size_t k = 0; k < HL_ARRAY_LEN(samples); k++) {
		uint64_t allocs = 0, live = 0;
		struct hl_fake_trace s;
		struct hl_overview o;
		struct hl_model *m;

		assert_int_equal(hl_fake_trace_make(&s, &samples[k]), 0);
		for (size_t i = 0; i < s.n_events; i++) {
			bool alloc = s.events[i].op == HL_OP_ALLOC;

			allocs += alloc;
			live += alloc ? s.events[i].size : -s.events[i].size;
		}
		m = open_model(s.path);
		read_overview(&o, m, NULL);
		assert_int_equal(o.allocated.blocks, allocs);
		assert_int_equal(o.at_end.bytes, live);
		assert_int_equal(o.short_blocks, count_short(&s, o.short_bound_ns));
		assert_int_equal(o.live[HL_OVERVIEW_POINTS - 1], live);
		hl_overview_fini(&o);
		hl_model_close(m);
		hl_fake_trace_free(&s);
	}
}

/* Every list is sorted and adds up to its total; a limited one has the first rows of the whole. */
static void lists_are_sorted_and_complete(void **state)
{
	struct hl_overview_options limited = {.columns = 1, .rows = 3};
	struct hl_overview all, few;
	struct hl_fake_trace s;
	struct hl_model *m;

	assert_int_equal(hl_fake_trace_make(&s, &samples[0]), 0);
	m = open_model(s.path);
	read_overview(&all, m, NULL);
	assert_int_equal(hl_overview(&few, m, &limited), 0);
	for (int id = 0; id < HL_OVERVIEW_LISTS; id++) {
		const struct hl_overview_list *l = &all.lists[id];
		struct hl_value sum = {0};
		uint64_t last = UINT64_MAX;

		assert_int_equal(l->state, HL_OVERVIEW_KNOWN);
		assert_true(l->n > 3 && l->n == l->all);
		for (size_t i = 0; i < l->n; i++) {
			const struct hl_value *v =
				hl_overview_site_value(&all.sites[l->sites[i]], id);

			assert_true(v->bytes <= last);
			last = v->bytes;
			hl_value_add(&sum, v);
		}
		assert_value(&sum, &l->total);
		assert_int_equal(few.lists[id].n, 3);
		assert_int_equal(few.lists[id].all, l->all);
		assert_int_equal(
			few.sites[few.lists[id].sites[0]].frame, all.sites[l->sites[0]].frame);
	}
	hl_overview_fini(&all);
	hl_overview_fini(&few);
	hl_model_close(m);
	hl_fake_trace_free(&s);
}

/* Parts that need a scan are left out of a trace with too many events, and the others are not. */
static void a_long_scan_is_left_out(void **state)
{
	struct hl_overview_options options = {.columns = 10, .events_max = 1000};
	struct hl_fake_trace s;
	struct hl_overview o;
	struct hl_model *m;

	assert_int_equal(hl_fake_trace_make(&s, &samples[0]), 0);
	m = open_model(s.path);
	assert_int_equal(hl_overview(&o, m, &options), 0);
	assert_int_equal(o.short_state, HL_OVERVIEW_KNOWN);
	assert_int_equal(o.short_sites_state, HL_OVERVIEW_LEFT_OUT);
	assert_int_equal(o.pages_state, HL_OVERVIEW_LEFT_OUT);
	assert_int_equal(o.trend_state, HL_OVERVIEW_KNOWN);
	assert_int_equal(o.lists[HL_OVERVIEW_HELD].state, HL_OVERVIEW_KNOWN);
	assert_true(o.allocated.blocks > 0 && o.lists[HL_OVERVIEW_HELD].n > 0);
	hl_overview_fini(&o);
	hl_model_close(m);
	hl_fake_trace_free(&s);
}

/* --- statements --- */

#define SECOND UINT64_C(1000000000)
#define MIB    (UINT64_C(1) << 20)
/* N_NODES stacks of one frame; and a function that two of them call. */
enum { GROWER, OTHER, N_NODES = 12, HELPER_OF_GROWER = N_NODES, HELPER_OF_OTHER };

struct script {
	char path[64];
	struct hl_writer *w;
	uint64_t n_blocks, now;
	struct hl_event *open; /* allocations by ordinal */
	size_t cap;
};

static void add_helper(struct hl_writer *w)
{
	struct hl_name_frame frame = {.function = "helper", .file = "/src/helper.c", .line = 5};
	struct hl_named_site names = {.offset = 0x2000, .frames = &frame, .n_frames = 1};

	for (uint32_t parent = GROWER; parent <= OTHER; parent++)
		hl_writer_add_node(w, &(struct hl_node){.parent = parent, .offset = 0x2000});
	hl_writer_add_names(w, &names);
}

static void begin_script(struct script *s)
{
	static const struct hl_meta meta = {.program = "/bin/app",
		.command = "app",
		.command_len = 4,
		.arch = "cpu",
		.clock = "tsc",
		.mode = "trace",
		.allocator = "",
		.pid = 1};
	static const struct hl_module module = {.path = "/nowhere/app"};

	*s = (struct script){.path = "/tmp/hl-overview-XXXXXX"};
	assert_int_equal(hl_writer_open(&s->w, mkstemp(s->path), &meta), 0);
	hl_writer_add_module(s->w, &module);
	for (uint32_t i = 0; i < N_NODES; i++) {
		struct hl_node node = {.parent = HL_NODE_NONE, .offset = 0x1000 + i};
		struct hl_name_frame frame = {.function = i == GROWER ? "cache_insert" : "other",
			.file = "/src/cache.c",
			.line = 10 + i};
		struct hl_named_site names = {
			.offset = node.offset, .frames = &frame, .n_frames = 1};

		hl_writer_add_node(s->w, &node);
		hl_writer_add_names(s->w, &names);
	}
	add_helper(s->w);
	hl_writer_add_thread(s->w, 1);
}

static uint64_t add_block(
	struct script *s, uint64_t ns, uint32_t node, uint64_t addr, uint64_t size)
{
	struct hl_event e = {.time_ns = ns / 64 * 64,
		.addr = addr ? addr : 0x10000000 + s->n_blocks * 0x100000,
		.size = size,
		.ordinal = s->n_blocks,
		.node = node,
		.free_node = HL_NODE_NONE};

	if (s->n_blocks == s->cap) {
		s->cap = s->cap ? s->cap * 2 : 1024;
		s->open = realloc(s->open, s->cap * sizeof(*s->open));
		assert_non_null(s->open);
	}
	s->open[s->n_blocks] = e;
	assert_int_equal(hl_writer_add_event(s->w, &e), 0);
	return s->n_blocks++;
}

static void free_block(struct script *s, uint64_t ns, uint64_t ordinal)
{
	struct hl_event e = s->open[ordinal];

	e.op = HL_OP_FREE;
	e.func = HL_FUNC_FREE;
	e.alloc_ns = e.time_ns;
	e.time_ns = ns / 64 * 64;
	assert_int_equal(hl_writer_add_event(s->w, &e), 0);
}

/* Ends the trace at this time. */
static struct hl_model *open_script(struct script *s, uint64_t ns)
{
	struct hl_end end = {.kind = HL_END_EXIT, .duration_ns = ns};
	struct hl_counters counters = {0};
	struct hl_model *m;

	assert_int_equal(hl_writer_end(s->w, &end, &counters), 0);
	hl_writer_close(s->w);
	m = open_model(s->path);
	unlink(s->path);
	free(s->open);
	return m;
}

/* The same, and reads its overview. */
static struct hl_model *end_script(struct script *s, uint64_t ns, struct hl_overview *o)
{
	struct hl_model *m = open_script(s, ns);

	read_overview(o, m, NULL);
	return m;
}

static const struct hl_overview_verdict *find_verdict(
	const struct hl_overview *o, enum hl_overview_verdict_kind kind)
{
	for (size_t i = 0; i < o->n_verdicts; i++) {
		if (o->verdicts[i].kind == kind)
			return &o->verdicts[i];
	}
	return NULL;
}

static void assert_text(struct hl_model *m, const struct hl_overview_verdict *v, const char *text,
	const char *options)
{
	struct hl_strbuf b = {0};

	assert_non_null(v);
	hl_verdict_put(&b, m, v);
	assert_string_equal(hl_strbuf_str(&b), text);
	hl_strbuf_reset(&b);
	hl_verdict_put_options(&b, v);
	assert_string_equal(hl_strbuf_str(&b), options);
	hl_strbuf_fini(&b);
}

/* The live bytes of a site after a part of the run, from 0 to 1. */
typedef double curve(double at);

static double linear(double at)
{
	return at;
}

/* Fills in the first tenth, and stays. */
static double start_up(double at)
{
	return at < 0.1 ? at * 10 : 1;
}

static double step(double at)
{
	return at < 0.6 ? 0.2 : 1;
}

/* Slower and slower, as a cache that fills. */
static double saturating(double at)
{
	return 1 - (1 - at) * (1 - at) * (1 - at) * (1 - at);
}

static double sawtooth(double at)
{
	double in = at * 7;

	return in - (double)(unsigned)in;
}

/* Rounds that the moments meet a little later each time, so that these rise on a line. */
static double rounds(double at)
{
	double in = at * 25;

	return in - (double)(unsigned)in;
}

/* The same, on top of real growth. */
static double rounds_that_grow(double at)
{
	return at * 0.9 + rounds(at) * 0.1;
}

/* Fills until the middle, and stays. */
static double half(double at)
{
	return at < 0.5 ? at * 2 : 1;
}

/* Flat for a third, then linear to the end. */
static double late(double at)
{
	return at < 1.0 / 3 ? 0.1 : 0.1 + (at - 1.0 / 3) * 1.35;
}

/* Linear, but for the half of the last quarter. */
static double ending(double at)
{
	return at < 0.8 ? at : 0.8;
}

struct growth_case {
	curve *live;
	uint64_t run_ns, bytes;     /* bytes at 1 */
	uint64_t other;             /* bytes of the other site, all of the run */
	bool teardown;              /* everything is freed in the last hundredth */
	const char *text, *options; /* NULL: nothing is proven */
};

/* Blocks of 1/1000 of the bytes follow the curve; the oldest are freed first. */
static void write_growth(struct script *s, const struct growth_case *c)
{
	uint64_t block = c->bytes / 1000, first = 0, other = UINT64_MAX;
	double end = c->teardown ? 0.99 : 1;

	if (c->other)
		other = add_block(s, 0, OTHER, 0, c->other);
	first = s->n_blocks;
	for (unsigned i = 0; i <= 3000; i++) {
		double at = (double)i / 3000 * end;
		uint64_t ns = (uint64_t)((double)c->run_ns * at);
		uint64_t want = (uint64_t)(c->live(at) * 1000);

		while (s->n_blocks - first < want)
			add_block(s, ns, GROWER, 0, block);
		while (s->n_blocks - first > want)
			free_block(s, ns, first++);
	}
	for (; c->teardown && first < s->n_blocks; first++)
		free_block(s, (uint64_t)((double)c->run_ns * 0.999), first);
	if (c->teardown && other != UINT64_MAX)
		free_block(s, (uint64_t)((double)c->run_ns * 0.999), other);
}

static void growth_is_stated_only_if_it_is_linear_and_large(void **state)
{
	static const struct growth_case cases[] = {
		{linear, 120 * SECOND, 40 * MIB, 0, false,
			"growing: cache_insert cache.c:10 +341.3 KiB/s, linear for 110 s",
			"--growth 4%..95% --sites"},
		{linear, 120 * SECOND, 40 * MIB, 100 * MIB, true,
			"growing: cache_insert cache.c:10 +341.3 KiB/s, linear for 110 s",
			"--growth 4%..95% --sites"},
		{late, 1200 * SECOND, 40 * MIB, 0, false,
			"growing: cache_insert cache.c:10 +46.1 KiB/s, linear for 13 min",
			"--growth 33%..95% --sites"},
		/* near misses */
		{linear, 9 * SECOND, 40 * MIB, 0, false, NULL, NULL},
		{linear, 120 * SECOND, 1 * MIB, 0, false, NULL, NULL},
		{linear, 120 * SECOND, 40 * MIB, 3000 * MIB, false, NULL, NULL},
		{start_up, 120 * SECOND, 40 * MIB, 0, false, NULL, NULL},
		{step, 120 * SECOND, 40 * MIB, 0, false, NULL, NULL},
		{saturating, 120 * SECOND, 40 * MIB, 0, false, NULL, NULL},
		{sawtooth, 120 * SECOND, 40 * MIB, 0, false, NULL, NULL},
		{ending, 120 * SECOND, 40 * MIB, 0, false, NULL, NULL},
		{rounds, 120 * SECOND, 40 * MIB, 0, false, NULL, NULL},
	};

	for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
		const struct growth_case *c = &cases[i];
		const struct hl_overview_verdict *v;
		struct hl_overview o;
		struct hl_model *m;
		struct script s;

		begin_script(&s);
		write_growth(&s, c);
		m = end_script(&s, c->run_ns, &o);
		v = find_verdict(&o, HL_VERDICT_GROWING);
		if (c->text)
			assert_text(m, v, c->text, c->options);
		else if (v)
			fail_msg("case %zu: slope %f, r2 %f", i, v->bytes_per_s, v->r2);
		hl_overview_fini(&o);
		hl_model_close(m);
	}
}

/* Growth is the rise of the floor: what is freed between two moments is not growth, whichever way
 * the trace is read. */
static void rounds_and_what_has_filled_are_not_growth(void **state)
{
	static const struct {
		curve *live;
		bool grows;
	} cases[] = {{rounds, false}, {half, false}, {saturating, false}, {start_up, false},
		{linear, true}, {late, true}, {rounds_that_grow, true}};
	/* by events, by sums alone, by single blocks */
	static const struct hl_overview_options by_events = {.columns = 30},
						by_sums = {.columns = 30, .events_max = 1};

	for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
		const struct growth_case c = {
			cases[i].live, 120 * SECOND, 40 * MIB, 0, false, NULL, NULL};
		struct hl_overview o[3];
		uint64_t exact;
		struct hl_model *m;
		struct script s;

		begin_script(&s);
		write_growth(&s, &c);
		m = open_script(&s, c.run_ns);
		assert_int_equal(hl_overview(&o[0], m, &by_events), 0);
		assert_int_equal(hl_overview(&o[1], m, &by_sums), 0);
		read_overview(&o[2], m, "size:>0");
		exact = o[0].lists[HL_OVERVIEW_GROWING].total.bytes;
		for (size_t k = 0; k < HL_ARRAY_LEN(o); k++) {
			uint64_t grown = o[k].lists[HL_OVERVIEW_GROWING].total.bytes;

			/* proven growth may be less than the true one */
			if (grown > (cases[i].grows ? exact : 0))
				fail_msg(
					"case %zu, way %zu: %llu", i, k, (unsigned long long)grown);
			if (cases[i].grows && (k == 0 || cases[i].live != rounds_that_grow) &&
				grown < 8 * MIB)
				fail_msg(
					"case %zu, way %zu: %llu", i, k, (unsigned long long)grown);
			if (!cases[i].grows && find_verdict(&o[k], HL_VERDICT_GROWING))
				fail_msg("case %zu, way %zu: a verdict", i, k);
			hl_overview_fini(&o[k]);
		}
		hl_model_close(m);
	}
}

/* A buffer that realloc moves is not away between its two halves. */
static void a_buffer_that_moves_grows(void **state)
{
	struct hl_overview o;
	struct hl_model *m;
	struct script s;
	uint64_t block;

	begin_script(&s);
	block = add_block(&s, 0, GROWER, 0, MIB);
	for (unsigned i = 1; i < 1200; i++) {
		uint64_t ns = SECOND / 10 * i;

		free_block(&s, ns, block);
		block = add_block(&s, ns, GROWER, 0, MIB + i * 40000);
	}
	m = end_script(&s, 120 * SECOND, &o);
	assert_non_null(find_verdict(&o, HL_VERDICT_GROWING));
	assert_true(o.lists[HL_OVERVIEW_GROWING].total.bytes > 10 * MIB);
	hl_overview_fini(&o);
	hl_model_close(m);
}

struct short_case {
	unsigned shorts, others; /* blocks that live 64 ns, and blocks that live to the end */
	unsigned of_site;        /* percent of the short-lived ones that are of one site */
	uint64_t run_ns;
	const char *text;
};

static void short_lived_blocks_are_stated_only_if_they_are_many(void **state)
{
	static const struct short_case cases[] = {
		{20000, 2000, 60, SECOND,
			"90.9 % of allocations live less than about 1 us; 60.0 % of them come from "
			"cache_insert cache.c:10"},
		{20000, 2000, 100, SECOND,
			"90.9 % of allocations live less than about 1 us; 100.0 % of them come "
			"from "
			"cache_insert cache.c:10"},
		/* no site has a quarter */
		{20000, 2000, 22, SECOND, "90.9 % of allocations live less than about 1 us"},
		/* too few, too small a share, too few in a second */
		{9999, 1000, 100, SECOND, NULL},
		{20000, 20001, 100, SECOND, NULL},
		{20000, 2000, 100, 21 * SECOND, NULL},
	};

	for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
		const struct short_case *c = &cases[i];
		const struct hl_overview_verdict *v;
		struct hl_overview o;
		struct hl_model *m;
		struct script s;
		uint64_t ns = 0;

		begin_script(&s);
		for (unsigned k = 0; k < c->shorts; k++, ns += 128) {
			uint32_t node = k % 100 < c->of_site ? GROWER : OTHER + k % 10;

			free_block(&s, ns + 64, add_block(&s, ns, node, 0x1000, 16));
		}
		for (unsigned k = 0; k < c->others; k++)
			add_block(&s, ns, OTHER, 0, 16);
		m = end_script(&s, c->run_ns, &o);
		v = find_verdict(&o, HL_VERDICT_SHORT_LIVED);
		if (c->text)
			assert_text(m, v, c->text, "--temporary=1024ns --sites --sort blocks");
		else if (v)
			fail_msg("case %zu: %f %%", i, v->percent);
		hl_overview_fini(&o);
		hl_model_close(m);
	}
}

struct page_case {
	unsigned thin, full; /* pages with a block of `size` bytes, and full pages */
	uint64_t size;
	unsigned of_site; /* percent of the thin pages that are of one site */
	const char *text;
};

/* The verdict has the numbers of --leaks --fragmentation. */
static void assert_pages_of_view(struct hl_model *m, const struct hl_overview_verdict *v)
{
	static const struct hl_time_spec end = {.kind = HL_TIME_SPEC_END};
	struct hl_fragmentation f;

	assert_int_equal(hl_fragmentation_at(&f, m, &end, NULL), 0);
	assert_int_equal(v->page_bytes, f.sparse_pages * HL_PAGE_BYTES);
	assert_int_equal(v->page_used_bytes, f.sparse_bytes);
	if (v->frame != HL_NODE_NONE)
		assert_int_equal(v->frame, f.holders[0].frame);
	hl_fragmentation_fini(&f);
}

static void pages_are_stated_only_if_they_are_many_and_thin(void **state)
{
	static const struct page_case cases[] = {
		{2048, 1000, 1000, 40, "at the end 8.0 MiB are in pages less than 25 % used"},
		{2048, 1000, 1000, 60,
			"at the end 8.0 MiB are in pages less than 25 % used; most are held by "
			"cache_insert "
			"cache.c:10"},
		{2048, 1000, 100, 100,
			"at the end 8.0 MiB are in pages less than 25 % used; most are held by "
			"cache_insert "
			"cache.c:10"},
		/* too little, too small a share, used well enough */
		{1000, 0, 100, 100, NULL},
		{2048, 6200, 100, 100, NULL},
		{2048, 1000, 1024, 100, NULL},
	};

	for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
		const struct page_case *c = &cases[i];
		const struct hl_overview_verdict *v;
		struct hl_overview o;
		struct hl_model *m;
		struct script s;

		begin_script(&s);
		for (unsigned k = 0; k < c->thin; k++)
			add_block(&s, k * 64,
				k % 100 < c->of_site ? GROWER
				: k % 100 % 2        ? OTHER
						     : OTHER + 1,
				0x10000000 + k * HL_PAGE_BYTES, c->size);
		for (unsigned k = 0; k < c->full; k++)
			add_block(&s, SECOND, OTHER, 0x20000000 + k * HL_PAGE_BYTES, HL_PAGE_BYTES);
		m = end_script(&s, 2 * SECOND, &o);
		v = find_verdict(&o, HL_VERDICT_SPARSE_PAGES);
		if (c->text) {
			assert_text(m, v, c->text, "--leaks --fragmentation");
			assert_pages_of_view(m, v);
		} else if (v)
			fail_msg("case %zu: %f %%", i, v->percent);
		hl_overview_fini(&o);
		hl_model_close(m);
	}
}

/* Blocks that are allocated once and freed at the end are no churn, and not growing either. */
static void memory_that_is_held_does_not_churn(void **state)
{
	uint64_t kept[100];
	struct hl_overview o;
	struct hl_model *m;
	struct script s;

	begin_script(&s);
	for (unsigned i = 0; i < 100; i++)
		kept[i] = add_block(&s, SECOND, GROWER, 0, 1000);
	for (unsigned i = 0; i < 30; i++)
		free_block(&s, 2 * SECOND + i, add_block(&s, 2 * SECOND + i, OTHER, 0x1000, 50));
	for (unsigned i = 0; i < 100; i++)
		free_block(&s, 9 * SECOND, kept[i]);
	m = end_script(&s, 9 * SECOND, &o);
	assert_int_equal(o.lists[HL_OVERVIEW_HELD].all, 2);
	assert_int_equal(o.lists[HL_OVERVIEW_LEFT].all, 0);
	assert_int_equal(o.lists[HL_OVERVIEW_GROWING].all, 0);
	assert_int_equal(o.lists[HL_OVERVIEW_CHURNING].all, 1);
	assert_int_equal(o.lists[HL_OVERVIEW_CHURNING].total.blocks, 29);
	hl_overview_fini(&o);
	hl_model_close(m);
}

/* --- lists of a limited number of rows --- */

static struct hl_model *end_limited(
	struct script *s, uint64_t ns, struct hl_overview *o, size_t rows)
{
	const struct hl_overview_options options = {.columns = 30, .rows = rows};
	struct hl_model *m = open_script(s, ns);

	assert_int_equal(hl_overview(o, m, &options), 0);
	return m;
}

/* The site in a row of a list. */
static uint32_t site_line(
	struct hl_model *m, const struct hl_overview *o, enum hl_overview_list_id id, size_t row)
{
	assert_true(row < o->lists[id].n);
	return hl_model_frame(m, o->sites[o->lists[id].sites[row]].frame)->line;
}

/* All growth is less than 1 % of the peak; with a verdict the list has its site anyway. */
static void a_growing_verdict_has_its_site_in_the_list(void **state)
{
	static const struct growth_case linear_case = {
		linear, 120 * SECOND, 40 * MIB, 1500 * MIB, false, NULL, NULL};
	static const struct growth_case other_case = {
		sawtooth, 120 * SECOND, 1 * MIB, 1500 * MIB, false, NULL, NULL};
	const struct hl_overview_list *l;
	struct hl_overview o;
	struct hl_model *m;
	struct script s;

	begin_script(&s);
	write_growth(&s, &linear_case);
	m = end_limited(&s, linear_case.run_ns, &o, 5);
	l = &o.lists[HL_OVERVIEW_GROWING];
	assert_non_null(find_verdict(&o, HL_VERDICT_GROWING));
	assert_true(l->total.bytes * 100 < o.peak.bytes);
	assert_int_equal(site_line(m, &o, HL_OVERVIEW_GROWING, 0), 10 + GROWER);
	hl_overview_fini(&o);
	hl_model_close(m);

	begin_script(&s);
	write_growth(&s, &other_case);
	add_block(&s, 119 * SECOND, OTHER, 0, 1);
	m = end_limited(&s, other_case.run_ns, &o, 5);
	assert_null(find_verdict(&o, HL_VERDICT_GROWING));
	assert_int_equal(o.lists[HL_OVERVIEW_GROWING].n, 0);
	hl_overview_fini(&o);
	hl_model_close(m);
}

/* More sites than the list has rows grow more, and not on a line. */
static void a_growing_verdict_is_before_larger_steps(void **state)
{
	uint64_t ns = 120 * SECOND;
	struct hl_overview o;
	struct hl_model *m;
	struct script s;

	begin_script(&s);
	for (unsigned i = 0; i < 1000; i++) {
		add_block(&s, ns / 1000 * i, GROWER, 0, 40000);
		for (uint32_t k = OTHER; (i == 650 || i == 850) && k < N_NODES; k++)
			add_block(&s, ns / 1000 * i, k, 0, 50 * MIB);
	}
	m = end_limited(&s, ns, &o, 5);
	assert_int_equal(o.n_verdicts, 1);
	assert_int_equal(o.lists[HL_OVERVIEW_GROWING].n, 5);
	assert_int_equal(site_line(m, &o, HL_OVERVIEW_GROWING, 0), 10 + GROWER);
	assert_true(o.sites[o.lists[HL_OVERVIEW_GROWING].sites[1]].grown.bytes >= 50 * MIB);
	hl_overview_fini(&o);
	hl_model_close(m);
}

/* Many small blocks are few bytes of the churn, and too few for the rows of the list. */
static void most_churned_blocks_are_in_the_last_row(void **state)
{
	for (size_t rows = 1; rows <= 3; rows++) {
		const struct hl_overview_list *l;
		struct hl_overview o;
		struct hl_model *m;
		struct script s;
		uint64_t ns = 0;

		begin_script(&s);
		for (uint32_t k = OTHER; k < N_NODES; k++) {
			for (unsigned i = 0; i < 100; i++, ns += 128)
				free_block(&s, ns + 64, add_block(&s, ns, k, 0x1000, k * MIB));
		}
		for (unsigned i = 0; i < 1000; i++, ns += 128)
			free_block(&s, ns + 64, add_block(&s, ns, GROWER, 0x1000, 16));
		m = end_limited(&s, ns, &o, rows);
		l = &o.lists[HL_OVERVIEW_CHURNING];
		assert_int_equal(l->n, rows);
		for (uint32_t i = 0; i + 1 < rows; i++)
			assert_int_equal(
				site_line(m, &o, HL_OVERVIEW_CHURNING, i), 10 + N_NODES - 1 - i);
		assert_int_equal(site_line(m, &o, HL_OVERVIEW_CHURNING, rows - 1),
			rows > 1 ? 10 + GROWER : 10 + N_NODES - 1);
		/* a page with room for fewer rows shows it, too */
		assert_int_equal(hl_overview_row(l, 0, 2), 0);
		assert_int_equal(hl_overview_row(l, 1, 2), rows > 1 ? rows - 1 : 1);
		hl_overview_fini(&o);
		hl_model_close(m);
	}
}

/* --- callers --- */

struct caller_case {
	unsigned of_grower; /* of 100 blocks of the helper */
	uint32_t line;
	double percent;
};

static void a_row_has_the_caller_of_most_bytes(void **state)
{
	static const struct caller_case cases[] = {
		{100, 10 + GROWER, 100}, {80, 10 + GROWER, 80}, {30, 10 + OTHER, 70}};

	for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
		const struct hl_overview_list *l;
		struct hl_overview o;
		struct hl_model *m;
		struct script s;

		begin_script(&s);
		for (unsigned k = 0; k < 100; k++)
			add_block(&s, k * 64,
				k < cases[i].of_grower ? HELPER_OF_GROWER : HELPER_OF_OTHER, 0,
				100);
		add_block(&s, 6400, OTHER, 0, 1);
		m = end_script(&s, SECOND, &o);
		for (int id = HL_OVERVIEW_HELD; id <= HL_OVERVIEW_LEFT; id++) {
			l = &o.lists[id];
			assert_int_equal(l->n, 2);
			assert_int_equal(site_line(m, &o, id, 0), 5);
			assert_int_equal(
				hl_model_frame(m, l->callers[0].frame)->line, cases[i].line);
			assert_int_equal((int)(l->callers[0].percent + 0.5), cases[i].percent);
			assert_int_equal(l->callers[1].frame, HL_NODE_NONE);
		}
		hl_overview_fini(&o);
		hl_model_close(m);
	}
}

/* --- allocated bytes --- */

struct allocated_case {
	unsigned n;    /* blocks of 1 MiB, one after the other */
	unsigned held; /* MiB, at the same time */
	unsigned of_site;
	const char *text;
};

static void allocated_bytes_are_stated_only_if_they_are_many_times_the_peak(void **state)
{
	static const struct allocated_case cases[] = {
		{200, 0, 60,
			"200.0 MiB were allocated in all, 200 times the peak; 60.0 % by "
			"cache_insert cache.c:10"},
		{200, 9, 60,
			"209.0 MiB were allocated in all, 20 times the peak; 57.4 % by "
			"cache_insert cache.c:10"},
		/* too few times the peak, too little, no site with a good part */
		{200, 10, 60, NULL},
		{63, 0, 60, NULL},
		{200, 0, 10, NULL},
	};

	for (size_t i = 0; i < HL_ARRAY_LEN(cases); i++) {
		const struct allocated_case *c = &cases[i];
		const struct hl_overview_verdict *v;
		struct hl_overview o;
		struct hl_model *m;
		struct script s;

		begin_script(&s);
		for (unsigned k = 0; k < c->held; k++)
			add_block(&s, 0, OTHER, 0, MIB);
		for (unsigned k = 0; k < c->n; k++)
			free_block(&s, k * 128 + 64,
				add_block(&s, k * 128,
					k % 100 < c->of_site ? GROWER : OTHER + k % 10, 0x1000,
					MIB));
		m = end_script(&s, SECOND, &o);
		v = find_verdict(&o, HL_VERDICT_ALLOCATED);
		if (c->text)
			assert_text(m, v, c->text, "--allocated --sites");
		else if (v)
			fail_msg("case %zu: %f %%", i, v->site_percent);
		hl_overview_fini(&o);
		hl_model_close(m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_and_blocks_give_the_same_sites),
		cmocka_unit_test(totals_equal_a_plain_count),
		cmocka_unit_test(lists_are_sorted_and_complete),
		cmocka_unit_test(a_long_scan_is_left_out),
		cmocka_unit_test(growth_is_stated_only_if_it_is_linear_and_large),
		cmocka_unit_test(rounds_and_what_has_filled_are_not_growth),
		cmocka_unit_test(a_buffer_that_moves_grows),
		cmocka_unit_test(short_lived_blocks_are_stated_only_if_they_are_many),
		cmocka_unit_test(pages_are_stated_only_if_they_are_many_and_thin),
		cmocka_unit_test(memory_that_is_held_does_not_churn),
		cmocka_unit_test(a_growing_verdict_has_its_site_in_the_list),
		cmocka_unit_test(a_growing_verdict_is_before_larger_steps),
		cmocka_unit_test(most_churned_blocks_are_in_the_last_row),
		cmocka_unit_test(a_row_has_the_caller_of_most_bytes),
		cmocka_unit_test(allocated_bytes_are_stated_only_if_they_are_many_times_the_peak),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
