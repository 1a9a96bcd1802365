/*
 * radix.h - sorting many things by a number, in a time that grows with how many they are.
 */
#ifndef HL_UTIL_RADIX_H
#define HL_UTIL_RADIX_H

#include <stddef.h>
#include <stdint.h>

struct hl_keyed {
	uint64_t key;
	const void *value;
};

/* By key; equal ones stay in their order. `spare` has room for as many, and holds nothing after. */
void hl_radix_sort(struct hl_keyed *things, struct hl_keyed *spare, size_t n);

#endif
