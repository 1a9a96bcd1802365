/* SPDX-License-Identifier: Apache-2.0 */
/*
 * emit_internal.h - what emit.c provides: for emit_fast.c, when an event cannot take the fast path,
 * and for the files that put stacks and tags.
 */
#ifndef HL_RECORD_EMIT_EMIT_INTERNAL_H
#define HL_RECORD_EMIT_EMIT_INTERNAL_H

#include "record/session/recorder.h"
#include "record/unwind/unwind.h"

/* The frame of the function that uses this macro. */
#define HL_THIS_FRAME ((uintptr_t)__builtin_frame_address(0))

/* Sets the busy bit for a record at pos; until the commit this thread alone writes to the ring.
 * put_frame lets a signal handler decide whether the writer still exists. False: a handler wrote
 * since pos was read; start over. */
hl_inline bool hl_emit_begin(struct hl_thread *t, struct hl_producer *out, uint64_t pos)
{
	t->put_frame = HL_THIS_FRAME;
	return hl_producer_begin(out, pos);
}

/* A record without a stack was put at `from`: the last stack stays known. */
hl_inline void hl_emit_advance_sync(struct hl_thread *t, uint64_t from, uint64_t to)
{
	if (t->synced_at == from)
		t->synced_at = to;
}

/*
 * Each of these three emits one event; the decision to record it was made before.
 * hl_emit_alloc_unwound() is for an allocation whose stack was walked already and whose size fits
 * into the stack word. `frame` is the frame of the hook or of the function that it called. It
 * serves to detect a put that was abandoned by siglongjmp.
 */
void hl_emit_alloc_slow(struct hl_thread *t, const struct hl_regs *regs, uint32_t func,
	const void *addr, size_t size, uintptr_t frame);
void hl_emit_free_slow(struct hl_thread *t, uint32_t func, const void *addr, uintptr_t frame);

struct hl_unwound {
	struct hl_thread *t;
	const struct hl_regs *regs;
	const void *addr;
	size_t size;
	uint32_t func;
	uintptr_t frame;
};
void hl_emit_alloc_unwound(const struct hl_unwound *event, const struct hl_stack *stack);

/* Puts a record of words and bytes without a stack. False: there was no room. */
bool hl_emit_put_state(struct hl_thread *t, uint32_t type, const uint64_t *words, uint32_t n,
	const void *bytes, size_t len);

#endif
