/*
 * stamp.h - when did it happen? The cycle counter, in order.
 *
 * With threads the counter is read behind a fence: plain rdtsc stamps some frees before their own
 * malloc. While one thread alone has recorded, however many there are, there is nobody to disagree
 * with. The second says that it comes before its first record: whoever meets a block that came from
 * it, or an address that it gave back, has met that word before.
 */
#ifndef HL_RECORD_STAMP_H
#define HL_RECORD_STAMP_H

#include "record/recorder.h"

uint64_t hl_stamp_slow(struct hl_thread *t);

/* If the mode is HL_STAMP_TSC. */
hl_inline uint64_t hl_stamp_tsc(void)
{
	return atomic_load_explicit(&hl_rec.many, memory_order_acquire) ? hl_arch_stamp_ordered()
									: hl_arch_stamp();
}

hl_inline uint64_t hl_stamp(struct hl_thread *t)
{
	return hl_likely(hl_rec.stamp_mode == HL_STAMP_TSC) ? hl_stamp_tsc() : hl_stamp_slow(t);
}

#endif
