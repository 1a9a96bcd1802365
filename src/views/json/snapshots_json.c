/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snapshots_json.c - a tree for each snapshot, as JSON.
 */
#include "views/json/json_internal.h"

static int json_snapshot(struct hl_json *j, struct hl_model *m, const struct hl_snapshot_result *s)
{
	int err;

	hl_json_begin_object(j);
	hl_json_key_u64(j, "snapshot", s->to);
	hl_json_key_string(j, "name", s->moment->label);
	hl_json_key_string(j, "cause", hl_snapshot_cause_name(s->moment->cause));
	if (s->growth)
		hl_json_key_u64(j, "since_snapshot", s->from);
	err = hl_json_put_tree(j, m, &s->tree);
	if (!err && s->growth) {
		hl_json_key_u64(j, "live_bytes_before", s->live_before.bytes);
		hl_json_key_u64(j, "live_bytes", s->live.bytes);
		hl_json_key_u64(j, "freed_bytes",
			s->live_before.bytes + s->tree.answer.total.bytes - s->live.bytes);
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
		r->before_damage |= s->tree.answer.before_damage;
		failed = json_snapshot(j, r->m, s);
	}
	hl_json_end_array(j);
	hl_json_key_u64(j, "snapshots_left_out", x->all - x->n);
	return failed ? failed : err;
}
