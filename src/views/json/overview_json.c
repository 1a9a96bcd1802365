/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_json.c - the most important facts of a trace, as JSON.
 */
#include "model/overview/verdicts.h"
#include "model/totals/short_lived.h"
#include "model/views/interpreter.h"
#include "util/safe_text.h"
#include "views/json/json_internal.h"

static void key_null(struct hl_json *j, const char *key)
{
	hl_json_key(j, key);
	hl_json_string(j, NULL);
}

/* "known", "not known" or "left out" */
static const char *state_name(enum hl_overview_state state)
{
	static const char *const names[] = {"known", "not known", "left out"};

	return names[state];
}

static void json_headline(struct hl_json *j, struct hl_model *m, const struct hl_overview *o)
{
	char bound[HL_TEXT_SIZE_MAX];

	hl_json_key_u64(j, "duration_ns", hl_model_end_ns(m));
	if (o->estimated)
		hl_json_key_bool(j, "estimated", true);
	if (o->peak_state == HL_OVERVIEW_KNOWN) {
		hl_json_value(j, "peak", &o->peak);
		hl_json_key_u64(j, "peak_time_ns", o->peak_ns);
		if (o->peak_since_ns)
			hl_json_key_u64(j, "peak_since_ns", o->peak_since_ns);
	} else {
		key_null(j, "peak_bytes");
	}
	hl_json_value(j, "end", &o->at_end);
	hl_json_key_bool(j, "end_is_leaked", o->leaked);
	hl_json_value(j, "suppressed", &o->suppressed);
	hl_json_value(j, "allocated", &o->allocated);
	hl_json_key_string(j, "short_lived", state_name(o->short_state));
	if (o->short_state == HL_OVERVIEW_KNOWN) {
		hl_json_key_u64(j, "short_lived_below_ns", o->short_bound_ns);
		hl_json_key_string(j, "short_lived_below",
			hl_short_lived_bound_text(bound, o->short_bound_ns));
		hl_json_key_u64(j, "short_lived_blocks", o->short_blocks);
		hl_json_key_u64(j, "short_lived_of_blocks", o->short_of);
	}
	if (!o->has_rss) {
		key_null(j, "resident_bytes");
		return;
	}
	hl_json_key_u64(j, "resident_bytes", o->rss_bytes);
	hl_json_key_u64(j, "resident_time_ns", o->rss_ns);
	if (o->has_rss_live)
		hl_json_key_u64(j, "resident_live_bytes", o->rss_live_bytes);
	else
		key_null(j, "resident_live_bytes");
}

static void json_numbers(struct hl_json *j, const struct hl_overview_verdict *v)
{
	switch (v->kind) {
	case HL_VERDICT_GROWING:
		hl_json_key_u64(j, "bytes_per_second", (uint64_t)v->bytes_per_s);
		hl_json_key_u64(j, "r2_percent", (uint64_t)(v->r2 * 100));
		hl_json_key_u64(j, "from_ns", v->from_ns);
		hl_json_key_u64(j, "to_ns", v->to_ns);
		break;
	case HL_VERDICT_SHORT_LIVED:
		hl_json_key_u64(j, "below_ns", v->bound_ns);
		hl_json_key_percent(j, "percent", v->percent);
		hl_json_key_percent(j, "site_percent", v->site_percent);
		hl_json_key_u64(j, "blocks", v->blocks);
		break;
	case HL_VERDICT_ALLOCATED:
		hl_json_key_u64(j, "allocated_bytes", v->bytes);
		hl_json_key_u64(j, "peak_bytes", v->peak_bytes);
		hl_json_key_percent(j, "site_percent", v->site_percent);
		break;
	case HL_VERDICT_SPARSE_PAGES:
		hl_json_key_u64(j, "used_below_percent", v->page_use_percent);
		hl_json_key_u64(j, "page_bytes", v->page_bytes);
		hl_json_key_u64(j, "live_bytes", v->page_used_bytes);
		hl_json_key_percent(j, "percent", v->percent);
		break;
	}
}

static void json_verdict(struct hl_json *j, struct hl_model *m, const struct hl_overview_verdict *v,
	const struct hl_request *request)
{
	struct hl_strbuf b = {0};

	hl_json_key_string(j, "kind", hl_verdict_kind_name(v->kind));
	hl_verdict_put(&b, m, v);
	hl_json_key_string(j, "text", hl_strbuf_str(&b));
	hl_strbuf_reset(&b);
	hl_verdict_put_options(&b, v);
	if (b.len > 0)
		hl_request_put_options(request, &b);
	hl_json_key_string(j, "options", b.len > 0 ? hl_strbuf_str(&b) : NULL);
	hl_strbuf_fini(&b);
	json_numbers(j, v);
	if (v->frame != HL_NODE_NONE)
		hl_json_frame(j, hl_model_frame(m, v->frame));
}

