/* SPDX-License-Identifier: Apache-2.0 */
/* roundtrip_test.c - the reader returns what was given to the writer, field by field. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/attr.h"
#include "base/bits.h"
#include "trace/read/reader.h"
#include "trace/heap_sim.h"
#include "trace/write/writer.h"

#define NODES   300
#define MODULES 5

struct test_case {
	const char *name;
	uint64_t seed;
	uint32_t events, threads, live, chunk, keyframe;
	bool strange, free_stacks, hurry, flushes, samples, tags;
};

/* The events that were written, to compare them with those that are read. */
struct written {
	struct hl_event *events;
	struct hl_extra *extras;
	uint64_t *extras_at;
	size_t n_extras;
	struct hl_live_block *live;
	size_t n_live;
	uint64_t live_at;
	struct hl_totals totals;
};

static char path[64];

static const struct hl_meta meta = {
	.program = "/usr/bin/prog",
	.command = "prog\0-x\0a b",
	.command_len = 12,
	.arch = "cpu",
	.clock = "tsc",
	.mode = "trace",
	.allocator = "",
	.start_unix_ns = 1700000000123456789,
	.pid = 4242,
	.parent_pid = 7,
	.record_mmap = true,
};

static struct hl_node make_node(uint32_t i)
{
	return (struct hl_node){
		.parent = i < 3 ? HL_NODE_NONE : (uint32_t)(hl_hash_u64(i) % i),
		.module = i % 11 == 0 ? HL_MODULE_NONE : i % MODULES,
		.offset = i % 97 == 0 ? UINT64_MAX - i : hl_hash_u64(i) >> 40,
	};
}

/* With tags, every third id is a role of the thread before it, with a tag inside the previous
 * tag. */
static void add_role(struct hl_writer *w, uint32_t i)
{
	char name[16];

	snprintf(name, sizeof(name), "tag %u", i / 3);
	assert_int_equal(
		hl_writer_add_tag(w, i / 3 % 5 ? i / 3 - 1 : HL_TAG_NONE, name, strlen(name)), 0);
	assert_int_equal(hl_writer_add_role(w, i - 1, i / 3), 0);
}

static void add_tables(struct hl_writer *w, uint32_t threads, bool tags)
{
	const uint8_t id[20] = {1, 2, 3};

	for (uint32_t i = 0; i < MODULES; i++) {
		char name[32];
		struct hl_module m = {.path = name, .build_id = id, .build_id_len = i * 5};

		snprintf(name, sizeof(name), "/lib/lib%u.so", i);
		assert_int_equal(hl_writer_add_module(w, &m), 0);
	}
	for (uint32_t i = 0; i < NODES; i++) {
		struct hl_node n = make_node(i);
		assert_int_equal(hl_writer_add_node(w, &n), 0);
	}
	for (uint32_t i = 0; i < threads; i++)
		if (tags && i % 3 == 2)
			add_role(w, i);
		else
			assert_int_equal(hl_writer_add_thread(w, 1000 + i * 3), 0);
}

static void add_extra(
	struct hl_writer *w, struct written *wr, const struct hl_event *e, uint64_t at)
{
	static const char *const texts[] = {NULL, "", "mark", "hostile\n\x1b[2J\xff\"\\"};
	struct hl_extra x = {.time_ns = e->time_ns,
		.addr = e->addr,
		.size = e->size,
		.value = at % 3 ? at : UINT64_MAX,
		.value2 = at * 7,
		.thread = e->thread,
		.node = at % 2 ? e->node : HL_NODE_NONE,
		.kind = (uint8_t)(at % HL_EXTRA_KIND_COUNT),
		.text = texts[at % 4]};

	wr->extras[wr->n_extras] = x;
	wr->extras_at[wr->n_extras++] = at;
	assert_int_equal(hl_writer_add_extra(w, &x), 0);
}

static void add_live_set(
	struct hl_writer *w, struct written *wr, const struct hl_heap_sim *sim, uint64_t at)
{
	wr->live = calloc(sim->n_live + 1, sizeof(*wr->live));
	for (size_t i = 0; i < sim->n_live; i++) {
		const struct hl_heap_sim_block *b = &sim->live[i];

		wr->live[i] = (struct hl_live_block){
			b->addr, b->size, b->ordinal, b->alloc_ns, b->node, b->thread, 0, 0};
		hl_heap_sim_weight(sim, b, &wr->live[i].blocks, &wr->live[i].bytes);
	}
	wr->n_live = sim->n_live;
	wr->live_at = at;
	assert_int_equal(hl_writer_add_live_set(w, wr->live, sim->n_live), 0);
}

