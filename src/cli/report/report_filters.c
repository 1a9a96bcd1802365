/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_filters.c - builds the filter and the suppressions of `report` from its options.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/report/report_request.h"

/* --- filter --- */

static int add_names(struct hl_report *r, const char *option, const char *key, bool negated,
	const hl_report_names *names)
{
	struct hl_filter_error error = {0};
	size_t bad = 0;
	int err;

	if (names->len == 0)
		return 0;
	if (!r->filter && hl_filter_parse(&r->filter, "", &error))
		return HL_EXIT_IO;
	err = hl_filter_add_names(r->filter, key, negated, names->data, names->len, &error, &bad);
	if (err == -EINVAL)
		return hl_cli_usage("--%s: \"%s\" at character %zu: %s", option, names->data[bad],
			error.at + 1, error.text);
	if (err)
		hl_cli_error("%s", strerror(-err));
	return err ? HL_EXIT_IO : 0;
}

static int check_expr(const char *expr)
{
	struct hl_filter *f;
	int status = hl_filter_options(&expr, 1, &f);

	if (!status && hl_filter_subjects(f) & HL_FILTER_OP)
		status = hl_filter_print_error(expr, hl_filter_term_offset(f, HL_FILTER_OP),
			"report shows blocks, not events: op= applies only to dump");
	hl_filter_free(f);
	return status;
}

int hl_report_make_filter(struct hl_report *r)
{
	int status = 0;

	for (size_t i = 0; i < r->filter_exprs.len && !status; i++)
		status = check_expr(r->filter_exprs.data[i]);
	if (!status)
		status = hl_filter_options(r->filter_exprs.data, r->filter_exprs.len, &r->filter);
	if (!status)
		status = add_names(r, "include-function", "fn", false, &r->include_function);
	if (!status)
		status = add_names(r, "exclude-function", "fn", true, &r->exclude_function);
	if (!status)
		status = add_names(r, "include-module", "module", false, &r->include_module);
	if (!status)
		status = add_names(r, "exclude-module", "module", true, &r->exclude_module);
	return status;
}

/* --- suppressions --- */

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

/* The rules go to s, which is discarded: syntax errors are reported even if the report does not use
 * suppressions. */
static int read_suppressions(struct hl_report *r, const char *file, struct hl_suppressions *s)
{
	size_t line = 0;
	char *text;
	int err = read_text(file, &text);

	if (!err && (err = hl_vec_push(&r->suppression_texts, text)) != 0)
		free(text);
	if (!err)
		err = hl_suppressions_add_text(s, text, &line);
	if (err == -EINVAL && line)
		hl_cli_error("%s, line %zu: expected leak:PATTERN", file, line);
	else if (err)
		hl_cli_error("%s: %s", file, strerror(-err));
	return err ? HL_EXIT_IO : 0;
}

int hl_report_read_suppressions(struct hl_report *r)
{
	struct hl_suppressions *s;
	int status = 0, err = hl_suppressions_new(&s);

	if (err) {
		hl_cli_error("%s", strerror(-err));
		return HL_EXIT_IO;
	}
	for (size_t i = 0; i < r->suppression_files.len && !status; i++)
		status = read_suppressions(r, r->suppression_files.data[i], s);
	hl_suppressions_free(s);
	return status;
}

/* Suppressions apply only to blocks that are live at the end. JSON suppresses nothing by
 * default. */
int hl_report_make_suppressions(struct hl_report *r)
{
	int err;

	if (r->what != HL_REPORT_LEAKS)
		return 0;
	err = hl_suppressions_new(&r->suppressions);
	if (!err && !r->no_defaults && !r->common.json)
		err = hl_suppressions_add_defaults(r->suppressions);
	for (size_t i = 0, line; i < r->suppression_texts.len && !err; i++)
		err = hl_suppressions_add_text(
			r->suppressions, r->suppression_texts.data[i], &line);
	if (err)
		hl_cli_error("%s", strerror(-err));
	return err ? HL_EXIT_IO : 0;
}
