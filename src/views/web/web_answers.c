/* SPDX-License-Identifier: Apache-2.0 */
/*
 * web_answers.c - the documents of endpoints, as the commands of the same names print them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/views/curves/group_curves.h"
#include "model/views/snapshots.h"
#include "model/totals/trace_totals.h"
#include "request/filter_check.h"
#include "util/work/work.h"
#include "views/json/json.h"
#include "views/web/web_internal.h"

/* `info` and `report --leaks` check the checksums of files up to these sizes. Checking the smaller
 * one takes some 30 ms. */
#define VERIFY_INFO   (UINT64_C(64) << 20)
#define VERIFY_REPORT (UINT64_C(1) << 30)

/* --- traces --- */

static void put_trace(struct hl_json *j, struct hl_web_trace *t)
{
	const struct hl_trace_info *i = hl_model_info(t->cheap.m);
	struct hl_trace_total rows[HL_TRACE_TOTALS];

	hl_json_key_string(j, "program", i->meta.program);
	hl_json_key_u64(j, "pid", i->meta.pid);
	hl_json_key_u64(j, "parent_pid", i->meta.parent_pid);
	hl_json_key_string(j, "arch", i->meta.arch);
	hl_json_key_string(j, "mode", i->meta.mode);
	hl_json_key_u64(j, "start_unix_ns", i->meta.start_unix_ns);
	hl_json_key_u64(j, "duration_ns", hl_model_end_ns(t->cheap.m));
	hl_json_key_bool(j, "running", i->end.kind == HL_END_RUNNING);
	hl_json_key_bool(j, "complete", hl_model_is_complete(t->cheap.m));
	hl_json_key_u64(j, "file_bytes", i->file_bytes);
	hl_trace_totals(t->cheap.m, rows);
	hl_json_key(j, "totals");
	hl_json_begin_object(j);
	for (size_t k = 0; k < HL_TRACE_TOTALS; k++)
		hl_json_key_u64_or_null(j, rows[k].key, rows[k].known ? rows[k].value : UINT64_MAX);
	hl_json_end_object(j);
}

int hl_web_run_traces(struct hl_web_query *q)
{
	struct hl_web *w = q->web;
	struct hl_row_limit rows;
	struct hl_json j;
	bool written;

	hl_row_limit_init(&rows, &q->request.budget);
	hl_json_init(&j, q->out);
	hl_json_begin_object(&j);
	hl_json_key_u64(&j, "schema", 1);
	hl_json_key(&j, "traces");
	hl_json_begin_array(&j);
	for (size_t i = 0; i < w->n_traces && !hl_web_query_is_over(q); i++) {
		struct hl_web_trace *t = &w->traces[i];
		struct hl_web_control control;
		int err;

		if (!hl_row_begin(&rows, q->out, NULL))
			continue;
		written = j.comma;
		err = hl_web_trace_enter(w, t);
		hl_json_begin_object(&j);
		hl_json_key_u64(&j, "id", t->id);
		hl_json_key_string(&j, "trace", t->name);
		hl_json_key_u64_or_null(&j, "session", t->session ? t->session : UINT64_MAX);
		hl_json_key_bool(&j, "deleted", t->deleted);
		hl_json_key_string(&j, "error", err ? t->problem : NULL);
		if (!err) {
			put_trace(&j, t);
			hl_web_control_find(t, &control);
		}
		hl_web_trace_leave(t);
		if (!err)
			hl_web_control_put(&j, q, &control);
		hl_json_end_object(&j);
		if (!hl_row_end(&rows))
			j.comma = written;
	}
	hl_json_end_array(&j);
	if (rows.omitted)
		hl_json_key_u64(&j, "left_out", rows.omitted);
	hl_json_end_object(&j);
	putc('\n', q->out);
	return 0;
}

int hl_web_run_info(struct hl_web_query *q)
{
	int err = hl_web_query_verify(q, VERIFY_INFO);

	if (!err)
		hl_json_info(q->out, q->model->m);
	return err;
}

/* --- reports --- */

