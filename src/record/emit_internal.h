/*
 * emit_internal.h - from usual.c to emit.c: events that are not usual after all.
 */
#ifndef HL_RECORD_EMIT_INTERNAL_H
#define HL_RECORD_EMIT_INTERNAL_H

#include "record/recorder.h"
#include "record/unwind/unwind.h"

/* Of the function that this stands in. */
#define HL_THIS_FRAME ((uintptr_t)__builtin_frame_address(0))

/* From here to the commit the ring is ours alone: a handler knows by the frame whether we still
 * are. False: one was there meanwhile; start over. */
hl_inline bool hl_emit_begin(struct hl_thread *t, struct hl_producer *out, uint64_t pos)
{
	t->put_frame = HL_THIS_FRAME;
	return hl_producer_begin(out, pos);
}

/*
 * The event itself, which is to be recorded; and an allocation whose stack is known, of a size that
 * fits its bits. `frame`: of the hook, or of the function that it has called, to know a put by that
 * was left.
 */
void hl_emit_alloc_any(struct hl_thread *t, const struct hl_regs *regs, uint32_t func,
	const void *addr, size_t size, uintptr_t frame);
void hl_emit_free_any(struct hl_thread *t, uint32_t func, const void *addr, uintptr_t frame);

struct hl_unwound {
	struct hl_thread *t;
	const struct hl_regs *regs;
	const void *addr;
	size_t size;
	uint32_t func;
	uintptr_t frame;
};
void hl_emit_alloc_unwound(const struct hl_unwound *event, const struct hl_stack *stack);

#endif
