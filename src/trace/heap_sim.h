/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap_sim.h - a simulated program: consistent heap events for tests and the trace generator.
 *
 * The same seed gives the same events. Like real programs, the simulation runs routines that behave
 * the same each time. Most blocks are freed in the routine that allocated them. Some are kept and
 * freed later, in no particular order. Addresses are reused last in, first out for each size class.
 * `strange` adds rare but legal cases.
 */
#ifndef HL_TRACE_HEAP_SIM_H
#define HL_TRACE_HEAP_SIM_H

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "trace/event.h"

#define HL_SIM_CLASSES 64
#define HL_SIM_CACHE   64

struct hl_heap_sim_block {
	uint64_t addr, size, ordinal, alloc_ns;
	uint32_t node, thread;
	uint8_t func;
};

struct hl_heap_sim {
	uint64_t rng;
	uint32_t nodes, threads, target; /* target: approximate number of live blocks */
	bool strange, free_stacks;
	bool samples; /* some blocks are samples, with a weight */
	uint64_t now_ns, next_ordinal, brk;
	uint32_t thread;
	uint32_t routine, step; /* current routine and position in it */
	bool moved;             /* the second half of a realloc is next, of moved_block */
	struct hl_heap_sim_block moved_block;
	struct hl_heap_sim_block *live;
	size_t n_live, cap;
	size_t n_local; /* blocks at the end of `live` that are freed when the routine ends */
	uint64_t cache[HL_SIM_CLASSES][HL_SIM_CACHE];
	uint32_t cached[HL_SIM_CLASSES];
};

static inline uint64_t hl_heap_sim_random(struct hl_heap_sim *s)
{
	return hl_hash_u64(s->rng += HL_HASH_K);
}

static inline uint64_t hl_heap_sim_below(struct hl_heap_sim *s, uint64_t n)
{
	return (uint64_t)((unsigned __int128)hl_heap_sim_random(s) * n >> 64);
}

/* Returns 0, or -1 if memory is short. */
static inline int hl_heap_sim_init(
	struct hl_heap_sim *s, uint64_t seed, uint32_t nodes, uint32_t threads, uint32_t target)
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

static inline void hl_heap_sim_fini(struct hl_heap_sim *s)
{
	free(s->live);
}

static inline uint64_t hl_heap_sim_strange_size(struct hl_heap_sim *s)
{
	static const uint64_t sizes[] = {0, 1, 4095, 4096, UINT64_C(1) << 32,
		(UINT64_C(5) << 32) + 3, UINT64_C(1) << 47, 24, 25};

	return sizes[hl_heap_sim_below(s, sizeof(sizes) / sizeof(sizes[0]))];
}

static inline uint64_t hl_heap_sim_strange_addr(struct hl_heap_sim *s)
{
	static const uint64_t bases[] = {8, UINT64_C(0x1ffffffffffff00), UINT64_C(0x7fff00000001),
		UINT64_C(0xffffffffff600000), 0x10, UINT64_C(0x5581a0000008)};

	return bases[hl_heap_sim_below(s, 6)] + hl_heap_sim_below(s, 64);
}

static inline uint64_t hl_heap_sim_addr(struct hl_heap_sim *s, uint64_t size)
{
	uint64_t class = (size + 23) / 16;

	if (class < HL_SIM_CLASSES && s->cached[class] > 0)
		return s->cache[class][--s->cached[class]];
	s->brk += class < HL_SIM_CLASSES ? class * 16 : (size + 4111) & ~UINT64_C(4095);
	return s->brk;
}

/* The weight of a block. */
static inline void hl_heap_sim_weight(const struct hl_heap_sim *s,
	const struct hl_heap_sim_block *b, uint64_t *blocks, uint64_t *bytes)
{
	uint64_t r = s->samples ? hl_hash_u64(b->ordinal) : 0;

	*blocks = r % 3 ? 1 + r % 700 : 1;
	*bytes = b->size + (r % 3 ? (r >> 20) % 100000 : 0);
}

/* keep: put the block among the long-lived ones, before those of the current routine. */
static inline void hl_heap_sim_alloc(
	struct hl_heap_sim *s, struct hl_event *e, uint32_t node, uint64_t size, bool keep)
{
	uint64_t r = s->strange ? hl_heap_sim_random(s) : UINT64_MAX;
	struct hl_heap_sim_block b = {.size = size,
		.ordinal = s->next_ordinal++,
		.alloc_ns = s->now_ns,
		.node = node,
		.thread = s->thread,
		.func = s->moved   ? HL_FUNC_REALLOC
			: size & 7 ? HL_FUNC_MALLOC
				   : HL_FUNC_CALLOC};

