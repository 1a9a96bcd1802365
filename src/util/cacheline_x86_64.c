/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cacheline_x86_64.c - see cacheline.h.
 *
 * Enabled only on AMD, where the gain was measured. Gain and cost on other CPUs are not known.
 */
#include <cpuid.h>
#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "util/cacheline.h"

#define LINE 64u

static bool is_flush_useful(void)
{
	uint32_t a, b, c, d;

	return __builtin_cpu_is("amd") && __get_cpuid_count(7, 0, &a, &b, &c, &d) &&
	       b & bit_CLFLUSHOPT;
}

__attribute__((target("clflushopt"))) static void flush_lines(const char *at, const char *end)
{
	for (; at < end; at += LINE)
		_mm_clflushopt((void *)(uintptr_t)at);
}

void hl_cacheline_flush(const void *p, size_t n)
{
	static int cached_answer; /* 0: unknown, 1: useful, -1: not; the same for all threads */
	uintptr_t from = ((uintptr_t)p + LINE - 1) & ~(uintptr_t)(LINE - 1);
	uintptr_t to = ((uintptr_t)p + n) & ~(uintptr_t)(LINE - 1);
	int answer = __atomic_load_n(&cached_answer, __ATOMIC_RELAXED);

	if (hl_unlikely(!answer)) {
		answer = is_flush_useful() ? 1 : -1;
		__atomic_store_n(&cached_answer, answer, __ATOMIC_RELAXED);
	}
	if (answer > 0)
		flush_lines((const char *)from, (const char *)to);
}
