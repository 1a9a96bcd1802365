/* SPDX-License-Identifier: Apache-2.0 */
/*
 * address_rows.h - the address space of the process at a moment: its mappings, the heap's blocks
 * in each, and the gaps between them.
 *
 * Mappings are those of the newest sample before the moment (record --mmap). Blocks outside of
 * them, in a trace without samples all blocks, are in rows of their own: blocks that are less than
 * HL_REGION_GAP apart are in one. Rows are in the order of their addresses. A filter only selects
 * the blocks that are counted as live; free space and gaps are those between all blocks.
 */
#ifndef HL_MODEL_VIEWS_ADDRESS_ROWS_H
#define HL_MODEL_VIEWS_ADDRESS_ROWS_H

#include "model/query/query.h"
#include "model/views/page_usage.h"
#include "model/views/resident.h"

/* Rows that are further apart than this are in different clusters. */
#define HL_CLUSTER_GAP (UINT64_C(32) << 20)

/* How full a row is, from its start on. A step is a power of two of at least a page. */
#define HL_FILL_STEPS 64
struct hl_address_fill {
	uint64_t step;
	uint64_t bytes[HL_FILL_STEPS]; /* of all blocks, in each step */
};

struct hl_address_row {
	uint64_t start, end;
	const struct hl_resident_map *map; /* NULL: blocks outside of the sampled mappings */
	uint64_t gap_before;               /* to the row before; the first: 0 */
	unsigned cluster;                  /* from 1 */
	struct hl_value live;              /* blocks that fit the filter */
	struct hl_value all;
	/* Of a row with blocks: without any block; and the longest piece of it. */
	uint64_t free_bytes, largest_gap;
	struct hl_address_fill *fill; /* NULL: no blocks */
};

struct hl_address_space {
	uint64_t time_ns;
	bool before_damage;
	struct hl_value live, all;
	bool has_maps; /* there is a sample, and `resident` has it */
	struct hl_resident resident;
	struct hl_address_row *rows;
	size_t n_rows;
	unsigned clusters;
	uint64_t outside_blocks; /* blocks outside of the sampled mappings */
};

/* Reads the events up to the moment. Returns 0 or -errno with hl_model_error(). The caller frees *s
 * with hl_address_space_fini, after an error, too. */
int hl_address_space_at(struct hl_address_space *s, struct hl_model *m,
	const struct hl_time_spec *when, struct hl_filter *filter);
void hl_address_space_fini(struct hl_address_space *s);

#endif
