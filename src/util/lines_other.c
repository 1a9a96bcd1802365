/*
 * lines_other.c - see lines.h: nothing is known to pay.
 */
#include "util/lines.h"

void hl_lines_let_go(const void *p, size_t n)
{
	(void)p;
	(void)n;
}