static struct hl_writer *open_writer(const struct test_case *k)
{
	struct hl_writer_options o = {.max_events = k->chunk,
		.keyframe_events = k->keyframe,
		.keyframe_share = k->keyframe ? 1 : 0,
		.summary_share = k->chunk ? 1 : 0};
	struct hl_meta m = meta;
	struct hl_writer *w;
	int fd;

	strcpy(path, "/tmp/hl-roundtrip-XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	m.free_stacks = k->free_stacks;
	assert_int_equal(hl_writer_open_with(&w, fd, &m, &o), 0);
	return w;
}

/* Two of three simple events use the fast functions. */
static int add_event(struct hl_writer *w, const struct hl_event *e, uint32_t i)
{
	struct hl_live_block b = {.addr = e->addr,
		.size = e->size,
		.ordinal = e->ordinal,
		.alloc_ns = e->op == HL_OP_ALLOC ? e->time_ns : e->alloc_ns,
		.node = e->node,
		.thread = hl_event_alloc_role(e)};
	bool is_simple =
		!e->flags && e->blocks == 1 && e->bytes == e->size && e->free_node == HL_NODE_NONE;

	if (!is_simple || i % 3 == 0)
		return hl_writer_add_event(w, e);
	if (e->op == HL_OP_ALLOC)
		return hl_writer_add_alloc(w, &b, e->time_ns / HL_TIME_UNIT_NS, e->func);
	return hl_writer_add_free(w, &b, e->time_ns / HL_TIME_UNIT_NS, e->thread, e->func);
}

static void write_trace(const struct test_case *k, struct written *wr, bool end)
{
	struct hl_writer *w = open_writer(k);
	struct hl_heap_sim sim;

	memset(wr, 0, sizeof(*wr));
	wr->events = calloc(k->events, sizeof(*wr->events));
	wr->extras = calloc(k->events, sizeof(*wr->extras));
	wr->extras_at = calloc(k->events, sizeof(*wr->extras_at));
	hl_totals_init(&wr->totals);
	assert_int_equal(hl_heap_sim_init(&sim, k->seed, NODES, k->threads, k->live), 0);
	sim.strange = k->strange;
	sim.free_stacks = k->free_stacks;
	sim.samples = k->samples;
	add_tables(w, k->threads, k->tags);
	for (uint32_t i = 0; i < k->events; i++) {
		struct hl_event *e = &wr->events[i];

		hl_heap_sim_next(&sim, e);
		if (k->hurry)
			hl_writer_set_uncompressed(w, i / 1000 % 2);
		assert_int_equal(add_event(w, e, i), 0);
		assert_int_equal(hl_totals_apply(&wr->totals, e), 0);
		if (k->strange && i % 37 == 0)
			add_extra(w, wr, e, i + 1);
		if (k->flushes && i % 500 == 499)
			assert_int_equal(hl_writer_flush(w), 0);
		if (i == k->events / 2 && !sim.moved)
			add_live_set(w, wr, &sim, i + 1);
		if (i % 100 == 0) {
			struct hl_rss_sample s = {e->time_ns, i * 4096u};
			assert_int_equal(hl_writer_add_rss(w, &s), 0);
		}
	}
	if (end) {
		struct hl_end how = {.kind = HL_END_SIGNAL,
			.value = 9,
			.duration_ns = sim.now_ns + 64,
			.oom = true};
		struct hl_counters c = {1, 2, 3, 4, 5, 6, 7};
		assert_int_equal(hl_writer_end(w, &how, &c), 0);
	}
	hl_writer_close(w);
	hl_heap_sim_fini(&sim);
}

static void free_written(struct written *wr)
{
	free(wr->events);
	free(wr->extras);
	free(wr->extras_at);
	free(wr->live);
	hl_totals_fini(&wr->totals);
	unlink(path);
}

static void assert_same_event(
	const struct hl_event *a, const struct hl_event *b, uint64_t first_ordinal)
{
	assert_int_equal(a->time_ns, b->time_ns);
	assert_int_equal(a->op, b->op);
	assert_int_equal(a->addr, b->addr);
	assert_int_equal(a->size, b->size);
	assert_int_equal(a->blocks, b->blocks);
	assert_int_equal(a->bytes, b->bytes);
	assert_int_equal(a->ordinal, b->ordinal);
	assert_int_equal(a->node, b->node);
	assert_int_equal(a->thread, b->thread);
	assert_int_equal(a->func, b->func);
	assert_int_equal(a->flags, b->flags);
	assert_int_equal(a->free_node, b->free_node);
	if (a->op == HL_OP_FREE) {
		assert_int_equal(a->alloc_role, b->alloc_role);
		assert_int_equal(a->lifetime_class, b->lifetime_class);
		assert_int_equal(
			b->alloc_ns, a->ordinal >= first_ordinal ? a->alloc_ns : UINT64_MAX);
	}
}

static void assert_same_extra(const struct hl_extra *a, const struct hl_extra *b)
{
	assert_int_equal(a->time_ns, b->time_ns);
	assert_int_equal(a->addr, b->addr);
	assert_int_equal(a->size, b->size);
	assert_int_equal(a->value, b->value);
	assert_int_equal(a->value2, b->value2);
	assert_int_equal(a->thread, b->thread);
	assert_int_equal(a->node, b->node);
	assert_int_equal(a->kind, b->kind);
	assert_int_equal(!a->text, !b->text);
	if (a->text)
		assert_string_equal(a->text, b->text);
}

static uint64_t naive_sum(
	const struct hl_chunk_events *c, const struct hl_summary_row *row, int field)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < c->n_events; i++) {
		const struct hl_event *e = &c->events[i];
		bool alloc = e->op == HL_OP_ALLOC;
		uint8_t class = e->size ? (uint8_t)(1 + hl_log2(e->size)) : 0;

		if (e->node == row->node && (alloc ? e->thread : e->alloc_role) == row->thread &&
			class == row->size_class && alloc == (field < 2))
			sum += field % 2 ? e->bytes : e->blocks;
	}
	return sum;
}

