/*
 * trace_file.h - what all commands that read a trace do alike.
 */
#ifndef HL_CLI_TRACE_FILE_H
#define HL_CLI_TRACE_FILE_H

#include "cli/cli.h"
#include "model/filter.h"
#include "model/model.h"

/* Options that they share; the first member of their state. */
struct hl_trace_opts {
	bool json, strict, verbose;
};
const char *hl_set_json(void *state, const char *value);
const char *hl_set_strict(void *state, const char *value);
const char *hl_set_verbose(void *state, const char *value);
#define HL_OPT_STRICT                                                                            \
	{                                                                                        \
		0, "strict", NULL, "exit with status 4 when something is missing", hl_set_strict \
	}
#define HL_OPT_VERBOSE                                                                    \
	{                                                                                 \
		'v', "verbose", NULL, "say how much of the file was read", hl_set_verbose \
	}

/* As hl_model_open(). A trace whose program has ended is waited for, at most 2 s, while its
 * collector writes the rest. */
int hl_trace_file_model(const char *path, struct hl_model **m, struct hl_reader_refusal *why);
/* Opens the one operand, or says which is the newest here and opens that. 0, or an exit status with
 * a message. */
int hl_trace_file_open(int argc, char **argv, struct hl_model **m);
/*
 * Reads the file whole if it has at most `limit` bytes: finds damage that the numbers asked for
 * would not show. The model knows of it afterwards.
 */
void hl_trace_file_verify(struct hl_model *m, uint64_t limit);
/* Says on stderr what of the recording is missing, if anything. */
void hl_trace_file_warn(struct hl_model *m);
/* Says what -v wants, closes, and gives the exit status. missing: what could not be had beside what
 * the trace itself lacks; NULL: nothing. */
int hl_trace_file_close(struct hl_model *m, const struct hl_trace_opts *opts, const char *missing);
/* A failed call of the model; returns the exit status. */
int hl_trace_file_failed(struct hl_model *m);

/*
 * What fits all of the expressions; without any NULL. 0, or an exit status with a message that
 * points at the place.
 */
int hl_filter_options(const char *const *exprs, size_t n, struct hl_filter **f);
int hl_filter_complain(const char *expr, size_t at, const char *text);

#endif
