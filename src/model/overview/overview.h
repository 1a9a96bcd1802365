/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview.h - the most important facts of a trace: its totals, a timeline, the call sites that
 * held, kept, gathered and churned memory, and statements that these numbers prove.
 *
 * Sites and their trends come from sums, so their cost does not depend on the number of events.
 * Lifetimes and pages need a scan of the events, which is left out above a number of events, or if
 * the time of hl_model_work() ends; the other parts are complete then.
 */
#ifndef HL_MODEL_OVERVIEW_OVERVIEW_H
#define HL_MODEL_OVERVIEW_OVERVIEW_H

#include "model/query/query.h"
#include "model/views/live_timeline.h"

/* The moments of a trend: at equal distances, the last at the end. In long traces a moment may move
 * to a keyframe near it. */
#define HL_OVERVIEW_POINTS 24
/* A scan of more events takes more than a second. */
#define HL_OVERVIEW_EVENTS_MAX UINT64_C(150000000)
/* Sites of one trace that can have trends: at most 125 MiB. */
#define HL_OVERVIEW_TRENDS_MAX 131072u
/* Trends are known if at least 12 moments are. */
#define HL_OVERVIEW_POINTS_MIN 12
/* A list of a limited number of rows has no row below this share. */
#define HL_OVERVIEW_MIN_PERCENT 0.1
/* Such a list is empty if all growth is below this part of the peak, or all churn of the
 * allocations. */
#define HL_OVERVIEW_LIST_PERCENT 1
/* Growth is the difference of two floors: the lowest live bytes from moment to moment in the middle
 * third of the run, and in the last one. The first third is left out because programs start there,
 * and the last moment because they free at their end what they held before. A site whose floor does
 * not rise within the last third any more has stopped growing. */
#define HL_GROWTH_EARLY 8  /* moments [8, 16) */
#define HL_GROWTH_LATE  16 /* moments [16, 23) */
#define HL_GROWTH_LATER 20 /* moments [20, 23) */
#define HL_GROWTH_END   23
#define HL_GROWTH_RISES 0.1 /* this part of the growth is within the last third */

/* Resident memory besides the heap, below which it is not mentioned: code, stacks, libraries. */
#define HL_OVERVIEW_ELSEWHERE_BYTES (UINT64_C(32) << 20)

/* Part of an overview, and why it may be missing. */
enum hl_overview_state {
	HL_OVERVIEW_KNOWN,
	HL_OVERVIEW_NOT_KNOWN, /* the trace does not have it */
	HL_OVERVIEW_LEFT_OUT,  /* it takes too long */
};

/* Values of a site at the moments. */
struct hl_overview_trend {
	uint64_t live[HL_OVERVIEW_POINTS];   /* bytes */
	uint64_t blocks[HL_OVERVIEW_POINTS]; /* live blocks */
	uint64_t allocs[HL_OVERVIEW_POINTS]; /* blocks allocated since the moment before */
	/* At least this much was live all the time since the moment before. Exactly the lowest
	 * value if a scan of the events found it (floors_are_exact); 0 before the first moment. */
	uint64_t floor_bytes[HL_OVERVIEW_POINTS];
	uint64_t floor_blocks[HL_OVERVIEW_POINTS];
};

struct hl_overview_site {
	uint32_t frame;
	bool full_name; /* show full names: with short names another site looks the same */
	struct hl_value at_peak, at_end, allocated;
	struct hl_value churned;               /* allocated, without the most that were live */
	struct hl_value grown;                 /* growth; 0 if it shrank */
	uint64_t short_blocks;                 /* blocks that lived less than the bound */
	const struct hl_overview_trend *trend; /* if trends are known */
};

enum hl_overview_list_id {
	HL_OVERVIEW_HELD,     /* live at the peak */
	HL_OVERVIEW_LEFT,     /* live at the end, without suppressed blocks */
	HL_OVERVIEW_GROWING,  /* by growth; the total is the growth of all growing sites. In a
				 limited list, sites of verdicts are first */
	HL_OVERVIEW_CHURNING, /* by bytes. A limited list has the site with the most blocks, too */
	HL_OVERVIEW_LISTS
};
/* The short name, which is also that in JSON: "held". */
const char *hl_overview_list_name(enum hl_overview_list_id list);

/* A caller with less is one of several. */
#define HL_OVERVIEW_CALLER_PERCENT 75

/* The function that most of a row comes from. */
struct hl_overview_caller {
	uint32_t frame; /* hl_model_find_site_caller; HL_NODE_NONE: none */
	uint64_t bytes; /* of the row, or of the sum that it is a part of */
	double percent; /* of these bytes */
};

struct hl_overview_list {
	enum hl_overview_state state;
	uint32_t *sites; /* indexes of the first n sites, in the order of the list */
	size_t n, all;   /* all: number of sites that have a value */
	size_t kept;     /* this row is shown even if a page has room for fewer; SIZE_MAX: none */
	struct hl_overview_caller *callers; /* of the first n; NULL: not looked for */
	struct hl_value total;
};
/* The index of row i of a page that has room for `rows` rows; at most l->n and `rows` are shown. */
size_t hl_overview_row(const struct hl_overview_list *l, size_t i, size_t rows);
/* The value of a site in a list. */
const struct hl_value *hl_overview_site_value(
	const struct hl_overview_site *s, enum hl_overview_list_id list);