static void check_summary(struct hl_reader *r, size_t i, const struct hl_chunk_events *c)
{
	struct hl_summary s = {0};
	int err = hl_reader_summary(r, i, &s);
	uint64_t blocks = 0;

	assert_int_equal(err, hl_reader_chunk(r, i)->has_summary ? 0 : -ENOENT);
	for (size_t k = 0; k < s.n; k++) {
		const struct hl_sums *sums = &s.rows[k].sums;

		assert_int_equal(sums->alloc_blocks, naive_sum(c, &s.rows[k], 0));
		assert_int_equal(sums->alloc_bytes, naive_sum(c, &s.rows[k], 1));
		assert_int_equal(sums->free_blocks, naive_sum(c, &s.rows[k], 2));
		assert_int_equal(sums->free_bytes, naive_sum(c, &s.rows[k], 3));
		blocks += sums->alloc_blocks + sums->free_blocks;
	}
	for (size_t k = 0; k < c->n_events; k++)
		blocks -= c->events[k].blocks;
	assert_true(err || blocks == 0);
	hl_summary_free(&s);
}

/* A partial decode gives the same values as a full one, and pair_index connects the two events of a
 * block. */
static void check_partial_decode(
	struct hl_reader *r, size_t chunk, const struct hl_chunk_events *all)
{
	struct hl_chunk_events some = {0};

	for (unsigned want = 0; want < HL_WANT_ALL; want = want ? want * 2 + 1 : 1) {
		assert_int_equal(hl_reader_decode_some(r, chunk, want, &some), 0);
		assert_int_equal(some.n_events, all->n_events);
		for (size_t i = 0; i < all->n_events; i++) {
			const struct hl_event *a = &all->events[i], *s = &some.events[i];

			assert_true(a->op == s->op && a->ordinal == s->ordinal &&
				    a->size == s->size && a->bytes == s->bytes &&
				    a->blocks == s->blocks && a->thread == s->thread &&
				    a->alloc_role == s->alloc_role &&
				    a->pair_index == s->pair_index);
			assert_true(!(want & HL_WANT_TIME) ||
				    (a->time_ns == s->time_ns && a->alloc_ns == s->alloc_ns &&
					    a->lifetime_class == s->lifetime_class));
			assert_true(!(want & HL_WANT_NODE) || a->node == s->node);
			assert_true(!(want & HL_WANT_ADDR) || a->addr == s->addr);
			assert_true(!(want & HL_WANT_FUNC) || a->func == s->func);
			assert_true(!a->pair_index ||
				    (all->events[a->pair_index - 1].ordinal == a->ordinal &&
					    all->events[a->pair_index - 1].pair_index == i + 1));
		}
	}
	hl_chunk_events_free(&some);
}

