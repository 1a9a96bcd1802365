/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table_json.c - flat tables and lists of sites, as JSON.
 */
#include "model/tags/roles.h"
#include "views/json/json_internal.h"

static void json_stat(struct hl_json *j, const struct hl_site_stat *s)
{
	hl_json_key_u64(j, "freed_blocks", s->freed);
	hl_json_key_u64_or_null(j, "median_lifetime_ns", s->median_ns);
	hl_json_key(j, "live_bytes_over_time");
	hl_json_begin_array(j);
	for (unsigned k = 0; k < HL_SPARK_POINTS; k++) {
		if (k < s->first_point)
			hl_json_string(j, NULL);
		else
			hl_json_u64(j, s->live[k]);
	}
	hl_json_end_array(j);
}

/* The bounds of a size or lifetime class; null if there is none. */
static void json_bounds(struct hl_json *j, const struct hl_table *t, const struct hl_table_row *r)
{
	bool size = t->group == HL_GROUP_SIZE;

	hl_json_key_u64_or_null(j, size ? "from_bytes" : "from_ns", r->lo);
	hl_json_key_u64_or_null(j, size ? "below_bytes" : "below_ns", r->hi);
}

/* thread_name is null for a thread without a name. */
static void json_thread(struct hl_json *j, struct hl_model *m, uint32_t thread)
{
	hl_json_key_u64(j, "thread", thread);
	hl_json_key_string(j, "thread_name", hl_model_thread_name(m, thread));
}

/* As a member of its own, which is the same in rows of stacks everywhere. */
static void json_site(struct hl_json *j, const struct hl_frame *f)
{
	hl_json_key(j, "site");
	hl_json_begin_object(j);
	hl_json_frame(j, f);
	hl_json_end_object(j);
}

void hl_json_row_identity(struct hl_json *j, struct hl_model *m, const struct hl_table *t,
	const struct hl_table_row *r)
{
	if (r->frame != HL_NODE_NONE)
		hl_json_frame(j, hl_model_frame(m, r->frame));
	if (t->group == HL_GROUP_STACK)
		json_site(j, hl_model_frame(m, r->frame));
	if (t->group == HL_GROUP_SIZE || t->group == HL_GROUP_LIFETIME)
		json_bounds(j, t, r);
	if (t->group == HL_GROUP_THREAD)
		json_thread(j, m, r->key);
}

int hl_json_put_table(struct hl_json *j, struct hl_model *m, const struct hl_table_result *x,
	size_t max_rows, struct hl_row_limit *rows)
{
	const struct hl_table *t = &x->table;
	size_t n = max_rows && max_rows < t->n ? max_rows : t->n;

	hl_json_answer(j, &x->answer);
	hl_json_key_string(j, "group", hl_group_name(t->group));
	hl_json_key(j, "rows");
	hl_json_begin_array(j);
	for (size_t i = 0; i < n; i++) {
		const struct hl_table_row *r = &t->rows[i];

		if (!hl_json_begin_row(j, rows, &r->value))
			continue;
		hl_json_key_string(j, "name", r->name);
		hl_json_value(j, "", &r->value);
		hl_json_row_identity(j, m, t, r);
		if (x->stats && i < x->n_stats)
			json_stat(j, &x->stats[i]);
		hl_json_end_row(j, rows);
	}
	hl_json_end_array(j);
	if (max_rows)
		hl_json_key_u64(j, "rows_left_out", t->n - n);
	return 0;
}

int hl_json_table(struct hl_json *j, struct hl_result *r)
{
	return hl_json_put_table(j, r->m, r->data, 0, r->rows);
}
