/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mmaps_json.c - the mappings that the program made itself, as JSON.
 */

#include "views/json/json_internal.h"

struct json_context {
	struct hl_json *j;
	struct hl_model *m;
	struct hl_row_limit *rows;
};

static void put_time(struct hl_json *j, const char *key, uint64_t v, bool known)
{
	hl_json_key(j, key);
	if (known)
		hl_json_u64(j, v);
	else
		hl_json_string(j, NULL);
}

static int put_mapping(void *arg, const struct hl_mapping *map)
{
	struct json_context *w = arg;
	struct hl_json *j = w->j;
	bool ended = map->unmapped_ns != UINT64_MAX;
	struct hl_mapping_text words;
	int err;

	const struct hl_value value = {.bytes = map->size, .blocks = 1};

	if (!hl_json_begin_row(j, w->rows, &value))
		return 0;
	hl_mapping_text_init(&words, map);
	hl_json_key_u64(j, "id", map->id);
	hl_json_key_hex(j, "address", map->addr);
	hl_json_key_u64(j, "size", map->size);
	hl_json_key_string(j, "protection", words.prot);
	hl_json_key_string(j, "flags", words.flags);
	hl_json_key_u64(j, "mapped_ns", map->mapped_ns);
	put_time(j, "unmapped_ns", map->unmapped_ns, ended);
	put_time(j, "lifetime_ns", map->unmapped_ns - map->mapped_ns, ended);
	hl_json_key_u64(j, "left_bytes", map->mapped_bytes);
	hl_json_key_u64(
		j, "partial_unmaps", map->partial_unmaps - (ended && map->partial_unmaps > 0));
	hl_json_key_u64(j, "remaps", map->remaps);
	hl_json_key_hex(j, "last_address", map->last_addr);
	hl_json_key_u64(j, "last_size", map->last_size);
	hl_json_key_bool(j, "replaced", map->replaced);
	hl_json_key_u64(j, "thread", map->thread);
	put_time(j, "unmapped_by", map->end_thread, ended);
	hl_json_key(j, "stack");
	err = hl_json_stack(j, w->m, map->node);
	hl_json_key(j, "unmap_stack");
	if (!err)
		err = hl_json_stack(j, w->m, map->end_node);
	hl_json_end_row(j, w->rows);
	hl_mapping_text_fini(&words);
	return err;
}

int hl_json_mmaps(struct hl_json *j, struct hl_result *r)
{
	struct hl_mappings *x = &((struct hl_mmaps_result *)r->data)->all;
	struct json_context w = {j, r->m, r->rows};
	int err;

	x->on_mapping = put_mapping;
	x->arg = &w;
	hl_json_key(j, "mmaps");
	hl_json_begin_array(j);
	err = hl_model_mappings(r->m, x);
	r->before_damage |= x->before_damage;
	x->arg = NULL; /* the context ends with this function */
	hl_json_end_array(j);
	if (err)
		return err; /* the sums are not complete */
	hl_json_key_u64(j, "mappings", x->n);
	hl_json_key_u64(j, "bytes", x->bytes);
	hl_json_key_u64(j, "left_mappings", x->n_left);
	hl_json_key_u64(j, "left_bytes", x->left_bytes);
	hl_json_key_u64(j, "peak_bytes", x->peak_bytes);
	hl_json_key_u64(j, "peak_ns", x->peak_ns);
	hl_json_key_u64(j, "end_ns", x->end_ns);
	return 0;
}
