/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request_options.h - the options of commands that answer requests (request/request.h).
 *
 * The state of such a command begins with struct hl_request_options. Its rows are those of the
 * request module, whose setters receive the member `request`, and the rows below.
 */
#ifndef HL_CLI_REPORT_REQUEST_OPTIONS_H
#define HL_CLI_REPORT_REQUEST_OPTIONS_H

#include "cli/files/trace_file.h"
#include "cli/options/symbol_options.h"
#include "request/plan.h"
#include "util/vec.h"

struct hl_request_options {
	struct hl_trace_opts common; /* must be the first two members */
	struct hl_symbol_options symbols;
	struct hl_request request;
	HL_VEC(const char *) suppression_files;
};
HL_SYMBOL_STATE_CHECK(struct hl_request_options);
#define HL_REQUEST_OFFSET offsetof(struct hl_request_options, request)

/* The row of --suppressions, which reads files. */
extern const struct hl_opt hl_suppression_file_rows[];

/* Prints notes of requests and plans as messages. */
extern const struct hl_notes hl_cli_notes;

/* Prints why a request is refused. Returns an exit status. */
int hl_request_print_error(int err, const struct hl_request_error *why);
/* Reads the files of --suppressions into the request. Called once, because a file may be a pipe.
 * Returns 0 or an exit status. */
int hl_request_read_suppressions(struct hl_request_options *o);
void hl_request_options_fini(void *state);

/* Prints warnings that apply to all answers of a trace. */
void hl_request_warn(struct hl_model *m);
/* Closes the model and returns an exit status. missing: data that is missing, for --strict; NULL:
 * none. */
int hl_request_close(const struct hl_request_options *o, struct hl_model *m, int status, int err,
	const char *missing);
/* Appends which modules have no symbols, if they are a relevant part, for files of other viewers.
 * Returns whether they are. */
bool hl_export_put_missing_symbols(struct hl_strbuf *b, struct hl_model *m);
#define HL_MISSING_SYMBOLS_ADVICE                                                       \
	"install debug packages, name a directory with debug files with --symbols, or " \
	"run heaplapse embed on the recorded machine"

#endif
