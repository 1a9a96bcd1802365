/* SPDX-License-Identifier: Apache-2.0 */
/* mono_clock.h - the clock that measures durations. */
#ifndef HL_UTIL_MONO_CLOCK_H
#define HL_UTIL_MONO_CLOCK_H

#include <stdint.h>
#include <time.h>

/* CLOCK_MONOTONIC now. */
static inline uint64_t hl_mono_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

#endif
