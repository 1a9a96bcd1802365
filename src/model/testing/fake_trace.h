/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_trace.h - generated traces for tests, with a copy of everything that was written, for
 * comparison.
 *
 * Expected values are computed only from the plain list of events, so that a test compares the
 * model with a count that shares no code with it.
 */
#ifndef HL_MODEL_TESTING_FAKE_TRACE_H
#define HL_MODEL_TESTING_FAKE_TRACE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace/heap_sim.h"
#include "trace/write/writer.h"

struct hl_fake_trace_opts {
	uint64_t seed;
	uint32_t events, nodes, threads, live, chunk, keyframe;
	uint32_t live_set;      /* number of events between live sets; 0: none */
	uint32_t summary_share; /* 0: the default; 1: each chunk has a summary */
	bool has_odd_events, no_end;
	bool tags; /* each odd thread is a role of the thread before it */
};

struct hl_fake_trace {
	char path[64];
	struct hl_event *events;
	size_t n_events;
	uint32_t nodes;
	bool tags;
	uint64_t duration_ns;
};

struct hl_fake_trace_value {
	uint64_t bytes, blocks;
};

static inline void hl_fake_trace_tables(struct hl_writer *w, const struct hl_fake_trace_opts *o)
{
	struct hl_module module = {.path = "/nowhere/lib.so"};

	hl_writer_add_module(w, &module);
	for (uint32_t i = 0; i < o->nodes; i++) {
		struct hl_node node = {
			.parent = i == 0 ? HL_NODE_NONE : (uint32_t)(hl_hash_u64(i) % i),
			.module = 0,
			.offset = 0x1000 + i};

		hl_writer_add_node(w, &node);
	}
	for (uint32_t i = 0; i < o->threads; i++) {
		if (o->tags && i % 2) {
			hl_writer_add_tag(w, i > 1 ? 0 : HL_TAG_NONE, "abcdef" + i / 2 % 6, 1);
			hl_writer_add_role(w, i - 1, i / 2);
		} else {
			hl_writer_add_thread(w, 100 + i);
		}
	}
}

static inline int hl_fake_trace_add_live_set(struct hl_writer *w, const struct hl_heap_sim *sim)
{
	struct hl_live_block *blocks = calloc(sim->n_live + 1, sizeof(*blocks));
	int err;

	for (size_t i = 0; i < sim->n_live; i++) {
		const struct hl_heap_sim_block *b = &sim->live[i];

		blocks[i] = (struct hl_live_block){
			b->addr, b->size, b->ordinal, b->alloc_ns, b->node, b->thread, 1, b->size};
	}
	err = hl_writer_add_live_set(w, blocks, sim->n_live);
	free(blocks);
	return err;
}

/* Returns 0 or -1. */
static inline int hl_fake_trace_make(struct hl_fake_trace *s, const struct hl_fake_trace_opts *o)
{
	static const struct hl_meta meta = {.program = "/bin/sample",
		.command = "sample",
		.command_len = 7,
		.arch = "cpu",
		.clock = "tsc",
		.mode = "trace",
		.allocator = "",
		.pid = 1};
	struct hl_writer_options wo = {.max_events = o->chunk,
		.keyframe_events = o->keyframe,
		.summary_share = o->summary_share};
	struct hl_counters counters = {0};
	struct hl_writer *w;
	struct hl_heap_sim sim;
	struct hl_end end = {.kind = HL_END_EXIT};
	int err = 0;

	memset(s, 0, sizeof(*s));
	strcpy(s->path, "/tmp/hl-sample-XXXXXX");
	s->events = calloc(o->events, sizeof(*s->events));
	s->nodes = o->nodes;
	s->tags = o->tags;
	if (!s->events || hl_heap_sim_init(&sim, o->seed, o->nodes, o->threads, o->live) ||
		hl_writer_open_with(&w, mkstemp(s->path), &meta, &wo))
		return -1;
	sim.strange = o->has_odd_events;
	hl_fake_trace_tables(w, o);
	for (s->n_events = 0; s->n_events < o->events && !err; s->n_events++) {
		hl_heap_sim_next(&sim, &s->events[s->n_events]);
		counters.implicit_frees += s->events[s->n_events].func == HL_FUNC_IMPLICIT;
		err = hl_writer_add_event(w, &s->events[s->n_events]);
		/* Not between the halves of a realloc. */
		if (!err && o->live_set && !sim.moved &&
			s->n_events % o->live_set == o->live_set - 1)
			err = hl_fake_trace_add_live_set(w, &sim);
	}
	s->duration_ns = end.duration_ns = sim.now_ns;
	if (!err && !o->no_end)
		err = hl_writer_end(w, &end, &counters);
	else if (!err)
		err = hl_writer_flush(w);
	hl_writer_close(w);
	hl_heap_sim_fini(&sim);
	return err;
}

static inline void hl_fake_trace_free(struct hl_fake_trace *s)
{
	unlink(s->path);
	free(s->events);
}

/* The number of events at or before t. */
static inline size_t hl_fake_trace_prefix(const struct hl_fake_trace *s, uint64_t t)
{
	size_t i = 0;

	while (i < s->n_events && s->events[i].time_ns <= t)
		i++;
	return i;
}

/* The live memory after the first n events, by node; the last of nodes + 1 entries is for blocks
 * without a stack. */
static inline struct hl_fake_trace_value *hl_fake_trace_live(
	const struct hl_fake_trace *s, size_t n)
{
	struct hl_fake_trace_value *v = calloc((size_t)s->nodes + 1, sizeof(*v));

	for (size_t i = 0; i < n; i++) {
		const struct hl_event *e = &s->events[i];
		struct hl_fake_trace_value *to = &v[e->node == HL_NODE_NONE ? s->nodes : e->node];

		to->bytes += e->op == HL_OP_ALLOC ? e->size : -e->size;
		to->blocks += e->op == HL_OP_ALLOC ? 1 : (uint64_t)-1;
	}
	return v;
}

#endif
