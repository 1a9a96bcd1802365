/*
 * announced.h - programs that are not recorded and have been announced: one page that all processes
 * of a recording share, so that none is announced twice.
 *
 * A table of the programs' ids, open addressing, entries are never removed. The program may
 * scribble over it: that costs an announcement, or repeats one. The collector only makes the page.
 */
#ifndef HL_RING_ANNOUNCED_H
#define HL_RING_ANNOUNCED_H

#include <stdatomic.h>
#include <stdint.h>

#define HL_ANNOUNCED_MAX 511u

struct hl_announced {
	_Atomic uint64_t full; /* 1: this has been announced, too */
	_Atomic uint64_t ids[HL_ANNOUNCED_MAX];
};
_Static_assert(sizeof(struct hl_announced) == 4096, "a page");

enum hl_announced_state {
	HL_ANNOUNCED_KNOWN,
	HL_ANNOUNCED_NEW,  /* it is the caller's to announce */
	HL_ANNOUNCED_FULL, /* there is no room for it, and the caller says so */
};

/* An id of 0 is none, and always known. */
static inline enum hl_announced_state hl_announced_add(struct hl_announced *a, uint64_t id)
{
	for (uint32_t i = 0; i < HL_ANNOUNCED_MAX; i++) {
		uint64_t is = 0;

		if (atomic_compare_exchange_strong(&a->ids[(id + i) % HL_ANNOUNCED_MAX], &is, id))
			return id ? HL_ANNOUNCED_NEW : HL_ANNOUNCED_KNOWN;
		if (is == id)
			return HL_ANNOUNCED_KNOWN;
	}
	return atomic_exchange(&a->full, 1) ? HL_ANNOUNCED_KNOWN : HL_ANNOUNCED_FULL;
}

#endif
