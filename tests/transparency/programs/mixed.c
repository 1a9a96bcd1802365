/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mixed.c - blocks of many sizes from four sites, the same in each run; some stay. Prints for each
 * site the bytes allocated and the bytes that are live at the end.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define SITES 4
#define SLOTS 4000

static uint64_t allocated[SITES], live[SITES];

#define SITE(i)                                                     \
	__attribute__((noinline)) static void *site##i(size_t size) \
	{                                                           \
		void *volatile p = malloc(size);                    \
                                                                    \
		allocated[i] += size;                               \
		live[i] += size;                                    \
		return p;                                           \
	}
SITE(0)
SITE(1)
SITE(2)
SITE(3)

static void *(*const sites[SITES])(size_t) = {site0, site1, site2, site3};

static size_t size_of(unsigned site, uint64_t r)
{
	switch (site) {
	case 0:
		return 100 + r % 400;
	case 1:
		return 3000;
	case 2:
		return (size_t)1 << r % 15;
	}
	return r % 100000;
}

int main(void)
{
	static struct {
		void *p;
		size_t size;
		unsigned site;
	} slots[SLOTS];
	uint64_t x = 88172645463325252u;
	char line[200];
	int n = 0;

	for (int i = 0; i < 60000; i++) {
		unsigned at, site;

		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		at = (unsigned)(x % SLOTS);
		site = (unsigned)(x >> 20) % SITES;
		if (slots[at].p) {
			free(slots[at].p);
			live[slots[at].site] -= slots[at].size;
		}
		slots[at].site = site;
		slots[at].size = size_of(site, x >> 24);
		slots[at].p = sites[site](slots[at].size);
	}
	for (int i = 0; i < SITES; i++)
		n += snprintf(line + n, sizeof(line) - (size_t)n, "%llu %llu\n",
			(unsigned long long)allocated[i], (unsigned long long)live[i]);
	return write(1, line, (size_t)n) < 0;
}
