/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memo.c - the memory of an unwinder: which memo belongs to which stack, and how memos grow.
 *
 * A stack is identified by its end address: the lowest known end above a stack pointer is the end
 * of its stack, once that stack has been seen. For a new stack this guess is wrong; the walk then
 * ends elsewhere, and hl_memo_assign() selects the right memo. A wrong memo costs time but cannot
 * give a wrong result: everything is compared before it is used.
 */
#include <errno.h>
#include <string.h>

#include "base/bits.h"
#include "record/unwind/memo_internal.h"

#define ID_BITS_MIN 12u
#define ID_BITS_MAX 14u

#define FRAME_BYTES                                         \
	(sizeof(uintptr_t) + sizeof(struct hl_memo_frame) + \
		HL_FRAME_CHECKS * sizeof(struct hl_check))

/* The size of an unwinder without its stack ids. */
#define FIXED_BYTES                                                                \
	(sizeof(struct hl_unwinder) + 64 + HL_STACK_CACHE_BYTES +                  \
		HL_FIRST_FRAMES * (FRAME_BYTES + sizeof(struct hl_walked_frame)) + \
		(HL_MEMOS - 1) * HL_OTHER_FRAMES * FRAME_BYTES)

static void set_arrays(struct hl_memo *m, void *memory, uint32_t capacity)
{
	m->pcs = memory;
	m->frames = (struct hl_memo_frame *)(m->pcs + capacity);
	m->checks = (struct hl_check *)(m->frames + capacity);
	m->capacity = capacity;
}

/* As many ids as fit into the memory. */
static unsigned id_bits(size_t bytes)
{
	unsigned bits = ID_BITS_MAX;

	_Static_assert(1u << ID_BITS_MAX == HL_STACK_IDS, "as promised");
	while (bits > ID_BITS_MIN && (sizeof(uint64_t) << bits) > bytes)
		bits--;
	return bits;
}

struct hl_unwinder *hl_unwinder_init(void *memory, size_t size)
{
	struct hl_unwinder *u = memory;
	char *p = (char *)memory + hl_align_up(sizeof(*u), 64);

	_Static_assert(offsetof(struct hl_unwinder, serial) == 0, "hl_unwind_serial()");
	_Static_assert(FIXED_BYTES + (8u << ID_BITS_MIN) <= HL_UNWINDER_BYTES,
		"an unwinder fits its memory");
	_Static_assert(FIXED_BYTES + (8u << ID_BITS_MAX) <= HL_UNWINDER_BYTES_BEST,
		"with all numbers that it can have");
	if (size < HL_UNWINDER_BYTES)
		return NULL;
	u->walked = (struct hl_walked_frame *)p;
	u->walked_capacity = HL_FIRST_FRAMES;
	p += HL_FIRST_FRAMES * sizeof(struct hl_walked_frame);
	for (unsigned i = 0; i < HL_MEMOS; i++) {
		uint32_t capacity = i ? HL_OTHER_FRAMES : HL_FIRST_FRAMES;

		set_arrays(&u->memos[i], p, capacity);
		p += capacity * FRAME_BYTES;
	}
	u->cache.bytes = p;
	p += HL_STACK_CACHE_BYTES;
	hl_stack_ids_init(&u->ids, (uint64_t *)p, id_bits((char *)memory + size - p));
	hl_unwinder_reset(u);
	return u;
}

static void forget_memo(struct hl_unwinder *u, unsigned i)
{
	struct hl_memo *m = &u->memos[i];

	u->ends[i] = 0;
	m->lo = m->hi = 0;
	m->depth = m->last_depth = m->base_prefix = 0;
	m->failures = m->patch_skips = m->patch_backoff = 0;
	m->last_used = 0;
}

