/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_result.c - renders a result with the renderer of its view.
 */
#include <string.h>

#include "model/query/filter_names.h"
#include "request/filter_check.h"
#include "views/json/json_internal.h"

#define JSON_CHAR_MAX 6 /* "\u001f" */

typedef int render_fn(struct hl_json *j, struct hl_result *r);

#define X(name, renderer, ...) [HL_VIEW_ID_##name] = hl_json_##renderer,
static render_fn *const renderers[HL_VIEW_COUNT] = {HL_VIEWS(X)};
#undef X

/* The rows that the budget left out. Their values are added only if each row has one. */
static void put_truncated(struct hl_json *j, const struct hl_row_limit *l)
{
	const char *option = hl_row_limit_option(l);

	if (!option)
		return;
	hl_json_key(j, "truncated");
	hl_json_begin_object(j);
	hl_json_key_string(j, "by", option + 2);
	hl_json_key_u64(j, "rows_left_out", l->omitted);
	if (!l->no_values) {
		hl_json_key_u64(j, "bytes_left_out", l->omitted_value.bytes);
		hl_json_key_u64(j, "blocks_left_out", l->omitted_value.blocks);
	}
	hl_json_end_object(j);
}

/* The functions that were treated as allocation wrappers, when the answer needed sites. */
static void put_wrappers(struct hl_json *j, const struct hl_result *r)
{
	size_t bytes = 0;

	if (!hl_plan_part_shows_names(&r->part))
		return;
	for (size_t i = 0; i < hl_model_n_wrappers(r->m); i++)
		bytes += JSON_CHAR_MAX * strlen(hl_model_wrapper(r->m, i)) + 3;
	if (!hl_row_fits(r->rows, j->out, bytes + sizeof(",\"wrappers\":[]")))
		return;
	hl_json_key(j, "wrappers");
	hl_json_begin_array(j);
	for (size_t i = 0; i < hl_model_n_wrappers(r->m); i++)
		hl_json_string(j, hl_model_wrapper(r->m, i));
	hl_json_end_array(j);
}

int hl_json_result(struct hl_json *j, struct hl_result *r)
{
	const struct hl_plan *p = r->plan;
	int err;

	if (p->filter_text.len)
		hl_json_key_string(j, "filter", hl_strbuf_str(&p->filter_text));
	if (p->request->pool_name)
		hl_json_key_string(j, "pool", p->request->pool_name);
	/* With a filter there are two peaks. */
	if (r->about_peak)
		hl_json_key_string(j, "peak_of",
			hl_plan_has_own_peak(p, r->part.quantity) ? "filter" : "heap");
	if (r->about_peak && hl_plan_peak_since(p, r->part.quantity))
		hl_json_key_u64(j, "peak_since_ns", hl_plan_peak_since(p, r->part.quantity));
	hl_row_limit_reset(r->rows);
	put_wrappers(j, r); /* before the rows, which take the rest of a limit of bytes */
	err = renderers[r->part.view->id](j, r);
	if (!err && r->suppressions)
		hl_json_suppressed(j, r->suppressions, r->rows);
	put_truncated(j, r->rows);
	if (r->late)
		hl_json_key_string(j, "late", r->late);
	return err;
}

void hl_json_unmatched_term(struct hl_json *j, const struct hl_unmatched_term *t)
{
	hl_json_begin_object(j);
	hl_json_key_string(j, "term", t->text);
	hl_json_key(j, "similar");
	hl_json_begin_array(j);
	for (size_t i = 0; i < t->n_similar; i++)
		hl_json_string(j, t->similar[i]);
	hl_json_end_array(j);
	hl_json_end_object(j);
}

void hl_json_filter_check(struct hl_json *j, const struct hl_filter_check *c)
{
	if (c->unmatched.len > 0) {
		hl_json_key(j, "unmatched");
		hl_json_begin_array(j);
		for (size_t i = 0; i < c->unmatched.len; i++)
			hl_json_unmatched_term(j, &c->unmatched.data[i]);
		hl_json_end_array(j);
	}
	if (c->useless)
		hl_json_key_string(j, "matches_no_block", c->useless);
	if (c->contradicts)
		hl_json_key_bool(j, "terms_exclude_each_other", true);
}

int hl_json_process(struct hl_json *j, struct hl_result *r)
{
	hl_json_answer(j, &((const struct hl_process_result *)r->data)->answer);
	return 0;
}
