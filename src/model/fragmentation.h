/*
 * fragmentation.h - how full the pages are that hold the heap at a moment, and who keeps the empty
 * ones.
 *
 * Made from the addresses of the blocks that are live. What the allocator itself has mapped beyond
 * them is not known: the span is the least that it must have. Pages are what they are: a filter is
 * only about whose blocks are counted and listed, never about what else lies beside them.
 */
#ifndef HL_MODEL_FRAGMENTATION_H
#define HL_MODEL_FRAGMENTATION_H

#include "model/query.h"

#define HL_PAGE_BYTES 4096
/* A page with fewer live bytes than this is held by few. */
#define HL_SPARSE_BYTES (HL_PAGE_BYTES / 8)
/* Blocks further apart than this are in different mappings. */
#define HL_REGION_GAP (UINT64_C(1) << 20)

/* A site that keeps pages which hold little else. */
struct hl_holder {
	uint32_t frame;
	bool full;             /* another one looks the same unless shown with full names */
	uint64_t pages;        /* of which it has the largest block, one that fits the filter */
	struct hl_value value; /* all blocks on them */
};

struct hl_fragmentation {
	uint64_t time_ns;
	bool moved;
	struct hl_value live; /* that fit the filter */
	struct hl_value all;
	uint64_t regions, span_bytes; /* from the first byte to the last of each */
	uint64_t pages;               /* with at least one live block, if only of 0 bytes */
	uint64_t sparse_pages, sparse_bytes;
	uint64_t largest_gap; /* between two blocks of one region */
	bool has_rss;
	uint64_t rss_bytes, rss_time_ns; /* the newest sample that is not later */
	struct hl_holder *holders;       /* most pages first */
	size_t n_holders;
};

/* 0 or -errno with hl_model_error(). Decodes every event up to the moment. */
int hl_fragmentation_at(struct hl_fragmentation *f, struct hl_model *m, const struct hl_when *when,
	struct hl_filter *filter);
/* It is going to be asked: see question.h. */
void hl_fragmentation_expect(
	struct hl_model *m, const struct hl_when *when, struct hl_filter *filter);
void hl_fragmentation_fini(struct hl_fragmentation *f);

#endif
