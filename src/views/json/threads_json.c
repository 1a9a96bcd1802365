/* SPDX-License-Identifier: Apache-2.0 */
/*
 * threads_json.c - allocations and frees by thread, as JSON.
 */
#include "views/json/json_internal.h"

int hl_json_threads(struct hl_json *j, struct hl_result *r)
{
	const struct hl_threads *t = r->data;

	hl_json_key_u64(j, "from_ns", hl_model_base(r->m)->time_ns);
	hl_json_key(j, "threads");
	hl_json_begin_array(j);
	for (uint32_t i = 0; i < t->n; i++) {
		if (!hl_json_begin_row(j, r->rows, &t->rows[i].allocated))
			continue;
		hl_json_key_u64(j, "thread", i);
		hl_json_key_u64(j, "tid", t->rows[i].tid);
		hl_json_key_string(j, "name", t->rows[i].name);
		hl_json_value(j, "allocated", &t->rows[i].allocated);
		hl_json_value(j, "freed", &t->rows[i].freed);
		hl_json_value(j, "freed_own", &t->rows[i].freed_own);
		hl_json_value(j, "freed_by_others", &t->rows[i].freed_by_others);
		hl_json_value(j, "not_freed", &t->rows[i].not_freed);
		hl_json_end_row(j, r->rows);
	}
	hl_json_end_array(j);
	hl_json_key(j, "freed_by_another");
	hl_json_begin_array(j);
	for (size_t i = 0; i < t->n_pairs; i++) {
		if (!hl_json_begin_row(j, r->rows, NULL))
			continue;
		hl_json_key_u64(j, "allocated_by", t->pairs[i].from);
		hl_json_key_u64(j, "freed_by", t->pairs[i].to);
		hl_json_value(j, "", &t->pairs[i].value);
		hl_json_end_row(j, r->rows);
	}
	hl_json_end_array(j);
	return 0;
}
