/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread.h - the ring and the private memory of a thread.
 */
#ifndef HL_RECORD_SESSION_THREAD_H
#define HL_RECORD_SESSION_THREAD_H

#include <stdbool.h>
#include <stdint.h>

#include "record/session/recorder.h"

struct hl_thread *hl_thread_enter_slow(void);

/* The calling thread's state, or NULL if this call must not be recorded. */
hl_inline struct hl_thread *hl_thread_enter(void)
{
	if (hl_likely(atomic_load_explicit(&hl_fork_page.on, memory_order_relaxed))) {
		struct hl_thread *t = hl_tls.thread;
		if (hl_likely(t != NULL))
			return t;
	}
	return hl_thread_enter_slow();
}

struct hl_thread *hl_thread_claim(void); /* NULL when memory is short */
/* Claims a ring for the constructor's thread and moves its early events there. */
struct hl_thread *hl_thread_adopt_early(void);
void hl_thread_reserve(void); /* maps memory for threads that begin when none can be mapped */
uint64_t hl_thread_first_stamp(void);
bool hl_thread_lock_shared(struct hl_thread *t);
void hl_thread_unlock_shared(struct hl_thread *t);

#endif