static const char *set_group(void *state, const char *value)
{
	struct hl_web_query *q = state;
	struct hl_request_error why;

	return hl_request_set(&q->request, "group", value, &why) ? HL_OPT_NOT_LISTED : NULL;
}

const char *hl_web_set_width(void *state, const char *value)
{
	unsigned long n = strtoul(value, NULL, 10);

	((struct hl_web_query *)state)->request.columns = n;
	return strspn(value, "0123456789") == strlen(value) && n >= 1 && n <= 4096
		       ? NULL
		       : "a number of columns from 1 to 4096";
}

static const char *set_moments(void *state, const char *value)
{
	unsigned long n = strtoul(value, NULL, 10);

	((struct hl_web_query *)state)->request.columns = n;
	return strspn(value, "0123456789") == strlen(value) && n >= 1 &&
			       n <= HL_GROUP_CURVES_POINTS_MAX
		       ? NULL
		       : "a number of moments from 1 to 1024";
}

static const char *set_rows(void *state, const char *value)
{
	struct hl_request *r = &((struct hl_web_query *)state)->request;

	r->limit_given = true;
	r->limit = strtoul(value, NULL, 10);
	return strspn(value, "0123456789") == strlen(value) && *value && strlen(value) < 10
		       ? NULL
		       : "a number of rows";
}

/* A node of less than half a pixel is not visible. */
static const char *set_pixels(void *state, const char *value)
{
	unsigned long n = strtoul(value, NULL, 10);

	if (strspn(value, "0123456789") != strlen(value) || n < 1 || n > 65536)
		return "a number of pixels from 1 to 65536";
	((struct hl_web_query *)state)->min_percent = 50.0 / (double)n;
	return NULL;
}

static const char *set_min(void *state, const char *value)
{
	char *end;
	double min = strtod(value, &end);

	((struct hl_web_query *)state)->min_percent = min;
	if (*end == '%')
		end++;
	return end != value && !*end && min >= 0 && min <= 100 ? NULL : "a share from 0 to 100";
}

static const char *set_folded(void *state, const char *value)
{
	((struct hl_web_query *)state)->request.full_stacks = false;
	return NULL;
}

static const char *set_bottom_up(void *state, const char *value)
{
	((struct hl_web_query *)state)->request.top_down = false;
	return NULL;
}

static const char *set_function(void *state, const char *value)
{
	((struct hl_web_query *)state)->request.from_function = value;
	return value[0] ? NULL : "the name of a function";
}

#define TREE_ROWS                                                                             \
	{0, "folded", NULL, "fold frames of libraries, and end stacks at their call sites",   \
		set_folded},                                                                  \
		{0, "bottom-up", NULL, "begin at the allocating frame", set_bottom_up},       \
		{0, "function", "NAME",                                                       \
			"begin at the frames of this function; bottom-up: only its callers",  \
			set_function},                                                        \
	{                                                                                     \
		0, "min", "PERCENT", "leave out nodes below this share of the total", set_min \
	}

static const char *set_limit(void *state, const char *value)
{
	struct hl_request *r = &((struct hl_web_query *)state)->request;

	r->limit = strlen(value) <= 9 ? strtoul(value, NULL, 10) : 0;
	r->limit_given = true;
	return strspn(value, "0123456789") == strlen(value) && r->limit >= 1 &&
			       r->limit <= HL_WEB_BLOCKS_MAX
		       ? NULL
		       : "a number of rows from 1 to 10000";
}

const struct hl_opt hl_web_blocks_rows[] = {
	{'g', "group", "GROUP:stack", "groups of blocks with one stack", set_group},
	{0, "limit", "N", "the number of rows, from 1 to 10000 (default 100)", set_limit},
	{0, "folded", NULL, "rows without the frames of their stacks", set_folded}, {0}};
const struct hl_opt hl_web_timeline_rows[] = {
	{0, "width", "N", "the number of columns, from 1 to 4096 (default 200)", hl_web_set_width},
	{0}};
