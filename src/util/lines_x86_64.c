/*
 * lines_x86_64.c - see lines.h.
 *
 * On AMD alone, where it was measured: on others nobody knows yet what it gains or costs.
 */
#include <cpuid.h>
#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "util/lines.h"

#define LINE 64u

static bool pays(void)
{
	uint32_t a, b, c, d;

	return __builtin_cpu_is("amd") && __get_cpuid_count(7, 0, &a, &b, &c, &d) &&
	       b & bit_CLFLUSHOPT;
}

__attribute__((target("clflushopt"))) static void flush(const char *at, const char *end)
{
	for (; at < end; at += LINE)
		_mm_clflushopt((void *)(uintptr_t)at);
}

void hl_lines_let_go(const void *p, size_t n)
{
	static int known; /* 1: it pays, -1: it does not; any thread may find out */
	uintptr_t from = ((uintptr_t)p + LINE - 1) & ~(uintptr_t)(LINE - 1);
	uintptr_t to = ((uintptr_t)p + n) & ~(uintptr_t)(LINE - 1);
	int answer = __atomic_load_n(&known, __ATOMIC_RELAXED);

	if (hl_unlikely(!answer)) {
		answer = pays() ? 1 : -1;
		__atomic_store_n(&known, answer, __ATOMIC_RELAXED);
	}
	if (answer > 0)
		flush((const char *)from, (const char *)to);
}
