/*
 * html.h - the page of a report: what it holds, between asking and writing.
 *
 * html.c asks the model for all of it; html_text.c writes what is read without JavaScript, and
 * html_data.c what the page's script draws from. Text of the trace is hostile: it gets into the
 * page by hl_export_xml() or hl_json alone.
 */
#ifndef HL_VIEWS_EXPORT_HTML_H
#define HL_VIEWS_EXPORT_HTML_H

#include "model/divide.h"
#include "model/marks.h"
#include "model/sites.h"
#include "views/export/export_internal.h"

#define HL_PAGE_QUESTIONS 5   /* those that every page has, and the one that was asked */
#define HL_PAGE_COLUMNS   600 /* of the timeline */
#define HL_PAGE_WHY       512

/* The blocks of a question in flat tables. */
enum hl_page_list {
	HL_PAGE_SIZES,
	HL_PAGE_LIVES,
	HL_PAGE_THREADS, /* if there are several */
	HL_PAGE_TAGS,    /* if there are any */
	HL_PAGE_LISTS
};

struct hl_page_question {
	const char *id;   /* in the page's addresses: "peak" */
	const char *name; /* on a switch: "Peak" */
	const char *what; /* "live at the peak" */
	struct hl_query query;
	struct hl_answer a;        /* by stack; of nothing if it is not known */
	struct hl_divided divided; /* with --group: the same by group */
	char why[HL_PAGE_WHY];     /* why it is not known; "": it is */
	struct hl_table lists[HL_PAGE_LISTS];
	char lists_why[HL_PAGE_LISTS][HL_PAGE_WHY];
};

struct hl_page_site {
	uint32_t frame;
	struct hl_value values[HL_PAGE_QUESTIONS];
	double share; /* its largest, of any question */
};

/* How much there is room for. */
struct hl_page_room {
	size_t nodes; /* of each tree */
	size_t sites;
	size_t rows; /* of other tables */
	size_t marks;
	size_t name; /* bytes of a name */
};

struct hl_page {
	struct hl_export_job *x;
	struct hl_page_question questions[HL_PAGE_QUESTIONS];
	size_t n, first;                   /* first: the one that is shown when the page opens */
	bool has[HL_PAGE_LISTS];           /* which tables there are */
	bool leaked;                       /* what is live at the end may be called so */
	HL_VEC(struct hl_page_site) sites; /* the largest share first */
	struct hl_site_stat *stats;        /* of the first n_stats of them */
	size_t n_stats;
	char stats_why[HL_PAGE_WHY];
	struct hl_column *columns; /* NULL: not known */
	struct hl_peak peak;       /* of what they show */
	char columns_why[HL_PAGE_WHY];
	uint64_t rss[HL_PAGE_COLUMNS]; /* the most of each column; 0: no sample */
	uint64_t rss_most, rss_most_ns;
	size_t n_rss;
	const struct hl_mark *marks; /* the model's */
	size_t n_marks;
	struct hl_page_room room;
};

/* A name as long as there is room for, what is left out in its middle as "…". */
void hl_page_cut(struct hl_strbuf *b, const char *name, size_t room);
/* What is in no row of the first n sites. */
struct hl_value hl_page_other_sites(const struct hl_page *p, size_t question, size_t n);

/* Parts of the page as HTML. */
void hl_page_title(struct hl_page *p, FILE *out);
void hl_page_heading(struct hl_page *p, FILE *out);
void hl_page_notes(struct hl_page *p, FILE *out);
void hl_page_figures(struct hl_page *p, FILE *out);
void hl_page_timeline(struct hl_page *p, FILE *out);
void hl_page_sites(struct hl_page *p, FILE *out);

/* Everything as JSON, and fit to stand in a script element. The caller frees *text. 0 or -errno. */
int hl_page_data(struct hl_page *p, char **text, size_t *len);

#endif
