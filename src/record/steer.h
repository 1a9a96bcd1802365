/*
 * steer.h - is this event to be recorded? Asked by every hook, answered by one word of the
 * collector's (base/mode.h) that hardly ever changes.
 */
#ifndef HL_RECORD_STEER_H
#define HL_RECORD_STEER_H

#include "record/recorder.h"
#include "ring/filter.h"

/* What makes a hook ask further. A pause lets all frees through, so that live stays true. */
#define HL_STEER_ASK_ALLOC (HL_STEER_PAUSED | HL_STEER_STOP | HL_STEER_PART)
#define HL_STEER_ASK_FREE  (HL_STEER_STOP | HL_STEER_PART)

hl_inline uint32_t hl_steer(void)
{
	return atomic_load_explicit(hl_rec.steer, memory_order_relaxed);
}

/* Must hl_steer_ask_alloc() be asked? */
hl_inline bool hl_steer_asks_alloc(void)
{
	return hl_unlikely(hl_steer() & HL_STEER_ASK_ALLOC) ||
	       hl_unlikely(atomic_load_explicit(&hl_rec.paused, memory_order_relaxed));
}

/* What becomes of an allocation. */
enum hl_take {
	HL_TAKE_NOT,
	HL_TAKE_ALL,    /* recorded as every one is */
	HL_TAKE_SAMPLE, /* recorded for others like it; the block is in the filter */
};

enum hl_take hl_steer_ask_alloc(struct hl_thread *t, const void *addr, size_t size, uint64_t *rate);
bool hl_steer_ask_free(const void *addr);
/* heaplapse_stop(), or heaplapse_start() and heaplapse_resume(), asked for from outside; once each
 * time. */
void hl_steer_obey(void);

/* Nothing but samples is to be asked for: neither stopped nor paused, and the filter is filled. */
hl_inline bool hl_steer_samples(uint32_t steer)
{
	return (steer & (HL_STEER_MODE | HL_STEER_PAUSED | HL_STEER_STOP | HL_STEER_PART |
				HL_STEER_ALL_FREES)) == (HL_MODE_SAMPLE | HL_STEER_PART);
}

/*
 * Most of what happens while samples are taken is none: found out here, before anything is made
 * ready for a record. False: ask further, and be told in t->passing what the word was.
 */
hl_inline bool hl_steer_passes_alloc(uint32_t steer, size_t size)
{
	struct hl_thread *t = hl_tls.thread;

	if (hl_likely(!(steer & HL_STEER_PART)) || !t || t->passing != steer ||
		size > t->until_sample || !atomic_load_explicit(&hl_alive.on, memory_order_relaxed))
		return false;
	t->until_sample -= size;
	return true;
}

/*
 * The collector takes a block out of the filter milliseconds after its free. In these an allocator
 * hands out the same address hundreds of times, and all of those frees would be told for nothing.
 * So the last frees that were told are kept, by address, until a block there is known again. An
 * entry is good for one steering word: with the next one anything may have become known.
 */
#define HL_STEER_TOLD_BITS 12
extern _Atomic uint64_t hl_steer_told[1 << HL_STEER_TOLD_BITS];

hl_inline _Atomic uint64_t *hl_steer_told_at(uintptr_t addr)
{
	return &hl_steer_told[(addr >> 3) * HL_HASH_K >> (64 - HL_STEER_TOLD_BITS)];
}

hl_inline uint64_t hl_steer_told_entry(uint32_t steer, uintptr_t addr)
{
	return (uint64_t)addr << 16 | steer >> HL_STEER_SHIFT;
}

/* The block is known to the collector from here on. */
hl_inline void hl_steer_know(uintptr_t addr)
{
	_Atomic uint64_t *told = hl_steer_told_at(addr);

	hl_filter_add(hl_rec.region, addr);
	if (atomic_load_explicit(told, memory_order_relaxed) >> 16 == (uint64_t)addr << 16 >> 16)
		atomic_store_explicit(told, 0, memory_order_relaxed);
}

/* Its free is told; what comes to this address next is another. */
hl_inline void hl_steer_tell(uint32_t steer, uintptr_t addr)
{
	if (hl_unlikely(hl_steer_samples(steer)))
		atomic_store_explicit(hl_steer_told_at(addr), hl_steer_told_entry(steer, addr),
			memory_order_relaxed);
}

/* While nothing but samples is asked for: is the block none of them? */
hl_inline bool hl_steer_is_unknown(uint32_t steer, uintptr_t addr)
{
	return hl_likely(!hl_filter_has(hl_rec.region, addr)) ||
	       atomic_load_explicit(hl_steer_told_at(addr), memory_order_relaxed) ==
		       hl_steer_told_entry(steer, addr);
}

hl_inline bool hl_steer_passes_free(uint32_t steer, const void *addr)
{
	return hl_unlikely(hl_steer_samples(steer)) && hl_steer_is_unknown(steer, (uintptr_t)addr);
}

/*
 * After an allocation that was recorded as every one is: if samples are taken by now, the collector
 * may have looked for blocks that the filter lacks before this one was in the ring.
 */
hl_inline void hl_steer_recorded(const void *addr)
{
	if (hl_unlikely(hl_steer() & HL_STEER_PART) && hl_rec.region)
		hl_steer_know((uintptr_t)addr);
}

#endif