const struct hl_opt hl_web_curves_rows[] = {
	{0, "width", "N", "the most moments, from 1 to 1024 (default 200)", set_moments},
	{0, "limit", "N", "at most this many rows, with the highest values (default 20; 0: all)",
		set_rows},
	{0}};
const struct hl_opt hl_web_tree_rows[] = {TREE_ROWS, {0}};
const struct hl_opt hl_web_flame_rows[] = {TREE_ROWS,
	{0, "width", "N", "leave out nodes that are narrower than half a pixel of N", set_pixels},
	{0}};
const struct hl_opt hl_web_table_rows[] = {
	{'g', "group", "GROUP", "a table by this group", set_group}, {0}};

static const char *set_mapping(void *state, const char *value)
{
	return hl_request_set_mapping(&((struct hl_web_query *)state)->request, value);
}

const struct hl_opt hl_web_resident_rows[] = {
	{0, "mapping", "NAME|ADDRESS", "only mappings of this name, or at 0xADDRESS", set_mapping},
	{0, "width", "N", "the number of columns, from 1 to 4096 (default 200)", hl_web_set_width},
	{0},
};

static const char *set_file(void *state, const char *value)
{
	struct hl_request *r = &((struct hl_web_query *)state)->request;

	r->source.file = value;
	r->source.file_len = strlen(value);
	return value[0] ? NULL : "the name of a source file";
}

static const char *set_line(void *state, const char *value)
{
	unsigned long n = strtoul(value, NULL, 10);

	((struct hl_web_query *)state)->request.source.line = (uint32_t)n;
	return strspn(value, "0123456789") == strlen(value) && strlen(value) <= 9 && n > 0
		       ? NULL
		       : "the number of a line";
}

static const char *set_whole_file(void *state, const char *value)
{
	return hl_request_set_whole_file(&((struct hl_web_query *)state)->request, value);
}

const struct hl_opt hl_web_source_rows[] = {
	{0, "file", "FILE", "as in table/file, or its end after a slash; it must be given",
		set_file},
	{0, "line", "N", "only this line, and some around it", set_line},
	{0, "whole-file", NULL, "also the lines without blocks", set_whole_file},
	{0},
};

/* As in JSON of `report`: all rows. */
static void set_defaults(struct hl_web_query *q)
{
	struct hl_request *r = &q->request;

	r->one_view = true;
	r->unlimited = q->min_percent <= 0;
	r->min_given = q->min_percent > 0;
	r->min = q->min_percent;
}

int hl_web_refuse(struct hl_web_query *q, int err, const struct hl_request_error *why)
{
	if (why->expr)
		snprintf(q->error, sizeof(q->error), "%s: %s, at character %zu of \"%.60s\"",
			why->option ? why->option : "filter", why->text, why->at + 1, why->expr);
	else
		snprintf(q->error, sizeof(q->error), "%s", why->text);
	if (err != -EINVAL)
		q->status = 500;
	return err;
}

/* The parameters name the file as a value of its own, so that no colon divides it. */
int hl_web_finish_source(struct hl_web_query *q)
{
	struct hl_request_part part = {.view = &hl_view_source, .option = "source"};
	struct hl_request *r = &q->request;
	struct hl_notes notes = hl_web_notes(q);
	struct hl_request_error why = {0};
	int err;

	set_defaults(q);
	if (!r->source.file) {
		snprintf(q->error, sizeof(q->error),
			"file: the name of a source file is missing; table/file lists them");
		return -EINVAL;
	}
	err = hl_request_add_view(r, part) ? -ENOMEM : 0;
	if (!err)
		err = hl_request_finish(r, &notes, &why);
	return err ? hl_web_refuse(q, err, &why) : 0;
}

int hl_web_finish_report(struct hl_web_query *q)
{
	const struct hl_view *view = q->endpoint->view;
	struct hl_request *r = &q->request;
	struct hl_notes notes = hl_web_notes(q);
	struct hl_request_error why = {0};
	int err = 0;

	set_defaults(q);
	if (view == &hl_view_table || view == &hl_view_curves)
		err = hl_request_set(r, "group", q->word, &why);
	else if (view && view != &hl_view_tree)
		err = hl_request_set(r, strrchr(q->endpoint->path, '/') + 1, NULL, &why);
	if (!err && view == &hl_view_curves)
		err = hl_request_set(r, "timeline", NULL, &why);
	if (!err)
		err = hl_request_finish(r, &notes, &why);
	return err ? hl_web_refuse(q, err, &why) : 0;
}

