/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_usage.h - how full the pages of the heap are at one moment, and which sites keep sparse
 * pages in use.
 *
 * Computed from the addresses of the live blocks. Memory that the allocator has mapped beyond them
 * is not known, so the span is a lower bound. A filter only selects the blocks that are counted and
 * listed. Whether a page is sparse depends on all blocks on it.
 */
#ifndef HL_MODEL_VIEWS_PAGE_USAGE_H
#define HL_MODEL_VIEWS_PAGE_USAGE_H

#include "model/query/query.h"

#define HL_PAGE_BYTES 4096
/* A page with fewer live bytes than this is sparse. */
#define HL_SPARSE_PERCENT 25
#define HL_SPARSE_BYTES   (HL_PAGE_BYTES * HL_SPARSE_PERCENT / 100)
/* Blocks that are further apart than this are in different regions. */
#define HL_REGION_GAP (UINT64_C(1) << 20)

/* A site that keeps sparse pages in use. */
struct hl_page_holder {
	uint32_t frame;
	bool full_name; /* show full names: with short names another site looks the same */
	uint64_t pages; /* sparse pages whose largest block is of this site and fits the filter */
	struct hl_value value; /* all blocks on these pages */
};

struct hl_fragmentation {
	uint64_t time_ns;
	bool before_damage;
	struct hl_value live; /* blocks that fit the filter */
	struct hl_value all;
	uint64_t regions, span_bytes; /* span: from the first to the last byte of each region */
	uint64_t pages;               /* pages with at least one live block, also one of 0 bytes */
	uint64_t sparse_pages, sparse_bytes;
	uint64_t largest_gap; /* between two blocks of one region */
	bool has_rss;
	uint64_t rss_bytes, rss_time_ns; /* of the newest sample that is not later than time_ns */
	struct hl_page_holder *holders;  /* by pages, descending */
	size_t n_holders;
};

/* Computes *f for one moment. Decodes every event up to that moment. Returns 0 or -errno with
 * hl_model_error(). The caller frees *f with hl_fragmentation_fini. */
int hl_fragmentation_at(struct hl_fragmentation *f, struct hl_model *m,
	const struct hl_time_spec *when, struct hl_filter *filter);
/* Announces this query, see prefetch.h. */
void hl_fragmentation_prefetch(
	struct hl_model *m, const struct hl_time_spec *when, struct hl_filter *filter);
void hl_fragmentation_fini(struct hl_fragmentation *f);

#endif
