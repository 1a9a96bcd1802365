/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tag_json_read.c - reads what tags/tags_json.c writes. A file may contain anything: every number
 * and every reference is checked. Totals are not read but computed again.
 */
#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "model/tags/tag_trees.h"
#include "util/pair_map.h"

static bool get_field(
	struct json_object *o, const char *key, enum json_type type, struct json_object **value)
{
	return json_object_object_get_ex(o, key, value) && json_object_is_type(*value, type);
}

/* More than any program can count, and small enough that sums of many do not overflow. */
#define NUMBER_MAX (INT64_C(1) << 60)

/*
 * A missing number is 0. Numbers of a difference may be negative. Any other value is noted in
 * b->wrong, for read_whole().
 */
static uint64_t read_number_within(
	struct hl_tag_trees *b, struct json_object *o, const char *key, int64_t min, int64_t max)
{
	struct json_object *v;
	int64_t n = 0;

	if (!json_object_object_get_ex(o, key, &v))
		return 0;
	/* json-c returns the nearest int64_t. */
	if (json_object_is_type(v, json_type_int))
		n = json_object_get_int64(v);
	if ((!json_object_is_type(v, json_type_int) || n < min || n > max) && !b->wrong[0])
		snprintf(b->wrong, sizeof(b->wrong), "%s", key);
	return (uint64_t)n;
}

static uint64_t read_number(struct hl_tag_trees *b, struct json_object *o, const char *key)
{
	return read_number_within(b, o, key, b->r.difference ? -NUMBER_MAX : 0, NUMBER_MAX);
}

static uint32_t read_u32(struct hl_tag_trees *b, struct json_object *o, const char *key)
{
	return (uint32_t)read_number_within(b, o, key, 0, UINT32_MAX);
}

static bool read_sums(
	struct hl_tag_trees *b, struct json_object *o, const char *key, struct hl_tag_sums *sums)
{
	struct json_object *v;

	if (!get_field(o, key, json_type_object, &v))
		return false;
	*sums = (struct hl_tag_sums){
		.alloc_bytes = read_number(b, v, "allocated_bytes"),
		.alloc_blocks = read_number(b, v, "allocated_blocks"),
		.free_bytes = read_number(b, v, "freed_bytes"),
		.free_blocks = read_number(b, v, "freed_blocks"),
	};
	return true;
}

static int read_name(
	struct hl_tag_trees *b, struct json_object *o, const char **name, uint32_t *len)
{
	struct json_object *v;
	char *copy;

	if (!get_field(o, "name", json_type_string, &v))
		return -EBADMSG;
	/* A name ends at a NUL, which no written name contains. */
	*len = (uint32_t)strlen(json_object_get_string(v));
	copy = hl_tag_trees_alloc(b, *len + (size_t)1);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, json_object_get_string(v), *len);
	*name = copy;
	return 0;
}

static void read_calls(struct hl_tag_trees *b, struct json_object *o, uint64_t *calls)
{
	static const char *const names[HL_TAG_CALLS] = HL_TAG_CALL_NAMES;
	struct json_object *v;

	for (int i = 0; i < HL_TAG_CALLS && get_field(o, "calls", json_type_object, &v); i++)
		calls[i] = read_number(b, v, names[i]);
}

/* by_id: the scopes of this thread that were read; a parent must be among them. */
static int read_scope(struct hl_tag_trees *b, struct json_object *o, uint32_t thread, uint32_t at,
	struct hl_pair_map *by_id)
{
	struct hl_tag_row *row = &b->r.rows[at];
	struct json_object *v;
	bool root = at == b->r.threads[thread].first;

	if (!json_object_is_type(o, json_type_object) || !read_sums(b, o, "self", &row->self))
		return -EBADMSG;
	row->id = read_u32(b, o, "id");
	row->thread = thread;
	/* null: the data is from a trace, which does not have it. */
	row->entered = json_object_object_get_ex(o, "entered", &v) && !v
			       ? HL_TAG_ENTERED_UNKNOWN
			       : read_number(b, o, "entered");
	row->parent = HL_TAG_NO_ROW;
	read_calls(b, o, row->calls);
	if (!root) {
		row->parent = hl_pair_map_get(by_id, read_u32(b, o, "parent"), thread);
		if (row->parent == HL_PAIR_MAP_NONE)
			return b->wrong[0] ? -ERANGE : -EBADMSG;
	}
	if (hl_pair_map_get(by_id, row->id, thread) != HL_PAIR_MAP_NONE)
		return -EBADMSG;
	if (hl_pair_map_put(by_id, row->id, thread, at))
		return -ENOMEM;
	return read_name(b, o, &row->name, &row->name_len);
}

