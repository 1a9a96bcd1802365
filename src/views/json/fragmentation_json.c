/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fragmentation_json.c - how full the heap's pages are, as JSON.
 */
#include "views/json/json_internal.h"

int hl_json_fragmentation(struct hl_json *j, struct hl_result *r)
{
	const struct hl_fragmentation *f = r->data;
	struct hl_model *m = r->m;

	hl_json_key_u64(j, "time_ns", f->time_ns);
	hl_json_value(j, "live", &f->live);
	hl_json_value(j, "all_live", &f->all);
	hl_json_key_u64(j, "page_bytes", HL_PAGE_BYTES);
	hl_json_key_u64(j, "pages", f->pages);
	hl_json_key_u64(j, "regions", f->regions);
	hl_json_key_u64(j, "mapped_bytes_at_least", f->span_bytes);
	hl_json_key(j, "resident_bytes");
	if (f->has_rss)
		hl_json_u64(j, f->rss_bytes);
	else
		hl_json_string(j, NULL);
	hl_json_key_u64(j, "largest_gap_bytes", f->largest_gap);
	hl_json_key_u64(j, "sparse_below_bytes", HL_SPARSE_BYTES);
	hl_json_key_u64(j, "sparse_pages", f->sparse_pages);
	hl_json_key_u64(j, "sparse_bytes", f->sparse_bytes);
	hl_json_key(j, "holders");
	hl_json_begin_array(j);
	for (size_t i = 0; i < f->n_holders; i++) {
		if (!hl_json_begin_row(j, r->rows, &f->holders[i].value))
			continue;
		hl_json_frame(j, hl_model_frame(m, f->holders[i].frame));
		hl_json_key_u64(j, "pages", f->holders[i].pages);
		hl_json_value(j, "", &f->holders[i].value);
		hl_json_end_row(j, r->rows);
	}
	hl_json_end_array(j);
	return 0;
}
