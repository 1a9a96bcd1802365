/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reentry.h - decides whether a call comes from the program or from the next allocator itself.
 *
 * operator new calls malloc, and another allocator's calloc may call its malloc through our hooks:
 * such calls are internal and not events. A flag would stay set forever after bad_alloc or a
 * siglongjmp, and it would hide allocations of a signal handler. So the guard is the stack pointer
 * of the outermost hook's caller. It applies only to frames below it, and only a caller inside the
 * allocator is internal.
 */
#ifndef HL_RECORD_INTERPOSE_REENTRY_H
#define HL_RECORD_INTERPOSE_REENTRY_H

#include "record/interpose/next.h"
#include "record/session/recorder.h"

/* Frames further apart than this are on different stacks. */
#define HL_REENTRY_REACH (64u * 1024)

/* cxx.c: true if pc is in one of the real operators. */
bool hl_cxx_is_internal(uintptr_t pc);

hl_cold static bool hl_reentry_check_slow(const struct hl_regs *regs)
{
	uintptr_t frame = regs->sp, caller = regs->pc;

	if (frame >= hl_tls.guard) {
		hl_tls.guard = 0; /* the hook that set it has ended */
		return false;
	}
	if (hl_tls.guard - frame > HL_REENTRY_REACH)
		return false;
	if (caller >= hl_next.own_lo && caller < hl_next.own_hi)
		return true; /* a real operator made a tail call, so the call returns to us */
	return (caller >= hl_next.text_lo && caller < hl_next.text_hi) ||
	       hl_cxx_is_internal(caller);
}

/* True in a hook that was called by the next allocator. */
hl_inline bool hl_reentry_is_internal(const struct hl_regs *regs)
{
	return hl_unlikely(hl_tls.guard != 0) && hl_reentry_check_slow(regs);
}

/* Only allocators that may call back need the guard; libc's does not. */
#define HL_REENTRY_ENTER(regs)                   \
	uintptr_t hl_saved_guard = hl_tls.guard; \
	if (hl_unlikely(hl_next.foreign))        \
	hl_tls.guard = (regs)->sp
#define HL_REENTRY_LEAVE() (hl_tls.guard = hl_saved_guard)

#endif
