/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cacheline.h - flushes memory from our caches that another core is going to write next.
 *
 * Lines that we have read stay in our caches. When the other core writes them again, it must first
 * take each line from our cache, and its stores wait. On processors with several last-level caches
 * that share no core (AMD) this costs about 80 ns for each line if the two cores use different
 * caches. The cost does not show in a profile of our own core. A line that is in no cache has no
 * such cost (bench/handover.c measures both cases).
 */
#ifndef HL_UTIL_CACHELINE_H
#define HL_UTIL_CACHELINE_H

#include <stddef.h>

/* Flushes all cache lines that are completely inside the n bytes at p, on CPUs where this is known
 * to help. It affects only speed. */
void hl_cacheline_flush(const void *p, size_t n);

#endif
