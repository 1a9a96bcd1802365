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

#include "base/attr.h"
#include "model/query/filter_names.h"
#include "util/terminal/shell_word.h"

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

/* The overview has all of its quantities, for the whole run and the heap. */
static int check_overview(const struct hl_request *r, struct hl_request_error *why)
{
	if (!has_view(r, &hl_view_overview) || !time_option(r))
		return 0;
	return refuse(why,
		"--overview shows the peak, the end and the whole run: omit %s, or omit --overview "
		"for a tree",
		time_option(r));
}

/* Options that are about a tree or about a list of other rows ask for the tree, as do limits of
 * rows. A filter is about blocks, so it does not. */
static bool wants_overview(const struct hl_request *r)
{
	return r->overview && r->parts.len == 0 && r->quantity == HL_REQUEST_DEFAULT &&
	       !r->ranged && !r->pool && !r->top_down && !r->full_stacks && !r->sorted &&
	       !r->min_given && !r->limit_given && !r->suppressions_given && !r->budget.max_rows &&
	       !r->budget.max_bytes;
}

static int add_default_view(struct hl_request *r, struct hl_request_error *why)
{
	const struct hl_request_part part = {.view = &hl_view_overview, .option = "--overview"};

	if (!wants_overview(r))
		return 0;
	return hl_request_add_view(r, part) ? fail(why, -ENOMEM) : 0;
}

static int check_mapping(const struct hl_request *r, struct hl_request_error *why)
{
	bool given = r->mapping.name || r->mapping.by_address;

	return given && !has_view(r, &hl_view_resident) ? refuse(why, "--mapping needs --resident")
							: 0;
}

static int check_source(const struct hl_request *r, struct hl_request_error *why)
{
	return r->source.whole && !r->source.file ? refuse(why, "--whole-file needs --source FILE")
						  : 0;
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

static unsigned sorts_of(const struct hl_request_part *p)
{
	return p->grouped && p->view->sorts_grouped ? p->view->sorts_grouped : p->view->sorts;
}

/* Options of pages, and the one group of blocks. */
static int check_blocks(struct hl_request *r, struct hl_request_error *why)
{
	const char *option = r->reverse ? "--reverse" : r->offset ? "--offset" : "--after";
	bool grouped = false;

	if (!has_view(r, &hl_view_blocks))
		return r->reverse || r->offset || r->after
			       ? refuse(why, "%s applies only to --blocks", option)
			       : 0;
	for (size_t i = 0; i < r->parts.len; i++) {
		const struct hl_request_part *p = &r->parts.data[i];

		if (p->view != &hl_view_blocks || !p->grouped)
			continue;
		grouped = true;
		if (p->group != HL_GROUP_STACK)
			return refuse(why,
				"--blocks has only --group=stack; use --group=%s without it",
				hl_group_name(p->group));
	}
	if (r->after && grouped)
		return refuse(why, "--after is a row of single blocks; use --offset with --group");
	if (r->limit_given && r->limit > HL_BLOCK_LIST_MAX - r->offset)
		return refuse(why,
			"--blocks has at most %u rows, with those of --offset; --after continues "
			"behind any row",
			HL_BLOCK_LIST_MAX);
	r->block_page.has_after = r->after != NULL;
	return 0;
}

/* At least one view must follow --sort. */
static int check_sort(const struct hl_request *r, struct hl_request_error *why)
{
	const struct hl_request_part *first = r->parts.data;
	unsigned sorts = r->parts.len == 0 ? hl_view_tree.sorts : 0;

	for (size_t i = 0; i < r->parts.len; i++)
		sorts |= sorts_of(&r->parts.data[i]);
	if (!r->sorted || sorts & 1u << r->sort)
		return 0;
	if (r->parts.len > 0 && first->view == &hl_view_blocks)
		return refuse(why, "--sort=%s does not apply to --blocks%s; use one of %s",
			r->sort_value, first->grouped ? " --group=stack" : "",
			first->grouped
				? "bytes, blocks, leaked, first, last, interval, run-blocks, "
				  "run-leaked, run-first, run-last, run-interval, run-peak"
				: "time, address, size, life; with --group=stack there are "
				  "others");
	if (r->parts.len == 0)
		return refuse(why, "a tree is sorted by bytes or blocks; a table, such as "
				   "--sites, also by average or name");
	return refuse(why,
		"--sort=%s does not apply to %s%s%s; use it with a table, such as --sites",
		r->sort_value, first->option, first->value ? "=" : "",
		first->value ? first->value : "");
}

int hl_request_check_group(
	const struct hl_request *r, enum hl_group group, struct hl_request_error *why)
{
	if (group == HL_GROUP_POOL && !r->pool)
		return refuse(
			why, "--group=pool needs --pool: add --pool='*' or the name of a pool");
	return 0;
}

/* "the tree, --sizes, --lifetimes and --group" */
static const char *list_pool_views(struct hl_strbuf *b)
{
	static const struct {
		const struct hl_view *view;
		const char *option;
	} views[] = {
#define X(name, renderer, option, help) {&hl_view_##name, "--" option},
		HL_VIEWS_WITH_OPTION(X)
#undef X
	};

	hl_strbuf_puts(b, "the tree");
	for (size_t i = 0; i < HL_ARRAY_LEN(views); i++) {
		if (views[i].view->flags & HL_VIEW_POOLS)
			hl_strbuf_printf(b, ", %s", views[i].option);
	}
	hl_strbuf_puts(b, " and --group");
	return hl_strbuf_str(b);
}

static int refuse_pool(const struct hl_request_part *p, struct hl_request_error *why)
{
	struct hl_strbuf views = {0};
	int err = refuse(why, "--pool applies to %s, not to %s%s%s", list_pool_views(&views),
		p->option, p->value ? "=" : "", p->value ? p->value : "");

	hl_strbuf_fini(&views);
	return err;
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
		if (p->view == &hl_view_curves && p->group == HL_GROUP_POOL)
			return refuse(why, "--timeline is about the heap, which has no pools: use "
					   "another --group");
		if (r->pool && (!pools || p->group == HL_GROUP_SNAPSHOT))
			return refuse_pool(p, why);
	}
	return 0;
}

