/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ordinal_set.c - see ordinal_set.h. A set consists of pages of 2^15 ordinals. Each page has the
 * number of ordinals before it, and before each 512 of its own, so that a rank needs at most eight
 * population counts.
 */
#include "model/slice/ordinal_set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PAGE_BITS   32768u
#define PAGE_WORDS  (PAGE_BITS / 64)
#define GROUP_WORDS 8u
#define GROUPS      (PAGE_WORDS / GROUP_WORDS)
/* More allocations than any recording has. The list of pages is then 16 MiB. */
#define ORDINALS_MAX (UINT64_C(1) << 36)

struct hl_ordinal_page {
	uint64_t before;
	uint16_t group_before[GROUPS];
	uint64_t words[PAGE_WORDS];
};

void hl_ordinal_set_fini(struct hl_ordinal_set *k)
{
	for (size_t i = 0; i < k->n_pages; i++)
		free(k->pages[i]);
	free(k->pages);
	memset(k, 0, sizeof(*k));
}

static int grow_pages(struct hl_ordinal_set *k, size_t page)
{
	size_t n = k->n_pages ? k->n_pages : 64;
	struct hl_ordinal_page **bigger;

	if (page < k->n_pages)
		return 0;
	while (n <= page)
		n *= 2;
	bigger = realloc(k->pages, n * sizeof(*bigger));
	if (!bigger)
		return -ENOMEM;
	memset(bigger + k->n_pages, 0, (n - k->n_pages) * sizeof(*bigger));
	k->pages = bigger;
	k->n_pages = n;
	return 0;
}

int hl_ordinal_set_add(struct hl_ordinal_set *k, uint64_t ordinal)
{
	size_t page = ordinal / PAGE_BITS, bit = ordinal % PAGE_BITS;

	if (ordinal >= ORDINALS_MAX)
		return -EBADMSG;
	if (grow_pages(k, page) < 0)
		return -ENOMEM;
	if (!k->pages[page])
		k->pages[page] = calloc(1, sizeof(*k->pages[page]));
	if (!k->pages[page])
		return -ENOMEM;
	k->pages[page]->words[bit / 64] |= UINT64_C(1) << bit % 64;
	return 0;
}

bool hl_ordinal_set_has(const struct hl_ordinal_set *k, uint64_t ordinal)
{
	size_t page = ordinal / PAGE_BITS, bit = ordinal % PAGE_BITS;

	return page < k->n_pages && k->pages[page] &&
	       (k->pages[page]->words[bit / 64] >> bit % 64 & 1);
}

void hl_ordinal_set_count(struct hl_ordinal_set *k)
{
	uint64_t before = 0;

	for (size_t i = 0; i < k->n_pages; i++) {
		struct hl_ordinal_page *p = k->pages[i];
		unsigned n = 0;

		for (size_t w = 0; p && w < PAGE_WORDS; w++) {
			if (w % GROUP_WORDS == 0)
				p->group_before[w / GROUP_WORDS] = (uint16_t)n;
			n += (unsigned)__builtin_popcountll(p->words[w]);
		}
		if (p)
			p->before = before;
		before += n;
	}
}

uint64_t hl_ordinal_set_rank(const struct hl_ordinal_set *k, uint64_t ordinal)
{
	const struct hl_ordinal_page *p = k->pages[ordinal / PAGE_BITS];
	size_t bit = ordinal % PAGE_BITS, word = bit / 64, group = word / GROUP_WORDS;
	uint64_t rank = p->before + p->group_before[group];

	for (size_t w = group * GROUP_WORDS; w < word; w++)
		rank += (uint64_t)__builtin_popcountll(p->words[w]);
	return rank +
	       (uint64_t)__builtin_popcountll(p->words[word] & ((UINT64_C(1) << bit % 64) - 1));
}
