/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scope_tree.h - the scopes of a program as a tree: what each has allocated, freed and still holds,
 * alone and with all nested scopes. Blocks belong to the scope that allocated them.
 */
#ifndef HL_MODEL_TAGS_SCOPE_TREE_H
#define HL_MODEL_TAGS_SCOPE_TREE_H

#include "model/query/query.h"

#define HL_ENTERED_UNKNOWN UINT64_MAX

struct hl_scope_sums {
	struct hl_value allocated, freed; /* in the range */
	struct hl_value live;             /* at its end */
};

/* By tag number; a parent always comes before its children. */
struct hl_scope_row {
	uint32_t parent;  /* HL_TAG_NONE: outermost */
	const char *name; /* owned by the model */
	struct hl_scope_sums self, total;
	uint64_t entered; /* HL_ENTERED_UNKNOWN: a trace does not have it */
};

struct hl_scope_tree {
	struct hl_scope_row *rows;
	uint32_t n;
	struct hl_scope_sums outside, all; /* blocks in no scope; all blocks */
	uint64_t from_ns, to_ns;
	bool moved; /* the file is damaged: values of the latest known moment, as in struct
		       hl_answer */
};

/* Uses from, to and filter of the query; NULL: the whole run. Returns 0, or -errno with
 * hl_model_error(). */
int hl_scopes_build(struct hl_scope_tree *t, struct hl_model *m, const struct hl_query *q);
void hl_scope_tree_fini(struct hl_scope_tree *t);

#endif