static int read_thread(struct hl_tag_trees *b, struct json_object *o, uint32_t thread,
	uint32_t *rows, struct hl_pair_map *by_id)
{
	struct hl_tag_thread *t = &b->r.threads[thread];
	struct json_object *scopes;
	int err;

	if (!json_object_is_type(o, json_type_object) ||
		!get_field(o, "scopes", json_type_array, &scopes) ||
		json_object_array_length(scopes) == 0)
		return -EBADMSG;
	err = read_name(b, o, &t->name, &t->name_len);
	t->tid = read_u32(b, o, "tid");
	t->owners = read_number(b, o, "threads");
	t->unbalanced = read_number(b, o, "unbalanced_pops");
	t->failed = read_number(b, o, "failed_pushes");
	read_sums(b, o, "disabled", &t->disabled_sums);
	t->first = *rows;
	t->n = (uint32_t)json_object_array_length(scopes);
	*rows += t->n;
	for (uint32_t i = 0; i < t->n && !err; i++)
		err = read_scope(
			b, json_object_array_get_idx(scopes, i), thread, t->first + i, by_id);
	return err;
}

static uint64_t count_scopes(struct json_object *threads)
{
	uint64_t n = 0;

	for (size_t i = 0; i < json_object_array_length(threads); i++) {
		struct json_object *o = json_object_array_get_idx(threads, i), *scopes;

		if (json_object_is_type(o, json_type_object) &&
			get_field(o, "scopes", json_type_array, &scopes))
			n += json_object_array_length(scopes);
	}
	return n;
}

static int read_threads(struct hl_tag_trees *b, struct json_object *threads)
{
	size_t n = json_object_array_length(threads);
	uint64_t n_rows = count_scopes(threads);
	struct hl_pair_map by_id = {0};
	uint32_t rows = 0;
	int err = 0;

	if (n >= UINT32_MAX || n_rows >= UINT32_MAX)
		return -EBADMSG;
	b->r.threads = hl_tag_trees_alloc(b, (n + 1) * sizeof(*b->r.threads));
	b->r.rows = hl_tag_trees_alloc(b, (n_rows + 1) * sizeof(*b->r.rows));
	if (!b->r.threads || !b->r.rows)
		return -ENOMEM;
	b->r.n_threads = (uint32_t)n;
	b->r.n_rows = (uint32_t)n_rows;
	for (uint32_t i = 0; i < n && !err; i++)
		err = read_thread(b, json_object_array_get_idx(threads, i), i, &rows, &by_id);
	hl_pair_map_fini(&by_id);
	return err;
}

static void read_process(struct hl_tag_trees *b, struct json_object *o)
{
	struct hl_tag_report *r = &b->r;
	struct json_object *v;

	r->charge_owner = get_field(o, "charge", json_type_string, &v) &&
			  !strcmp(json_object_get_string(v), "owner");
	r->pid = read_number(b, o, "pid");
	r->start_s = (int64_t)read_number(b, o, "start");
	r->time_s = (int64_t)read_number(b, o, "time");
	r->before_bytes = read_number(b, o, "before_bytes");
	r->before_freed = read_number(b, o, "before_freed_bytes");
	r->vm_bytes = read_number(b, o, "vm_bytes");
	r->rss_bytes = read_number(b, o, "rss_bytes");
	r->own_bytes = read_number(b, o, "own_bytes");
	r->unsettled = read_number(b, o, "unsettled");
	r->allocator_known = get_field(o, "allocator", json_type_object, &v);
	if (r->allocator_known) {
		r->used_bytes = read_number(b, v, "used_bytes");
		r->free_bytes = read_number(b, v, "free_bytes");
		r->mapped_bytes = read_number(b, v, "mapped_bytes");
	}
}

static int read_whole(struct hl_tag_trees *b, struct json_object *o)
{
	struct json_object *threads, *v;
	int err;

	if (!json_object_is_type(o, json_type_object) ||
		!get_field(o, "heaplapse_tags", json_type_int, &v) ||
		!get_field(o, "threads", json_type_array, &threads))
		return -EBADMSG;
	if (json_object_get_int64(v) != 1)
		return -EPROTO;
	b->r.difference =
		get_field(o, "difference", json_type_boolean, &v) && json_object_get_boolean(v);
	read_process(b, o);
	err = read_threads(b, threads);
	if (!err && b->wrong[0])
		err = -ERANGE;
	if (!err)
		hl_tag_report_finish(&b->r);
	return err;
}

int hl_tag_trees_from_json(struct hl_tag_trees *b, const char *text, size_t len)
{
	struct json_tokener *tok = json_tokener_new();
	struct json_object *o;
	int err;

	if (!tok)
		return -ENOMEM;
	if (len > INT32_MAX - 1) {
		json_tokener_free(tok);
		return -EFBIG;
	}
	o = json_tokener_parse_ex(tok, text, (int)len);
	switch (json_tokener_get_error(tok)) {
	case json_tokener_success:
		err = read_whole(b, o);
		break;
	case json_tokener_continue:
		err = -EPIPE;
		break;
	default:
		err = -EBADMSG;
	}
	json_object_put(o);
	json_tokener_free(tok);
	if (err)
		hl_tag_trees_fini(b);
	return err;
}
