/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request.c - completes and checks a request.
 */
#include "request/request.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void hl_notes_put(const struct hl_notes *n, enum hl_note_kind kind, const char *fmt, ...)
{
	struct hl_strbuf b = {0};
	va_list args;

	if (!n || !n->put)
		return;
	va_start(args, fmt);
	hl_strbuf_vprintf(&b, fmt, args);
	va_end(args);
	n->put(n->arg, kind, hl_strbuf_str(&b));
	hl_strbuf_fini(&b);
}

/* Keeps the reason why the request is refused. Returns -EINVAL. */
static int refuse(struct hl_request_error *why, const char *fmt, ...) hl_printf(2, 3);
static int refuse(struct hl_request_error *why, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(why->text, sizeof(why->text), fmt, args);
	va_end(args);
	return -EINVAL;
}

static int fail(struct hl_request_error *why, int err)
{
	snprintf(why->text, sizeof(why->text), "%s", strerror(-err));
	return err;
}

/* --- options that exclude each other --- */

static int refuse_pair(struct hl_request_error *why, const char *a, const char *a_value,
	const char *b, const char *b_value)
{
	return refuse(why, "%s%s%s and %s%s%s exclude each other", a, a_value ? "=" : "",
		a_value ? a_value : "", b, b_value ? "=" : "", b_value ? b_value : "");
}

static int check_choice(const struct hl_request_choice *c, struct hl_request_error *why)
{
	return c->other ? refuse_pair(why, c->option, c->value, c->other, c->other_value) : 0;
}

/* Several views are shown one after the other, but not in one document, and not together with one
 * line for each process. */
static int check_parts(const struct hl_request *r, struct hl_request_error *why)
{
	const struct hl_request_part *first = r->parts.data;

	if (r->parts.len < 2)
		return 0;
	if (r->one_view)
		return refuse(why, "--json takes one view, but %s and %s were given", first->option,
			first[1].option);
	for (size_t i = 1; i < r->parts.len; i++) {
		if (first->view == &hl_view_process || r->parts.data[i].view == &hl_view_process)
			return refuse_pair(why, first->option, first->value,
				r->parts.data[i].option, r->parts.data[i].value);
	}
	return 0;
}

static bool has_view(const struct hl_request *r, const struct hl_view *view)
{
	for (size_t i = 0; i < r->parts.len; i++) {
		if (r->parts.data[i].view == view)
			return true;
	}
	return false;
}

static const char *time_option(const struct hl_request *r)
{
	return r->quantity_option.option ? r->quantity_option.option : r->range_option.option;
}

/* A view of one moment needs a quantity of one moment. */
static int check_moment(const struct hl_request *r, struct hl_request_error *why)
{
	if (r->quantity != HL_REQUEST_ALLOCATED && r->quantity != HL_REQUEST_TEMPORARY &&
		r->quantity != HL_REQUEST_GROWTH)
		return 0;
	for (size_t i = 0; i < r->parts.len; i++) {
		if (r->parts.data[i].view->flags & HL_VIEW_MOMENT)
			return refuse(why,
				"%s needs a moment, not %s: use --peak, --at TIME or --leaks",
				r->parts.data[i].option, time_option(r));
	}
	return 0;
}

/* Mappings are not blocks, and the list covers the whole run. */
static int check_mmaps(const struct hl_request *r, struct hl_request_error *why)
{
	if (!has_view(r, &hl_view_mmaps) || !time_option(r))
		return 0;
	return refuse(why,
		"--mmaps lists the mappings of the whole run; %s does not apply, use --filter with "
		"time:, alive:, life:, size: or fn:",
		time_option(r));
}

static int check_sort(const struct hl_request *r, struct hl_request_error *why)
{
	if (!r->sorted || r->sort == HL_SORT_BYTES)
		return 0;
	if (r->parts.len == 0 && r->sort != HL_SORT_BLOCKS)
		return refuse(why, "a tree is sorted by bytes or blocks; a table, such as "
				   "--sites, also by average or name");
	if (has_view(r, &hl_view_freed_by))
		return refuse(why, "--freed-by is always sorted by bytes: omit --sort");
	return 0;
}

int hl_request_check_group(
	const struct hl_request *r, enum hl_group group, struct hl_request_error *why)
{
	if (group == HL_GROUP_POOL && !r->pool)
		return refuse(
			why, "--group=pool needs --pool: add --pool='*' or the name of a pool");
	return 0;
}

/* Views of pools are computed block by block. Views by page, snapshot or time are available only
 * for the heap. */
static int check_pool(const struct hl_request *r, struct hl_request_error *why)
{
	for (size_t i = 0; i < r->parts.len; i++) {
		const struct hl_request_part *p = &r->parts.data[i];
		bool pools = p->view->flags & HL_VIEW_POOLS;
		int err = pools ? hl_request_check_group(r, p->group, why) : 0;

		if (err)
			return err;
		if (r->pool && (!pools || p->group == HL_GROUP_SNAPSHOT))
			return refuse(why,
				"--pool applies to the tree, --sizes, --lifetimes and --group, not "
				"to %s%s%s",
				p->option, p->value ? "=" : "", p->value ? p->value : "");
	}
	return 0;
}

/* Puts a note about views that ignore a given time. */
static void note_whole_run(const struct hl_request *r, const struct hl_notes *notes)
{
	const char *option =
		r->quantity == HL_REQUEST_AT ? r->quantity_option.option : r->range_option.option;

	for (size_t i = 0; i < r->parts.len && option; i++) {
		const struct hl_request_part *p = &r->parts.data[i];

		if (!(p->view->flags & HL_VIEW_QUANTITY) && p->view != &hl_view_mmaps)
			hl_notes_put(notes, HL_NOTE_WARNING,
				"%s shows the whole run: %s does not apply; use --filter",
				p->option, option);
	}
}

