/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cacheline_other.c - see cacheline.h. For this architecture no gain was measured, so nothing is
 * flushed.
 */
#include "util/cacheline.h"

void hl_cacheline_flush(const void *p, size_t n)
{
	(void)p;
	(void)n;
}
