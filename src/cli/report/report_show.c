/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_show.c - turns the request of `report` into queries and views.
 */
#include <errno.h>
#include <inttypes.h>
#include <langinfo.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/report/report_request.h"
#include "util/strbuf.h"
#include "util/terminal/terminal.h"
#include "util/safe_text.h"

static bool is_peak(const struct hl_report *r)
{
	return r->what == HL_REPORT_NOTHING || r->what == HL_REPORT_PEAK;
}

bool hl_report_has_own_peak(const struct hl_report *r)
{
	return r->filter && !r->pool && is_peak(r);
}

/* With a filter there are two peaks. */
static const char *peak_heading(const struct hl_report *r)
{
	if (!r->filter)
		return "live at the peak";
	return hl_report_has_own_peak(r) ? "live at the peak of blocks that match the filter"
					 : "live at the peak of the whole heap";
}

/* If frees may be missing from the recording, --leaks must not call a block leaked. */
static const char *heap_heading(const struct hl_report *r, struct hl_model *m)
{
	switch (r->what) {
	case HL_REPORT_NOTHING:
	case HL_REPORT_PEAK:
		return peak_heading(r);
	case HL_REPORT_LEAKS:
		return hl_model_leaks_are_certain(m) ? "leaked (live at the end)"
						     : "live at the end of the recording";
	case HL_REPORT_ALLOCATED:
		return "allocated";
	case HL_REPORT_TEMPORARY:
		return r->temporary_ns ? "temporary (freed within the given time)"
				       : "temporary (freed by the very next event)";
	case HL_REPORT_GROWTH:
		return "growth (allocated and still live)";
	case HL_REPORT_AT:
		return r->at.kind == HL_TIME_SPEC_PEAK  ? peak_heading(r)
		       : r->at.kind == HL_TIME_SPEC_END ? "live at the end of the recording"
							: "live";
	}
	return "";
}

const char *hl_report_heading(struct hl_report *r, struct hl_model *m)
{
	const char *what = heap_heading(r, m);

	if (!r->pool_name)
		return what;
	snprintf(r->heading, sizeof(r->heading), "pool %s: %s", r->pool_name, what);
	return r->heading;
}

#define MIN_WIDTH 40
#define MAX_WIDTH 1000

size_t hl_report_page_width(void)
{
	unsigned n = hl_term_width(STDOUT_FILENO);

	if (n == 0)
		return 80; /* the width is not known */
	return n < MIN_WIDTH ? MIN_WIDTH : n > MAX_WIDTH ? MAX_WIDTH : n;
}

static struct hl_text_opts text_opts(const struct hl_report *r, const char *what)
{
	return (struct hl_text_opts){
		.quantity_text = what,
		.min_percent = r->min_given ? r->min : 0.5,
		.limited = r->limit_given && r->limit > 0,
		.limit = r->limit,
		.by_blocks = r->sorted && r->sort == HL_SORT_BLOCKS,
		.color = hl_term_colors(STDOUT_FILENO),
		.unicode = strcmp(nl_langinfo(CODESET), "UTF-8") == 0,
		.width = hl_report_page_width(),
		.shorten = isatty(STDOUT_FILENO),
	};
}

/* A list of threads or processes is complete unless --min is given. */
struct hl_text_opts hl_report_list_opts(const struct hl_report *r)
{
	struct hl_text_opts opts = text_opts(r, "");

	opts.min_percent = r->min_given ? r->min : 0;
	return opts;
}

struct hl_query hl_report_query(const struct hl_report *r)
{
	struct hl_query q = {.quantity = HL_QUANTITY_LIVE,
		.from = r->from,
		.to = r->at,
		.filter = r->filter,
		.pool = r->pool,
		.suppressions = r->suppressions,
		.temporary_ns = r->temporary_ns};

