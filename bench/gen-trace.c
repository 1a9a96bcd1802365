/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gen-trace.c - writes a trace of a synthetic program directly with the trace writer, to measure
 * readers on 10^7 or 10^8 events. The same options produce the same events.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "trace/heap_sim_base.h"

struct options {
	uint64_t events, seed, base;
	uint32_t nodes, threads, live;
	bool strange, free_stacks, hurry, dry;
	const char *output;
};

static const char usage[] =
	"usage: gen-trace [options] -o FILE\n"
	"  -n, --events N     how many heap events (1000000)\n"
	"      --nodes N      nodes of the call tree (10000)\n"
	"      --threads N    (4)\n"
	"      --live N       live blocks it hovers about (100000)\n"
	"      --seed N       (1)\n"
	"      --strange      odd sizes and addresses, extras\n"
	"      --free-stacks  frees have stacks\n"
	"      --hurry        columns are stored, not compressed\n"
	"      --base N       begin late: the first N events, or one more, are not in the file\n"
	"      --dry          only make the events: what the generator itself costs\n"
	"  -o, --output FILE\n";

static bool parse(int argc, char **argv, struct options *o)
{
	static const struct option longs[] = {
		{"events", required_argument, NULL, 'n'},
		{"nodes", required_argument, NULL, 'N'},
		{"threads", required_argument, NULL, 't'},
		{"live", required_argument, NULL, 'l'},
		{"seed", required_argument, NULL, 's'},
		{"strange", no_argument, NULL, 'S'},
		{"free-stacks", no_argument, NULL, 'F'},
		{"hurry", no_argument, NULL, 'H'},
		{"base", required_argument, NULL, 'b'},
		{"dry", no_argument, NULL, 'd'},
		{"output", required_argument, NULL, 'o'},
		{0},
	};
	int c;

	*o = (struct options){
		.events = 1000000, .seed = 1, .nodes = 10000, .threads = 4, .live = 100000};
	while ((c = getopt_long(argc, argv, "n:o:", longs, NULL)) != -1) {
		unsigned long long v = optarg ? strtoull(optarg, NULL, 0) : 0;

		switch (c) {
		case 'n':
			o->events = v;
			break;
		case 'N':
			o->nodes = (uint32_t)v;
			break;
		case 't':
			o->threads = (uint32_t)v;
			break;
		case 'l':
			o->live = (uint32_t)v;
			break;
		case 's':
			o->seed = v;
			break;
		case 'S':
			o->strange = true;
			break;
		case 'F':
			o->free_stacks = true;
			break;
		case 'H':
			o->hurry = true;
			break;
		case 'b':
			o->base = v;
			break;
		case 'd':
			o->dry = true;
			break;
		case 'o':
			o->output = optarg;
			break;
		default:
			return false;
		}
	}
	return (o->output || o->dry) && o->nodes > 0 && o->threads > 0 && optind == argc;
}

static int add_tables(struct hl_writer *w, const struct options *o)
{
	static const uint8_t id[20] = {0xab, 0xcd};
	const struct hl_module m = {.path = "/usr/bin/made-up", .build_id = id, .build_id_len = 20};
	int err = hl_writer_add_module(w, &m);

	for (uint32_t i = 0; i < o->nodes && !err; i++) {
		struct hl_node n = {.parent = i ? (uint32_t)(hl_hash_u64(i) % i) : HL_NODE_NONE,
			.offset = 0x1000 + (hl_hash_u64(i * 3) & 0xfffff)};
		err = hl_writer_add_node(w, &n);
	}
	for (uint32_t i = 0; i < o->threads && !err; i++) {
		bool role = o->strange && i % 3 == 2;
		uint32_t tag = i / 3;

		if (role)
			err = hl_writer_add_tag(
				w, tag % 4 ? tag - 1 : HL_TAG_NONE, "\"scope\"\n", tag % 9);
		if (!err)
			err = role ? hl_writer_add_role(w, i - 1 - tag % 2, tag)
				   : hl_writer_add_thread(w, 1000 + i);
	}
	return err;
}

/* Each extra has the next kind. */
#define EXTRA_EVERY 1009
static_assert(EXTRA_EVERY % HL_EXTRA_KIND_COUNT == 1, "kinds of extras come in order");

static int add_extra(struct hl_writer *w, const struct hl_event *e, uint64_t i)
{
	static const char *const texts[] = {
		NULL, "", "here", "a\tb\n\"q\" \\ \x1b[31m \xc3\xa9 \xff"};
	const uint64_t round = i / EXTRA_EVERY / HL_EXTRA_KIND_COUNT;
	const uint8_t kind = (uint8_t)(i % HL_EXTRA_KIND_COUNT);
	const bool pool = kind >= HL_EXTRA_POOL; /* one block per cycle of kinds */
	const struct hl_extra x = {.time_ns = e->time_ns,
		.addr = e->addr,
		.size = e->size,
		.value = pool ? round % 3 : i,
		.value2 = pool ? round : ~i,
		.thread = e->thread,
		.node = i & 1 ? e->node : HL_NODE_NONE,
		.kind = kind,
		.text = texts[i / 2 % 4]};

	return hl_writer_add_extra(w, &x);
}

