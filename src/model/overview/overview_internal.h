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

/* Live values of a site that a scan follows, and the lowest since the last moment. */
struct hl_overview_watch {
	uint64_t bytes, blocks, floor_bytes, floor_blocks;
	uint64_t time_ns; /* of its newest event */
	uint32_t row;     /* the site */
};

enum { HL_ANSWER_ALLOCATED, HL_ANSWER_END, HL_ANSWER_PEAK, HL_ANSWERS };

struct hl_overview_builder {
	struct hl_model *m;
	struct hl_overview *o;
	const struct hl_overview_options *opt;
	bool by_sums;                         /* sums by stack suffice for the filter */
	bool has_totals;                      /* of the allocations, the peak and the end */
	struct hl_answer answers[HL_ANSWERS]; /* by stack */
	bool scan_cut;                        /* the scan ended before a lost part of the file */
	struct hl_time_spec peak;
	uint64_t end_ns;

	HL_VEC(struct hl_overview_site) sites;
	HL_VEC(struct hl_overview_trend) trends; /* of the first sites, up to a maximum */
	struct hl_pair_map by_frame;             /* frame -> site */
	uint32_t *row_of; /* per node, the last: no stack; UNKNOWN: not looked up yet */
	HL_VEC(struct hl_overview_shorts) shorts; /* of each site */
	/* Of the sites that may grow: few, so that they stay in the cache. */
	HL_VEC(struct hl_overview_watch) watches;
	uint32_t
		*watch_of; /* per node: its watch, or NO_ROW; NULL: the scan does not find floors */
	unsigned watch_k;  /* the next moment of the scan */
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

/* overview_floors.c: the lowest live values between two moments. The trends are known.
 *
 * Without events the floor of sums: what was live at the moment before and not freed since. Before
 * hl_overview_bound_floors, the floors of a trend hold what was freed up to the moment. */
void hl_overview_bound_floors(struct hl_overview_builder *b);
/* A scan of all events finds the exact floors. Returns 0 or -ENOMEM. */
int hl_overview_watch_begin(struct hl_overview_builder *b);
void hl_overview_watch_end(struct hl_overview_builder *b);
/* All events up to a time are known. */
void hl_overview_watch_pass(struct hl_overview_builder *b, uint64_t ns);
/* The event is of this watch, and its time was passed. */
static inline void hl_overview_watch_event(struct hl_overview_watch *w, const struct hl_event *e)
{
	bool is_alloc = e->op == HL_OP_ALLOC;

	/* The values between two events of one time do not count: a realloc is such a pair. */
	if (e->time_ns != w->time_ns) {
		w->floor_bytes = w->bytes < w->floor_bytes ? w->bytes : w->floor_bytes;
		w->floor_blocks = w->blocks < w->floor_blocks ? w->blocks : w->floor_blocks;
		w->time_ns = e->time_ns;
	}
	w->bytes += is_alloc ? e->bytes : -e->bytes;
	w->blocks += is_alloc ? e->blocks : -e->blocks;
}
static inline void hl_overview_watch_time(struct hl_overview_builder *b, uint64_t ns)
{
	if (b->watch_k < HL_OVERVIEW_POINTS && ns > b->o->times[b->watch_k])
		hl_overview_watch_pass(b, ns);
}

/* overview_commands.c: which commands the trace can answer. The verdicts are known. */
void hl_overview_find_commands(struct hl_overview_builder *b);

/* overview_lists.c: from the sites to the lists. Verdicts need full names, and lists the verdicts.
 */
int hl_overview_mark_ambiguous_sites(struct hl_overview_builder *b);
void hl_overview_compute_churn(struct hl_overview_builder *b);
void hl_overview_compute_growth(struct hl_overview_builder *b);
int hl_overview_make_lists(struct hl_overview_builder *b);
/* overview_callers.c: the callers of the sites in the lists. Returns 0 or -errno. */
int hl_overview_find_callers(struct hl_overview_builder *b);

#endif
