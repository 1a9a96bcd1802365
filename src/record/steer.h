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

/* What becomes of an allocation. */
enum hl_take {
	HL_TAKE_NOT,
	HL_TAKE_ALL,    /* recorded as every one is */
	HL_TAKE_SAMPLE, /* recorded for others like it; the block is in the filter */
};

enum hl_take hl_steer_ask_alloc(struct hl_thread *t, const void *addr, size_t size, uint64_t *rate);
bool hl_steer_ask_free(const void *addr);
/* heaplapse_stop() and heaplapse_start(), asked for from outside; once each time. */
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

hl_inline bool hl_steer_passes_free(uint32_t steer, const void *addr)
{
	return hl_unlikely(hl_steer_samples(steer)) &&
	       !hl_filter_has(hl_rec.region, (uintptr_t)addr);
}

/*
 * After an allocation that was recorded as every one is: if samples are taken by now, the collector
 * may have looked for blocks that the filter lacks before this one was in the ring.
 */
hl_inline void hl_steer_recorded(const void *addr)
{
	if (hl_unlikely(hl_steer() & HL_STEER_PART) && hl_rec.region)
		hl_filter_add(hl_rec.region, (uintptr_t)addr);
}

#endif
