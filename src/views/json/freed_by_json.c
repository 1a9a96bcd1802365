/* SPDX-License-Identifier: Apache-2.0 */
/*
 * freed_by_json.c - which sites free the blocks of each site, as JSON.
 */
#include "views/json/json_internal.h"

static void json_freeing(struct hl_json *j, struct hl_model *m, const struct hl_freeing *f)
{
	hl_json_begin_object(j);
	hl_json_key_string(j, "ended_by", hl_free_kind_name(f->kind));
	if (f->frame != HL_NODE_NONE)
		hl_json_frame(j, hl_model_frame(m, f->frame));
	hl_json_value(j, "", &f->value);
	hl_json_end_object(j);
}

int hl_json_freed_by(struct hl_json *j, struct hl_result *r)
{
	const struct hl_freed_by *f = r->data;
	struct hl_model *m = r->m;

	hl_json_answer(j, &f->answer);
	hl_json_key(j, "sites");
	hl_json_begin_array(j);
	for (size_t i = 0; i < f->n_sites; i++) {
		const struct hl_freed_site *s = &f->sites[i];

		if (!hl_json_begin_row(j, r->rows, &s->value))
			continue;
		hl_json_frame(j, hl_model_frame(m, s->frame));
		hl_json_value(j, "", &s->value);
		hl_json_key(j, "freed_by");
		hl_json_begin_array(j);
		for (size_t k = 0; k < s->n; k++)
			json_freeing(j, m, &f->freeings[s->first + k]);
		hl_json_end_array(j);
		hl_json_end_row(j, r->rows);
	}
	hl_json_end_array(j);
	return 0;
}
