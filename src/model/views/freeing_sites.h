/* SPDX-License-Identifier: Apache-2.0 */
/*
 * freeing_sites.h - which sites free the blocks of each site. Needs a trace of record
 * --free-stacks.
 *
 * Sites are those of hl_model_find_site, of the allocating and of the freeing stack. Each block
 * that the query counts is counted in one site, and there in one of its freeing sites.
 */
#ifndef HL_MODEL_VIEWS_FREEING_SITES_H
#define HL_MODEL_VIEWS_FREEING_SITES_H

#include "model/query/query.h"

enum hl_free_kind {
	HL_FREED_BY_FREE,    /* free, delete and similar functions */
	HL_FREED_BY_REALLOC, /* realloc replaced it by another block */
	HL_FREED_BY_UNSEEN,  /* its address was allocated again; no free was recorded */
	HL_FREED_BY_NONE,    /* not freed */
};
/* "free" */
const char *hl_free_kind_name(enum hl_free_kind e);
enum hl_free_kind hl_free_kind_of(const struct hl_block *b);

struct hl_freeing {
	enum hl_free_kind kind;
	uint32_t frame; /* the freeing site; HL_NODE_NONE for UNSEEN and NONE */
	struct hl_value value;
};

struct hl_freed_site {
	uint32_t frame; /* the allocating site */
	struct hl_value value;
	size_t first, n; /* its range in freeings */
};

struct hl_freed_by {
	struct hl_answer answer;     /* without values: quantity, times and total */
	struct hl_freed_site *sites; /* by value, descending */
	size_t n_sites;
	struct hl_freeing *freeings; /* grouped by site, by value descending */
	size_t n_freeings;
};

/* Can the trace answer the next function? Returns 0, or -errno with hl_model_error(). */
int hl_freed_by_check(struct hl_model *m, const struct hl_query *q);
/* Reads the trace to its end. Returns 0 or -errno with hl_model_error(); -ENODATA: the trace has no
 * stacks of frees. The caller frees *f with hl_freed_by_fini. */
int hl_freed_by(struct hl_freed_by *f, struct hl_model *m, const struct hl_query *q);
void hl_freed_by_fini(struct hl_freed_by *f);

#endif