static int check_quantity(struct hl_request *r, struct hl_request_error *why)
{
	int err;

	if (r->ranged && r->quantity == HL_REQUEST_DEFAULT)
		r->quantity = HL_REQUEST_ALLOCATED;
	err = check_choice(&r->quantity_option, why);
	if (!err)
		err = check_choice(&r->range_option, why);
	if (err)
		return err;
	if (r->ranged && r->quantity != HL_REQUEST_ALLOCATED &&
		r->quantity != HL_REQUEST_TEMPORARY && r->quantity != HL_REQUEST_GROWTH)
		return refuse(why, "--range applies to --allocated, --temporary and --growth; use "
				   "--at TIME for a moment");
	if (r->suppressions_given && r->quantity != HL_REQUEST_LEAKS)
		return refuse(why, "--suppressions applies only to --leaks");
	return 0;
}

/* --- filters --- */

static int parse_filter(const char *expr, struct hl_filter **f, struct hl_request_error *why)
{
	struct hl_filter_error error = {0};
	int err = hl_filter_parse(f, expr, &error);

	if (err != -EINVAL)
		return err ? fail(why, err) : 0;
	why->expr = expr;
	why->at = error.at;
	return refuse(why, "%s", error.text);
}

/* Each expression must be valid alone, and be about blocks. */
static int check_expr(const char *expr, struct hl_request_error *why)
{
	struct hl_filter *f = NULL;
	int err = parse_filter(expr, &f, why);

	if (!err && hl_filter_subjects(f) & HL_FILTER_OP) {
		why->expr = expr;
		why->at = hl_filter_term_offset(f, HL_FILTER_OP);
		err = refuse(why, "report shows blocks, not events: op= applies only to dump");
	}
	hl_filter_free(f);
	return err;
}

static int add_names(struct hl_filter **f, const char *option, const char *key, bool negated,
	const hl_request_texts *names, struct hl_request_error *why)
{
	struct hl_filter_error error = {0};
	size_t bad = 0;
	int err = 0;

	if (names->len == 0)
		return 0;
	if (!*f)
		err = hl_filter_parse(f, "", &error);
	if (!err)
		err = hl_filter_add_names(*f, key, negated, names->data, names->len, &error, &bad);
	if (err == -EINVAL)
		return refuse(why, "--%s: \"%s\" at character %zu: %s", option, names->data[bad],
			error.at + 1, error.text);
	return err ? fail(why, err) : 0;
}

static int make_expr_filter(
	const struct hl_request *r, struct hl_filter **f, struct hl_request_error *why)
{
	struct hl_strbuf all = {0};
	int err = 0;

	for (size_t i = 0; i < r->filters.len && !err; i++) {
		err = check_expr(r->filters.data[i], why);
		/* adjacent terms are combined by "and" */
		hl_strbuf_printf(&all, "%s%s", i ? " " : "", r->filters.data[i]);
	}
	if (!err && r->filters.len > 0)
		err = parse_filter(hl_strbuf_str(&all), f, why);
	hl_strbuf_fini(&all);
	return err;
}

int hl_request_make_filter(
	const struct hl_request *r, struct hl_filter **out, struct hl_request_error *why)
{
	int err;

	*out = NULL;
	err = make_expr_filter(r, out, why);
	if (!err)
		err = add_names(out, "include-function", "fn", false, &r->include_function, why);
	if (!err)
		err = add_names(out, "exclude-function", "fn", true, &r->exclude_function, why);
	if (!err)
		err = add_names(out, "include-module", "module", false, &r->include_module, why);
	if (!err)
		err = add_names(out, "exclude-module", "module", true, &r->exclude_module, why);
	if (err) {
		hl_filter_free(*out);
		*out = NULL;
	}
	return err;
}

static int check_filter(struct hl_request *r, struct hl_request_error *why)
{
	struct hl_filter *f;
	int err = hl_request_make_filter(r, &f, why);

	r->needs_times = r->ranged || r->quantity == HL_REQUEST_AT ||
			 (!err && f &&
				 hl_filter_subjects(f) & (HL_FILTER_TIME | HL_FILTER_ALIVE |
								 HL_FILTER_CHAIN_ALIVE));
	hl_filter_free(f);
	return err;
}

int hl_request_finish_query(struct hl_request *r, struct hl_request_error *why)
{
	*why = (struct hl_request_error){0};
	return check_quantity(r, why);
}

int hl_request_finish_filter(struct hl_request *r, struct hl_request_error *why)
{
	*why = (struct hl_request_error){0};
	return check_filter(r, why);
}

int hl_request_finish(
	struct hl_request *r, const struct hl_notes *notes, struct hl_request_error *why)
{
	int err = hl_request_finish_query(r, why);

	if (!err)
		err = check_parts(r, why);
	if (!err)
		err = check_moment(r, why);
	if (!err)
		err = check_mmaps(r, why);
	if (!err)
		err = check_pool(r, why);
	if (!err)
		err = check_sort(r, why);
	if (!err)
		note_whole_run(r, notes);
	return err ? err : check_filter(r, why);
}

void hl_request_fini(struct hl_request *r)
{
	hl_pattern_free(r->pool);
	hl_vec_free(&r->suppressions);
	hl_vec_free(&r->filters);
	hl_vec_free(&r->include_function);
	hl_vec_free(&r->exclude_function);
	hl_vec_free(&r->include_module);
	hl_vec_free(&r->exclude_module);
	hl_vec_free(&r->parts);
}