/* Puts a note about views that ignore a given time. */
static void note_whole_run(const struct hl_request *r, const struct hl_notes *notes)
{
	const char *option =
		r->quantity == HL_REQUEST_AT ? r->quantity_option.option : r->range_option.option;
	unsigned uses = HL_VIEW_QUANTITY | (r->ranged ? HL_VIEW_RANGE : 0);

	for (size_t i = 0; i < r->parts.len && option; i++) {
		const struct hl_request_part *p = &r->parts.data[i];

		if (!(p->view->flags & uses) && p->view != &hl_view_mmaps)
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
		return refuse(why, "--range applies to --allocated, --temporary, --growth and "
				   "--timeline; use --at TIME for a moment");
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

/* Each expression is parsed alone, so that a quote or / in one does not reach into the next. */
static int make_expr_filter(
	const struct hl_request *r, struct hl_filter **f, struct hl_request_error *why)
{
	struct hl_filter_error error = {0};
	int err = 0;

	for (size_t i = 0; i < r->filters.len && !err; i++) {
		err = check_expr(r->filters.data[i], why);
		if (err)
			break;
		err = *f ? hl_filter_add(*f, r->filters.data[i], &error)
			 : hl_filter_parse(f, r->filters.data[i], &error);
		/* It is valid alone, so an error is about all of them. */
		if (err == -EINVAL)
			err = refuse(why, "%s", error.text);
		else if (err)
			err = fail(why, err);
	}
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

static void describe_name(struct hl_strbuf *b, const char *name)
{
	size_t len = strlen(name);
	bool regex = len > 1 && name[0] == '/' && name[len - 1] == '/';
	bool quote = !regex && strpbrk(name, " ,") != NULL;

	hl_strbuf_printf(b, quote ? "\"%s\"" : "%s", name);
}

static void describe_names(struct hl_strbuf *b, const char *key, const hl_request_texts *names)
{
	for (size_t i = 0; i < names->len; i++) {
		hl_strbuf_puts(b, i > 0 ? "," : b->len > 0 ? " " : "");
		hl_strbuf_puts(b, i > 0 ? "" : key);
		describe_name(b, names->data[i]);
	}
}

static void join_exprs(const struct hl_request *r, struct hl_strbuf *b)
{
	for (size_t i = 0; i < r->filters.len; i++) {
		const char *expr = r->filters.data[i] + strspn(r->filters.data[i], " ");

		hl_strbuf_printf(b, "%s%s", *expr && b->len > 0 ? " " : "", expr);
	}
}

static bool is_same_filter(const struct hl_filter *a, const struct hl_filter *b)
{
	struct hl_strbuf x = {0}, y = {0};
	bool same;

	hl_filter_describe(a, &x);
	hl_filter_describe(b, &y);
	same = strcmp(hl_strbuf_str(&x), hl_strbuf_str(&y)) == 0;
	hl_strbuf_fini(&x);
	hl_strbuf_fini(&y);
	return same;
}

/* The texts one after the other, if that is an expression of the same terms. */
static void describe_exprs(const struct hl_request *r, struct hl_strbuf *b)
{
	struct hl_filter *all = NULL, *joined = NULL;
	struct hl_request_error why;
	struct hl_filter_error error;
	struct hl_strbuf text = {0};

	join_exprs(r, &text);
	if (r->filters.len > 1 && make_expr_filter(r, &all, &why) == 0 &&
		(hl_filter_parse(&joined, hl_strbuf_str(&text), &error) != 0 ||
			!is_same_filter(all, joined)))
		hl_filter_describe(all, b);
	else
		hl_strbuf_puts(b, hl_strbuf_str(&text));
	hl_filter_free(all);
	hl_filter_free(joined);
	hl_strbuf_fini(&text);
}

void hl_request_describe_filter(const struct hl_request *r, struct hl_strbuf *b)
{
	describe_exprs(r, b);
	describe_names(b, "fn:", &r->include_function);
	describe_names(b, "-fn:", &r->exclude_function);
	describe_names(b, "module:", &r->include_module);
	describe_names(b, "-module:", &r->exclude_module);
}

static void put_option_texts(struct hl_strbuf *b, const char *option, const hl_request_texts *texts)
{
	for (size_t i = 0; i < texts->len; i++) {
		hl_strbuf_printf(b, " --%s=", option);
		hl_shell_put_word(b, texts->data[i]);
	}
}

void hl_request_put_options(const struct hl_request *r, struct hl_strbuf *b)
{
	struct hl_strbuf filter = {0};

	hl_request_describe_filter(r, &filter);
	if (filter.len > 0) {
		hl_strbuf_puts(b, " --filter ");
		hl_shell_put_word(b, hl_strbuf_str(&filter));
	}
	put_option_texts(b, "fold", &r->folds);
	put_option_texts(b, "alloc-fn", &r->alloc_functions);
	if (r->no_wrappers)
		hl_strbuf_puts(b, " --no-wrappers");
	if (r->no_default_suppressions)
		hl_strbuf_puts(b, " --no-default-suppressions");
	hl_strbuf_fini(&filter);
}

static int check_filter(struct hl_request *r, struct hl_request_error *why)
{
	struct hl_filter *f;
	int err = hl_request_make_filter(r, &f, why);

	r->needs_times = r->ranged || r->quantity == HL_REQUEST_AT ||
			 (!err && f &&
				 hl_filter_subjects(f) &
					 (HL_FILTER_TIME | HL_FILTER_ALIVE | HL_FILTER_CHAIN_ALIVE |
						 HL_FILTER_GROUP_PEAK));
	hl_filter_free(f);
	return err;
}

/* A frame has a function, a file and a module, and nothing else. */
static int add_fold(struct hl_request_rules *x, const char *expr, struct hl_request_error *why)
{
	struct hl_filter *f = NULL;
	int err = parse_filter(expr, &f, why);

	if (!err && hl_filter_term_subjects(f) & ~HL_FILTER_FRAMES) {
		why->expr = expr;
		why->at = hl_filter_term_offset(f, ~HL_FILTER_FRAMES);
		err = refuse(why, "a frame has only fn:, file: and module:");
	}
	why->option = "--fold";
	if (!err && hl_vec_push(&x->folds, f))
		err = fail(why, -ENOMEM);
	if (err)
		hl_filter_free(f);
	return err;
}

/* -ENOENT: it is a name. */
static int add_alloc_address(
	struct hl_request_rules *x, const char *text, struct hl_request_error *why)
{
	struct hl_code_address a;
	int err = hl_code_address_parse(&a, text);

	if (err == -ENOENT)
		return err;
	if (err == -EINVAL)
		return refuse(why,
			"--alloc-fn: \"%s\": expected an address as reports show it: "
			"0x1234 or '0x1234 [libfoo.so]'",
			text);
	if (!err)
		err = hl_vec_push(&x->addresses, a);
	if (err)
		hl_code_address_fini(&a);
	return err ? fail(why, err) : 0;
}

static int add_alloc_function(
	struct hl_request_rules *x, const char *name, struct hl_request_error *why)
{
	struct hl_pattern_error error = {0};
	struct hl_pattern *p = NULL;
	int err = add_alloc_address(x, name, why);

	if (err != -ENOENT)
		return err;
	err = hl_pattern_new(&p, name, strlen(name), &error);
	if (err == -EINVAL)
		return refuse(why, "--alloc-fn: \"%s\" at character %zu: %s", name, error.at + 1,
			error.text);
	if (!err)
		err = hl_vec_push(&x->wrappers, p);
	if (err)
		hl_pattern_free(p);
	return err ? fail(why, err) : 0;
}

int hl_request_make_rules(
	const struct hl_request *r, struct hl_request_rules *x, struct hl_request_error *why)
{
	int err = 0;

	for (size_t i = 0; i < r->folds.len && !err; i++)
		err = add_fold(x, r->folds.data[i], why);
	for (size_t i = 0; i < r->alloc_functions.len && !err; i++)
		err = add_alloc_function(x, r->alloc_functions.data[i], why);
	x->any = r->folds.len > 0 || r->alloc_functions.len > 0 || r->no_wrappers;
	x->rules = (struct hl_stack_rules){.folds = x->folds.data,
		.n_folds = x->folds.len,
		.wrappers = x->wrappers.data,
		.n_wrappers = x->wrappers.len,
		.addresses = x->addresses.data,
		.n_addresses = x->addresses.len,
		.no_wrappers = r->no_wrappers};
	return err;
}

void hl_request_rules_fini(struct hl_request_rules *x)
{
	for (size_t i = 0; i < x->folds.len; i++)
		hl_filter_free(x->folds.data[i]);
	for (size_t i = 0; i < x->wrappers.len; i++)
		hl_pattern_free(x->wrappers.data[i]);
	for (size_t i = 0; i < x->addresses.len; i++)
		hl_code_address_fini(&x->addresses.data[i]);
	hl_vec_free(&x->folds);
	hl_vec_free(&x->wrappers);
	hl_vec_free(&x->addresses);
}

static int check_rules(const struct hl_request *r, struct hl_request_error *why)
{
	struct hl_request_rules x = {0};
	int err = hl_request_make_rules(r, &x, why);

	hl_request_rules_fini(&x);
	return err;
}

int hl_request_finish_query(struct hl_request *r, struct hl_request_error *why)
{
	*why = (struct hl_request_error){0};
	return check_quantity(r, why);
}

int hl_request_finish_filter(struct hl_request *r, struct hl_request_error *why)
{
	int err;

	*why = (struct hl_request_error){0};
	err = check_filter(r, why);
	return err ? err : check_rules(r, why);
}

/* Views that --group groups; it is a view of its own beside others. */
static bool can_be_grouped(const struct hl_request_part *p)
{
	return p->view == &hl_view_blocks || p->view == &hl_view_snapshots ||
	       p->view == &hl_view_snapshot_deltas || p->view == &hl_view_cumulative_delta ||
	       p->view == &hl_view_timeline;
}

/* A timeline by a group is a view of its own. */
static struct hl_request_part group_part(struct hl_request_part part, enum hl_group group)
{
	if (part.view == &hl_view_timeline)
		part.view = &hl_view_curves;
	part.group = group;
	part.grouped = true;
	return part;
}

/* Makes the parts of a request for such views: each by each group. */
static int group_parts(struct hl_request *r)
{
	HL_VEC(struct hl_request_part) parts = {0};
	bool any = false;
	int err = 0;

	for (size_t i = 0; i < r->parts.len; i++)
		any |= can_be_grouped(&r->parts.data[i]);
	for (size_t i = 0; i < r->parts.len && any && !err; i++) {
		const struct hl_request_part *part = &r->parts.data[i];
		size_t before = parts.len;

		if (part->view == &hl_view_table)
			continue;
		for (size_t k = 0; k < r->parts.len && can_be_grouped(part) && !err; k++) {
			if (r->parts.data[k].view == &hl_view_table)
				err = hl_vec_push(
					&parts, group_part(*part, r->parts.data[k].group));
		}
		if (parts.len == before && !err)
			err = hl_vec_push(&parts, *part);
	}
	if (any && !err) {
		r->parts.len = 0;
		for (size_t i = 0; i < parts.len && !err; i++)
			err = hl_vec_push(&r->parts, parts.data[i]);
	}
	hl_vec_free(&parts);
	return err;
}

int hl_request_finish(
	struct hl_request *r, const struct hl_notes *notes, struct hl_request_error *why)
{
	int err = hl_request_finish_query(r, why);

	if (!err && (err = group_parts(r)) != 0)
		return fail(why, err);
	if (!err)
		err = add_default_view(r, why);
	if (!err)
		err = check_parts(r, why);
	if (!err)
		err = check_overview(r, why);
	if (!err)
		err = check_moment(r, why);
	if (!err)
		err = check_mmaps(r, why);
	if (!err)
		err = check_source(r, why);
	if (!err)
		err = check_mapping(r, why);
	if (!err)
		err = check_pool(r, why);
	if (!err)
		err = check_sort(r, why);
	if (!err)
		err = check_blocks(r, why);
	if (!err)
		note_whole_run(r, notes);
	return err ? err : hl_request_finish_filter(r, why);
}

void hl_request_fini(struct hl_request *r)
{
	hl_pattern_free(r->pool);
	hl_pattern_free(r->mapping.name);
	hl_vec_free(&r->suppressions);
	hl_vec_free(&r->filters);
	hl_vec_free(&r->folds);
	hl_vec_free(&r->alloc_functions);
	hl_vec_free(&r->include_function);
	hl_vec_free(&r->exclude_function);
	hl_vec_free(&r->include_module);
	hl_vec_free(&r->exclude_module);
	hl_vec_free(&r->parts);
}