/* The lost frees of a damaged file would be leaks. */
static int verify_trace(struct hl_web_query *q, const struct hl_plan *p)
{
	bool wanted = q->request.quantity == HL_REQUEST_LEAKS;

	for (size_t i = 0; i < p->parts.len; i++)
		wanted |= p->parts.data[i].view == &hl_view_overview;
	if (!wanted || q->model->verified)
		return 0;
	if (q->only_cheap && hl_model_info(q->model->m)->file_bytes > VERIFY_INFO)
		return -EAGAIN;
	return hl_web_query_verify(q, VERIFY_REPORT);
}

/* A part that was stopped in the middle is removed from the document. */
static int put_part(
	struct hl_web_query *q, struct hl_plan *p, size_t i, struct hl_json *j, bool *found)
{
	struct hl_row_limit rows;
	struct hl_json before = *j;
	off_t begin = ftello(q->out);
	struct hl_result *r;
	int err = hl_plan_run(p, i, &r);

	if (err)
		return err;
	hl_row_limit_init(&rows, &q->request.budget);
	r->rows = &rows;
	err = hl_plan_check_stopped(p, &p->parts.data[i], hl_json_result(j, r));
	if (err == -ETIME && fseeko(q->out, begin, SEEK_SET) == 0)
		*j = before;
	if (!err)
		hl_value_add(&q->parts_total, &r->total);
	*found |= r->total.blocks > 0 || !(r->part.view->flags & HL_VIEW_TOTAL);
	hl_result_free(r);
	return err;
}

/* A budget of time that ends is an answer, as it is in `report`. */
static void put_refusal(struct hl_web_query *q, struct hl_json *j)
{
	q->status = 503;
	hl_json_key_string(j, "refused", "max-time");
	hl_json_key_string(j, "error", hl_model_error(q->model->m));
}

static void put_filter_check(struct hl_plan *p, struct hl_json *j, bool found)
{
	struct hl_filter_check c;

	hl_plan_check_filter(p, !found, &c);
	hl_filter_check_note(&c, &p->notes);
	hl_json_filter_check(j, &c);
	hl_filter_check_fini(&c);
}

static int put_parts(struct hl_web_query *q, struct hl_plan *p)
{
	struct hl_json j;
	bool found = false, late = false;
	int err;

	hl_json_init(&j, q->out);
	hl_json_begin_object(&j);
	hl_json_key_u64(&j, "schema", 1);
	err = hl_plan_prepare(p);
	for (size_t i = 0; i < p->parts.len && !err; i++) {
		err = put_part(q, p, i, &j, &found);
		late |= err == -ETIME;
		if (err == -ETIME)
			put_refusal(q, &j);
		err = err == -ETIME ? 0 : err;
	}
	if (!err && p->filter && !late)
		put_filter_check(p, &j, found);
	hl_json_end_object(&j);
	putc('\n', q->out);
	return err;
}

static int check_times(struct hl_web_query *q, struct hl_plan *p)
{
	struct hl_strbuf why = {0};
	bool has = hl_plan_has_times(p, &why);

	if (!has)
		snprintf(q->error, sizeof(q->error), "%s", hl_strbuf_str(&why));
	hl_strbuf_fini(&why);
	return has ? 0 : -EINVAL;
}

int hl_web_run_report(struct hl_web_query *q)
{
	struct hl_notes notes = hl_web_notes(q);
	struct hl_request_error why;
	struct hl_plan *p;
	int err = hl_plan_new(&p, &q->request, q->model->m, &notes, &why);

	if (err)
		return hl_web_refuse(q, err, &why);
	/* Even to bind a filter may need a pass over the events. */
	if (q->only_cheap && p->filter)
		err = -EAGAIN;
	if (!err)
		err = check_times(q, p);
	if (!err && q->only_cheap && !hl_plan_is_cheap(p))
		err = -EAGAIN;
	if (!err)
		err = verify_trace(q, p);
	if (!err)
		err = put_parts(q, p);
	hl_plan_free(p);
	return err;
}