static void check_events(struct hl_reader *r, const struct test_case *k, const struct written *wr)
{
	struct hl_chunk_events c = {0};
	struct hl_totals t;
	size_t n = 0, x = 0, n_allocs = 0;

	hl_totals_init(&t);
	for (size_t i = 0; i < hl_reader_n_chunks(r); i++) {
		const struct hl_chunk_info *info = hl_reader_chunk(r, i);
		uint64_t max = info->live_bytes;

		assert_int_equal(hl_reader_decode(r, i, &c), 0);
		assert_int_equal(info->first_event, n);
		assert_int_equal(info->n_events, c.n_events);
		assert_int_equal(info->first_ordinal, n_allocs);
		assert_int_equal(info->live_bytes, hl_sums_live_bytes(&t.sums));
		assert_int_equal(info->live_blocks, hl_sums_live_blocks(&t.sums));
		assert_int_equal(c.follows_alloc, n > 0 && wr->events[n - 1].op == HL_OP_ALLOC);
		for (size_t j = 0; j < c.n_extras; j++, x++) {
			assert_same_extra(&wr->extras[x], &c.extras[j]);
			assert_int_equal(wr->extras_at[x], n + c.extras_at[j]);
		}
		for (size_t j = 0; j < c.n_events; j++, n++) {
			assert_same_event(&wr->events[n], &c.events[j], info->first_ordinal);
			assert_int_equal(hl_totals_apply(&t, &c.events[j]), 0);
			n_allocs += c.events[j].op == HL_OP_ALLOC;
			max = hl_max_u64(max, hl_sums_live_bytes(&t.sums));
		}
		assert_int_equal(info->max_live_bytes, max);
		if (c.n_events <= 2000)
			check_summary(r, i, &c);
		if (i % 16 == 0)
			check_partial_decode(r, i, &c);
	}
	assert_int_equal(n, k->events);
	assert_int_equal(x, wr->n_extras);
	assert_int_equal(t.peak_bytes, wr->totals.peak_bytes);
	hl_totals_fini(&t);
	hl_chunk_events_free(&c);
}

static void check_keyframes(struct hl_reader *r, const struct written *wr)
{
	struct hl_node_totals nodes[NODES];
	struct hl_totals t, process;
	uint64_t n = 0, bytes, blocks;

	hl_totals_init(&t);
	for (size_t i = 0; i < hl_reader_n_keyframes(r); i++) {
		const struct hl_keyframe_info *info = hl_reader_keyframe(r, i);

		for (; n < info->first_event; n++)
			assert_int_equal(hl_totals_apply(&t, &wr->events[n]), 0);
		assert_int_equal(hl_reader_load_keyframe(r, i, nodes, NODES), 0);
		assert_int_equal(info->time_ns, n ? wr->events[n - 1].time_ns : 0);
		for (size_t k = 0; k < NODES; k++) {
			struct hl_sums none = {0};

			assert_memory_equal(&nodes[k].sums,
				k < t.n_nodes ? &hl_totals_node(&t, k)->sums : &none, sizeof(none));
			hl_totals_at_peak(&t, k, &bytes, &blocks);
			assert_int_equal(nodes[k].peak_bytes, bytes);
			assert_int_equal(nodes[k].peak_blocks, blocks);
		}
		assert_int_equal(hl_reader_keyframe_totals(r, i, &process), 0);
		assert_memory_equal(&process.sums, &t.sums, sizeof(t.sums));
		assert_int_equal(process.peak_time_ns, t.peak_time_ns);
		assert_int_equal(process.stacks, t.stacks);
		assert_int_equal(process.temporary, t.temporary);
	}
	hl_totals_fini(&t);
}

