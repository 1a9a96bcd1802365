/* SPDX-License-Identifier: Apache-2.0 */
/*
 * curves_json.c - live bytes over time of the rows of a table, as JSON.
 */
#include "model/views/marks.h"
#include "views/json/json_internal.h"

/* null: not known. */
static void put_values(
	struct hl_json *j, const char *key, const struct hl_group_curves *c, const uint64_t *values)
{
	hl_json_key(j, key);
	hl_json_begin_array(j);
	for (size_t k = 0; k < c->n_points; k++) {
		if (c->known[k])
			hl_json_u64(j, values[k]);
		else
			hl_json_string(j, NULL);
	}
	hl_json_end_array(j);
}

static void put_moments(struct hl_json *j, const struct hl_group_curves *c)
{
	hl_json_key(j, "moments_ns");
	hl_json_begin_array(j);
	for (size_t k = 0; k < c->n_points; k++)
		hl_json_u64(j, c->times[k]);
	hl_json_end_array(j);
	put_values(j, "total_live_bytes", c, c->total);
}

static void put_rows(struct hl_json *j, struct hl_result *r, const struct hl_group_curves *c)
{
	hl_json_key(j, "rows");
	hl_json_begin_array(j);
	for (size_t i = 0; i < c->table.n; i++) {
		const struct hl_table_row *row = &c->table.rows[i];

		if (!hl_json_begin_row(j, r->rows, NULL))
			continue;
		hl_json_key_string(j, "name", row->name);
		hl_json_key_u64(j, "max_live_bytes", row->value.bytes);
		hl_json_row_identity(j, r->m, &c->table, row);
		put_values(j, "live_bytes", c, c->live + i * c->n_points);
		hl_json_end_row(j, r->rows);
	}
	hl_json_end_array(j);
}

int hl_json_curves(struct hl_json *j, struct hl_result *r)
{
	const struct hl_curves_result *x = r->data;
	const struct hl_group_curves *c = &x->curves;

	hl_json_key_string(j, "group", hl_group_name(c->table.group));
	hl_json_key_u64(j, "duration_ns", hl_model_end_ns(r->m));
	hl_json_key_u64(j, "from_ns", c->range.from_ns);
	hl_json_key_u64(j, "to_ns", c->range.to_ns);
	if (x->estimated)
		hl_json_key_bool(j, "estimated", true);
	if (c->before_damage)
		hl_json_key_bool(j, "before_damage", true);
	put_moments(j, c);
	hl_json_key(j, "others");
	hl_json_begin_object(j);
	hl_json_key_u64(j, "rows", c->n_others);
	put_values(j, "live_bytes", c, c->others);
	hl_json_end_object(j);
	put_rows(j, r, c);
	hl_json_marks(j, x->marks, x->n_marks, r->rows);
	return 0;
}
