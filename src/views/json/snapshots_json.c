/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snapshots_json.c - a tree or a table for each snapshot, as JSON.
 */
#include "views/json/json_internal.h"

static int json_snapshot(struct hl_json *j, struct hl_model *m, bool grouped,
	const struct hl_snapshot_result *s, struct hl_row_limit *rows)
{
	int err;

	hl_json_begin_object(j);
	hl_json_key_u64(j, "snapshot", s->number);
	hl_json_key_string(j, "name", s->moment->label);
	hl_json_key_string(j, "cause", hl_snapshot_cause_name(s->moment->cause));
	if (s->growth)
		hl_json_key_u64_or_null(j, "since_snapshot", s->since_base ? UINT64_MAX : s->since);
	err = grouped ? hl_json_put_table(j, m, &s->table, s->max_rows, rows)
		      : hl_json_put_tree(j, m, &s->tree, rows);
	if (!err && s->growth) {
		hl_json_key_u64(j, "live_bytes_before", s->live_before.bytes);
		hl_json_key_u64(j, "live_bytes", s->live.bytes);
		hl_json_key_u64(j, "freed_bytes",
			s->live_before.bytes + s->answer->total.bytes - s->live.bytes);
	}
	hl_json_end_object(j);
	return err;
}

int hl_json_snapshots(struct hl_json *j, struct hl_result *r)
{
	struct hl_snapshots_result *x = r->data;
	const struct hl_snapshot_result *s;
	int err = 0, failed = 0;

	hl_json_key(j, "snapshots");
	hl_json_begin_array(j);
	while (!failed && (s = hl_snapshots_next(x, &err)) != NULL) {
		r->before_damage |= s->answer->before_damage;
		failed = json_snapshot(j, r->m, x->grouped, s, r->rows);
	}
	hl_json_end_array(j);
	if (failed || err)
		return failed ? failed : err;
	hl_json_key_u64(j, "snapshots_left_out", x->all - x->n);
	return 0;
}
