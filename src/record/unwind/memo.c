/*
 * memo.c - the memory of an unwinder: which memo is for which stack, and how they grow.
 *
 * A stack is known by where it ends: the lowest end above a stack pointer is its stack's, once that
 * stack has been seen. For a new stack the guess is wrong; the walk then ends elsewhere and the
 * memo is settled by that. Choosing a wrong memo costs time, never truth: all is compared before
 * use.
 */
#include <errno.h>
#include <string.h>

#include "base/bits.h"
#include "record/unwind/memo_internal.h"

#define NUMBER_BITS_MIN 12u
#define NUMBER_BITS_MAX 14u

#define FRAME_BYTES \
	(sizeof(uintptr_t) + sizeof(struct hl_kept) + HL_FRAME_CHECKS * sizeof(struct hl_check))

/* Of an unwinder, but for its numbers. */
#define FIXED_BYTES                                                         \
	(sizeof(struct hl_unwinder) + 64 + HL_WAY_BYTES +                   \
		HL_FIRST_FRAMES * (FRAME_BYTES + sizeof(struct hl_fresh)) + \
		(HL_MEMOS - 1) * HL_OTHER_FRAMES * FRAME_BYTES)

static void place(struct hl_memo *m, void *memory, uint32_t capacity)
{
	m->pcs = memory;
	m->frames = (struct hl_kept *)(m->pcs + capacity);
	m->checks = (struct hl_check *)(m->frames + capacity);
	m->capacity = capacity;
}

/* As many as there is room for. */
static unsigned number_bits(size_t bytes)
{
	unsigned bits = NUMBER_BITS_MAX;

	_Static_assert(1u << NUMBER_BITS_MAX == HL_UNWIND_NUMBERS, "as promised");
	while (bits > NUMBER_BITS_MIN && (sizeof(uint64_t) << bits) > bytes)
		bits--;
	return bits;
}

struct hl_unwinder *hl_unwinder_init(void *memory, size_t size)
{
	struct hl_unwinder *u = memory;
	char *p = (char *)memory + hl_align_up(sizeof(*u), 64);

	_Static_assert(offsetof(struct hl_unwinder, serial) == 0, "hl_unwind_serial()");
	_Static_assert(FIXED_BYTES + (8u << NUMBER_BITS_MIN) <= HL_UNWINDER_BYTES,
		"an unwinder fits its memory");
	_Static_assert(FIXED_BYTES + (8u << NUMBER_BITS_MAX) <= HL_UNWINDER_BYTES_BEST,
		"with all numbers that it can have");
	if (size < HL_UNWINDER_BYTES)
		return NULL;
	u->fresh = (struct hl_fresh *)p;
	u->fresh_capacity = HL_FIRST_FRAMES;
	p += HL_FIRST_FRAMES * sizeof(struct hl_fresh);
	for (unsigned i = 0; i < HL_MEMOS; i++) {
		uint32_t capacity = i ? HL_OTHER_FRAMES : HL_FIRST_FRAMES;

		place(&u->memos[i], p, capacity);
		p += capacity * FRAME_BYTES;
	}
	u->ways.bytes = p;
	p += HL_WAY_BYTES;
	hl_numbers_init(&u->numbers, (uint64_t *)p, number_bits((char *)memory + size - p));
	hl_unwinder_reset(u);
	return u;
}

static void forget(struct hl_unwinder *u, unsigned i)
{
	struct hl_memo *m = &u->memos[i];

	u->ends[i] = 0;
	m->lo = m->hi = 0;
	m->depth = m->last_depth = m->unchanged = 0;
	m->failures = m->unpatched = m->patch_wait = 0;
	m->used = 0;
}

void hl_memo_forget_all(struct hl_unwinder *u)
{
	u->current = NULL;
	u->range_lo = u->range_hi = 0;
	for (unsigned i = 0; i < HL_MEMOS; i++)
		forget(u, i);
	u->last = NULL;
	u->last_way = NULL;
	u->quick.sp = 0;
	hl_ways_forget(&u->ways);
	hl_numbers_forget(&u->numbers);
	/* While code is being unloaded the next unwind must come here again. */
	u->generation = hl_generation();
	if (!hl_generation_settled(u->generation))
		u->generation = UINT64_MAX;
}

void hl_unwinder_reset(struct hl_unwinder *u)
{
	u->busy = 0;
	u->reading = false;
	u->serial++;
	u->counts = (struct hl_unwind_counts){0};
	hl_memo_forget_all(u);
}

void hl_unwinder_counts(const struct hl_unwinder *u, struct hl_unwind_counts *out)
{
	*out = u->counts;
}

