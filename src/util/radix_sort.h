/* SPDX-License-Identifier: Apache-2.0 */
/* radix_sort.h - sorts many items by a 64-bit key in linear time. */
#ifndef HL_UTIL_RADIX_SORT_H
#define HL_UTIL_RADIX_SORT_H

#include <stddef.h>
#include <stdint.h>

struct hl_radix_item {
	uint64_t key;
	const void *value;
};

/* Sorts by key; the sort is stable. `spare` has room for n items; its content is undefined
 * afterwards. */
void hl_radix_sort(struct hl_radix_item *items, struct hl_radix_item *spare, size_t n);

#endif
