/*
 * group.h - an answer as a flat table: one row for each function, site, file, thread, size ...
 *
 * Each block is in exactly one row, so that the rows of every group sum to the same total. Groups
 * of code go by the block's site: the innermost frame of its stack that is the program's own, see
 * hl_model_site.
 */
#ifndef HL_MODEL_GROUP_H
#define HL_MODEL_GROUP_H

#include "model/query.h"
#include "util/strings.h"

enum hl_group {
	HL_GROUP_STACK,
	HL_GROUP_FUNCTION,
	HL_GROUP_SITE,
	HL_GROUP_FILE,
	HL_GROUP_MODULE,
	HL_GROUP_THREAD,
	HL_GROUP_CALL,
	HL_GROUP_SIZE,
	HL_GROUP_LIFE,
	HL_GROUP_SNAPSHOT,
	HL_GROUP_TAG,
	HL_GROUP_POOL,
	HL_GROUP_COUNT,
};

/* As users write it; -EINVAL: there is none of this name. */
int hl_group_find(const char *name, enum hl_group *g);
const char *hl_group_name(enum hl_group g);
/* What to ask for. */
enum hl_key hl_group_key(enum hl_group g);
/* Rows have an order of their own, beside that of size. */
bool hl_group_is_ordered(enum hl_group g);

struct hl_row {
	struct hl_value value;
	const char *name;  /* the table's or the model's */
	const char *shown; /* the same for people: shortened, unless another row looks like it */
	bool full;         /* it does: full names for this row's frames */
	uint32_t key;      /* of the answer; n_keys for none. Groups of code: a stack of the row */
	uint32_t frame;    /* site: its frame; else HL_NODE_NONE */
	uint64_t lo, hi;   /* size and life: from lo to below hi */
};

enum hl_sort { HL_SORT_BYTES, HL_SORT_BLOCKS, HL_SORT_AVERAGE, HL_SORT_NAME, HL_SORT_OWN };

struct hl_table {
	enum hl_group group;
	struct hl_row *rows;
	size_t n;
	struct hl_value total;
	struct hl_strings strings;
};

/* The answer must have been asked with the group's key. no_starts: stacks are named without the
 * frames before main, see start.h. 0 or -errno. */
int hl_table_build(struct hl_table *t, struct hl_model *m, const struct hl_answer *a,
	enum hl_group g, bool no_starts);
/* The same, with the row of each key, in row_of[n_keys + 1]: UINT32_MAX for keys without a number.
 * Its rows have no order, and must not be given one while these are used. */
int hl_table_build_mapped(struct hl_table *t, struct hl_model *m, const struct hl_answer *a,
	enum hl_group g, uint32_t *row_of);
void hl_table_sort(struct hl_table *t, enum hl_sort by);
void hl_table_fini(struct hl_table *t);

/*
 * The frame that a stack is known by: from the innermost outwards the first that is neither in the
 * C or C++ library, the loader or an allocator, nor a function of the C++ or Rust standard library,
 * by its name or by its file; the innermost of all if there is none.
 */
int hl_model_site(struct hl_model *m, uint32_t node, uint32_t *frame);
/* Is it such a frame? */
bool hl_frame_is_program(const struct hl_frame *f);

#endif