hl_cold bool hl_memo_reserve(const struct hl_unwinder *u, struct hl_memo *m, uint32_t n)
{
	struct hl_memo old = *m;
	uint32_t capacity = (uint32_t)hl_min_u64(HL_MEMO_FRAMES, hl_max_u64(n * 2u, 1024));
	size_t size = hl_align_up(capacity * FRAME_BYTES, HL_PAGE);
	void *memory;

	if (n > capacity || capacity <= m->capacity || !hl_walk_probes_allowed())
		return false;
	memory = hl_arch_map(size);
	if (!memory)
		return false;
	/* A siglongjmp from here on leaves an empty memo. */
	m->depth = m->last_depth = m->unchanged = 0;
	atomic_signal_fence(memory_order_release);
	place(m, memory, capacity);
	m->mapped = size;
	memcpy(m->pcs, old.pcs, old.last_depth * sizeof(*m->pcs));
	memcpy(m->frames, old.frames, old.depth * sizeof(*m->frames));
	if (old.depth)
		memcpy(m->checks, old.checks,
			old.frames[old.depth - 1].checks_end * sizeof(*m->checks));
	atomic_signal_fence(memory_order_release);
	m->last_depth = old.last_depth;
	m->unchanged = old.unchanged;
	m->depth = old.depth;
	/*
	 * Not unmapped: who holds a result that we have interrupted goes on reading its pcs, and
	 * only then sees that it is no longer current. Zeros will do for him, but not for who is in
	 * again.h and goes where they lead.
	 */
	if (old.mapped && !u->reading)
		hl_arch_empty(old.pcs, old.mapped);
	return true;
}

hl_cold void hl_memo_drop(struct hl_memo *m, uint32_t n)
{
	uint32_t depth = m->depth - n, base = m->frames[n].checks_end;
	uint32_t checks = m->frames[m->depth - 1].checks_end - base;

	m->depth = m->last_depth = m->unchanged = 0;
	atomic_signal_fence(memory_order_release);
	memmove(m->pcs, m->pcs + n, depth * sizeof(*m->pcs));
	memmove(m->frames, m->frames + n, depth * sizeof(*m->frames));
	memmove(m->checks, m->checks + base, checks * sizeof(*m->checks));
	for (uint32_t i = 0; i < depth; i++)
		m->frames[i].checks_end -= base;
	/* Where frame 0 leads is no longer ours to say; that its fp is compared does no harm. */
	m->frames[0].flags = (m->frames[0].flags & ~HL_KEPT_SPECIAL) | HL_KEPT_LIVE;
	atomic_signal_fence(memory_order_release);
	m->depth = depth;
}

hl_cold bool hl_fresh_grow(struct hl_unwinder *u)
{
	uint32_t capacity = hl_min_u32(u->fresh_capacity * 4, HL_MEMO_FRAMES);
	size_t size = capacity * sizeof(*u->fresh);
	struct hl_fresh *memory, *old = u->fresh;

	if (capacity == u->fresh_capacity || !hl_walk_probes_allowed())
		return false;
	memory = hl_arch_map(size);
	if (!memory)
		return false;
	memcpy(memory, old, u->fresh_capacity * sizeof(*old));
	u->fresh = memory;
	if (u->fresh_mapped)
		hl_arch_unmap(old, u->fresh_mapped);
	u->fresh_mapped = size;
	u->fresh_capacity = capacity;
	return true;
}

/* For which stack pointers is memo i the answer? Those below its end, and above the next lower end.
 */
static struct hl_memo *set_current(struct hl_unwinder *u, unsigned i)
{
	u->current = &u->memos[i];
	u->range_hi = u->ends[i];
	u->range_lo = 0;
	for (unsigned k = 0; k < HL_MEMOS; k++) {
		if (u->ends[k] < u->ends[i])
			u->range_lo = hl_max_u64(u->range_lo, u->ends[k]);
	}
	return u->current;
}

hl_noinline struct hl_memo *hl_memo_pick(struct hl_unwinder *u, uintptr_t sp)
{
	unsigned best = HL_MEMOS;

	for (unsigned i = 0; i < HL_MEMOS; i++) {
		if (u->ends[i] > sp && (best == HL_MEMOS || u->ends[i] < u->ends[best]))
			best = i;
	}
	if (best == HL_MEMOS)
		return &u->memos[0]; /* whatever is in it: it will be settled */
	return set_current(u, best);
}

/* Free memos go first, then the one that was not used for the longest time. */
static bool older(const struct hl_unwinder *u, unsigned a, unsigned b)
{
	if (!u->ends[a] != !u->ends[b])
		return !u->ends[a];
	return u->memos[a].used < u->memos[b].used;
}

hl_cold struct hl_memo *hl_memo_settle(struct hl_unwinder *u, uintptr_t sp, uintptr_t end)
{
	unsigned found = HL_MEMOS, oldest = 0;

	u->last = NULL;
	u->last_way = NULL;
	hl_ways_forget(&u->ways);
	for (unsigned i = 0; i < HL_MEMOS; i++) {
		/* A stack that ends inside this one is no more. */
		if (u->ends[i] > sp && u->ends[i] < end)
			forget(u, i);
		if (u->ends[i] == end)
			found = i;
		if (older(u, i, oldest))
			oldest = i;
	}
	if (found == HL_MEMOS) {
		found = oldest;
		forget(u, found);
		u->ends[found] = end;
	}
	return set_current(u, found);
}
