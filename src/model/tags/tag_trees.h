/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tag_trees.h - trees of tags, independent of their source: merged, added, compared.
 *
 * A struct hl_tag_trees is a report that owns its memory. Functions that combine trees copy the
 * names.
 */
#ifndef HL_MODEL_TAGS_TAG_TREES_H
#define HL_MODEL_TAGS_TAG_TREES_H

#include "model/query/pattern.h"
#include "tags/tag_report.h"
#include "util/vec.h"

struct hl_tag_trees {
	struct hl_tag_report r;
	HL_VEC(void *) memory;
	char wrong[48]; /* after -ERANGE: the field with the wrong value */
};

/* A zeroed struct is empty. */
void hl_tag_trees_fini(struct hl_tag_trees *b);
/* Zeroed memory that is freed with the tag trees; NULL: no memory. `trees` is a struct
 * hl_tag_trees. */
void *hl_tag_trees_alloc(void *trees, size_t bytes);

/* Names that match `pattern` are merged. */
struct hl_tag_merge {
	const struct hl_pattern *pattern;
	const char *name; /* of the result */
};
struct hl_tag_merges {
	const struct hl_tag_merge *threads, *scopes;
	size_t n_threads, n_scopes;
	bool by_name;     /* merge threads with equal names */
	bool all_threads; /* merge all threads */
};

/*
 * Adds `from` to `to`, which has the trees that were added before with the same merges, or
 * subtracts it (numbers below zero are in two's complement). Scopes are merged if their names and
 * all their parents' names are equal. Totals are computed afterwards. Returns 0 or -ENOMEM.
 */
int hl_tag_trees_add(struct hl_tag_trees *to, const struct hl_tag_trees *from,
	const struct hl_tag_merges *m, bool take_away);

/* Do the numbers of both mean the same? */
bool hl_tag_trees_are_comparable(const struct hl_tag_trees *a, const struct hl_tag_trees *b);

/* Parses a snapshot. Returns 0; -EBADMSG: it is not one, -EPIPE: it is truncated, -EPROTO: it is of
 * a later version, -ERANGE: a field has an impossible value (`wrong`), -EFBIG: over 2 GiB,
 * -ENOMEM. */
int hl_tag_trees_from_json(struct hl_tag_trees *b, const char *text, size_t len);

struct hl_model;
/* The tags of a trace. Returns 0; -ENOENT: it has none; other -errno with hl_model_error(). */
int hl_tags_from_trace(struct hl_model *m, struct hl_tag_trees *b);

#endif
