/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live_copy.h - the blocks that are live at one moment, copied while the live table changes.
 *
 * Copying a large table at once would make the program wait. So it is copied in steps, and events
 * are applied in between. An entry of the pool does not move, and an entry that moves from the
 * cache to the pool was copied before, because hl_live_copy_begin copies the cache. A block that is
 * removed before its entry is copied must be passed to hl_live_copy_keep. A block may be copied
 * several times; hl_live_copy_sort removes the duplicates.
 */
#ifndef HL_COLLECT_MATCH_LIVE_COPY_H
#define HL_COLLECT_MATCH_LIVE_COPY_H

#include "collect/match/live_table.h"

struct hl_live_copy {
	struct hl_live_entry *entries; /* in memory, or in a file above the table's memory limit */
	size_t n, capacity, bytes;
	uint64_t below;     /* blocks with a smaller ordinal are copied */
	uint64_t blocks;    /* their number */
	uint32_t next, end; /* entries of the pool that are still to be copied */
	bool failed;        /* an entry had no room */
};

/* Begins a copy of the `blocks` blocks whose ordinals are below `below`. 0 or -ENOMEM. */
int hl_live_copy_begin(
	struct hl_live_copy *c, struct hl_live_table *l, uint64_t below, uint64_t blocks);
/* Copies at most n more entries of the same table. True: the copy is complete. */
bool hl_live_copy_step(struct hl_live_copy *c, const struct hl_live_table *l, uint32_t n);
/* A block that is being removed from the table. */
void hl_live_copy_keep(struct hl_live_copy *c, const struct hl_live_entry *e);
/* Sorts the copy by ordinal, without duplicates. Another thread may call it. 0, or -EIO if blocks
 * are missing. */
int hl_live_copy_sort(struct hl_live_copy *c);
void hl_live_copy_fini(struct hl_live_copy *c);

#endif
