/*
 * guard.h - is this call the program's, or the next allocator's own?
 *
 * operator new calls malloc, another allocator's calloc may call its malloc through us: such calls
 * are inner ones and not events. A flag would stay set for ever after bad_alloc or a siglongjmp,
 * and would hide what a signal handler allocates. So the guard is where the stack of the outermost
 * hook's caller ends, it counts only for frames below it, and only a caller inside the allocator is
 * internal.
 */
#ifndef HL_RECORD_GUARD_H
#define HL_RECORD_GUARD_H

#include "record/real.h"
#include "record/recorder.h"

/* Frames further apart than this are on different stacks. */
#define HL_GUARD_REACH (64u * 1024)

/* cxx.c: does pc lie in one of the real operators? */
bool hl_cxx_owns(uintptr_t pc);

hl_cold static bool hl_guard_slow(const struct hl_regs *regs)
{
	uintptr_t frame = regs->sp, caller = regs->pc;

	if (frame >= hl_tls.guard) {
		hl_tls.guard = 0; /* the hook that set it is gone */
		return false;
	}
	if (hl_tls.guard - frame > HL_GUARD_REACH)
		return false;
	if (caller >= hl_real.own_lo && caller < hl_real.own_hi)
		return true; /* a real operator jumped, not called, to its next: it returns to us */
	return (caller >= hl_real.text_lo && caller < hl_real.text_hi) || hl_cxx_owns(caller);
}

/* True in a hook that was called by the allocator below us. */
hl_inline bool hl_internal(const struct hl_regs *regs)
{
	return hl_unlikely(hl_tls.guard != 0) && hl_guard_slow(regs);
}

/* The guard is for allocators that may call back: libc's does not. */
#define HL_GUARD_ENTER(regs)                     \
	uintptr_t hl_saved_guard = hl_tls.guard; \
	if (hl_unlikely(hl_real.foreign))        \
	hl_tls.guard = (regs)->sp
#define HL_GUARD_LEAVE() (hl_tls.guard = hl_saved_guard)

#endif
