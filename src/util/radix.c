/*
 * radix.c - see radix.h. From the lowest digit to the highest, each time into the other array;
 * digits in which all keys are alike (of addresses most are) are passed over.
 */
#include <string.h>

#include "util/radix.h"

#define DIGIT_BITS 11
#define DIGITS     (1u << DIGIT_BITS)

static size_t digit(const struct hl_keyed *k, unsigned shift)
{
	return k->key >> shift & (DIGITS - 1);
}

static void place(
	const struct hl_keyed *from, struct hl_keyed *to, size_t n, unsigned shift, size_t *ends)
{
	size_t sum = 0;

	memset(ends, 0, DIGITS * sizeof(*ends));
	for (size_t i = 0; i < n; i++)
		ends[digit(&from[i], shift)]++;
	for (size_t d = 0; d < DIGITS; d++) {
		size_t count = ends[d];

		ends[d] = sum;
		sum += count;
	}
	for (size_t i = 0; i < n; i++)
		to[ends[digit(&from[i], shift)]++] = from[i];
}

void hl_radix_sort(struct hl_keyed *things, struct hl_keyed *spare, size_t n)
{
	struct hl_keyed *from = things, *to = spare, *next;
	size_t ends[DIGITS];
	uint64_t differ = 0;

	for (size_t i = 1; i < n; i++)
		differ |= things[i].key ^ things[0].key;
	for (unsigned shift = 0; shift < 64; shift += DIGIT_BITS) {
		if (!(differ >> shift & (DIGITS - 1)))
			continue;
		place(from, to, n, shift, ends);
		next = from;
		from = to;
		to = next;
	}
	if (from != things)
		memcpy(things, from, n * sizeof(*things));
}
