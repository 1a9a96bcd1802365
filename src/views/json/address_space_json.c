/* SPDX-License-Identifier: Apache-2.0 */
/*
 * address_space_json.c - the mappings of the process with the heap's blocks, as JSON.
 */
#include "base/bits.h"
#include "views/json/json_internal.h"

/* Blocks of a damaged trace may overlap. */
static void put_fill(struct hl_json *j, const struct hl_address_row *r)
{
	const struct hl_address_fill *f = r->fill;
	uint64_t size = r->end - r->start;

	hl_json_key(j, "fill");
	if (!f) {
		hl_json_string(j, NULL);
		return;
	}
	hl_json_begin_object(j);
	hl_json_key_u64(j, "step", f->step);
	hl_json_key(j, "bytes");
	hl_json_begin_array(j);
	for (uint64_t i = 0; i < HL_FILL_STEPS && (i == 0 || i * f->step < size); i++)
		hl_json_u64(j, hl_min_u64(f->bytes[i], f->step));
	hl_json_end_array(j);
	hl_json_end_object(j);
}

static void put_mapping(struct hl_json *j, const struct hl_resident_map *map)
{
	if (map)
		hl_json_permissions(j, "permissions", map->perms);
	else
		hl_json_key_string(j, "permissions", NULL);
	hl_json_key_string(j, "name", map ? map->name : NULL);
	hl_json_key_u64_or_null(j, "resident", map ? map->use.rss : UINT64_MAX);
	hl_json_key_u64_or_null(j, "dirty", map ? map->use.dirty : UINT64_MAX);
	hl_json_key_u64_or_null(j, "first_ns", map ? map->first_ns : UINT64_MAX);
	hl_json_key_u64_or_null(j, "last_ns", map ? map->last_ns : UINT64_MAX);
}

static void put_row(struct hl_json *j, const struct hl_address_row *r, struct hl_row_limit *rows)
{
	if (!hl_json_begin_row(j, rows, &r->live))
		return;
	hl_json_key_hex(j, "start", r->start);
	hl_json_key_hex(j, "end", r->end);
	hl_json_key_u64(j, "size", r->end - r->start);
	hl_json_key_u64(j, "gap_before", r->gap_before);
	hl_json_key_u64(j, "cluster", r->cluster);
	put_mapping(j, r->map);
	hl_json_value(j, "live", &r->live);
	hl_json_value(j, "all_live", &r->all);
	hl_json_key_u64_or_null(j, "free_bytes", r->fill ? r->free_bytes : UINT64_MAX);
	hl_json_key_u64_or_null(j, "largest_gap_bytes", r->fill ? r->largest_gap : UINT64_MAX);
	put_fill(j, r);
	hl_json_end_row(j, rows);
}

int hl_json_address_space(struct hl_json *j, struct hl_result *r)
{
	const struct hl_address_space *s = r->data;

	hl_json_key_u64(j, "time_ns", s->time_ns);
	hl_json_value(j, "live", &s->live);
	hl_json_value(j, "all_live", &s->all);
	hl_json_key_u64_or_null(j, "sample_ns", s->has_maps ? s->resident.time_ns : UINT64_MAX);
	hl_json_key_u64_or_null(j, "outside_blocks", s->has_maps ? s->outside_blocks : UINT64_MAX);
	hl_json_key_u64(j, "clusters", s->clusters);
	hl_json_key(j, "ranges");
	hl_json_begin_array(j);
	for (size_t i = 0; i < s->n_rows; i++)
		put_row(j, &s->rows[i], r->rows);
	hl_json_end_array(j);
	return 0;
}
