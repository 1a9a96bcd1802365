/* SPDX-License-Identifier: Apache-2.0 */
/*
 * html.h - the contents of the page of a report, between querying and writing.
 *
 * html.c queries the model for all of it. html_text.c writes the parts that are readable without
 * JavaScript, and html_data.c the data for the page's script. Text from the trace is untrusted: it
 * gets into the page only through hl_export_xml() or hl_json.
 */
#ifndef HL_VIEWS_EXPORT_HTML_HTML_H
#define HL_VIEWS_EXPORT_HTML_HTML_H

#include "model/overview/overview.h"
#include "model/query/suppress.h"
#include "model/stack/group_tree.h"
#include "model/totals/leaks.h"
#include "model/views/marks.h"
#include "model/views/site_stats.h"
#include "views/export/export_internal.h"

#define HL_PAGE_QUERIES    5   /* those of every page, and the requested one */
#define HL_PAGE_COLUMNS    600 /* columns of the timeline */
#define HL_PAGE_REASON_MAX 512

/* Flat tables of the blocks of a query. */
enum hl_page_list {
	HL_PAGE_SIZES,
	HL_PAGE_LIFETIMES,
	HL_PAGE_THREADS, /* if there are several */
	HL_PAGE_TAGS,    /* if there are any */
	HL_PAGE_LISTS
};

struct hl_page_query {
	const char *id;    /* in the URLs of the page: "peak" */
	const char *name;  /* label of its button: "Peak" */
	const char *title; /* "live at the peak" */
	struct hl_query query;
	struct hl_answer a;               /* by stack; empty if it is not known */
	struct hl_grouped_stacks grouped; /* with --group: the same by group */
	char why[HL_PAGE_REASON_MAX];     /* why it is not known; "": it is known */
	struct hl_table lists[HL_PAGE_LISTS];
	char lists_why[HL_PAGE_LISTS][HL_PAGE_REASON_MAX];
};

struct hl_page_site {
	uint32_t frame;
	struct hl_value values[HL_PAGE_QUERIES];
	double share; /* its largest share in any query */
};

/* Limits of the page. */
struct hl_page_limits {
	size_t nodes; /* for each tree */
	size_t sites;
	size_t rows; /* for other tables */
	size_t marks;
	size_t name; /* bytes for a name */
};

struct hl_page {
	struct hl_export_job *x;
	struct hl_page_query queries[HL_PAGE_QUERIES];
	size_t n, first;         /* first: the query that is shown when the page opens */
	bool has[HL_PAGE_LISTS]; /* which tables the page has */
	struct hl_leaks leaks;   /* of the whole heap, whatever the filter */
	/* For the blocks that are live at the end: a copy for each list, and after them one for the
	 * stacks, so that all can be prefetched. */
	struct hl_suppressions *suppressions[HL_PAGE_LISTS + 1];
	HL_VEC(struct hl_page_site) sites; /* sorted by share, largest first */
	struct hl_site_stat *stats;        /* for the first n_stats sites */
	size_t n_stats;
	char stats_why[HL_PAGE_REASON_MAX];
	struct hl_timeline_bin *columns; /* NULL: not known */
	struct hl_peak peak;             /* the peak of the timeline */
	char columns_why[HL_PAGE_REASON_MAX];
	uint64_t rss[HL_PAGE_COLUMNS]; /* maximum of each column; 0: no sample */
	uint64_t rss_max, rss_max_ns;
	size_t n_rss;
	const struct hl_mark *marks; /* owned by the model */
	size_t n_marks;
	struct hl_overview overview; /* of the whole heap; for its verdicts */
	struct hl_page_limits limits;
};

/* Appends a name; if it is longer than `room`, its middle is replaced by "…". */
void hl_page_shorten_name(struct hl_strbuf *b, const char *name, size_t room);
/* Returns the sum of all sites but the first n. */
struct hl_value hl_page_other_sites(const struct hl_page *p, size_t question, size_t n);

/* Write parts of the page as HTML. */
void hl_page_title(struct hl_page *p, FILE *out);
void hl_page_heading(struct hl_page *p, FILE *out);
void hl_page_notes(struct hl_page *p, FILE *out);
void hl_page_summary(struct hl_page *p, FILE *out);
void hl_page_timeline(struct hl_page *p, FILE *out);
void hl_page_sites(struct hl_page *p, FILE *out);

/* Returns all data as JSON, escaped for a script element. The caller frees *text. Returns 0 or
 * -errno. */
int hl_page_data(struct hl_page *p, char **text, size_t *len);

#endif