/* Other roles of a thread do not count as threads. */
static void check_roles(struct hl_reader *r, const struct test_case *k)
{
	uint32_t n_threads, n_tags, n_roles, number = 0;
	const struct hl_role *roles;
	uint64_t tid;

	assert_int_equal(hl_reader_n_threads(r, &n_threads), 0);
	assert_int_equal(hl_reader_n_tags(r, &n_tags), 0);
	assert_int_equal(hl_reader_roles(r, &roles, &n_roles), 0);
	assert_int_equal(n_roles, k->threads);
	assert_int_equal(n_tags, k->threads / 3);
	for (uint32_t i = 0; i < k->threads; i++) {
		bool role = i % 3 == 2;

		assert_int_equal(roles[i].thread, role ? number - 1 : number);
		assert_int_equal(roles[i].tag, role ? i / 3 : HL_TAG_NONE);
		if (role)
			continue;
		assert_int_equal(hl_reader_thread(r, number++, &tid), 0);
		assert_int_equal(tid, 1000 + i * 3);
	}
	assert_int_equal(n_threads, number);
	assert_int_equal(hl_reader_thread(r, number, &tid), -EINVAL);
	for (uint32_t i = 0; i < n_tags; i++) {
		struct hl_tag tag;
		char name[16];

		snprintf(name, sizeof(name), "tag %u", i);
		assert_int_equal(hl_reader_tag(r, i, &tag), 0);
		assert_string_equal(tag.name, name);
		assert_int_equal(tag.parent, i % 5 ? i - 1 : HL_TAG_NONE);
	}
}

static void check_tables(struct hl_reader *r, const struct test_case *k)
{
	struct hl_module m;
	struct hl_node got, want;
	uint64_t tid;
	uint32_t n;

	assert_int_equal(hl_reader_n_nodes(r, &n), 0);
	assert_int_equal(n, NODES);
	for (uint32_t i = 0; i < NODES; i++) {
		want = make_node(i);
		assert_int_equal(hl_reader_node(r, i, &got), 0);
		assert_memory_equal(&got, &want, sizeof(got));
	}
	assert_int_equal(hl_reader_module(r, 4, &m), 0);
	assert_string_equal(m.path, "/lib/lib4.so");
	assert_int_equal(m.build_id_len, 20);
	assert_int_equal(m.build_id[2], 3);
	if (k->tags) {
		check_roles(r, k);
		return;
	}
	assert_int_equal(hl_reader_thread(r, k->threads - 1, &tid), 0);
	assert_int_equal(tid, 1000 + (k->threads - 1) * 3);
	assert_int_equal(hl_reader_thread(r, k->threads, &tid), -EINVAL);
}

static void check_rest(struct hl_reader *r, const struct test_case *k, const struct written *wr)
{
	struct hl_live_block *blocks;
	struct hl_rss_sample *rss, peak;
	size_t n;

	assert_int_equal(hl_reader_n_live_sets(r), wr->live ? 1 : 0);
	if (wr->live) {
		assert_int_equal(hl_reader_live_set(r, 0)->first_event, wr->live_at);
		assert_int_equal(hl_reader_live_set(r, 0)->n_blocks, wr->n_live);
		assert_int_equal(hl_reader_load_live_set(r, 0, &blocks, &n), 0);
		assert_int_equal(n, wr->n_live);
		assert_memory_equal(blocks, wr->live, n * sizeof(*blocks));
		free(blocks);
	}
	assert_int_equal(hl_reader_rss(r, &rss, &n), 0);
	assert_int_equal(n, (k->events + 99) / 100);
	assert_int_equal(rss[n - 1].rss_bytes, (n - 1) * 100 * 4096);
	assert_int_equal(rss[n - 1].time_ns, wr->events[(n - 1) * 100].time_ns);
	assert_int_equal(hl_reader_peak_rss(r, &peak), 0);
	assert_int_equal(peak.rss_bytes, rss[n - 1].rss_bytes);
	assert_int_equal(peak.time_ns, peak.rss_bytes ? rss[n - 1].time_ns : 0);
	free(rss);
}

/* The number of threads with an event, counted naively; see add_role. */
static uint64_t count_threads(const struct test_case *k, const struct written *wr)
{
	uint8_t seen[64] = {0};
	uint64_t n = 0;

	assert_true(k->threads <= 64);
	for (uint32_t i = 0; i < k->events; i++) {
		uint32_t t = wr->events[i].thread;

		seen[k->tags && t % 3 == 2 ? t - 1 : t] = 1;
	}
	for (uint32_t i = 0; i < k->threads; i++)
		n += seen[i];
	return n;
}

static void check_info(
	struct hl_reader *r, const struct test_case *k, const struct written *wr, bool end)
{
	const struct hl_trace_info *info;

