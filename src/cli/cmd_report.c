/*
 * cmd_report.c - who allocated: a tree of stacks.
 */
#include <langinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/trace_file.h"
#include "model/query.h"
#include "util/text.h"
#include "views/text/text.h"

enum what { PEAK, LEAKS, ALLOCATED, AT };

struct report {
	struct hl_trace_opts common; /* first */
	enum what what;
	struct hl_when at;
	const char *filter;
	bool min_given;
	double min;
};

static const char *set_peak(void *state, const char *value)
{
	((struct report *)state)->what = PEAK;
	return NULL;
}

static const char *set_leaks(void *state, const char *value)
{
	((struct report *)state)->what = LEAKS;
	return NULL;
}

static const char *set_allocated(void *state, const char *value)
{
	((struct report *)state)->what = ALLOCATED;
	return NULL;
}

static const char *set_at(void *state, const char *value)
{
	struct report *r = state;

	r->what = AT;
	return hl_when_parse(value, strlen(value), &r->at) ? HL_WHEN_EXPECTED : NULL;
}

static const char *set_filter(void *state, const char *value)
{
	((struct report *)state)->filter = value;
	return NULL;
}

static const char *set_min(void *state, const char *value)
{
	struct report *r = state;
	char *end;

	r->min_given = true;
	r->min = strtod(value, &end);
	if (*end == '%')
		end++;
	if (end == value || *end || !(r->min >= 0 && r->min <= 100))
		return "a share from 0 to 100";
	return NULL;
}

/* Half a second or so: the word is worth it. Larger traces are believed where they are read. */
#define LEAKS_VERIFY_BYTES (UINT64_C(1) << 30)

/* A --leaks of a recording that may have missed a free must not call anything leaked. */
static const char *heading(const struct report *r, struct hl_model *m)
{
	switch (r->what) {
	case PEAK:
		return "live at the peak";
	case LEAKS:
		return hl_model_may_say_leaked(m) ? "leaked (live at the end)"
						  : "live at the end of the recording";
	case ALLOCATED:
		return "allocated";
	case AT:
		return r->at.kind == HL_WHEN_PEAK  ? "live at the peak"
		       : r->at.kind == HL_WHEN_END ? "live at the end of the recording"
						   : "live";
	}
	return "";
}

static struct hl_query query_of(const struct report *r, struct hl_filter *filter)
{
	struct hl_query q = {.quantity = HL_QUANTITY_LIVE, .to = r->at, .filter = filter};

	if (r->what == ALLOCATED)
		q.quantity = HL_QUANTITY_ALLOCATED;
	if (r->what == PEAK)
		q.to.kind = HL_WHEN_PEAK;
	else if (r->what != AT)
		q.to.kind = HL_WHEN_END;
	return q;
}

/* What the reader of the numbers must know about them. */
static void warn(struct hl_model *m, const struct hl_answer *a)
{
	const struct hl_trace_info *i = hl_model_info(m);
	char asked[HL_TEXT_SIZE_MAX], got[HL_TEXT_SIZE_MAX];

	if (i->damaged)
		hl_cli_error("the trace is damaged: %s", i->damage);
	if (i->counters.dropped_events)
		hl_cli_error("%s events were dropped while recording: the numbers are not exact",
			hl_text_count(got, i->counters.dropped_events));
	if (!i->has_end && i->end.kind == HL_END_RUNNING)
		hl_cli_error("the trace is still being written: what follows is its state so far");
	else if (!i->has_end)
		hl_cli_error("the end of the recording is missing");
	if (a->asked_ns > hl_model_end_ns(m))
		hl_cli_error("%s is after the end; shown is the end, at %s",
			hl_text_duration(asked, a->asked_ns), hl_text_duration(got, a->to_ns));
	else if (a->moved)
		hl_cli_error("the state at %s is not in the file; shown is the latest before it, "
			     "at %s",
			hl_text_duration(asked, a->asked_ns), hl_text_duration(got, a->to_ns));
}

static int show(struct report *r, struct hl_model *m, const struct hl_answer *a)
{
	struct hl_text_tree_opts opts = {
		.what = heading(r, m),
		.min_percent = r->min_given ? r->min : 0.5,
		.unicode = strcmp(nl_langinfo(CODESET), "UTF-8") == 0,
	};
	static const struct hl_tree_opts tree_opts = {0};
	struct hl_tree t;
	int err = hl_tree_build(&t, m, a, &tree_opts);

	if (err)
		return err;
	err = r->common.json ? hl_json_tree(stdout, m, a, &t)
			     : hl_text_tree(stdout, m, a, &t, &opts);
	hl_tree_fini(&t);
	return err;
}

static int report(struct report *r, struct hl_model *m, struct hl_filter *filter)
{
	struct hl_query q = query_of(r, filter);
	struct hl_answer a;
	bool moved;

	if (r->what == LEAKS)
		hl_trace_file_verify(m, LEAKS_VERIFY_BYTES); /* a trace with a hole never says leaked */
	if (hl_model_query(m, &q, &a))
		return hl_trace_file_failed(m);
	warn(m, &a);
	moved = a.moved;
	if (show(r, m, &a)) {
		hl_answer_fini(&a);
		return hl_trace_file_failed(m);
	}
	hl_answer_fini(&a);
	return hl_trace_file_close(m, &r->common, moved);
}

static int run_report(void *state, int argc, char **argv)
{
	struct report *r = state;
	struct hl_filter *filter;
	struct hl_model *m;
	int status = hl_filter_option(r->filter, &filter);

	if (status)
		return status;
	if (filter && hl_filter_subjects(filter) & HL_FILTER_OP)
		status = hl_filter_complain(r->filter, hl_filter_place_of(filter, HL_FILTER_OP),
			"a report is about blocks, not events: op= is for dump");
	if (!status)
		status = hl_trace_file_open(argc, argv, &m);
	if (!status)
		status = report(r, m, filter);
	hl_filter_free(filter);
	return status;
}

static const struct hl_opt report_opts[] = {
	{0, "peak", NULL, "what was live when the heap was largest (the default)", set_peak},
	{0, "leaks", NULL, "what was live at the end", set_leaks},
	{0, "allocated", NULL, "everything that was allocated, freed or not", set_allocated},
	{0, "at", "TIME", "what was live at TIME: 12.5s, 300ms, 50%, @peak, @end", set_at},
	{0, "filter", "EXPR", "only blocks whose allocation fits EXPR, see below", set_filter},
	{0, "min", "PERCENT", "leave out branches below this share (0.5; text only)", set_min},
	{0, "json", NULL, "as JSON, with nothing left out", hl_set_json},
	HL_OPT_STRICT,
	HL_OPT_VERBOSE,
	{0},
};

const struct hl_cmd hl_cmd_report = {
	.name = "report",
	.summary = "who held the memory, as a tree of stacks",
	.usage = "[options] FILE",
	.about = "EXPR is a list of terms that must all hold, ! turns one round:\n"
		 "  size>=4K  thread=0  func=realloc  time=1s..2s  !function=\"operator new\"\n"
		 "  They are about a block's allocation: its size, thread, time and stack.\n",
	.opts = report_opts,
	.state_size = sizeof(struct report),
	.run = run_report,
};
