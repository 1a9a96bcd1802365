/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sampling.h - decides whether an event is recorded. Every hook calls it. The decision depends on
 * the control word (base/mode.h), which only the collector writes and which rarely changes.
 *
 * While recording is on, the control word decides as follows. Before the region exists the word is
 * 0: everything is recorded. The collector sets PARTIAL exactly in the modes sample and tags.
 * The flags are HL_CONTROL_*.
 *
 *   mode                PAUSED STOP PARTIAL  allocation                 free
 *   trace, cull, count    0     0      0     recorded                   recorded
 *   trace, cull, count    1     0      0     skipped                    recorded
 *   sample                0     0      1     recorded if sampled (1)    recorded if known (2)
 *   sample                1     0      1     skipped                    recorded if known (2)
 *   tags                  0     0      1     counted in its tag (3)     counted in its tag (3)
 *   tags                  1     0      1     skipped                    skipped
 *   all but tags        0 or 1  1     any    skipped (4)                skipped (4)
 *
 * (1) Sampled: the block ends the thread's countdown of bytes. A rate of 0 samples nothing.
 *
 * (2) Known: HL_CONTROL_ALL_FREES is set, or the sampling filter may hold the block and
 * hl_sent_frees does not say that its free was sent already.
 *
 * (3) Counted by the hooks (hl_tags_counting()). Nothing is written to a ring, and no decision is
 * made here. Without a collector the mode is in the word at hl_tags.control.
 *
 * (4) The first event that sees a STOP with a new change number applies it
 * (hl_sampling_apply_request()), which turns recording off. If the program has called
 * heaplapse_start() since, or while another thread applies the request, the row without STOP
 * applies. The collector makes no request in mode tags.
 *
 * heaplapse_pause() sets hl_rec.paused, which has the effect of PAUSED on allocations and none on
 * frees; in mode tags it stops the counting. While recording is off, nothing is recorded whatever
 * the word says. A START is applied by the next event if recording is stopped
 * (hl_thread_enter_slow()), or by the next allocation if it is paused by heaplapse_pause() or
 * PAUSED. A realloc is decided in two halves: its old block as a free, its new block as an
 * allocation.
 */
#ifndef HL_RECORD_EMIT_SAMPLING_H
#define HL_RECORD_EMIT_SAMPLING_H

#include "record/session/recorder.h"
#include "ring/sample_filter.h"

/* If none of these bits is set, the event is recorded without a decision. A pause lets all frees
 * through, so that the live blocks stay correct. */
#define HL_CONTROL_DECIDE_ALLOC (HL_CONTROL_PAUSED | HL_CONTROL_STOP | HL_CONTROL_PARTIAL)
#define HL_CONTROL_DECIDE_FREE  (HL_CONTROL_STOP | HL_CONTROL_PARTIAL)

hl_inline uint32_t hl_control(void)
{
	return atomic_load_explicit(hl_rec.control, memory_order_relaxed);
}

/* True if hl_sampling_decide_alloc() must be called for an allocation. */
hl_inline bool hl_sampling_must_decide_alloc(void)
{
	return hl_unlikely(hl_control() & HL_CONTROL_DECIDE_ALLOC) ||
	       hl_unlikely(atomic_load_explicit(&hl_rec.paused, memory_order_relaxed));
}

/* The decision about an allocation. */
enum hl_decision {
	HL_SKIP,
	HL_RECORD,        /* recorded as an ordinary allocation */
	HL_RECORD_SAMPLE, /* recorded as a sample, which stands for others; the block is in the
			     filter */
};

enum hl_decision hl_sampling_decide_alloc(
	struct hl_thread *t, const void *addr, size_t size, uint64_t *rate);
bool hl_sampling_decide_free(const void *addr);
/* Applies a request of the collector, once for each change number: STOP as heaplapse_stop() does,
 * START as heaplapse_start() and heaplapse_resume() do. */
void hl_sampling_apply_request(void);

