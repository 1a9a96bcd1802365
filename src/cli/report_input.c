/*
 * report_input.c - the filter and the suppressions that `report` was given.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/report.h"

/* --- the filter --- */

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

int hl_report_make_filter(struct hl_report *r)
{
	int status = hl_filter_option(r->filter_expr, &r->filter);

	if (!status && r->filter && hl_filter_subjects(r->filter) & HL_FILTER_OP)
		status = hl_filter_complain(r->filter_expr,
			hl_filter_place_of(r->filter, HL_FILTER_OP),
			"a report is about blocks, not events: op= is for dump");
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

static int read_suppressions(struct hl_report *r)
{
	char *text = calloc(1, SUPPRESSIONS_MAX + 1);
	FILE *f = text ? fopen(r->suppressions_file, "re") : NULL;
	size_t line = 0;
	int err = text ? f ? 0 : -errno : -ENOMEM;

	if (!err && fread(text, 1, SUPPRESSIONS_MAX, f) == SUPPRESSIONS_MAX)
		err = -EFBIG;
	if (!err && ferror(f))
		err = errno ? -errno : -EIO;
	if (!err)
		err = hl_suppressions_add_text(r->suppressions, text, &line);
	if (f)
		fclose(f);
	free(text);
	if (err == -EINVAL && line)
		hl_cli_error("%s, line %zu: expected leak:PATTERN", r->suppressions_file, line);
	else if (err)
		hl_cli_error("%s: %s", r->suppressions_file, strerror(-err));
	return err ? HL_EXIT_IO : 0;
}

/* Only what is left at the end can be known to be left. JSON leaves nothing out unless it is asked
 * to. */
int hl_report_make_suppressions(struct hl_report *r)
{
	int err;

	if (r->what != HL_REPORT_LEAKS)
		return 0;
	err = hl_suppressions_new(&r->suppressions);
	if (!err && !r->no_defaults && !r->common.json)
		err = hl_suppressions_add_defaults(r->suppressions);
	if (err) {
		hl_cli_error("%s", strerror(-err));
		return HL_EXIT_IO;
	}
	return r->suppressions_file ? read_suppressions(r) : 0;
}