/* --- snapshots --- */

#define SORT_VALUES "live|growth|churn"

static const char *set_log_sort(void *state, const char *value)
{
	int i = hl_word_find(SORT_VALUES, value);

	((struct hl_web_query *)state)->log_sort = (unsigned)i;
	return i < 0 ? HL_OPT_NOT_LISTED : NULL;
}

static const char *parse_number(const char *value, uint64_t *n)
{
	*n = strtoull(value, NULL, 10);
	return *value && strlen(value) <= 18 && strspn(value, "0123456789") == strlen(value)
		       ? NULL
		       : "a number";
}

static const char *set_log_from(void *state, const char *value)
{
	return parse_number(value, &((struct hl_web_query *)state)->log_from);
}

static const char *set_log_to(void *state, const char *value)
{
	((struct hl_web_query *)state)->log_has_to = true;
	return parse_number(value, &((struct hl_web_query *)state)->log_to);
}

static const char *set_log_sources(void *state, const char *value)
{
	return parse_number(value, &((struct hl_web_query *)state)->log_sources);
}

const struct hl_opt hl_web_log_rows[] = {
	{0, "sort", SORT_VALUES, "sort the sources of a snapshot (default live)", set_log_sort},
	{0, "from", "N", "with to: only the changes from snapshot N (0: the start)", set_log_from},
	{0, "to", "N", "only the changes up to snapshot N", set_log_to},
	{0, "sources", "N", "at most N sources of a snapshot (0: all)", set_log_sources},
	{0},
};

int hl_web_finish_log(struct hl_web_query *q)
{
	if (!q->log_has_to || q->log_from < q->log_to)
		return 0;
	snprintf(q->error, sizeof(q->error), "from: the earlier snapshot comes first");
	return -EINVAL;
}

/* One snapshot, as a row that is whole or left out. */
static int put_changes(struct hl_web_query *q, struct hl_json *j, struct hl_snapshot_list *log,
	size_t from, size_t to, struct hl_row_limit *rows)
{
	struct hl_snapshot_changes page;
	bool comma = j->comma;
	int err = hl_snapshot_list_changes(
		log, from, to, (enum hl_snapshot_list_sort)q->log_sort, &page);

	if (err)
		return err;
	if (page.before_damage && to != hl_snapshot_list_n(log))
		return 0; /* it is lost */
	if (q->log_sources && page.n > q->log_sources)
		page.n = q->log_sources;
	if (!hl_row_begin(rows, q->out, NULL))
		return 0;
	err = hl_json_log_changes(j, q->model->m, log, from, to, &page);
	if (!hl_row_end(rows))
		j->comma = comma;
	return err;
}

static int put_snapshots(struct hl_web_query *q, struct hl_json *j, struct hl_snapshot_list *log,
	struct hl_row_limit *rows)
{
	size_t n = hl_snapshot_list_n(log), before = hl_snapshot_list_before(log);
	int err = 0;

	if (q->log_has_to) {
		size_t from = q->log_from ? q->log_from - before : 0, to = q->log_to - before;

		if (from >= to || to > n) {
			snprintf(q->error, sizeof(q->error),
				"the trace has no such snapshots; it has %zu", n + before);
			return -EINVAL;
		}
		return put_changes(q, j, log, from, to, rows);
	}
	for (size_t i = 1; i <= n && !err && !rows->full; i++) {
		err = hl_web_query_is_over(q) ? -ECANCELED : put_changes(q, j, log, i - 1, i, rows);
		if (rows->full && i < n)
			hl_row_omit(rows, n - i, NULL);
	}
	return err;
}

