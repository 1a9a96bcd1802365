/* SPDX-License-Identifier: Apache-2.0 */
/*
 * backpressure.h - waits for room in a full ring, and for the collector in other cases.
 */
#ifndef HL_RECORD_EMIT_BACKPRESSURE_H
#define HL_RECORD_EMIT_BACKPRESSURE_H

#include <stdbool.h>
#include <stdint.h>

#include "record/session/recorder.h"

/* Waits for room for `words` words at pos. True if there is room, or if a handler moved the
 * position meanwhile. */
bool hl_wait_for_room(struct hl_thread *t, uint64_t pos, uint32_t words);
/* Takes the result of hl_thread_claim(). If that has no ring of its own, waits for one, but not
 * forever. Returns the thread's state. */
struct hl_thread *hl_wait_for_ring(struct hl_thread *t);
/* At exit: waits until the collector has completed the trace of this process, at most
 * exit_wait_ms. */
void hl_wait_for_trace(struct hl_ring *ring);
/* Waits in the same way for something else. True as soon as `try` returns true. */
bool hl_wait_for(struct hl_thread *t, bool (*try)(struct hl_thread *t));

#endif