/* True if samples are taken and nothing else must be checked: neither stopped nor paused, and the
 * filter is complete. */
hl_inline bool hl_control_samples_only(uint32_t control)
{
	return (control & (HL_CONTROL_MODE | HL_CONTROL_PAUSED | HL_CONTROL_STOP |
				  HL_CONTROL_PARTIAL | HL_CONTROL_ALL_FREES)) ==
	       (HL_MODE_SAMPLE | HL_CONTROL_PARTIAL);
}

/*
 * Most allocations are not sampled while samples are taken. This is found out here, before anything
 * is prepared for a record. False: hl_sampling_decide_alloc() must decide; it stores in
 * t->skip_control the control word for which this shortcut is valid.
 */
hl_inline bool hl_sampling_skips_alloc(uint32_t control, size_t size)
{
	struct hl_thread *t = hl_tls.thread;

	if (hl_likely(!(control & HL_CONTROL_PARTIAL)) || !t || t->skip_control != control ||
		size > t->until_sample ||
		!atomic_load_explicit(&hl_fork_page.on, memory_order_relaxed))
		return false;
	t->until_sample -= size;
	return true;
}

/*
 * The collector removes a block from the filter milliseconds after its free. Within that time an
 * allocator may return the same address hundreds of times, and each of these frees would be sent in
 * vain. So the last frees that were sent are kept here, by address, until a block at that address
 * is known to the collector again. An entry is valid for one change number of the control word:
 * after a change any block may have become known.
 */
#define HL_SENT_FREES_BITS 12
extern _Atomic uint64_t hl_sent_frees[1 << HL_SENT_FREES_BITS];

hl_inline _Atomic uint64_t *hl_sent_frees_slot(uintptr_t addr)
{
	return &hl_sent_frees[(addr >> 3) * HL_HASH_K >> (64 - HL_SENT_FREES_BITS)];
}

hl_inline uint64_t hl_sent_frees_entry(uint32_t control, uintptr_t addr)
{
	return (uint64_t)addr << 16 | control >> HL_CONTROL_SHIFT;
}

/* From here on the collector knows the block. */
hl_inline void hl_sampling_add_block(uintptr_t addr)
{
	_Atomic uint64_t *sent = hl_sent_frees_slot(addr);

	hl_sample_filter_add(hl_rec.region, addr);
	if (atomic_load_explicit(sent, memory_order_relaxed) >> 16 == (uint64_t)addr << 16 >> 16)
		atomic_store_explicit(sent, 0, memory_order_relaxed);
}

/* The free was sent; the next block at this address is another one. */
hl_inline void hl_sampling_mark_free_sent(uint32_t control, uintptr_t addr)
{
	if (hl_unlikely(hl_control_samples_only(control)))
		atomic_store_explicit(hl_sent_frees_slot(addr), hl_sent_frees_entry(control, addr),
			memory_order_relaxed);
}

/* In mode sample, once the filter is complete: true if the block was certainly not sampled. */
hl_inline bool hl_sampling_is_unsampled(uint32_t control, uintptr_t addr)
{
	return hl_likely(!hl_sample_filter_has(hl_rec.region, addr)) ||
	       atomic_load_explicit(hl_sent_frees_slot(addr), memory_order_relaxed) ==
		       hl_sent_frees_entry(control, addr);
}

hl_inline bool hl_sampling_skips_free(uint32_t control, const void *addr)
{
	return hl_unlikely(hl_control_samples_only(control)) &&
	       hl_sampling_is_unsampled(control, (uintptr_t)addr);
}

/*
 * Called after an allocation was recorded without a decision. If samples are taken by now, the
 * collector may have filled the filter before this allocation was in the ring, so the block is
 * added here.
 */
hl_inline void hl_sampling_after_alloc(const void *addr)
{
	if (hl_unlikely(hl_control() & HL_CONTROL_PARTIAL) && hl_rec.region)
		hl_sampling_add_block((uintptr_t)addr);
}

#endif