	assert_int_equal(hl_reader_info(r, &info), 0);
	assert_false(info->damaged);
	assert_string_equal(info->damage, "");
	assert_int_equal(info->has_end, end);
	assert_int_equal(info->end.kind, end ? HL_END_SIGNAL : HL_END_LOST);
	assert_string_equal(info->meta.program, meta.program);
	assert_int_equal(info->meta.command_len, meta.command_len);
	assert_memory_equal(info->meta.command, meta.command, meta.command_len);
	assert_string_equal(info->meta.allocator, "");
	assert_int_equal(info->meta.start_unix_ns, meta.start_unix_ns);
	assert_true(info->meta.record_mmap);
	assert_memory_equal(&info->totals.sums, &wr->totals.sums, sizeof(wr->totals.sums));
	assert_int_equal(info->totals.peak_bytes, wr->totals.peak_bytes);
	assert_int_equal(info->totals.peak_blocks, wr->totals.peak_blocks);
	assert_int_equal(info->totals.peak_time_ns, wr->totals.peak_time_ns);
	assert_int_equal(info->totals.temporary, wr->totals.temporary);
	assert_int_equal(info->totals.stacks, wr->totals.stacks);
	assert_int_equal(info->totals.events, wr->totals.events);
	assert_int_equal(info->totals.implicit_frees, wr->totals.implicit_frees);
	assert_int_equal(info->threads, count_threads(k, wr));
	if (end) {
		assert_int_equal(info->end.value, 9);
		assert_true(info->end.oom);
		assert_int_equal(info->counters.dropped_events, 5);
		assert_int_equal(info->counters.early_blocks, 7);
	}
}

static void check_case(const struct test_case *k, bool end)
{
	struct hl_reader_refusal why;
	struct written wr;
	struct hl_reader *r;

	print_message("  %s%s\n", k->name, end ? "" : ", no end");
	write_trace(k, &wr, end);
	assert_int_equal(hl_reader_open(&r, path, &why), 0);
	check_info(r, k, &wr, end);
	check_events(r, k, &wr);
	check_keyframes(r, &wr);
	check_tables(r, k);
	if (end)
		check_rest(r, k, &wr);
	check_info(r, k, &wr, end);
	hl_reader_close(r);
	free_written(&wr);
}

static void all_data_round_trips(void **state)
{
	static const struct test_case cases[] = {
		{"plain", 1, 200000, 1, 1000, 0, 0, false, false, false, false, false, false},
		{"threads", 2, 100000, 9, 5000, 0, 0, false, false, false, false, false, false},
		{"strange", 3, 150000, 4, 1000, 0, 0, true, false, false, false, false, false},
		{"free stacks", 4, 50000, 4, 1000, 0, 0, true, true, false, false, false, false},
		{"hurry", 5, 50000, 4, 1000, 1024, 0, true, false, true, false, false, false},
		{"small chunks", 6, 20000, 4, 300, 50, 1, false, false, false, false, false, false},
		{"tiny chunks", 7, 5000, 2, 300, 2, 1, true, true, false, false, false, false},
		{"flushed", 8, 50000, 3, 10000, 0, 3000, true, false, false, true, false, false},
		{"many live", 9, 200000, 3, 60000, 8192, 10000, false, false, false, false, false,
			false},
		{"one event", 10, 1, 1, 10, 0, 0, false, false, false, false, false, false},
		{"samples", 12, 100000, 3, 1000, 0, 5000, true, false, false, true, true, false},
		{"samples in tiny chunks", 13, 5000, 2, 300, 2, 1, true, true, false, false, true,
			false},
		{"tags", 12, 100000, 30, 3000, 0, 5000, true, true, false, true, false, true},
		{"tags, small chunks", 13, 5000, 7, 300, 50, 1, false, false, true, false, true,
			true},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		check_case(&cases[i], true);
		check_case(&cases[i], false);
	}
}

/* All values have their maximum length. Chunks must be closed in time, or the reader refuses them
 * as damaged. */
