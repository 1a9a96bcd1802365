/* SPDX-License-Identifier: Apache-2.0 */
/* pages.c - see pages.h. */
#include "util/pages.h"

#include <sys/mman.h>

void *hl_pages_new(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	/* With huge pages the first byte touched would clear and keep resident a whole huge
	 * page. */
	madvise(p, bytes, MADV_NOHUGEPAGE);
	return p;
}

void hl_pages_free(void *p, size_t bytes)
{
	if (p)
		munmap(p, bytes);
}
