/* SPDX-License-Identifier: Apache-2.0 */
/*
 * announced_programs.h - the programs that are not recorded and were already announced to the user:
 * one page that all processes of a recording share, so that each is announced once.
 *
 * A hash table of program ids with open addressing. Entries are never removed. The program may
 * overwrite the page by accident; then an announcement is missing or repeated. The collector only
 * creates the page.
 */
#ifndef HL_RING_ANNOUNCED_PROGRAMS_H
#define HL_RING_ANNOUNCED_PROGRAMS_H

#include <stdatomic.h>
#include <stdint.h>

#define HL_ANNOUNCED_MAX 511u

struct hl_announced {
	_Atomic uint64_t full; /* 1: that the table is full was announced too */
	_Atomic uint64_t ids[HL_ANNOUNCED_MAX];
};
_Static_assert(sizeof(struct hl_announced) == 4096, "a page");

enum hl_announced_state {
	HL_ANNOUNCED_KNOWN,
	HL_ANNOUNCED_NEW,  /* the caller must announce it */
	HL_ANNOUNCED_FULL, /* no room: the caller must announce that the table is full */
};

/* Adds an id. An id of 0 means none and is always known. */
static inline enum hl_announced_state hl_announced_add(struct hl_announced *a, uint64_t id)
{
	for (uint32_t i = 0; i < HL_ANNOUNCED_MAX; i++) {
		uint64_t found = 0;

		if (atomic_compare_exchange_strong(
			    &a->ids[(id + i) % HL_ANNOUNCED_MAX], &found, id))
			return id ? HL_ANNOUNCED_NEW : HL_ANNOUNCED_KNOWN;
		if (found == id)
			return HL_ANNOUNCED_KNOWN;
	}
	return atomic_exchange(&a->full, 1) ? HL_ANNOUNCED_KNOWN : HL_ANNOUNCED_FULL;
}

#endif
