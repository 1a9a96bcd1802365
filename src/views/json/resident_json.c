/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resident_json.c - the memory of the whole process by mapping, as JSON.
 */
#include <stdlib.h>

#include "views/json/json_internal.h"

static void put_use(struct hl_json *j, const struct hl_resident_use *u)
{
	hl_json_key_u64(j, "size", u->size);
	hl_json_key_u64(j, "resident", u->rss);
	hl_json_key_u64(j, "anonymous", u->anonymous);
	hl_json_key_u64(j, "dirty", u->dirty);
	hl_json_key_u64(j, "clean", u->clean);
	hl_json_key_u64(j, "swap", u->swap);
}

static void put_group(struct hl_json *j, const struct hl_resident_group *g, unsigned first_known)
{
	hl_json_key_string(j, "name", g->name);
	hl_json_key_string(j, "kind", hl_resident_kind_name(g->kind));
	hl_json_key_u64(j, "mappings", g->maps);
	put_use(j, &g->use);
	hl_json_key_u64(j, "peak_resident", g->peak_rss);
	hl_json_key_u64(j, "peak_ns", g->peak_ns);
	hl_json_key_u64(j, "first_ns", g->first_ns);
	hl_json_key_u64(j, "last_ns", g->last_ns);
	hl_json_key(j, "trend");
	hl_json_begin_array(j);
	for (unsigned i = 0; i < HL_RESIDENT_POINTS; i++)
		if (i < first_known)
			hl_json_string(j, NULL);
		else
			hl_json_u64(j, g->trend[i]);
	hl_json_end_array(j);
}

static void put_groups(struct hl_json *j, struct hl_result *r, const struct hl_resident *x)
{
	hl_json_key(j, "groups");
	hl_json_begin_array(j);
	for (size_t i = 0; i < x->n_groups; i++) {
		const struct hl_value value = {
			.bytes = x->groups[i].use.rss, .blocks = x->groups[i].maps};

		if (!hl_json_begin_row(j, r->rows, &value))
			continue;
		put_group(j, &x->groups[i], x->first_known);
		hl_json_end_row(j, r->rows);
	}
	hl_json_end_array(j);
}

static void put_mappings(struct hl_json *j, struct hl_result *r, const struct hl_resident *x)
{
	hl_json_key(j, "mappings");
	hl_json_begin_array(j);
	for (size_t i = 0; i < x->n_maps; i++) {
		const struct hl_resident_map *m = &x->maps[i];
		const struct hl_value value = {.bytes = m->use.rss, .blocks = 1};

		if (!hl_json_begin_row(j, r->rows, &value))
			continue;
		hl_json_key_hex(j, "address", m->start);
		hl_json_permissions(j, "protection", m->perms);
		hl_json_key_u64(j, "offset", m->offset);
		hl_json_key_string(j, "name", m->name);
		put_use(j, &m->use);
		hl_json_key_u64(j, "peak_resident", m->peak_rss);
		hl_json_key_u64(j, "first_ns", m->first_ns);
		hl_json_key_u64(j, "last_ns", m->last_ns);
		hl_json_end_row(j, r->rows);
	}
	hl_json_end_array(j);
}

static void put_columns(struct hl_json *j, const struct hl_resident_result *x)
{
	hl_json_key(j, "columns");
	hl_json_begin_array(j);
	for (size_t i = 0; i < x->n_points; i++) {
		if (!x->points[i].known) {
			hl_json_string(j, NULL);
			continue;
		}
		hl_json_begin_object(j);
		put_use(j, &x->points[i].use);
		hl_json_end_object(j);
	}
	hl_json_end_array(j);
}

int hl_json_resident(struct hl_json *j, struct hl_result *r)
{
	const struct hl_resident_result *result = r->data;
	const struct hl_resident *x = &result->resident;

	hl_json_key_u64(j, "time_ns", result->moment_ns);
	hl_json_key_u64(j, "sample_ns", x->time_ns);
	hl_json_key_u64(j, "sample_read_ns", x->read_ns);
	hl_json_key_u64(j, "samples", x->n_samples);
	hl_json_key_u64(j, "first_sample_ns", x->first_sample_ns);
	hl_json_key_u64(j, "last_sample_ns", x->last_sample_ns);
	hl_json_key(j, "total");
	hl_json_begin_object(j);
	put_use(j, &x->use);
	hl_json_key_u64(j, "mappings", x->n_maps);
	hl_json_end_object(j);
	hl_json_key_u64(j, "peak_resident", x->peak_rss);
	hl_json_key_u64(j, "peak_ns", x->peak_ns);
	hl_json_key_u64(j, "groups_gone", x->groups_gone);
	put_columns(j, result);
	put_groups(j, r, x);
	put_mappings(j, r, x);
	return 0;
}
