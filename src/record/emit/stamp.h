/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stamp.h - the stamp of a record: the cycle counter, in order.
 *
 * With several threads the counter is read behind a fence: plain rdtsc stamps some frees before
 * their own malloc. While only one thread has recorded, however many threads exist, there is no
 * other order to be consistent with, and no fence is needed. The second thread sets
 * hl_rec.many_threads before its first record. A thread that gets a block from that thread, or an
 * address that it freed, therefore sees many_threads set.
 */
#ifndef HL_RECORD_EMIT_STAMP_H
#define HL_RECORD_EMIT_STAMP_H

#include "record/session/recorder.h"

uint64_t hl_stamp_slow(struct hl_thread *t);

/* Only if hl_rec.stamp_mode is HL_STAMP_TSC. */
hl_inline uint64_t hl_stamp_tsc(void)
{
	return atomic_load_explicit(&hl_rec.many_threads, memory_order_acquire)
		       ? hl_arch_stamp_ordered()
		       : hl_arch_stamp();
}

hl_inline uint64_t hl_stamp(struct hl_thread *t)
{
	return hl_likely(hl_rec.stamp_mode == HL_STAMP_TSC) ? hl_stamp_tsc() : hl_stamp_slow(t);
}

#endif