static void json_verdicts(struct hl_json *j, const struct hl_result *r, const struct hl_overview *o)
{
	hl_json_key(j, "verdicts");
	hl_json_begin_array(j);
	for (size_t i = 0; i < o->n_verdicts; i++) {
		if (!hl_json_begin_row(j, r->rows, NULL))
			continue;
		json_verdict(j, r->m, &o->verdicts[i], r->plan->request);
		hl_json_end_row(j, r->rows);
	}
	hl_json_end_array(j);
}

static void json_series(struct hl_json *j, const char *key, const uint64_t *v)
{
	hl_json_key(j, key);
	hl_json_begin_array(j);
	for (unsigned k = 0; k < HL_OVERVIEW_POINTS; k++)
		hl_json_u64(j, v[k]);
	hl_json_end_array(j);
}

static void json_site(struct hl_json *j, struct hl_model *m, const struct hl_overview *o,
	const struct hl_overview_site *s, const struct hl_value *v)
{
	hl_json_value(j, "", v);
	hl_json_frame(j, hl_model_frame(m, s->frame));
	if (o->short_sites_state == HL_OVERVIEW_KNOWN)
		hl_json_key_u64(j, "short_lived_blocks", s->short_blocks);
	hl_json_key_u64(j, "allocated_blocks", s->allocated.blocks);
	if (o->trend_state != HL_OVERVIEW_KNOWN)
		return;
	json_series(j, "live_bytes_over_time", s->trend->live);
	json_series(j, "allocated_blocks_over_time", s->trend->allocs);
}

static void json_caller(struct hl_json *j, struct hl_model *m, const struct hl_overview_caller *c)
{
	hl_json_key(j, "caller");
	if (c->frame == HL_NODE_NONE) {
		hl_json_string(j, NULL);
		return;
	}
	hl_json_begin_object(j);
	hl_json_key_percent(j, "percent", c->percent);
	hl_json_frame(j, hl_model_frame(m, c->frame));
	hl_json_end_object(j);
}

static void json_list(struct hl_json *j, struct hl_result *r, enum hl_overview_list_id id)
{
	const struct hl_overview *o = &((const struct hl_overview_result *)r->data)->overview;
	const struct hl_overview_list *l = &o->lists[id];

	hl_json_key(j, hl_overview_list_name(id));
	hl_json_begin_object(j);
	hl_json_key_string(j, "state", state_name(l->state));
	hl_json_value(j, "total", &l->total);
	hl_json_key_u64(j, "sites", l->all);
	hl_json_key(j, "rows");
	hl_json_begin_array(j);
	for (size_t i = 0; i < l->n; i++) {
		const struct hl_overview_site *s = &o->sites[l->sites[i]];
		const struct hl_value *v = hl_overview_site_value(s, id);

		/* Bytes held, left, grown and churned have no sum. */
		if (!hl_json_begin_row(j, r->rows, NULL))
			continue;
		json_site(j, r->m, o, s, v);
		if (l->callers)
			json_caller(j, r->m, &l->callers[i]);
		hl_json_end_row(j, r->rows);
	}
	hl_json_end_array(j);
	hl_json_end_object(j);
}

static void json_timeline(struct hl_json *j, struct hl_model *m, const struct hl_overview *o)
{
	struct hl_time_range all = hl_time_range_all(m);
	bool known = o->timeline_state == HL_OVERVIEW_KNOWN;

	hl_json_key(j, "columns");
	hl_json_timeline_columns(j, &all, o->columns, known ? o->n_columns : 0);
}

/* It is optional: a damaged file has none. */
static void json_interpreter(struct hl_json *j, struct hl_model *m)
{
	struct hl_interpreter_found found;
	struct hl_strbuf b = {0};

	if (hl_interpreter_find(m, &found) || !found.is)
		return;
	hl_interpreter_put(&b, &found);
	hl_json_key_string(j, "interpreter", hl_strbuf_str(&b));
	hl_strbuf_fini(&b);
}

int hl_json_overview(struct hl_json *j, struct hl_result *r)
{
	const struct hl_overview_result *x = r->data;
	const struct hl_overview *o = &x->overview;
	const struct hl_mark *marks;
	size_t n_marks;
	int err = hl_model_marks(r->m, &marks, &n_marks);

	if (err)
		return err;
	json_headline(j, r->m, o);
	json_interpreter(j, r->m);
	json_verdicts(j, r, o);
	json_timeline(j, r->m, o);
	hl_json_key_string(j, "trends", state_name(o->trend_state));
	if (o->trend_state == HL_OVERVIEW_KNOWN)
		json_series(j, "trend_times_ns", o->times);
	for (int i = 0; i < HL_OVERVIEW_LISTS; i++)
		json_list(j, r, i);
	/* After the lists, which get the rows of --max-rows first, as in text. */
	hl_json_marks(j, marks, n_marks, r->rows);
	return 0;
}
