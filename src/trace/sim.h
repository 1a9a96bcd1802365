/*
 * sim.h - a made-up program: heap events that fit each other, for tests and the trace generator.
 *
 * The same seed gives the same events. Blocks mostly die young, addresses are reused last in first
 * out by size class, and each node has its usual size. `strange` mixes in all that is legal and rare.
 */
#ifndef HL_TRACE_SIM_H
#define HL_TRACE_SIM_H

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "trace/event.h"

#define HL_SIM_CLASSES 64
#define HL_SIM_CACHE   64

struct hl_sim_block {
	uint64_t addr, size, ordinal, birth_ns;
	uint32_t node, thread;
};

struct hl_sim {
	uint64_t rng;
	uint32_t nodes, threads, target; /* target: live blocks it hovers about */
	bool strange, free_stacks;
	uint64_t now_ns, next_ordinal, brk;
	uint32_t thread;
	bool moved;                      /* the second half of a realloc is due */
	uint64_t moved_size;
	struct hl_sim_block *live;
	size_t n_live, cap;
	uint64_t cache[HL_SIM_CLASSES][HL_SIM_CACHE];
	uint32_t cached[HL_SIM_CLASSES];
};

static inline uint64_t hl_sim_random(struct hl_sim *s)
{
	return hl_hash_u64(s->rng += HL_HASH_K);
}

static inline uint64_t hl_sim_below(struct hl_sim *s, uint64_t n)
{
	return (uint64_t)((unsigned __int128)hl_sim_random(s) * n >> 64);
}

/* 0 or -1 without memory. */
static inline int hl_sim_init(
	struct hl_sim *s, uint64_t seed, uint32_t nodes, uint32_t threads, uint32_t target)
{
	memset(s, 0, sizeof(*s));
	s->rng = seed;
	s->nodes = nodes;
	s->threads = threads;
	s->target = target;
	s->brk = UINT64_C(0x5581a0000000);
	s->cap = (size_t)target * 2 + 1024;
	s->live = malloc(s->cap * sizeof(*s->live));
	return s->live ? 0 : -1;
}

static inline void hl_sim_fini(struct hl_sim *s)
{
	free(s->live);
}

static inline uint64_t hl_sim_strange_size(struct hl_sim *s)
{
	static const uint64_t sizes[] = {0, 1, 4095, 4096, UINT64_C(1) << 32, (UINT64_C(5) << 32) + 3,
		UINT64_C(1) << 47, 24, 25};

	return sizes[hl_sim_below(s, sizeof(sizes) / sizeof(sizes[0]))];
}

static inline uint64_t hl_sim_strange_addr(struct hl_sim *s)
{
	static const uint64_t bases[] = {8, UINT64_C(0x1ffffffffffff00), UINT64_C(0x7fff00000001),
		UINT64_C(0xffffffffff600000), 0x10, UINT64_C(0x5581a0000008)};

	return bases[hl_sim_below(s, 6)] + hl_sim_below(s, 64);
}

static inline uint64_t hl_sim_addr(struct hl_sim *s, uint64_t size)
{
	uint64_t class = (size + 23) / 16;

	if (class < HL_SIM_CLASSES && s->cached[class] > 0)
		return s->cache[class][--s->cached[class]];
	s->brk += class < HL_SIM_CLASSES ? class * 16 : (size + 4111) & ~UINT64_C(4095);
	return s->brk;
}

static inline void hl_sim_alloc(struct hl_sim *s, struct hl_event *e)
{
	uint64_t r = hl_sim_random(s);
	uint32_t skew = (uint32_t)((r >> 40 & 0xfff) * (r >> 52 & 0xfff) >> 12); /* small ones are common */
	struct hl_sim_block *b = &s->live[s->n_live++];

	b->node = (uint32_t)((uint64_t)s->nodes * skew >> 12);
	b->thread = s->thread;
	b->size = 16 + (hl_hash_u64(b->node) & 0xff);
	if ((r & 15) == 0)
		b->size = 1 + (r >> 8 & 0x7ff);
	if (s->moved)
		b->size = s->moved_size + (s->moved_size >> 1);
	if (s->strange && (r & 0x700) == 0)
		b->size = hl_sim_strange_size(s);
	b->addr = hl_sim_addr(s, b->size);
	if (s->strange && (r & 0x7000) == 0)
		b->addr = hl_sim_strange_addr(s);
	if (s->strange && (r & 0xff0000) == 0)
		b->node = HL_NODE_NONE;
	b->ordinal = s->next_ordinal++;
	b->birth_ns = s->now_ns;
	*e = (struct hl_event){.addr = b->addr, .size = b->size, .ordinal = b->ordinal, .node = b->node,
		.free_node = HL_NODE_NONE, .op = HL_OP_ALLOC,
		.func = s->moved ? HL_FUNC_REALLOC : (r >> 32 & 31) ? HL_FUNC_MALLOC : HL_FUNC_CALLOC};
	if (s->moved)
		e->flags = HL_EVENT_MOVED;
	s->moved = false;
}

static inline void hl_sim_free(struct hl_sim *s, struct hl_event *e)
{
	uint64_t r = hl_sim_random(s);
	size_t young = s->n_live < 16 ? s->n_live : 16;
	size_t i = (r & 7) ? s->n_live - 1 - (size_t)((r >> 8) % young) : hl_sim_below(s, s->n_live);
	struct hl_sim_block b = s->live[i];
	uint64_t class = (b.size + 23) / 16;

	s->live[i] = s->live[--s->n_live];
	if (class < HL_SIM_CLASSES && s->cached[class] < HL_SIM_CACHE)
		s->cache[class][s->cached[class]++] = b.addr;
	*e = (struct hl_event){.addr = b.addr, .size = b.size, .ordinal = b.ordinal,
		.birth_ns = b.birth_ns, .node = b.node, .free_node = HL_NODE_NONE,
		.birth_thread = b.thread, .op = HL_OP_FREE, .func = HL_FUNC_FREE,
		.life_q = hl_life_class(s->now_ns - b.birth_ns)};
	if (s->free_stacks && (r & 0xf0000))
		e->free_node = (uint32_t)((r >> 24) % s->nodes);
	if (s->strange && (r & 0x3f00000) == 0)
		e->func = HL_FUNC_IMPLICIT;
	if ((r >> 48 & 63) == 0) {
		e->flags = HL_EVENT_MOVED;
		e->func = HL_FUNC_REALLOC;
		s->moved = true;
		s->moved_size = b.size;
	}
}

static inline void hl_sim_next(struct hl_sim *s, struct hl_event *e)
{
	uint64_t r = hl_sim_random(s);
	bool grow = s->n_live < s->target ? (r & 15) < 9 : (r & 15) < 7;

	if (!s->moved) {
		if ((r & 0xf0) == 0)
			s->now_ns += HL_TIME_UNIT_NS * (r >> 8 & 15);
		if ((r & 0xff000) == 0)
			s->now_ns += HL_TIME_UNIT_NS * (r >> 20 & 0xffff);
		if ((r >> 40 & 31) == 0)
			s->thread = (uint32_t)((r >> 45) % s->threads);
	}
	if (s->moved || s->n_live == 0 || (grow && s->n_live < s->cap))
		hl_sim_alloc(s, e);
	else
		hl_sim_free(s, e);
	e->time_ns = s->now_ns;
	e->thread = s->thread;
}

#endif
