/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base_extras.h - the side events that the base of a trace repeats, because later ones refer to
 * them: names of threads and pools, what is recorded, and the program's own mappings.
 *
 * Of each thread only the last name is kept, of mappings only the parts that are still mapped: a
 * mapping that was cut in two is repeated as two. Live blocks of pools are in pool_blocks.h.
 */
#ifndef HL_COLLECT_MATCH_BASE_EXTRAS_H
#define HL_COLLECT_MATCH_BASE_EXTRAS_H

#include "trace/event.h"
#include "util/pair_map.h"
#include "util/vec.h"

typedef HL_VEC(struct hl_extra) hl_extras;

/* A zeroed struct is empty. */
struct hl_base_extras {
	hl_extras names;              /* of threads and pools; they own their texts */
	struct hl_pair_map by_owner;  /* (kind, thread or pool) -> index in names */
	hl_extras mappings;           /* by address, disjoint */
	struct hl_extra mode, on_off; /* the last MODE; the last START or STOP */
	bool has_mode, has_on_off;
	bool incomplete; /* out of memory */
};

/* Call it for each side event of the target, in order. */
void hl_base_extras_note(struct hl_base_extras *b, const struct hl_extra *x);
/* Appends the side events to repeat. Their texts stay owned by b. 0 or -ENOMEM. */
int hl_base_extras_list(const struct hl_base_extras *b, hl_extras *to);
void hl_base_extras_fini(struct hl_base_extras *b);

/* Sorts side events by time; equal times keep their order. 0 or -ENOMEM. */
int hl_extras_sort(hl_extras *list);

#endif
