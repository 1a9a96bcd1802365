/*
 * hooks.h - what the hooks of C and of C++ do alike once the next allocator has done its work.
 */
#ifndef HL_RECORD_HOOKS_H
#define HL_RECORD_HOOKS_H

#include "record/guard.h"
#include "record/recorder.h"
#include "record/steer.h"

/*
 * Returns p, which may be NULL: then nothing was made. `hook`: the frame of the hook itself, which
 * has called this or something that has. Its caller's state is read from there by whoever needs it.
 */
void *hl_hook_made(void *p, const struct hl_arch_frame *hook, uint32_t func, size_t size);
void hl_hook_gone(void *p, const struct hl_arch_frame *hook, uint32_t func);
/* What is not usual (usual.c). */
void *hl_hook_made_any(void *p, const struct hl_arch_frame *hook, uint32_t func, size_t size);
void hl_hook_gone_any(void *p, const struct hl_arch_frame *hook, uint32_t func);

/*
 * Around calls that are given the frame of the hook they stand in, as the last thing it does: a
 * compiler would make them jumps, and the frame would be gone.
 */
#define HL_STAY() __asm__ volatile("")
#define HL_STAYING(p)                   \
	({                              \
		void *hl_staying = (p); \
		HL_STAY();              \
		hl_staying;             \
	})

/*
 * Samples, on libc's own allocator: nearly all that happens is none of them, and a hook that finds
 * it out first is one jump to the next allocator. An allocation that fails after that has used up
 * some of the way to the next sample, which takes no block's chance away: the way has no memory.
 */
hl_inline bool hl_hook_passes_alloc(size_t size)
{
	uint32_t steer = hl_steer();

	return hl_unlikely(steer & HL_STEER_PART) && !hl_real.foreign && !hl_tls.guard &&
	       hl_steer_passes_alloc(steer, size);
}

hl_inline bool hl_hook_passes_free(const void *p)
{
	uint32_t steer = hl_steer();

	return hl_unlikely(steer & HL_STEER_PART) && !hl_real.foreign &&
	       hl_steer_passes_free(steer, p) && !hl_boot_owns(p);
}

#endif
