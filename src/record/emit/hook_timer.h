/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hook_timer.h - the cost of the hooks: one hook call in HL_HOOK_TIMER_EVERY is timed and stands
 * for the others.
 */
#ifndef HL_RECORD_EMIT_HOOK_TIMER_H
#define HL_RECORD_EMIT_HOOK_TIMER_H

#include "record/session/recorder.h"

struct hl_hook_timer {
	uint64_t from, waited; /* from == 0: this call is not timed */
};

struct hl_hook_timer hl_hook_timer_start(struct hl_thread *t);
void hl_hook_timer_stop(struct hl_thread *t, struct hl_hook_timer w);

/* Counts one hook call. True if it is NOT to be timed. */
hl_inline bool hl_hook_timer_skips(struct hl_thread *t)
{
	return hl_likely(--t->until_timed != 0);
}

hl_inline struct hl_hook_timer hl_hook_timer_begin(struct hl_thread *t)
{
	struct hl_hook_timer none = {0};

	return hl_likely(hl_hook_timer_skips(t)) ? none : hl_hook_timer_start(t);
}

hl_inline void hl_hook_timer_end(struct hl_thread *t, struct hl_hook_timer w)
{
	if (hl_unlikely(w.from))
		hl_hook_timer_stop(t, w);
}

#endif
