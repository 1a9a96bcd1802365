/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hooks.h - the code that the hooks of C and C++ share: recording after the call of the next
 * allocator.
 */
#ifndef HL_RECORD_HOOKS_HOOKS_H
#define HL_RECORD_HOOKS_HOOKS_H

#include "record/interpose/reentry.h"
#include "record/session/recorder.h"
#include "record/emit/sampling.h"

/*
 * Record an allocation or a free. hl_on_alloc() returns p, which may be NULL: then the allocation
 * failed and nothing is recorded. `hook` is the frame of the hook itself, which called this
 * function directly or through another one. The state of the hook's caller is read from that frame
 * where it is needed.
 */
void *hl_on_alloc(void *p, const struct hl_arch_frame *hook, uint32_t func, size_t size);
void hl_on_free(void *p, const struct hl_arch_frame *hook, uint32_t func);
/* The slow path (emit_fast.c says when it is taken). */
void *hl_on_alloc_slow(void *p, const struct hl_arch_frame *hook, uint32_t func, size_t size);
void hl_on_free_slow(void *p, const struct hl_arch_frame *hook, uint32_t func);

/* The cost of a hook without its record, measured with an allocator that does nothing. */
uint32_t hl_hooks_overhead_ticks(void);

/* For a call that gets the frame of its own hook and is the last statement of the hook. The
 * compiler would turn it into a jump, and the frame would be gone. */
#define HL_KEEP_FRAME() __asm__ volatile("")
#define HL_RETURN_KEEPING_FRAME(p)       \
	({                               \
		void *hl_returned = (p); \
		HL_KEEP_FRAME();         \
		hl_returned;             \
	})

/*
 * While samples are taken on libc's own allocator, nearly all events are skipped; a hook that finds
 * this out first is one jump to the next allocator. An allocation that fails after that has used up
 * part of the distance to the next sample. That does not change the probability of any block: the
 * distribution of the distance has no memory.
 */
hl_inline bool hl_hook_skips_alloc(size_t size)
{
	uint32_t control = hl_control();

	return hl_unlikely(control & HL_CONTROL_PARTIAL) && !hl_next.foreign && !hl_tls.guard &&
	       hl_sampling_skips_alloc(control, size);
}

hl_inline bool hl_hook_skips_free(const void *p)
{
	uint32_t control = hl_control();

	return hl_unlikely(control & HL_CONTROL_PARTIAL) && !hl_next.foreign &&
	       hl_sampling_skips_free(control, p) && !hl_boot_owns(p);
}

#endif
