/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pages.h - large memory directly from the kernel: zeroed, resident only where it was touched, and
 * returned to the kernel when it is freed.
 *
 * For large tables of which a short run touches only a part. malloc would keep freed memory for
 * reuse.
 */
#ifndef HL_UTIL_PAGES_H
#define HL_UTIL_PAGES_H

#include <stddef.h>

/* Returns NULL if there is not enough memory. The caller frees it with hl_pages_free. */
void *hl_pages_new(size_t bytes);
/* `bytes` must be the same as for hl_pages_new. p may be NULL. */
void hl_pages_free(void *p, size_t bytes);

#endif