	if ((r & 0x700) == 0)
		b.size = hl_heap_sim_strange_size(s);
	b.addr = hl_heap_sim_addr(s, b.size);
	if ((r & 0x7000) == 0)
		b.addr = hl_heap_sim_strange_addr(s);
	if ((r & 0xff0000) == 0)
		b.node = HL_NODE_NONE;
	if (keep && s->n_local > 0) {
		s->live[s->n_live] = s->live[s->n_live - s->n_local];
		s->live[s->n_live++ - s->n_local] = b;
	} else {
		s->live[s->n_live++] = b;
	}
	s->n_local += !keep;
	e->time_ns = s->now_ns;
	e->addr = b.addr;
	e->size = b.size;
	hl_heap_sim_weight(s, &b, &e->blocks, &e->bytes);
	e->ordinal = b.ordinal;
	e->alloc_ns = 0;
	e->node = b.node;
	e->free_node = HL_NODE_NONE;
	e->thread = s->thread;
	e->alloc_role = 0;
	e->op = HL_OP_ALLOC;
	e->func = b.func;
	e->flags = s->moved ? HL_EVENT_MOVED : 0;
	e->lifetime_class = 0;
	e->pair_index = 0;
	s->moved = false;
}

/* Frees live[i]. moved: it is the first half of a realloc. */
static inline void hl_heap_sim_free(struct hl_heap_sim *s, struct hl_event *e, size_t i, bool moved)
{
	struct hl_heap_sim_block b = s->live[i];
	size_t kept = s->n_live - s->n_local;
	uint64_t class = (b.size + 23) / 16;

	if (i < kept) {
		s->live[i] = s->live[kept - 1];
		i = kept - 1;
	} else {
		s->n_local--;
	}
	s->live[i] = s->live[--s->n_live];
	if (class < HL_SIM_CLASSES && s->cached[class] < HL_SIM_CACHE)
		s->cache[class][s->cached[class]++] = b.addr;
	e->time_ns = s->now_ns;
	e->addr = b.addr;
	e->size = b.size;
	hl_heap_sim_weight(s, &b, &e->blocks, &e->bytes);
	e->ordinal = b.ordinal;
	e->alloc_ns = b.alloc_ns;
	e->node = b.node;
	e->free_node = s->free_stacks ? (uint32_t)(hl_hash_u64(b.node) % s->nodes) : HL_NODE_NONE;
	e->thread = s->thread;
	e->alloc_role = b.thread;
	e->op = HL_OP_FREE;
	e->func = moved ? HL_FUNC_REALLOC : HL_FUNC_FREE;
	e->flags = moved ? HL_EVENT_MOVED : 0;
	e->lifetime_class = hl_lifetime_class(s->now_ns - b.alloc_ns);
	e->pair_index = 0;
	if (s->strange && !moved && hl_heap_sim_below(s, 64) == 0) {
		e->func = HL_FUNC_IMPLICIT;
		e->free_node = HL_NODE_NONE;
	}
	s->moved = moved;
	s->moved_block = b;
}

/* Starts the next routine: mostly the normal successor, sometimes any. Low-numbered routines are
 * frequent. */
static inline void hl_heap_sim_next_routine(struct hl_heap_sim *s)
{
	uint64_t r = hl_heap_sim_random(s);
	uint32_t routines = s->nodes / 8 + 1;

	s->step = 0;
	if (r & 7)
		s->routine = (uint32_t)(hl_hash_u64(s->routine) % (routines / 4 + 1));
	else
		s->routine =
			(uint32_t)((uint64_t)routines * (r >> 8 & 0xfff) * (r >> 20 & 0xfff) >> 24);
	if ((r >> 32 & 15) == 0)
		s->thread = (uint32_t)((r >> 36) % s->threads);
	if ((r >> 58) == 0)
		s->now_ns += HL_TIME_UNIT_NS * (r >> 40 & 0xffff);
}

static inline void hl_heap_sim_next(struct hl_heap_sim *s, struct hl_event *e)
{
	uint64_t h;
	size_t kept = s->n_live - s->n_local;

	if (s->moved) {
		hl_heap_sim_alloc(s, e, s->moved_block.node,
			s->moved_block.size + s->moved_block.size / 2, false);
		return;
	}
	for (;;) {
		h = hl_hash_u64((uint64_t)s->routine << 8 | s->step++);
		s->now_ns += HL_TIME_UNIT_NS * ((h >> 8 & 7) == 0) * (h >> 11 & 3);
		if (s->step > 6 + (hl_hash_u64(s->routine) & 15) && s->n_local == 0) {
			hl_heap_sim_next_routine(s);
			continue;
		}
		if (s->step > 40 || s->n_local > 24 || (s->n_local > 0 && (h & 3) == 0)) {
			hl_heap_sim_free(s, e, s->n_live - 1, (h >> 16 & 31) == 0 && s->step < 40);
			return;
		}
		/* long-lived blocks are freed in random order or newest first */
		if (kept > 16 && (kept > s->target || (h >> 24 & 31) == 0)) {
			hl_heap_sim_free(s, e,
				h >> 30 & 1 ? (size_t)hl_heap_sim_below(s, kept) : kept - 1, false);
			return;
		}
		if (s->n_live < s->cap) {
			hl_heap_sim_alloc(s, e, (uint32_t)((h >> 32) % s->nodes),
				1 + (h >> 40 & 0x1ff) / (1 + (h >> 50 & 7)), (h >> 24 & 7) == 1);
			return;
		}
		hl_heap_sim_free(s, e, 0, false);
		return;
	}
}

#endif
