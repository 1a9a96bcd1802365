/* SPDX-License-Identifier: Apache-2.0 */
/*
 * web_export.c - the formats of `export` as downloads, and the page of a trace.
 *
 * They are streams: an export of every allocation has no bound.
 */
#include <errno.h>
#include <string.h>

#include "views/export/output_set.h"
#include "views/web/web_internal.h"

static const char *set_group(void *state, const char *value)
{
	struct hl_web_query *q = state;

	q->grouped = true;
	return hl_group_find(value, &q->group) ? HL_OPT_NOT_LISTED : NULL;
}

#define COST_VALUES  "bytes|blocks"
#define TABLE_VALUES "allocations|stacks|frames"

static const char *set_cost(void *state, const char *value)
{
	int i = hl_word_find(COST_VALUES, value);

	((struct hl_web_query *)state)->by_blocks = i == 1;
	return i < 0 ? HL_OPT_NOT_LISTED : NULL;
}

static const char *set_table(void *state, const char *value)
{
	((struct hl_web_query *)state)->table = value;
	return hl_word_find(TABLE_VALUES, value) < 0 ? HL_OPT_NOT_LISTED : NULL;
}

const struct hl_opt hl_web_export_rows[] = {
	{'g', "group",
		"GROUP:stack|function|site|file|module|thread|call|size|life|snapshot|tag|pool",
		"split flame graphs, trees and stacks by GROUP first; csv: the table of report",
		set_group},
	{0, "cost", "COST:" COST_VALUES, "the unit of flame graphs and graphs (default bytes)",
		set_cost},
	{0, "table", "TABLE:" TABLE_VALUES, "the table to write (parquet; default allocations)",
		set_table},
	{0},
};

static int refuse(struct hl_web_query *q, const char *text)
{
	snprintf(q->error, sizeof(q->error), "%s", text);
	return -EINVAL;
}

/* Refuses requests that the format cannot represent. */
static int check_format(struct hl_web_query *q)
{
	const struct hl_export_format *f = q->format;
	const struct hl_request *r = &q->request;

	if (f->whole_run && (r->quantity_option.option || r->range_option.option))
		return refuse(q, "this format shows the whole run: use filter");
	if (r->pool && f->heap_only)
		return refuse(q, "this format shows the heap over time: pool does not apply");
	if (q->grouped && !(f->groups & 1u << q->group))
		return refuse(q, "this format cannot be grouped by that");
	if (q->table && hl_export_find_table(f, q->table) < 0)
		return refuse(q, "only parquet has tables");
	return 0;
}

static int finish_format(struct hl_web_query *q)
{
	struct hl_request_error why = {0};
	int err = hl_request_finish_query(&q->request, &why);

	if (!err && q->grouped)
		err = hl_request_check_group(&q->request, q->group, &why);
	if (!err)
		err = hl_request_finish_filter(&q->request, &why);
	return err ? refuse(q, why.text) : check_format(q);
}

int hl_web_finish_export(struct hl_web_query *q)
{
	q->format = hl_export_find(q->word);
	if (!q->format) {
		q->status = 404;
		return refuse(q, "unknown format; /api/export lists all");
	}
	return finish_format(q);
}

static int write_job(struct hl_web_query *q, struct hl_plan *p, struct hl_export_job *x)
{
	const struct hl_request *r = &q->request;
	int table = q->table ? hl_export_find_table(q->format, q->table) : 0, err;
	struct hl_strbuf title = {0};
	char heading[256];

	x->query = hl_plan_query(p, r->quantity);
	x->own_peak = hl_plan_has_own_peak(p, r->quantity);
	x->quantity_given = r->quantity != HL_REQUEST_DEFAULT;
	x->full_stacks = r->full_stacks;
	x->tables[table] = q->out;
	hl_plan_heading(p, r->quantity, heading, sizeof(heading));
	hl_strbuf_puts(&title, heading);
	if (q->grouped)
		hl_strbuf_printf(&title, ", by %s", hl_group_name(q->group));
	x->title = hl_strbuf_str(&title);
	x->filter_text = hl_strbuf_str(&p->filter_text);
	x->pool = r->pool_name;
	err = hl_request_make_suppressions(r, &x->suppressions);
	if (!err)
		err = hl_export_write(q->format, x);
	hl_suppressions_free(x->suppressions);
	hl_strbuf_fini(&title);
	return err;
}

/* A trace without an order of events is refused by the model, with a better message. */
static bool cannot_weigh(const struct hl_web_query *q)
{
	struct hl_model *m = q->model->m;

	return q->format->unweighted && hl_model_has_event_order(m) &&
	       hl_model_info(m)->totals.samples > 0;
}

static int check_trace(struct hl_web_query *q, struct hl_plan *p)
{
	struct hl_strbuf why = {0};
	int err = 0;

	if (cannot_weigh(q)) {
		q->status = 422;
		err = refuse(
			q, "this format cannot represent sampled data; use pprof, dhat or svg");
	} else if (!hl_plan_has_times(p, &why)) {
		err = refuse(q, hl_strbuf_str(&why));
	}
	hl_strbuf_fini(&why);
	return err;
}

int hl_web_run_export(struct hl_web_query *q)
{
	struct hl_export_job x = {.m = q->model->m,
		.is_first = true,
		.is_last = true,
		.out = q->out,
		.by_blocks = q->by_blocks,
		.grouped = q->grouped,
		.group = q->group};
	struct hl_notes notes = hl_web_notes(q);
	struct hl_request_error why;
	struct hl_plan *p;
	int err = hl_plan_new(&p, &q->request, q->model->m, &notes, &why);

	if (err)
		return refuse(q, why.text);
	err = check_trace(q, p);
	if (!err)
		err = write_job(q, p, &x);
	hl_plan_free(p);
	return err;
}

int hl_web_run_formats(struct hl_web_query *q)
{
	struct hl_json j;

	hl_json_init(&j, q->out);
	hl_json_begin_object(&j);
	hl_json_key_u64(&j, "schema", 1);
	hl_json_key(&j, "formats");
	hl_json_begin_array(&j);
	for (const struct hl_export_format *f = hl_export_formats; f->name; f++) {
		hl_json_begin_object(&j);
		hl_json_key_string(&j, "format", f->name);
		hl_json_key_string(&j, "suffix", f->suffix);
		hl_json_key_string(&j, "viewer", f->viewer);
		hl_json_key_bool(&j, "whole_run", f->whole_run);
		hl_json_end_object(&j);
	}
	hl_json_end_array(&j);
	hl_json_end_object(&j);
	putc('\n', q->out);
	return 0;
}