	switch (r->what) {
	case HL_REPORT_NOTHING:
	case HL_REPORT_PEAK:
		q.to = r->peak;
		break;
	case HL_REPORT_LEAKS:
		q.to.kind = HL_TIME_SPEC_END;
		break;
	case HL_REPORT_AT:
		break;
	default:
		q.quantity = r->what == HL_REPORT_ALLOCATED   ? HL_QUANTITY_ALLOCATED
			     : r->what == HL_REPORT_TEMPORARY ? HL_QUANTITY_TEMPORARY
							      : HL_QUANTITY_GROWTH;
		q.to = r->to;
		if (!r->ranged)
			q.to.kind = HL_TIME_SPEC_END;
	}
	return q;
}

static void warn_moved_peak(struct hl_report *r, const struct hl_peak *peak)
{
	char got[HL_TEXT_SIZE_MAX];

	r->before_damage |= peak->before_damage;
	if (peak->before_damage)
		hl_cli_error("part of the file is lost and the peak of matching blocks is not "
			     "known; showing the highest value before the loss, at %s",
			hl_text_duration(got, peak->time_ns));
}

int hl_report_find_peak(struct hl_report *r, struct hl_model *m)
{
	const struct hl_query q = {.filter = r->filter, .pool = r->pool};
	struct hl_peak peak;
	int err = hl_peak_find(m, &q, &peak);

	if (err)
		return err;
	r->peak = peak.when;
	warn_moved_peak(r, &peak);
	return 0;
}

/* Prints warnings about an answer. */
void hl_report_warn_moved(struct hl_report *r, struct hl_model *m, const struct hl_query *q,
	uint64_t got_ns, bool moved)
{
	uint64_t asked_ns = hl_time_spec_ns(&q->to, m);
	char asked[HL_TEXT_SIZE_MAX], got[HL_TEXT_SIZE_MAX];

	r->before_damage |= moved;
	if (asked_ns > hl_model_end_ns(m))
		hl_cli_error("%s is after the end of the recording; showing the end, at %s",
			hl_text_duration(asked, asked_ns), hl_text_duration(got, got_ns));
	else if (moved)
		hl_cli_error(
			"the state at %s is not in the file; showing the latest before it, at %s",
			hl_text_duration(asked, asked_ns), hl_text_duration(got, got_ns));
}

/* Called for each answer that will be printed. */
static void account_answer(struct hl_report *r, struct hl_model *m, const struct hl_query *q,
	const struct hl_answer *a)
{
	hl_report_warn_moved(r, m, q, a->to_ns, a->before_damage);
	r->total.bytes += a->total.bytes;
	r->total.blocks += a->total.blocks;
}

int hl_report_run_query(
	struct hl_report *r, struct hl_model *m, const struct hl_query *q, struct hl_answer *a)
{
	int err = hl_model_query(m, q, a);

	if (!err)
		account_answer(r, m, q, a);
	return err;
}

/* In text, frames before main, which all stacks have, are hidden. JSON leaves nothing out. */
static bool hides_runtime_frames(const struct hl_report *r)
{
	return !r->full_stacks && !r->common.json;
}

/* In JSON the outermost frame has always been first, so JSON trees are not inverted. */
int hl_report_tree(
	struct hl_report *r, struct hl_model *m, const struct hl_answer *a, const char *what)
{
	struct hl_text_opts opts = text_opts(r, what);
	struct hl_tree_opts tree_opts = {.with_called_functions = true,
		.by_blocks = opts.by_blocks,
		.omit_runtime_frames = hides_runtime_frames(r)};
	struct hl_tree t;
	int err = hl_model_find_called_functions(m, a);

	if (!r->common.json && !r->top_down) {
		tree_opts.inverted = true;
		tree_opts.depth = HL_TEXT_DEPTH_MAX;
		tree_opts.min_value = hl_text_minimum(&a->total, &opts);
	}
	if (!err)
		err = hl_tree_build(&t, m, a, &tree_opts);
	if (err)
		return err;
	err = r->common.json ? hl_json_tree(&r->json, m, a, &t, r->max_nodes)
			     : hl_text_tree(stdout, m, a, &t, &opts);
	hl_tree_fini(&t);
	return err;
}