/* Adds the events [from, to). */
static int add_events(struct hl_writer *w, struct hl_heap_sim *sim, const struct options *o,
	uint64_t from, uint64_t to)
{
	uint64_t check = 0;
	struct hl_event e;
	int err = 0;

	for (uint64_t i = from; i < to && !err; i++) {
		hl_heap_sim_next(sim, &e);
		check += e.addr;
		if (o->dry)
			continue;
		err = hl_writer_add_event(w, &e);
		if (o->strange && i % EXTRA_EVERY == 0 && !err)
			err = add_extra(w, &e, i);
		if (i % 1000000 == 0 && !err) {
			const struct hl_rss_sample s = {e.time_ns, sim->n_live * 128};
			err = hl_writer_add_rss(w, &s);
		}
	}
	if (o->dry)
		printf("check %llx\n", (unsigned long long)check);
	return err;
}

static int add_live_set(struct hl_writer *w, const struct hl_heap_sim *sim)
{
	struct hl_live_block *b = malloc((sim->n_live + 1) * sizeof(*b));
	int err;

	if (!b)
		return -ENOMEM;
	for (size_t i = 0; i < sim->n_live; i++) {
		const struct hl_heap_sim_block *s = &sim->live[i];
		b[i] = (struct hl_live_block){
			s->addr, s->size, s->ordinal, s->alloc_ns, s->node, s->thread, 1, s->size};
	}
	err = hl_writer_add_live_set(w, b, sim->n_live);
	free(b);
	return err;
}

/* Adds the events before the base to a writer of their own. Not between the halves of a realloc. */
static int add_early_events(struct hl_writer **early, const struct hl_meta *meta,
	struct hl_heap_sim *sim, struct options *o)
{
	static struct hl_file_status status;
	int err = hl_heap_sim_open_early(early, meta, &status);

	if (!err)
		err = add_tables(*early, o);
	if (!err)
		err = add_events(*early, sim, o, 0, o->base);
	if (!err && sim->moved) {
		err = add_events(*early, sim, o, o->base, o->base + 1);
		o->base++;
	}
	return err;
}

static int generate(struct options *o, struct hl_heap_sim *sim, uint64_t *bytes)
{
	struct hl_meta meta = {.program = "/usr/bin/made-up",
		.command = "made-up",
		.command_len = 8,
		.arch = "x86_64",
		.clock = "made-up",
		.mode = "trace",
		.allocator = "",
		.start_unix_ns = UINT64_C(1700000000000000000),
		.pid = 1,
		.free_stacks = o->free_stacks};
	const struct hl_counters counters = {0};
	struct hl_end end = {.kind = HL_END_EXIT};
	struct hl_writer *w = NULL, *early = NULL;
	int fd, err = 0;

	if (o->base)
		err = add_early_events(&early, &meta, sim, o);
	if (!err && o->base)
		err = hl_writer_describe_base(early, sim->now_ns, sim->n_live, &meta.base);
	if (err)
		return err;
	fd = open(o->output, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	err = hl_writer_open(&w, fd, &meta);
	if (err) {
		close(fd);
		return err;
	}
	hl_writer_set_uncompressed(w, o->hurry);
	err = add_tables(w, o);
	if (!err && early)
		err = hl_heap_sim_write_base(w, early, sim);
	if (!err)
		err = add_events(w, sim, o, o->base, o->events);
	if (!err)
		err = add_live_set(w, sim);
	end.duration_ns = sim->now_ns;
	if (!err)
		err = hl_writer_end(w, &end, &counters);
	*bytes = hl_writer_bytes(w);
	hl_writer_close(w);
	return err;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	struct options o;
	struct hl_heap_sim sim;
	uint64_t bytes = 0;
	double t0 = now();
	int err;

	if (!parse(argc, argv, &o)) {
		fputs(usage, stderr);
		return 2;
	}
	if (hl_heap_sim_init(&sim, o.seed, o.nodes, o.threads, o.live) < 0)
		return 3;
	sim.strange = o.strange;
	sim.free_stacks = o.free_stacks;
	err = o.dry ? add_events(NULL, &sim, &o, 0, o.events) : generate(&o, &sim, &bytes);
	hl_heap_sim_fini(&sim);
	if (err) {
		fprintf(stderr, "gen-trace: %s: %s\n", o.output, strerror(-err));
		return 3;
	}
	fprintf(stderr,
		"%llu events, %llu bytes, %.1f ns (of processor time) and %.3f bytes an event\n",
		(unsigned long long)o.events, (unsigned long long)bytes,
		(now() - t0) * 1e9 / (double)o.events, (double)bytes / (double)o.events);
	return 0;
}
