/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan.h - how a request is answered for one trace, and the results.
 *
 * A plan resolves what the request leaves open: the quantity of each part, the peak of the blocks
 * that match a filter, the queries to prefetch. Results are rendered by views/text and views/json,
 * which compute nothing.
 */
#ifndef HL_REQUEST_PLAN_H
#define HL_REQUEST_PLAN_H

#include "model/model.h"
#include "model/query/query.h"
#include "model/query/suppress.h"
#include "request/limits.h"
#include "request/request.h"
#include "util/strbuf.h"
#include "util/vec.h"

/* A part of a plan is one view. */
struct hl_plan_part {
	const struct hl_view *view;
	enum hl_group group;
	bool grouped; /* hl_request_part */
	enum hl_request_quantity quantity;
	struct hl_result *early; /* its result, if it was computed before its turn */
};

struct hl_plan {
	const struct hl_request *request;
	struct hl_model *m;
	struct hl_notes notes;
	struct hl_filter *filter;             /* NULL: all blocks */
	struct hl_strbuf filter_text;         /* the filter as one expression; empty: none */
	struct hl_suppressions *suppressions; /* NULL: none */
	struct hl_request_rules rules;        /* about stacks */
	struct hl_time_spec peak;             /* the moment of the peak of the request */
	bool several_traces;                  /* the request is answered for several traces */
	bool before_damage;                   /* the peak is not known, only one before a loss */
	int peak_err;                         /* -ETIME: the peak was not found in time */
	HL_VEC(struct hl_plan_part) parts;    /* at least one */
};

struct hl_result {
	struct hl_model *m;
	const struct hl_plan *plan;
	struct hl_plan_part part;
	char heading[256];       /* "live at the peak" */
	struct hl_limits limits; /* the rows to show */
	bool about_peak;         /* with a filter: the result is about a peak */
	/* Blocks that the request suppressed; NULL: the view has none. */
	const struct hl_suppressions *suppressions;
	struct hl_value total; /* of a view with HL_VIEW_TOTAL */
	bool early;            /* it is computed before its turn */
	bool has_moment;       /* the result is of one moment or ends at one: got_ns */
	uint64_t got_ns;
	struct hl_time_spec asked;
	/* The result is partial, or not of the requested time. A renderer may set it. */
	bool before_damage;
	const char *late;          /* what is left out because the time ended; NULL: nothing */
	struct hl_row_limit *rows; /* of the caller, for renderers; NULL: no limit */
	void *data;                /* of the view */
};

/*
 * Makes a plan. The request and the model must outlive it; a model has one plan at a time. Returns
 * 0, or -errno and a sentence in why->text.
 *
 * The time of the request's budget begins here. To cancel the plan, or to follow its progress, set
 * the members of hl_model_work() before. They belong to the model, not to the plan, because the
 * model works for one thread only, and because rendering a result may read the trace, too.
 */
int hl_plan_new(struct hl_plan **out, const struct hl_request *r, struct hl_model *m,
	const struct hl_notes *notes, struct hl_request_error *why);
void hl_plan_free(struct hl_plan *p);
/* Returns false, with a sentence in *why, if the trace does not have the times of the request. */
bool hl_plan_has_times(struct hl_plan *p, struct hl_strbuf *why);
/* Finds the peak and announces the queries of all parts. Returns 0, or -errno with
 * hl_model_error(); -ECANCELED: the plan was cancelled. If the time ends, only the parts that need
 * the peak are refused, in their turn. */
int hl_plan_prepare(struct hl_plan *p);
/* Answers a part. The caller frees the result with hl_result_free. Returns as hl_plan_prepare;
 * -ETIME: the part needs more time than the budget has, and other parts may still be answered. */
int hl_plan_run(struct hl_plan *p, size_t part, struct hl_result **out);
void hl_result_free(struct hl_result *r);

/* For views: set_moment sets the moment of the result, and puts a note if it is not the requested
 * one; set_answer also sets its total, and the suppressions of the request, which the answer
 * follows. */
void hl_result_set_moment(struct hl_result *r, uint64_t got_ns, bool before_damage);
void hl_result_set_answer(struct hl_result *r, const struct hl_answer *a);

/* Appends to b, a line each, what each part reads and why, or why it is refused. Call it instead of
 * hl_plan_prepare. */
void hl_plan_explain(struct hl_plan *p, struct hl_strbuf *b);
/* Appends what a part is about: "live at the peak, by module", or "--timeline". */
void hl_plan_describe_part(
	const struct hl_plan *p, const struct hl_plan_part *part, struct hl_strbuf *b);
/* For a renderer that reads the trace: its error, with a sentence in hl_model_error() if the work
 * was stopped. */
int hl_plan_check_stopped(struct hl_plan *p, const struct hl_plan_part *part, int err);

/* The suppressions of the request: the built-in rules unless it excludes them, and its own. They
 * apply to blocks that are live at the end. The caller frees *out, after an error, too. */
int hl_request_make_suppressions(const struct hl_request *r, struct hl_suppressions **out);
/* Does the part show the requested quantity, or the default one? */
bool hl_plan_part_has_quantity(const struct hl_plan_part *part);
/* Does the part show names of functions? */
bool hl_plan_part_shows_names(const struct hl_plan_part *part);
/* Returns whether the results contain names, so that missing symbols matter. */
bool hl_plan_shows_names(const struct hl_plan *p);
/* Returns whether the request is about the peak of the blocks that match the filter, not the peak
 * of the heap. For blocks of pools it is always the peak of the heap. */
bool hl_plan_has_own_peak(const struct hl_plan *p, enum hl_request_quantity quantity);
/* The moment from which on that peak is the highest: the base of a trace that begins late. 0: the
 * begin of the run. */
uint64_t hl_plan_peak_since(const struct hl_plan *p, enum hl_request_quantity quantity);
/* The query of the requested quantity, by stack. */
struct hl_query hl_plan_query(const struct hl_plan *p, enum hl_request_quantity quantity);
/* The query that a part begins with, by its key. */
struct hl_query hl_plan_part_query(const struct hl_plan *p, const struct hl_plan_part *part);
/* Do keyframes, a few summaries and the events of a few chunks answer all parts? Others may take
 * longer than some 100 ms. A part that is refused is cheap. Call hl_plan_has_times() before. */
bool hl_plan_is_cheap(const struct hl_plan *p);
/* Its heading, for people: "live at the peak". */
void hl_plan_heading(
	const struct hl_plan *p, enum hl_request_quantity quantity, char *to, size_t size);
/* The same for a part. */
void hl_plan_part_heading(
	const struct hl_plan *p, const struct hl_plan_part *part, char *to, size_t size);
/* The same of a part, before the peak of its filter is known: that is not before a base. */
struct hl_query hl_plan_query_to_check(const struct hl_plan *p, const struct hl_plan_part *part);
/* Its heading, for people: "live at the peak". */
void hl_plan_heading(
	const struct hl_plan *p, enum hl_request_quantity quantity, char *to, size_t size);
/* Puts a note if the filter is about realloc chains that begin at a base. */
void hl_plan_note_base_limit(const struct hl_plan *p);
struct hl_peak;
void hl_plan_note_moved_peak(const struct hl_plan *p, const struct hl_peak *peak);
/* Puts a note if an answer is for another time than requested. */
void hl_plan_note_moved(
	const struct hl_plan *p, const struct hl_time_spec *asked, uint64_t got_ns, bool moved);

#endif
