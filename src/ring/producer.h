/* SPDX-License-Identifier: Apache-2.0 */
/*
 * producer.h - the writer side of one ring. Inline, because it is the hot path.
 *
 * The protocol is this order of steps: reserve room, set the busy bit, take the stamp, write the
 * words, commit. Code between the busy bit and the commit must not call functions, fault on new
 * pages or make system calls. All waiting happens before the stamp.
 *
 * A signal handler of the same thread may write a record before the busy bit is set. The
 * interrupted writer then sees that the position has changed and starts over, so a ring is always
 * sorted by stamp. While the bit is set, the words at the position belong to the writer that set
 * it, which may continue to write them at any time. A handler that finds the bit set must use a
 * shared ring (record/emit/emit.c).
 */
#ifndef HL_RING_PRODUCER_H
#define HL_RING_PRODUCER_H

#include <stdbool.h>

#include "base/attr.h"
#include "record/arch/arch.h"
#include "ring/region_layout.h"
#include "ring/ring_record.h"

struct hl_producer {
	struct hl_ring *ring;
	uint64_t *data;
	uint64_t mask;  /* size of the ring in bytes - 1 */
	uint64_t tail;  /* copy of ring->tail, read when room runs out */
	uint64_t limit; /* records that end here or below fit without wrapping; 0: not computed */
	uint32_t epoch; /* copy of ring->epoch */
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

/* The position of the next record. */
hl_inline uint64_t hl_producer_pos(const struct hl_producer *p)
{
	return __atomic_load_n(&p->ring->head, __ATOMIC_RELAXED) & ~UINT64_C(1);
}

/*
 * Is there room for a record? Also false if another collector has taken over. ring->tail and
 * ring->epoch are read only when the cached tail leaves no room, about once per ring length.
 */
hl_inline bool hl_producer_has_room(struct hl_producer *p, uint64_t pos, uint32_t words)
{
	if (hl_likely(pos + words * 8 - p->tail <= p->mask + 1))
		return true;
	if (hl_unlikely(p->epoch != atomic_load_explicit(&p->ring->epoch, memory_order_relaxed)))
		return false;
	p->tail = atomic_load_explicit(&p->ring->tail, memory_order_acquire);
	return pos + words * 8 - p->tail <= p->mask + 1;
}

/*
 * As above, for a record that does not wrap around the end. Sets p->limit: records that end at or
 * below it need no further check.
 */
static inline bool hl_producer_update_limit(struct hl_producer *p, uint64_t pos, uint32_t words)
{
	uint64_t lap_end;

	if (!hl_producer_has_room(p, pos, words))
		return false;
	lap_end = (pos & ~p->mask) + p->mask + 1;
	p->limit = p->tail + p->mask + 1 < lap_end ? p->tail + p->mask + 1 : lap_end;
	return pos + words * 8 <= p->limit;
}

/*
 * Sets the busy bit for a record at pos. False: a handler has written a record, start over. If the
 * bit is already set at pos, its writer was abandoned by siglongjmp and the record is ours. If that
 * writer resumes after all, its commit sees that the position has changed.
 */
hl_inline bool hl_producer_begin(struct hl_producer *p, uint64_t pos)
{
	return hl_likely(hl_arch_cmpxchg_local(&p->ring->head, pos, pos | 1)) ||
	       __atomic_load_n(&p->ring->head, __ATOMIC_RELAXED) == (pos | 1);
}

hl_inline void hl_producer_word(struct hl_producer *p, uint64_t pos, uint32_t i, uint64_t word)
{
	hl_assert(pos % 8 == 0);
	p->data[((pos + i * 8) & p->mask) / 8] = word;
}

/* Clears the busy bit without a record. */
hl_inline void hl_producer_cancel(struct hl_producer *p, uint64_t pos)
{
	hl_arch_cmpxchg_local(&p->ring->head, pos | 1, pos);
}

/*
 * Publishes `words` words at pos. False: a handler has written a record, start over with a new
 * stamp.
 */
hl_inline bool hl_producer_commit(struct hl_producer *p, uint64_t pos, uint32_t words)
{
	return hl_likely(hl_arch_cmpxchg_local(&p->ring->head, pos | 1, pos + words * 8));
}

#endif
