/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flat_table.h - an answer as a flat table: one row for each function, site, file, thread, size ...
 *
 * Each block is in exactly one row, so the rows of every group have the same total. Groups of code
 * use the block's site (site.h).
 */
#ifndef HL_MODEL_STACK_FLAT_TABLE_H
#define HL_MODEL_STACK_FLAT_TABLE_H

#include "model/query/query.h"
#include "model/stack/site.h"
#include "util/string_table.h"

enum hl_group {
	HL_GROUP_STACK,
	HL_GROUP_FUNCTION,
	HL_GROUP_SITE,
	HL_GROUP_FILE,
	HL_GROUP_MODULE,
	HL_GROUP_THREAD,
	HL_GROUP_CALL,
	HL_GROUP_SIZE,
	HL_GROUP_LIFETIME,
	HL_GROUP_SNAPSHOT,
	HL_GROUP_TAG,
	HL_GROUP_POOL,
	HL_GROUP_COUNT,
};

/* Finds a group by the name that users write. -EINVAL: there is no group of this name. */
int hl_group_find(const char *name, enum hl_group *g);
const char *hl_group_name(enum hl_group g);
/* The key that a query needs for this group. */
enum hl_key hl_group_key(enum hl_group g);
/* True if the rows have a natural order besides the order by size. */
bool hl_group_is_ordered(enum hl_group g);

struct hl_table_row {
	struct hl_value value;
	const char *name; /* owned by the table or the model */
	const char
		*display_name; /* for display: shortened, unless another row would look the same */
	bool full_name;  /* show full names for this row's frames, because short ones are ambiguous
			  */
	uint32_t key;    /* of the answer; n_keys: none. Groups of code: a stack of the row */
	uint32_t frame;  /* groups site and stack: frame of the site; else HL_NODE_NONE */
	uint64_t lo, hi; /* groups size and life: the range [lo, hi) */
};

enum hl_sort {
	HL_SORT_BYTES,
	HL_SORT_BLOCKS,
	HL_SORT_AVERAGE,
	HL_SORT_NAME,
	/* Of single blocks (blocks/block_list.h). */
	HL_SORT_TIME,
	HL_SORT_ADDRESS,
	HL_SORT_SIZE,
	HL_SORT_LIFE,
	/* Of groups of blocks (blocks/block_groups.h). */
	HL_SORT_LEAKED,
	HL_SORT_FIRST,
	HL_SORT_LAST,
	HL_SORT_INTERVAL,
	HL_SORT_RUN_BLOCKS,
	HL_SORT_RUN_LEAKED,
	HL_SORT_RUN_FIRST,
	HL_SORT_RUN_LAST,
	HL_SORT_RUN_INTERVAL,
	HL_SORT_RUN_PEAK,
	HL_SORT_OWN, /* the natural order of a table; users have no word for it */
};

struct hl_table {
	enum hl_group group;
	struct hl_table_row *rows;
	size_t n;
	struct hl_value total;
	struct hl_string_table strings;
};

/* Builds a table from an answer whose query used hl_group_key(g). folds: names of stacks begin at
 * their sites and omit the frames before main (runtime_frames.h), and runs of plumbing are folded.
 * Returns 0 or -errno. The caller frees the table with hl_table_fini. */
int hl_table_build(struct hl_table *t, struct hl_model *m, const struct hl_answer *a,
	enum hl_group g, bool folds);
/* As hl_table_build, and sets row_of[n_keys + 1] to the row of each key, UINT32_MAX for keys
 * without blocks. The rows are not sorted and must not be sorted while row_of is in use. */
int hl_table_build_mapped(struct hl_table *t, struct hl_model *m, const struct hl_answer *a,
	enum hl_group g, bool folds, uint32_t *row_of);
void hl_table_sort(struct hl_table *t, enum hl_sort by);
void hl_table_fini(struct hl_table *t);

#endif
