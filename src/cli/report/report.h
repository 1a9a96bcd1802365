/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report.h - the state of `report`.
 */
#ifndef HL_CLI_REPORT_REPORT_H
#define HL_CLI_REPORT_REPORT_H

#include "cli/report/request_options.h"
#include "util/json_writer.h"
#include "views/text/text.h"

struct hl_report {
	struct hl_request_options options; /* must be the first member */
	struct hl_text_opts style;         /* of text */
	struct hl_json json;
	FILE *out;                     /* of the answer */
	struct hl_row_limit rows;      /* of the whole answer */
	struct hl_shown_modules shown; /* of the trace that is being shown */
	bool explain;                  /* print the plan instead of the answer */
	bool follow;                   /* answer again as the trace grows */
	bool repeated;                 /* an answer of these: its warnings were printed before */
	const char *language;          /* of the last line about an interpreter */
	struct hl_value total;         /* sum over all traces */
	bool unanswered; /* a part of a trace is not answered within --max-time: no sum */
	HL_VEC(struct hl_process_row) processes; /* rows of --group process as text */
};

/* Reports on the operands: none, one or several traces. Returns an exit status. */
int hl_report_traces(struct hl_report *r, int n, char **files);
/* The same for one trace that is followed. */
int hl_report_follow(struct hl_report *r, int n, char **files);
/*
 * Answers for an open trace, into r->out. `close`: closes the model and returns an exit status, as
 * for a trace that is not followed. Otherwise returns 0, and the model stays open; or it is closed,
 * and the result is an exit status. -ECANCELED: the work was cancelled; the model is closed.
 */
int hl_report_answer(struct hl_report *r, const char *file, struct hl_model *m, bool close);

#endif