void hl_memo_forget_all(struct hl_unwinder *u)
{
	u->current = NULL;
	u->range_lo = u->range_hi = 0;
	for (unsigned i = 0; i < HL_MEMOS; i++)
		forget_memo(u, i);
	u->base_memo = NULL;
	u->base_cached = NULL;
	u->last_stack.sp = 0;
	hl_stack_cache_forget(&u->cache);
	hl_stack_ids_forget(&u->ids);
	/* During an unload the next unwind must forget everything again. */
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
	m->depth = m->last_depth = m->base_prefix = 0;
	atomic_signal_fence(memory_order_release);
	set_arrays(m, memory, capacity);
	m->mapped_bytes = size;
	memcpy(m->pcs, old.pcs, old.last_depth * sizeof(*m->pcs));
	memcpy(m->frames, old.frames, old.depth * sizeof(*m->frames));
	if (old.depth)
		memcpy(m->checks, old.checks,
			old.frames[old.depth - 1].checks_end * sizeof(*m->checks));
	atomic_signal_fence(memory_order_release);
	m->last_depth = old.last_depth;
	m->base_prefix = old.base_prefix;
	m->depth = old.depth;
	/*
	 * Not unmapped: a function that we have interrupted may continue to read the pcs of its
	 * result, and only then finds that it is no longer current. Zeros are harmless there, but
	 * not in hl_unwind_is_last_stack(), which dereferences the slots.
	 */
	if (old.mapped_bytes && !u->reading)
		hl_arch_release_pages(old.pcs, old.mapped_bytes);
	return true;
}

hl_cold void hl_memo_drop(struct hl_memo *m, uint32_t n)
{
	uint32_t depth = m->depth - n, base = m->frames[n].checks_end;
	uint32_t checks = m->frames[m->depth - 1].checks_end - base;

	m->depth = m->last_depth = m->base_prefix = 0;
	atomic_signal_fence(memory_order_release);
	memmove(m->pcs, m->pcs + n, depth * sizeof(*m->pcs));
	memmove(m->frames, m->frames + n, depth * sizeof(*m->frames));
	memmove(m->checks, m->checks + base, checks * sizeof(*m->checks));
	for (uint32_t i = 0; i < depth; i++)
		m->frames[i].checks_end -= base;
	/* The step out of frame 0 is no longer known. Comparing its fp is harmless. */
	m->frames[0].flags = (m->frames[0].flags & ~HL_MEMO_SPECIAL) | HL_MEMO_FP_LIVE;
	atomic_signal_fence(memory_order_release);
	m->depth = depth;
}

hl_cold bool hl_walked_frames_grow(struct hl_unwinder *u)
{
	uint32_t capacity = hl_min_u32(u->walked_capacity * 4, HL_MEMO_FRAMES);
	size_t size = capacity * sizeof(*u->walked);
	struct hl_walked_frame *memory, *old = u->walked;

	if (capacity == u->walked_capacity || !hl_walk_probes_allowed())
		return false;
	memory = hl_arch_map(size);
	if (!memory)
		return false;
	memcpy(memory, old, u->walked_capacity * sizeof(*old));
	u->walked = memory;
	if (u->walked_mapped)
		hl_arch_unmap(old, u->walked_mapped);
	u->walked_mapped = size;
	u->walked_capacity = capacity;
	return true;
}

/*
 * Makes memo i the current one. It is valid for stack pointers below its end and above the next
 * lower end.
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
		return &u->memos[0]; /* any memo: hl_memo_assign() will select the right one */
	return set_current(u, best);
}

/* Is memo a to be replaced before memo b? Free memos first, then the least recently used. */
static bool is_older(const struct hl_unwinder *u, unsigned a, unsigned b)
{
	if (!u->ends[a] != !u->ends[b])
		return !u->ends[a];
	return u->memos[a].last_used < u->memos[b].last_used;
}

hl_cold struct hl_memo *hl_memo_assign(struct hl_unwinder *u, uintptr_t sp, uintptr_t end)
{
	unsigned found = HL_MEMOS, oldest = 0;

	u->base_memo = NULL;
	u->base_cached = NULL;
	hl_stack_cache_forget(&u->cache);
	for (unsigned i = 0; i < HL_MEMOS; i++) {
		/* A stack that ends inside this one does not exist any more. */
		if (u->ends[i] > sp && u->ends[i] < end)
			forget_memo(u, i);
		if (u->ends[i] == end)
			found = i;
		if (is_older(u, i, oldest))
			oldest = i;
	}
	if (found == HL_MEMOS) {
		found = oldest;
		forget_memo(u, found);
		u->ends[found] = end;
	}
	return set_current(u, found);
}