/* A table, or a list of sites with their statistics. */
struct hl_report_result {
	struct hl_answer a;
	struct hl_table t;
	struct hl_text_opts opts;
	struct hl_site_stat *stats;
	size_t n_stats;
};

static void free_result(struct hl_report_result *x)
{
	free(x->stats);
	hl_table_fini(&x->t);
	hl_answer_fini(&x->a);
}

static int build_table(struct hl_report *r, struct hl_model *m, struct hl_report_result *x)
{
	int err;

	x->opts = text_opts(r, hl_report_heading(r, m));
	err = hl_table_build(&x->t, m, &x->a, r->group, hides_runtime_frames(r));
	if (err)
		return err;
	if (r->sorted)
		hl_table_sort(&x->t, r->sort);
	x->opts.keep_order = hl_group_is_ordered(x->t.group) && !r->sorted;
	if (r->view != HL_REPORT_SITES)
		return 0;
	x->n_stats = r->common.json ? x->t.n : hl_text_table_rows(&x->t, &x->opts);
	err = hl_sites_stats(m, &x->t, x->n_stats, r->filter, &x->stats);
	if (!err && !x->stats)
		hl_cli_error("no lifetimes: this trace was recorded in mode %s, which keeps only "
			     "sums of some blocks (bytes and blocks are exact)",
			hl_model_sums_mode(m));
	return err;
}

static void put_table(struct hl_report *r, struct hl_model *m, const struct hl_report_result *x)
{
	if (r->common.json)
		hl_json_table(&r->json, m, &x->a, &x->t, x->stats, x->n_stats);
	else
		hl_text_table(stdout, m, &x->a, &x->t, x->stats, &x->opts);
}

/* Returns the query of a tree or a table. */
static struct hl_query answer_query(const struct hl_report *r)
{
	struct hl_query q = hl_report_query(r);

	if (r->view != HL_REPORT_TREE)
		q.key = hl_group_key(r->group);
	return q;
}

void hl_report_put_peak_of(struct hl_report *r)
{
	bool peak = r->what == HL_REPORT_AT ? r->at.kind == HL_TIME_SPEC_PEAK : is_peak(r);

	if (r->common.json && r->filter && peak)
		hl_json_key_string(
			&r->json, "peak_of", hl_report_has_own_peak(r) ? "filter" : "heap");
}

static int show_answer(struct hl_report *r, struct hl_model *m)
{
	struct hl_query q = answer_query(r);
	struct hl_report_result now = {0},
				*x = r->view == HL_REPORT_SITES && r->sites ? r->sites : &now;
	int err = x == &now ? hl_model_query(m, &q, &x->a) : 0;

	if (!err)
		account_answer(r, m, &q, &x->a);
	if (!err && r->common.json && r->pool_name)
		hl_json_key_string(&r->json, "pool", r->pool_name);
	if (!err)
		hl_report_put_peak_of(r);
	if (!err && r->view == HL_REPORT_TREE)
		err = hl_report_tree(r, m, &x->a, hl_report_heading(r, m));
	else if (!err && x == &now)
		err = build_table(r, m, x);
	if (!err && r->view != HL_REPORT_TREE)
		put_table(r, m, x);
	free_result(&now);
	if (!err && r->suppressions) {
		if (r->common.json)
			hl_json_suppressed(&r->json, r->suppressions);
		else
			hl_text_suppressed(stdout, r->suppressions);
	}
	return err;
}

static int show_threads(struct hl_report *r, struct hl_model *m)
{
	struct hl_text_opts opts = hl_report_list_opts(r);
	struct hl_threads t;
	int err = hl_threads_build(&t, m, r->filter);

	if (err)
		return err;
	for (uint32_t i = 0; i < t.n; i++) {
		r->total.bytes += t.rows[i].allocated.bytes;
		r->total.blocks += t.rows[i].allocated.blocks;
	}
	if (r->common.json)
		hl_json_threads(&r->json, &t);
	else
		hl_text_threads(stdout, &t, &opts);
	hl_threads_fini(&t);
	return 0;
}

