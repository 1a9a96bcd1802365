/*
 * freed_by.h - who frees the blocks of each site. Needs a trace of record --free-stacks.
 *
 * Sites are those of hl_model_site, of the allocating and of the freeing stack. Each block that the
 * query counts is in one row and in one part of it.
 */
#ifndef HL_MODEL_FREED_BY_H
#define HL_MODEL_FREED_BY_H

#include "model/query.h"

enum hl_ending {
	HL_ENDING_FREE,    /* free, delete and their like */
	HL_ENDING_REALLOC, /* a realloc made another block of it */
	HL_ENDING_UNSEEN,  /* its address was given out again; no free was recorded */
	HL_ENDING_NONE,    /* it is not freed */
};
/* "free" */
const char *hl_ending_name(enum hl_ending e);

struct hl_freeing {
	enum hl_ending ending;
	uint32_t frame; /* the site that freed; HL_NODE_NONE for UNSEEN and NONE */
	struct hl_value value;
};

struct hl_freed_site {
	uint32_t frame; /* the site that allocated */
	struct hl_value value;
	size_t first, n; /* its parts, in freeings */
};

struct hl_freed_by {
	struct hl_answer answer;     /* without values: what is asked, of when, how much in all */
	struct hl_freed_site *sites; /* largest first */
	size_t n_sites;
	struct hl_freeing *freeings; /* of each site, largest first */
	size_t n_freeings;
};

/* 0 or -errno with hl_model_error(); -ENODATA: the trace has no stacks of frees. Reads the trace to
 * its end. */
int hl_freed_by(struct hl_freed_by *f, struct hl_model *m, const struct hl_query *q);
void hl_freed_by_fini(struct hl_freed_by *f);

#endif
