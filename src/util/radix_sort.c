/* SPDX-License-Identifier: Apache-2.0 */
/*
 * radix_sort.c - see radix_sort.h. LSD radix sort: from the lowest digit to the highest, each pass
 * into the other array. Digits that are equal in all keys (with addresses most are) are skipped.
 */
#include <string.h>

#include "util/radix_sort.h"

#define DIGIT_BITS 11
#define DIGITS     (1u << DIGIT_BITS)

static size_t get_digit(const struct hl_radix_item *k, unsigned shift)
{
	return k->key >> shift & (DIGITS - 1);
}

static void scatter_by_digit(const struct hl_radix_item *from, struct hl_radix_item *to, size_t n,
	unsigned shift, size_t *ends)
{
	size_t sum = 0;

	memset(ends, 0, DIGITS * sizeof(*ends));
	for (size_t i = 0; i < n; i++)
		ends[get_digit(&from[i], shift)]++;
	for (size_t d = 0; d < DIGITS; d++) {
		size_t count = ends[d];

		ends[d] = sum;
		sum += count;
	}
	for (size_t i = 0; i < n; i++)
		to[ends[get_digit(&from[i], shift)]++] = from[i];
}

void hl_radix_sort(struct hl_radix_item *items, struct hl_radix_item *spare, size_t n)
{
	struct hl_radix_item *from = items, *to = spare, *next;
	size_t ends[DIGITS];
	uint64_t differ = 0;

	for (size_t i = 1; i < n; i++)
		differ |= items[i].key ^ items[0].key;
	for (unsigned shift = 0; shift < 64; shift += DIGIT_BITS) {
		if (!(differ >> shift & (DIGITS - 1)))
			continue;
		scatter_by_digit(from, to, n, shift, ends);
		next = from;
		from = to;
		to = next;
	}
	if (from != items)
		memcpy(items, from, n * sizeof(*items));
}