/* The view of `report` that shows a verdict. */
enum hl_overview_command {
	HL_COMMAND_NONE,      /* the trace cannot answer any */
	HL_COMMAND_DIRECT,    /* the blocks that the verdict is about */
	HL_COMMAND_ALLOCATED, /* all allocations by site: the trace has only sums */
};

/* A statement that the trace proves; see verdicts.h. */
struct hl_overview_verdict {
	enum hl_overview_verdict_kind {
		HL_VERDICT_GROWING,
		HL_VERDICT_SHORT_LIVED,
		HL_VERDICT_ALLOCATED,
		HL_VERDICT_SPARSE_PAGES,
	} kind;
	uint32_t frame; /* of its site; HL_NODE_NONE: none */
	bool full_name;
	/* allocated, if the site has no source file: most of its bytes come from here;
	 * HL_NODE_NONE: from no single call */
	uint32_t caller;
	enum hl_overview_command command;
	bool estimated;          /* from samples */
	double bytes_per_s, r2;  /* growing */
	uint64_t from_ns, to_ns; /* growing: the moments that the line goes through */
	unsigned from_k, to_k;   /* these moments, as numbers */
	uint64_t bound_ns;       /* short-lived */
	double percent;          /* short-lived: of all allocations; pages: of the pages in use */
	double site_percent;     /* short-lived: part of these blocks that is of the site;
				    allocated: part of the bytes */
	uint64_t bytes, peak_bytes; /* allocated: in all, and the peak */
	uint64_t blocks;            /* short-lived; of the site if it has one */
	uint64_t page_bytes;        /* pages: bytes of the sparse pages */
	uint64_t page_used_bytes;   /* pages: live bytes on them */
	unsigned page_use_percent;  /* pages: they are used less than this */
};
#define HL_VERDICTS_MAX 5

struct hl_overview {
	/* Of all blocks, or of those that match the filter. */
	enum hl_overview_state peak_state; /* a profile has no peak */
	struct hl_value peak;
	uint64_t peak_ns;
	uint64_t peak_since_ns;    /* of a filter in a trace that begins late: its base; else 0 */
	struct hl_value allocated; /* of the run, also if the file begins late */
	bool begins_late;          /* sites have what they allocated since the base */
	struct hl_value at_end;    /* without suppressed blocks */
	struct hl_value suppressed;
	bool leaked; /* at_end may be called leaked */
	bool before_damage;

	/* As in short_lived.h; and whether the part of each site is known, which needs a scan. */
	enum hl_overview_state short_state, short_sites_state;
	uint64_t short_bound_ns, short_blocks;
	/* The allocations that short_blocks are a part of: of the run, also if the file begins
	 * late or is damaged. */
	uint64_t short_of;

	/* The highest sample, and the live bytes of the whole heap at that time. */
	bool has_rss;
	bool has_rss_live;     /* they are known */
	bool rss_is_elsewhere; /* most of it is not heap, and enough to look for */
	bool has_maps;         /* the trace has samples of the mappings, which show where */
	uint64_t rss_bytes, rss_ns, rss_live_bytes;

	enum hl_overview_state timeline_state;
	struct hl_timeline_bin *columns;
	size_t n_columns;

	enum hl_overview_state pages_state;
	uint64_t pages, sparse_pages, sparse_bytes; /* as in page_usage.h */
	uint32_t sparse_frame; /* holds more than half of the sparse pages; HL_NODE_NONE: none */
	bool sparse_full_name;

	enum hl_overview_state trend_state;
	bool floors_are_exact;
	uint64_t times[HL_OVERVIEW_POINTS];
	bool known[HL_OVERVIEW_POINTS];
	uint64_t live[HL_OVERVIEW_POINTS]; /* of all sites */

	enum hl_overview_state sites_state;
	struct hl_overview_site *sites;
	struct hl_overview_trend *trends;
	size_t n_sites;
	struct hl_overview_list lists[HL_OVERVIEW_LISTS];

	struct hl_overview_verdict verdicts[HL_VERDICTS_MAX];
	size_t n_verdicts;
	/* The views that the trace can answer: --peak, --leaks, --sites. */
	bool can_show_peak, can_show_leaks, can_show_sites;
	bool estimated; /* the numbers are from samples, wholly or in part */
};

struct hl_overview_options {
	struct hl_filter *filter;             /* NULL: all blocks */
	struct hl_suppressions *suppressions; /* of the blocks at the end; NULL: none */
	size_t columns;                       /* of the timeline */
	size_t rows;                          /* of each list; 0: all */
	uint64_t events_max;                  /* no scan of more events; 0: no limit */
	bool brief;                           /* without a timeline */
};

/* Fills *o. Returns 0, or -errno with hl_model_error(). The caller frees *o with hl_overview_fini
 * in either case. */
int hl_overview(
	struct hl_overview *o, struct hl_model *m, const struct hl_overview_options *options);
void hl_overview_fini(struct hl_overview *o);

#endif