/* Enough columns for a program to draw a plot of any size. */
#define JSON_COLUMNS 200

static struct hl_text_opts timeline_opts(const struct hl_report *r, size_t *columns)
{
	struct hl_text_opts opts =
		text_opts(r, r->filter ? "live bytes that match the filter" : "live bytes");

	*columns = r->common.json ? JSON_COLUMNS : hl_text_timeline_columns(&opts);
	return opts;
}

static int show_timeline(struct hl_report *r, struct hl_model *m)
{
	struct hl_peak peak = {0};
	size_t n;
	struct hl_text_opts opts = timeline_opts(r, &n);
	struct hl_timeline_bin *columns = calloc(n, sizeof(*columns));
	int err = columns ? hl_timeline(m, r->filter, columns, n, &peak) : -ENOMEM;

	/* If another view has searched for the same peak, the warning is printed already. */
	if (!err && r->peak.kind == HL_TIME_SPEC_PEAK)
		warn_moved_peak(r, &peak);
	if (!err && r->common.json)
		err = hl_json_timeline(&r->json, m, columns, n, &peak);
	else if (!err)
		err = hl_text_timeline(stdout, m, columns, n, &opts);
	free(columns);
	return err;
}

static int show_fragmentation(struct hl_report *r, struct hl_model *m)
{
	struct hl_query q = hl_report_query(r);
	struct hl_text_opts opts = text_opts(r, hl_report_heading(r, m));
	struct hl_fragmentation f;
	int err = hl_fragmentation_at(&f, m, &q.to, r->filter);

	if (err)
		return err;
	opts.min_percent = r->min_given ? r->min : 0;
	if (!opts.limited && !r->limit_given) {
		opts.limited = true;
		opts.limit = 20;
	}
	hl_report_warn_moved(r, m, &q, f.time_ns, f.before_damage);
	r->total.bytes += f.live.bytes;
	r->total.blocks += f.live.blocks;
	hl_report_put_peak_of(r);
	if (r->common.json)
		hl_json_fragmentation(&r->json, m, &f);
	else
		hl_text_fragmentation(stdout, m, &f, &opts);
	hl_fragmentation_fini(&f);
	return 0;
}

/* Returns the lines about suppressed blocks of a process, to print below the list; NULL if there
 * are none, or no memory. */
static char *suppressed_text(const struct hl_report *r, const struct hl_meta *meta)
{
	struct hl_strbuf prefix = {0};
	char *text = NULL;
	size_t n;
	FILE *out = r->suppressions ? open_memstream(&text, &n) : NULL;

	if (!out)
		return NULL;
	hl_text_escape(&prefix, meta->program);
	hl_strbuf_printf(&prefix, " (pid %" PRIu64 "): ", meta->pid);
	hl_text_suppressed_lines(out, r->suppressions, hl_strbuf_str(&prefix));
	hl_strbuf_fini(&prefix);
	fclose(out);
	return text;
}

/* Rows are printed together when all are known, because only then the large ones are known. */
int hl_report_add_process(
	struct hl_report *r, struct hl_model *m, const char *what, const struct hl_value *v)
{
	const struct hl_meta *meta = &hl_model_info(m)->meta;
	struct hl_process_row row = {.program = strdup(meta->program),
		.pid = meta->pid,
		.what = what,
		.value = *v,
		.suppressed = suppressed_text(r, meta)};
	int err = row.program ? hl_vec_push(&r->processes, row) : -ENOMEM;

	if (err) {
		free(row.program);
		free(row.suppressed);
	}
	return err;
}

