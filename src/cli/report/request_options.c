/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request_options.c - options and messages of commands that answer requests.
 */
#include "cli/report/request_options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/query/suppress.h"

/* --- messages --- */

static void put_note(void *arg, enum hl_note_kind kind, const char *text)
{
	if (kind == HL_NOTE_INFO)
		hl_cli_info("%s", text);
	else
		hl_cli_error("%s", text);
}

const struct hl_notes hl_cli_notes = {.put = put_note};

int hl_request_print_error(int err, const struct hl_request_error *why)
{
	if (err == -EINVAL && why->expr)
		return hl_filter_print_error(
			why->option ? why->option : "--filter", why->expr, why->at, why->text);
	if (err == -EINVAL)
		return hl_cli_usage("%s", why->text);
	hl_cli_error("%s", why->text);
	return HL_EXIT_IO;
}

void hl_request_warn(struct hl_model *m)
{
	const char *why = hl_model_empty_reason(m);

	hl_trace_file_warn(m);
	if (why)
		hl_cli_error("%s", why);
}

int hl_request_close(const struct hl_request_options *o, struct hl_model *m, int status, int err,
	const char *missing)
{
	if (err == -ENOENT)
		status = hl_cli_usage("%s", hl_model_error(m));
	else if (err)
		return hl_trace_file_failed(m);
	if (!status)
		return hl_trace_file_close(m, &o->common, missing);
	hl_model_close(m);
	return status;
}

/* --- suppressions --- */

static const char *add_suppression_file(void *state, const char *value)
{
	struct hl_request_options *o = state;

	o->request.suppressions_given = true;
	return hl_vec_push(&o->suppression_files, value) ? "small enough for the available memory"
							 : NULL;
}

const struct hl_opt hl_suppression_file_rows[] = {
	{0, "suppressions", "FILE",
		"hide leaks that match leak:PATTERN lines of FILE, as in LSan; may be repeated",
		add_suppression_file},
	{0},
};

#define SUPPRESSIONS_MAX (1 << 20)

static int read_text(const char *file, char **out)
{
	char *text = calloc(1, SUPPRESSIONS_MAX + 1);
	FILE *f = text ? fopen(file, "re") : NULL;
	int err = text ? f ? 0 : -errno : -ENOMEM;

	if (!err && fread(text, 1, SUPPRESSIONS_MAX, f) == SUPPRESSIONS_MAX)
		err = -EFBIG;
	if (!err && ferror(f))
		err = errno ? -errno : -EIO;
	if (f)
		fclose(f);
	if (err)
		free(text);
	else
		*out = text;
	return err;
}

/* The rules go to s, which is discarded: syntax errors are reported even if the request does not
 * use suppressions. */
static int read_suppressions(
	struct hl_request_options *o, const char *file, struct hl_suppressions *s)
{
	size_t line = 0;
	char *text;
	int err = read_text(file, &text);

	if (!err && (err = hl_vec_push(&o->request.suppressions, text)) != 0)
		free(text);
	if (!err)
		err = hl_suppressions_add_text(s, text, &line);
	if (err == -EINVAL && line)
		hl_cli_error("%s, line %zu: expected leak:PATTERN", file, line);
	else if (err)
		hl_cli_error("%s: %s", file, strerror(-err));
	return err ? HL_EXIT_IO : 0;
}

int hl_request_read_suppressions(struct hl_request_options *o)
{
	struct hl_suppressions *s;
	int status = 0, err = hl_suppressions_new(&s);

	if (err) {
		hl_cli_error("%s", strerror(-err));
		return HL_EXIT_IO;
	}
	for (size_t i = 0; i < o->suppression_files.len && !status; i++)
		status = read_suppressions(o, o->suppression_files.data[i], s);
	hl_suppressions_free(s);
	return status;
}

void hl_request_options_fini(void *state)
{
	struct hl_request_options *o = state;

	hl_symbol_options_fini(&o->symbols);
	for (size_t i = 0; i < o->request.suppressions.len; i++)
		free((void *)(uintptr_t)o->request.suppressions.data[i]);
	hl_vec_free(&o->suppression_files);
	hl_request_fini(&o->request);
}
