/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live_copy.c - see live_copy.h.
 *
 * The copy is sorted in place (American flag sort, from the highest byte of the ordinal to the
 * lowest): a table may be as large as the memory limit, and a second array would double that.
 */
#include "collect/match/live_copy.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "base/attr.h"
#include "base/bits.h"
#include "collect/match/live_table_inline.h"

#define SMALL 32u /* blocks that are sorted by insertion */

static void add_entry(struct hl_live_copy *c, const struct hl_live_entry *e)
{
	if (hl_live_ordinal(e) >= c->below)
		return;
	if (hl_unlikely(c->n == c->capacity)) {
		c->failed = true;
		return;
	}
	c->entries[c->n++] = *e;
}

static void add_cached(void *arg, const struct hl_live_entry *e)
{
	add_entry(arg, e);
}

int hl_live_copy_begin(
	struct hl_live_copy *c, struct hl_live_table *l, uint64_t below, uint64_t blocks)
{
	*c = (struct hl_live_copy){.below = below, .blocks = blocks, .end = l->pool.n_used};
	/* Each block once from the cache, once from the pool and once when it is removed. */
	c->capacity = 2 * blocks + HL_LIVE_CACHE_SLOTS;
	c->bytes = c->capacity * sizeof(*c->entries);
	c->entries = hl_live_map_pages(l, c->bytes);
	if (!c->entries)
		return -ENOMEM;
	hl_live_each_cached(l, add_cached, c);
	return 0;
}

bool hl_live_copy_step(struct hl_live_copy *c, const struct hl_live_table *l, uint32_t n)
{
	uint32_t end = c->end - c->next > n ? c->next + n : c->end;

	for (; c->next < end; c->next++) {
		const struct hl_live_entry *e = hl_live_entry_at(&l->pool, c->next);

		if (e->addr)
			add_entry(c, e);
	}
	return c->next == c->end;
}

void hl_live_copy_keep(struct hl_live_copy *c, const struct hl_live_entry *e)
{
	add_entry(c, e);
}

static void swap_entries(struct hl_live_entry *a, struct hl_live_entry *b)
{
	struct hl_live_entry t = *a;

	*a = *b;
	*b = t;
}

static void sort_small(struct hl_live_entry *e, size_t n)
{
	for (size_t i = 1; i < n; i++)
		for (size_t k = i; k > 0 && hl_live_ordinal(&e[k - 1]) > hl_live_ordinal(&e[k]);
			k--)
			swap_entries(&e[k - 1], &e[k]);
}

static unsigned byte_of(const struct hl_live_entry *e, unsigned shift)
{
	return hl_live_ordinal(e) >> shift & 255;
}

static void count_bytes(const struct hl_live_entry *e, size_t n, unsigned shift, size_t ends[256])
{
	size_t sum = 0;

	memset(ends, 0, 256 * sizeof(*ends));
	for (size_t i = 0; i < n; i++)
		ends[byte_of(&e[i], shift)]++;
	for (unsigned b = 0; b < 256; b++)
		ends[b] = sum += ends[b];
}

/* Recurses at most once for each byte of an ordinal. */
static void sort_entries(struct hl_live_entry *e, size_t n, unsigned shift)
{
	size_t ends[256], next[256];

	if (n <= SMALL) {
		sort_small(e, n);
		return;
	}
	count_bytes(e, n, shift, ends);
	for (unsigned b = 0; b < 256; b++)
		next[b] = b ? ends[b - 1] : 0;
	for (unsigned b = 0; b < 256; b++)
		while (next[b] < ends[b]) {
			unsigned to = byte_of(&e[next[b]], shift);

			if (to == b)
				next[b]++;
			else
				swap_entries(&e[next[b]], &e[next[to]++]);
		}
	for (unsigned b = 0; shift > 0 && b < 256; b++) {
		size_t from = b ? ends[b - 1] : 0;

		sort_entries(e + from, ends[b] - from, shift - 8);
	}
}

int hl_live_copy_sort(struct hl_live_copy *c)
{
	size_t n = 0;

	sort_entries(c->entries, c->n, c->below > 1 ? hl_log2(c->below - 1) / 8 * 8 : 0);
	for (size_t i = 0; i < c->n; i++)
		if (n == 0 ||
			hl_live_ordinal(&c->entries[n - 1]) != hl_live_ordinal(&c->entries[i]))
			c->entries[n++] = c->entries[i];
	c->n = n;
	return c->failed || n != c->blocks ? -EIO : 0;
}

void hl_live_copy_fini(struct hl_live_copy *c)
{
	if (c->entries)
		munmap(c->entries, c->bytes);
	c->entries = NULL;
}