static int show_process(struct hl_report *r, struct hl_model *m)
{
	struct hl_query q = hl_report_query(r);
	struct hl_answer a;
	int err = hl_report_run_query(r, m, &q, &a);

	if (err)
		return err;
	if (!r->common.json)
		err = hl_report_add_process(r, m, hl_report_heading(r, m), &a.total);
	else {
		hl_report_put_peak_of(r);
		hl_json_answer(&r->json, &a);
	}
	if (r->common.json && r->suppressions)
		hl_json_suppressed(&r->json, r->suppressions);
	hl_answer_fini(&a);
	return err;
}

static int show_part(struct hl_report *r, struct hl_model *m)
{
	switch (r->view) {
	case HL_REPORT_TREE:
	case HL_REPORT_TABLE:
	case HL_REPORT_ALL_BY:
	case HL_REPORT_SITES:
		return show_answer(r, m);
	case HL_REPORT_THREADS:
		return show_threads(r, m);
	case HL_REPORT_TIMELINE:
		return show_timeline(r, m);
	case HL_REPORT_FRAGMENTATION:
		return show_fragmentation(r, m);
	case HL_REPORT_SNAPSHOTS:
	case HL_REPORT_DELTAS:
	case HL_REPORT_CUMULATIVE:
		return hl_report_snapshots(r, m);
	case HL_REPORT_PROCESSES:
		return show_process(r, m);
	case HL_REPORT_FREED_BY:
		return hl_report_freed_by(r, m);
	case HL_REPORT_MMAPS:
		return hl_report_mmaps(r, m);
	}
	return 0;
}

static bool shows_names(enum hl_report_view view, enum hl_group group)
{
	switch (view) {
	case HL_REPORT_TABLE:
	case HL_REPORT_ALL_BY:
		return group <= HL_GROUP_MODULE;
	case HL_REPORT_THREADS:
	case HL_REPORT_TIMELINE:
	case HL_REPORT_PROCESSES:
		return false;
	default:
		return true;
	}
}

bool hl_report_needs_names(const struct hl_report *r)
{
	bool any = r->parts.len == 0;

	if (r->view == HL_REPORT_PROCESSES)
		return false; /* its lines are printed later */
	if (r->suppression_texts.len > 0 ||
		(r->filter && hl_filter_subjects(r->filter) & HL_FILTER_STACK))
		return true;
	for (size_t i = 0; i < r->parts.len; i++)
		any |= shows_names(r->parts.data[i].view, r->parts.data[i].group);
	return any;
}

/* A profile has no peak: its only state is the memory in use. */
static enum hl_report_what default_without_peak(const struct hl_report *r)
{
	return r->what == HL_REPORT_NOTHING && r->no_order ? HL_REPORT_LEAKS : r->what;
}

void hl_report_select_part(struct hl_report *r, size_t i, enum hl_report_what asked)
{
	r->view = r->parts.data[i].view;
	r->group = r->parts.data[i].group;
	/* By default sizes and freeing stacks are about all allocations, because the blocks at one
	 * moment are only a sample of them. */
	r->what = asked == HL_REPORT_NOTHING &&
				  (r->view == HL_REPORT_ALL_BY || r->view == HL_REPORT_FREED_BY)
			  ? HL_REPORT_ALLOCATED
			  : asked;
	r->what = default_without_peak(r);
}

/* Returns whether the current part is about a peak that takes all events to find. */
static bool needs_own_peak(const struct hl_report *r)
{
	if (!hl_report_has_own_peak(r))
		return false;
	switch (r->view) {
	case HL_REPORT_TREE:
	case HL_REPORT_TABLE:
	case HL_REPORT_ALL_BY:
	case HL_REPORT_SITES:
	case HL_REPORT_FRAGMENTATION:
	case HL_REPORT_PROCESSES:
	case HL_REPORT_FREED_BY:
		return true;
	default:
		return false;
	}
}