static void the_longest_events_fit_in_chunks(void **state)
{
	static const struct test_case k = {
		"longest", 11, 30000, 9, 0, 0, 0, true, true, false, false, false, false};
	static char text[70000];
	struct hl_writer *w = open_writer(&k);
	struct written wr = {.events = calloc(k.events, sizeof(struct hl_event))};
	struct hl_reader_refusal why;
	struct hl_chunk_events c = {0};
	struct hl_reader *r;
	size_t n = 0, extras = 0;

	memset(text, 'x', sizeof(text) - 1);
	add_tables(w, k.threads, k.tags);
	for (uint32_t i = 0; i < k.events; i++) {
		uint64_t h = hl_hash_u64(i);
		struct hl_event *e = &wr.events[i];
		bool alloc = i < k.events / 2;
		/* the block of a free: each one of the first half once, since 7919 is coprime to
		 * their number */
		uint64_t ordinal = alloc ? i : (uint64_t)i * 7919 % (k.events / 2);

		*e = (struct hl_event){.time_ns = ((uint64_t)i << 40),
			.addr = hl_hash_u64(~ordinal) | 1,
			.size = hl_hash_u64(ordinal ^ 77) | UINT64_C(1) << 63,
			.blocks = UINT64_MAX,
			.bytes = hl_hash_u64(ordinal),
			.ordinal = ordinal,
			.alloc_ns = ordinal << 40,
			.node = (uint32_t)(ordinal * 31 % NODES),
			.free_node = alloc ? HL_NODE_NONE : (uint32_t)(h % NODES),
			.thread = i % 9,
			.alloc_role = alloc ? 0 : ordinal % 9,
			.op = alloc ? HL_OP_ALLOC : HL_OP_FREE,
			.func = (uint8_t)(h % HL_FUNC_COUNT)};
		e->lifetime_class = alloc ? 0 : hl_lifetime_class(e->time_ns - e->alloc_ns);
		assert_int_equal(hl_writer_add_event(w, e), 0);
		if (i % 300 == 0) {
			struct hl_extra x = {
				.time_ns = e->time_ns, .node = HL_NODE_NONE, .text = text};
			assert_int_equal(hl_writer_add_extra(w, &x), 0);
		}
	}
	hl_writer_close(w);
	assert_int_equal(hl_reader_open(&r, path, &why), 0);
	for (size_t i = 0; i < hl_reader_n_chunks(r); i++) {
		assert_int_equal(hl_reader_decode(r, i, &c), 0);
		for (size_t j = 0; j < c.n_events; j++, n++)
			assert_same_event(
				&wr.events[n], &c.events[j], hl_reader_chunk(r, i)->first_ordinal);
		for (size_t j = 0; j < c.n_extras; j++, extras++)
			assert_int_equal(strlen(c.extras[j].text), 65535);
	}
	assert_int_equal(n, k.events);
	assert_int_equal(extras, k.events / 300);
	hl_chunk_events_free(&c);
	hl_reader_close(r);
	free_written(&wr);
}

/* Time steps of every encoded length, with and without a zero step before and after. */
static void all_time_steps_round_trip(void **state)
{
	static const struct test_case k = {
		"steps", 12, 0, 1, 0, 0, 0, false, false, false, false, false, false};
	uint64_t steps[3 * 50], time = 0;
	struct hl_writer *w = open_writer(&k);
	struct hl_reader_refusal why;
	struct hl_chunk_events c = {0};
	struct hl_reader *r;

	(void)state;
	add_tables(w, k.threads, k.tags);
	for (uint32_t i = 0; i < HL_ARRAY_LEN(steps); i++) {
		struct hl_event e = {.ordinal = i, .size = 1, .addr = i * UINT64_C(16)};

		/* 0, 2^n, 2^n + 1 */
		steps[i] = i % 3 ? (UINT64_C(1) << i / 3) + i % 3 - 1 : 0;
		time += steps[i];
		e.time_ns = time * HL_TIME_UNIT_NS;
		assert_int_equal(hl_writer_add_event(w, &e), 0);
	}
	hl_writer_close(w);
	assert_int_equal(hl_reader_open(&r, path, &why), 0);
	assert_int_equal(hl_reader_n_chunks(r), 1);
	assert_int_equal(hl_reader_decode(r, 0, &c), 0);
	assert_int_equal(c.n_events, HL_ARRAY_LEN(steps));
	time = 0;
	for (uint32_t i = 0; i < c.n_events; i++) {
		time += steps[i];
		assert_int_equal(c.events[i].time_ns, time * HL_TIME_UNIT_NS);
	}
	hl_chunk_events_free(&c);
	hl_reader_close(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_data_round_trips),
		cmocka_unit_test(all_time_steps_round_trip),
		cmocka_unit_test(the_longest_events_fit_in_chunks),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
