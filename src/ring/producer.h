/*
 * producer.h - the writer's side of one ring. Inline: it is the hot path.
 *
 * The order of steps is the protocol: room, busy bit, stamp, words, commit. Nothing between the
 * busy bit and the commit may call, fault on fresh pages or make a syscall; all waiting happens
 * before the stamp. A signal handler of the same thread may put before the busy bit is set: the
 * outer put then sees the position changed and starts over, so a ring is always sorted by stamp.
 * While the bit is set the words at the position belong to the put that set it, which may go on
 * writing them at any time: a handler that finds the bit set must put elsewhere (record/emit.c:
 * aside).
 */
#ifndef HL_RING_PRODUCER_H
#define HL_RING_PRODUCER_H

#include <stdbool.h>

#include "base/attr.h"
#include "record/arch/arch.h"
#include "ring/layout.h"
#include "ring/record.h"

struct hl_producer {
	struct hl_ring *ring;
	uint64_t *data;
	uint64_t mask;  /* its size in bytes - 1 */
	uint64_t tail;  /* what we last saw of ring->tail ... */
	uint64_t limit; /* up to here there is room, in one piece; 0: not looked at */
	uint32_t epoch; /* what we last saw of ring->epoch */
};

hl_inline void hl_producer_attach(struct hl_producer *p, struct hl_region *region, uint32_t i)
{
	p->ring = hl_region_ring(region, i);
	p->data = hl_region_data(region, i);
	p->mask = hl_ring_bytes(i) - 1;
	p->tail = atomic_load(&p->ring->tail);
	p->limit = 0;
	p->epoch = atomic_load(&p->ring->epoch);
}

/* Where the next record goes. */
hl_inline uint64_t hl_producer_pos(const struct hl_producer *p)
{
	return __atomic_load_n(&p->ring->w, __ATOMIC_RELAXED) & ~UINT64_C(1);
}

/* Also false when the collector is another one: looked at when the tail is, once in a ring's
 * length. */
hl_inline bool hl_producer_has_room(struct hl_producer *p, uint64_t pos, uint32_t words)
{
	if (hl_likely(pos + words * 8 - p->tail <= p->mask + 1))
		return true;
	if (hl_unlikely(p->epoch != atomic_load_explicit(&p->ring->epoch, memory_order_relaxed)))
		return false;
	p->tail = atomic_load_explicit(&p->ring->tail, memory_order_acquire);
	return pos + words * 8 - p->tail <= p->mask + 1;
}

/* The same for a record in one piece; for those that follow p->limit says it, until it is reached.
 */
static inline bool hl_producer_widen(struct hl_producer *p, uint64_t pos, uint32_t words)
{
	uint64_t lap;

	if (!hl_producer_has_room(p, pos, words))
		return false;
	lap = (pos & ~p->mask) + p->mask + 1;
	p->limit = p->tail + p->mask + 1 < lap ? p->tail + p->mask + 1 : lap;
	return pos + words * 8 <= p->limit;
}

/* Announces a record at pos. False: a handler wrote meanwhile, start over. One that was announced
 * and left is ours: who announced it finds the position changed, if it ever comes back. */
hl_inline bool hl_producer_begin(struct hl_producer *p, uint64_t pos)
{
	return hl_likely(hl_arch_cmpxchg_local(&p->ring->w, pos, pos | 1)) ||
	       __atomic_load_n(&p->ring->w, __ATOMIC_RELAXED) == (pos | 1);
}

hl_inline void hl_producer_word(struct hl_producer *p, uint64_t pos, uint32_t i, uint64_t word)
{
	hl_assert(pos % 8 == 0);
	p->data[((pos + i * 8) & p->mask) / 8] = word;
}

/* Takes the announcement back: nothing was written. */
hl_inline void hl_producer_cancel(struct hl_producer *p, uint64_t pos)
{
	hl_arch_cmpxchg_local(&p->ring->w, pos | 1, pos);
}

/* Publishes `words` words at pos. False: a handler wrote meanwhile, start over, stamp included. */
hl_inline bool hl_producer_commit(struct hl_producer *p, uint64_t pos, uint32_t words)
{
	return hl_likely(hl_arch_cmpxchg_local(&p->ring->w, pos | 1, pos + words * 8));
}

#endif