/* Prefetches the queries of a part that need all events, so that one scan serves all parts. */
static void prefetch_part(const struct hl_report *r, struct hl_model *m)
{
	struct hl_query q = answer_query(r);
	size_t columns;

	switch (r->view) {
	case HL_REPORT_TABLE:
	case HL_REPORT_ALL_BY:
	case HL_REPORT_SITES:
		hl_query_prefetch(m, &q);
		break;
	case HL_REPORT_THREADS:
		hl_threads_prefetch(m, r->filter);
		break;
	case HL_REPORT_TIMELINE:
		timeline_opts(r, &columns);
		hl_timeline_prefetch(m, r->filter, columns);
		break;
	case HL_REPORT_FRAGMENTATION:
		hl_fragmentation_prefetch(m, &q.to, r->filter);
		break;
	default:
		break;
	}
}

/* Parts about the filter's own peak can be prefetched only when that peak is found. The scan that
 * finds it serves the other parts, too. */
static int prefetch_parts(struct hl_report *r, struct hl_model *m, enum hl_report_what asked)
{
	bool own_peak = false;
	int err;

	for (size_t i = 0; i < r->parts.len; i++) {
		hl_report_select_part(r, i, asked);
		if (needs_own_peak(r))
			own_peak = true;
		else if (r->parts.len > 1)
			prefetch_part(r, m);
	}
	err = own_peak ? hl_report_find_peak(r, m) : 0;
	for (size_t i = 0; i < r->parts.len && r->parts.len > 1 && !err; i++) {
		hl_report_select_part(r, i, asked);
		if (needs_own_peak(r))
			prefetch_part(r, m);
	}
	return err;
}

/* Returns whether the list of sites can be built before its turn. Names must not be looked up in
 * another order, because the notes about modules are in the order of lookup; and suppressions
 * report the blocks of the last query. */
static bool can_build_sites_first(const struct hl_report *r, size_t sites)
{
	bool names = r->filter && hl_filter_subjects(r->filter) & HL_FILTER_STACK;

	for (size_t i = 0; i < sites; i++)
		names |= shows_names(r->parts.data[i].view, r->parts.data[i].group);
	return sites > 0 && !names && !r->suppressions;
}

/*
 * The statistics of sites need all events, but only when it is known which sites are shown. So if
 * the list of sites comes after other parts, it is built before them, and one scan serves them all.
 * If that fails, it is built again in its turn.
 */
static void build_sites_first(struct hl_report *r, struct hl_model *m, enum hl_report_what asked,
	struct hl_report_result *x)
{
	struct hl_query q;

	for (size_t i = 0; i < r->parts.len; i++) {
		if (r->parts.data[i].view != HL_REPORT_SITES || !can_build_sites_first(r, i))
			continue;
		hl_report_select_part(r, i, asked);
		q = answer_query(r);
		if (hl_model_query(m, &q, &x->a) == 0 && build_table(r, m, x) == 0)
			r->sites = x;
	}
}

int hl_report_show(struct hl_report *r, struct hl_model *m)
{
	enum hl_report_what asked = r->what;
	struct hl_report_result sites = {0};
	int err = 0;

	r->no_order = hl_model_info(m)->meta.unknown & HL_UNKNOWN_ORDER;
	hl_report_warn_unknown(r, m);
	r->peak = (struct hl_time_spec){.kind = HL_TIME_SPEC_PEAK};
	if (r->parts.len == 0) {
		r->what = default_without_peak(r);
		err = needs_own_peak(r) ? hl_report_find_peak(r, m) : 0;
		if (!err)
			err = show_part(r, m);
		r->what = asked;
		return err;
	}
	err = prefetch_parts(r, m, asked);
	if (!err)
		build_sites_first(r, m, asked, &sites);
	for (size_t i = 0; i < r->parts.len && !err; i++) {
		hl_report_select_part(r, i, asked);
		if (i > 0)
			putchar('\n');
		err = show_part(r, m);
	}
	r->what = asked;
	r->sites = NULL;
	free_result(&sites);
	return err;
}
