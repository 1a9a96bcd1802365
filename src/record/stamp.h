/*
 * stamp.h - when did it happen? The cycle counter, in order.
 *
 * With threads the counter is read behind a fence: plain rdtsc stamps some frees before their own
 * malloc. While the process is single-threaded there is nobody to disagree with.
 */
#ifndef HL_RECORD_STAMP_H
#define HL_RECORD_STAMP_H

#include <sys/single_threaded.h>

#include "record/recorder.h"

uint64_t hl_stamp_slow(struct hl_thread *t);

/* If the mode is HL_STAMP_TSC. */
hl_inline uint64_t hl_stamp_tsc(void)
{
	return __libc_single_threaded ? hl_arch_stamp() : hl_arch_stamp_ordered();
}

hl_inline uint64_t hl_stamp(struct hl_thread *t)
{
	return hl_likely(hl_rec.stamp_mode == HL_STAMP_TSC) ? hl_stamp_tsc() : hl_stamp_slow(t);
}

#endif
