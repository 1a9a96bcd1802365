/*
 * pages.h - large memory straight from the kernel: zeroed, resident only where it was touched, and
 * given back as soon as it is freed.
 *
 * For what a short-lived process may use little of. malloc keeps freed memory for the next caller.
 */
#ifndef HL_UTIL_PAGES_H
#define HL_UTIL_PAGES_H

#include <stddef.h>

/* NULL when memory is short. */
void *hl_pages_new(size_t bytes);
/* The same number of bytes; p may be NULL. */
void hl_pages_free(void *p, size_t bytes);

#endif
