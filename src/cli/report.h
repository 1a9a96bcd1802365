/*
 * report.h - what `report` was asked for, between its options and what it shows.
 */
#ifndef HL_CLI_REPORT_H
#define HL_CLI_REPORT_H

#include "cli/symbol_options.h"
#include "cli/trace_file.h"
#include "model/suppress.h"
#include "util/json.h"
#include "util/vec.h"
#include "views/text/text.h"

enum hl_report_what {
	HL_REPORT_NOTHING, /* nothing was said */
	HL_REPORT_PEAK,
	HL_REPORT_LEAKS,
	HL_REPORT_ALLOCATED,
	HL_REPORT_TEMPORARY,
	HL_REPORT_GROWTH,
	HL_REPORT_AT,
};

enum hl_report_view {
	HL_REPORT_TREE,
	HL_REPORT_TABLE,
	HL_REPORT_ALL_BY, /* the same, of everything if nothing else is asked for */
	HL_REPORT_SITES,
	HL_REPORT_THREADS,
	HL_REPORT_TIMELINE,
	HL_REPORT_FRAGMENTATION,
	HL_REPORT_SNAPSHOTS,
	HL_REPORT_DELTAS,
	HL_REPORT_CUMULATIVE,
	HL_REPORT_PROCESSES,
};

typedef HL_VEC(const char *) hl_report_names;

/* One view that was asked for. */
struct hl_report_part {
	enum hl_report_view view;
	enum hl_group group;
	const char *option; /* as it was asked for, "--sites", and with what */
	const char *value;
};

/* Of several options only one can hold. */
struct hl_report_choice {
	const char *option, *value;      /* the first that was given; NULL: none */
	const char *other, *other_value; /* one that contradicts it; NULL: none */
};

struct hl_report_made;

struct hl_report {
	struct hl_trace_opts common; /* these two first */
	struct hl_symbol_options symbols;
	struct hl_report_choice quantity, range;
	HL_VEC(struct hl_report_part) parts; /* none: the tree */
	enum hl_report_what what; /* of the part that is being shown, as the two that follow */
	enum hl_report_view view;
	enum hl_group group;
	struct hl_when at, from, to;
	bool ranged; /* --range or --growth was given */
	uint64_t temporary_ns;
	bool top_down, full_stacks, sorted, min_given, limit_given, no_defaults;
	enum hl_sort sort;
	double min;
	size_t limit;
	hl_report_names filter_exprs, suppression_files;
	hl_report_names include_function, exclude_function, include_module, exclude_module;

	const char *pool_name;   /* --pool; NULL: the heap */
	struct hl_pattern *pool; /* the same */
	char heading[256];
	struct hl_filter *filter;             /* NULL: all */
	struct hl_suppressions *suppressions; /* of the trace that is shown; NULL: none */
	HL_VEC(char *) suppression_texts;     /* of the files */
	struct hl_report_made *sites; /* the list of sites, where it was made before its turn */
	struct hl_json json;
	size_t most_nodes;     /* of each tree as JSON; 0: all */
	struct hl_value total; /* of all traces */
	bool among;            /* there are several */
	bool no_order;         /* this one is a profile, which knows no peak */
	bool moved;            /* what is shown of this trace is not what was asked for */
	HL_VEC(struct hl_process_row) processes; /* text of --group process */
};
HL_SYMBOL_STATE_CHECK(struct hl_report);

/* From the options to r->filter and, for leaks, r->suppressions. 0, or an exit status with a
 * message. */
int hl_report_make_filter(struct hl_report *r);
/* Once: a file may be a pipe. */
int hl_report_read_suppressions(struct hl_report *r);
int hl_report_make_suppressions(struct hl_report *r);

/* All of it, with the operands: no, one or several traces. Returns an exit status. */
int hl_report_traces(struct hl_report *r, int n, char **files);

/*
 * Shows all parts of one trace. As JSON: members of an object that has been begun. 0 or -errno with
 * hl_model_error().
 */
int hl_report_show(struct hl_report *r, struct hl_model *m);

/* Makes it the part that is being shown. */
void hl_report_choose_part(struct hl_report *r, size_t i, enum hl_report_what asked);
/* Of several parts: what any of them lacks, once. */
void hl_report_warn_unknown(struct hl_report *r, struct hl_model *m);
/* --snapshots, --snapshot-deltas and --cumulative-delta. */
int hl_report_snapshots(struct hl_report *r, struct hl_model *m);
/* Asks, says what must be known about the answer, and counts it. */
int hl_report_ask(
	struct hl_report *r, struct hl_model *m, const struct hl_query *q, struct hl_answer *a);
int hl_report_tree(
	struct hl_report *r, struct hl_model *m, const struct hl_answer *a, const char *what);
size_t hl_report_page_width(void);
/* Does what is shown go by names, so that it matters where some are missing? */
bool hl_report_needs_names(const struct hl_report *r);
/* How --threads and --group process are shown. */
struct hl_text_opts hl_report_list_opts(const struct hl_report *r);
/* A row of --group process, as text; `what` is static. 0 or -ENOMEM. */
int hl_report_add_process(
	struct hl_report *r, struct hl_model *m, const char *what, const struct hl_value *v);

#endif
