/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_internal.h - the parts of an overview, as its files share them.
 */
#ifndef HL_MODEL_OVERVIEW_OVERVIEW_INTERNAL_H
#define HL_MODEL_OVERVIEW_OVERVIEW_INTERNAL_H

#include "model/overview/overview.h"
#include "model/totals/short_lived.h"
#include "util/pair_map.h"
#include "util/vec.h"

#define HL_OVERVIEW_NO_ROW  UINT32_MAX
#define HL_OVERVIEW_UNKNOWN (UINT32_MAX - 1)

/* Blocks by the first bound that is above their lifetime. */
struct hl_overview_shorts {
	uint64_t below[HL_SHORT_LIVED_BOUNDS];
};

struct hl_overview_builder {
	struct hl_model *m;
	struct hl_overview *o;
	const struct hl_overview_options *opt;
	bool by_sums;    /* sums by stack suffice for the filter */
	bool has_totals; /* of the allocations, the peak and the end */
	bool scan_cut;   /* the scan ended before a lost part of the file */
	struct hl_time_spec peak;
	uint64_t end_ns;

	HL_VEC(struct hl_overview_site) sites;
	HL_VEC(struct hl_overview_trend) trends; /* of the first sites, up to a maximum */
	struct hl_pair_map by_frame;             /* frame -> site */
	uint32_t *row_of; /* per node, the last: no stack; UNKNOWN: not looked up yet */
	HL_VEC(struct hl_overview_shorts) shorts; /* of each site */
	uint8_t bound_of[256]; /* per lifetime class; HL_SHORT_LIVED_BOUNDS: not short-lived */
};

/* overview_sites.c: values, trends and short-lived blocks of the sites. All return 0 or -errno. */
int hl_overview_sites_init(struct hl_overview_builder *b);
/* The caller keeps b->sites. */
void hl_overview_sites_fini(struct hl_overview_builder *b);
int hl_overview_add_values(struct hl_overview_builder *b);
int hl_overview_read_trends(struct hl_overview_builder *b);
/* One pass over the events; without sums it finds the trends, too. */
int hl_overview_scan(struct hl_overview_builder *b);
void hl_overview_count_short_lived(struct hl_overview_builder *b);

/* overview_commands.c: which commands the trace can answer. The verdicts are known. */
void hl_overview_find_commands(struct hl_overview_builder *b);

/* overview_lists.c: from the sites to the lists. Verdicts need full names, and lists the verdicts.
 */
int hl_overview_mark_ambiguous_sites(struct hl_overview_builder *b);
void hl_overview_compute_churn(struct hl_overview_builder *b);
void hl_overview_compute_growth(struct hl_overview_builder *b);
int hl_overview_make_lists(struct hl_overview_builder *b);

#endif
