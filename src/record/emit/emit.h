/* SPDX-License-Identifier: Apache-2.0 */
/*
 * emit.h - puts events into the ring of the calling thread.
 */
#ifndef HL_RECORD_EMIT_EMIT_H
#define HL_RECORD_EMIT_EMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/session/recorder.h"

/* --zero-memory: a new block is zeroed. */
hl_inline void hl_emit_zero(uint32_t func, const void *addr, size_t size)
{
	if (hl_unlikely(hl_rec.settings & HL_SET_ZERO) && func != HL_FUNC_CALLOC)
		__builtin_memset((void *)(uintptr_t)addr, 0, size);
}

/* One event each. They never fail visibly: events that find no room are counted as dropped.
 * hl_emit_alloc() returns addr. */
void *hl_emit_alloc(const struct hl_regs *regs, uint32_t func, void *addr, size_t size);
void hl_emit_free(const struct hl_regs *regs, uint32_t func, const void *addr);
/* True if the collector was notified that the block may move; then hl_emit_move_end or
 * hl_emit_move_failed must follow. */
bool hl_emit_move_begin(const void *old);
void hl_emit_move_end(const struct hl_regs *regs, uint32_t func, const void *old, const void *addr,
	size_t size, bool begun);
void hl_emit_move_failed(const void *old);
void hl_emit_map(const struct hl_regs *regs, uint32_t type, uint64_t start, uint64_t size,
	uint64_t a, uint64_t b);
/* Puts a record of words and bytes without a stack. True if it is in the ring. */
bool hl_emit_state(struct hl_thread *t, uint32_t type, const uint64_t *words, uint32_t n,
	const void *bytes, size_t len);
void hl_emit_mark(uint32_t kind, const char *text);
/* A block of one of the program's pools, which is in no heap. pool: the hash that its name was sent
 * with (pool_api.c). */
void hl_emit_pool_alloc(struct hl_thread *t, const struct hl_regs *regs, uint64_t pool,
	const void *addr, size_t size);
/* Counts an event that found no room. */
void hl_emit_drop(struct hl_thread *t);
/* Forgets what the ring has: its next reader knows no tag, no pool and no stack id. */
void hl_emit_forget_sent(struct hl_thread *t);

#endif
