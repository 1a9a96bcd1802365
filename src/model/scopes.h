/*
 * scopes.h - the scopes of a program as a tree: what each has allocated, freed and still holds,
 * alone and with all scopes inside of it. Blocks belong to the scope that allocated them.
 */
#ifndef HL_MODEL_SCOPES_H
#define HL_MODEL_SCOPES_H

#include "model/query.h"

#define HL_ENTERED_UNKNOWN UINT64_MAX

struct hl_scope_sums {
	struct hl_value allocated, freed; /* in the range */
	struct hl_value live;             /* at its end */
};

/* By the tag's number; a parent always comes before its children. */
struct hl_scope_row {
	uint32_t parent;  /* HL_TAG_NONE: outermost */
	const char *name; /* the model's */
	struct hl_scope_sums self, total;
	uint64_t entered; /* HL_ENTERED_UNKNOWN: a trace does not say */
};

struct hl_scope_tree {
	struct hl_scope_row *rows;
	uint32_t n;
	struct hl_scope_sums outside, all; /* in no scope; everything */
	uint64_t from_ns, to_ns;
	bool moved; /* of a damaged file: the latest that can be known, as in struct hl_answer */
};

/* Of the query its from, to and filter; it may be NULL: the whole run. 0 or -errno with
 * hl_model_error(). */
int hl_scopes_build(struct hl_scope_tree *t, struct hl_model *m, const struct hl_query *q);
void hl_scope_tree_fini(struct hl_scope_tree *t);

#endif