static int put_log(struct hl_web_query *q, struct hl_snapshot_list *log)
{
	const struct hl_trace_info *i = hl_model_info(q->model->m);
	struct hl_row_limit rows;
	struct hl_json j;
	int err;

	hl_row_limit_init(&rows, &q->request.budget);
	hl_json_init(&j, q->out);
	hl_json_begin_object(&j);
	hl_json_key_u64(&j, "schema", 1);
	hl_json_key_string(&j, "program", i->meta.program);
	hl_json_key_u64(&j, "pid", i->meta.pid);
	hl_json_key_string(&j, "mode", i->meta.mode);
	hl_json_key_bool(&j, "estimated", hl_model_has_samples(q->model->m));
	hl_json_key(&j, "snapshots");
	hl_json_begin_array(&j);
	err = put_snapshots(q, &j, log, &rows);
	hl_json_end_array(&j);
	if (rows.omitted)
		hl_json_key_u64(&j, "left_out", rows.omitted);
	hl_json_end_object(&j);
	putc('\n', q->out);
	return err;
}

int hl_web_run_log(struct hl_web_query *q)
{
	struct hl_snapshot_list *log = NULL;
	int err;

	if (q->only_cheap)
		return -EAGAIN;
	hl_work_limit(hl_model_work(q->model->m), q->request.budget.max_ns);
	err = hl_snapshot_list_new(&log, q->model->m);
	if (!err)
		err = put_log(q, log);
	hl_snapshot_list_free(log);
	hl_work_limit(hl_model_work(q->model->m), 0);
	return err;
}

/* --- queries --- */

int hl_web_run_queries(struct hl_web_query *q)
{
	struct hl_json j;

	hl_json_init(&j, q->out);
	hl_json_begin_object(&j);
	hl_json_key_u64(&j, "schema", 1);
	hl_json_key(&j, "queries");
	hl_json_begin_array(&j);
	pthread_mutex_lock(&q->web->lock);
	for (const struct hl_web_query *r = q->web->running; r; r = r->next) {
		if (r == q)
			continue;
		hl_json_begin_object(&j);
		hl_json_key_u64(&j, "query", r->id);
		hl_json_key_string(&j, "endpoint", r->endpoint->path);
		hl_json_key_u64(&j, "trace", r->trace ? r->trace->id : 0);
		hl_json_key_string(&j, "what", r->what);
		hl_json_key_u64(&j, "done", r->done);
		hl_json_key_u64(&j, "total", r->total);
		hl_json_end_object(&j);
	}
	pthread_mutex_unlock(&q->web->lock);
	hl_json_end_array(&j);
	hl_json_end_object(&j);
	putc('\n', q->out);
	return 0;
}

int hl_web_run_cancel(struct hl_web_query *q)
{
	uint64_t id = 0;
	struct hl_json j;

	if (parse_number(q->word, &id) || id == q->id || !hl_web_query_cancel(q->web, id)) {
		q->status = 404;
		snprintf(q->error, sizeof(q->error), "no query of this number is running");
		return -ENOENT;
	}
	hl_json_init(&j, q->out);
	hl_json_begin_object(&j);
	hl_json_key_u64(&j, "schema", 1);
	hl_json_key_u64(&j, "cancelled", id);
	hl_json_end_object(&j);
	putc('\n', q->out);
	return 0;
}

/* --- the list of endpoints --- */

int hl_web_run_api(struct hl_web_query *q)
{
	struct hl_json j;

	hl_json_init(&j, q->out);
	hl_json_begin_object(&j);
	hl_json_key_u64(&j, "schema", 1);
	hl_json_key_string(&j, "version", HL_VERSION);
	hl_json_key(&j, "endpoints");
	hl_json_begin_array(&j);
	for (const struct hl_web_endpoint *e = hl_web_endpoints; e->path; e++) {
		hl_json_begin_object(&j);
		hl_json_key_string(&j, "method", e->method);
		hl_json_key_string(&j, "path", e->path);
		hl_json_key_string(&j, "help", e->help);
		hl_json_key_string(&j, "same_as", e->equals);
		hl_json_end_object(&j);
	}
	hl_json_end_array(&j);
	hl_json_end_object(&j);
	putc('\n', q->out);
	return 0;
}
