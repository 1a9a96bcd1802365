/*
 * tags_json.c - reads what tags/json.c writes. A file may hold anything: every number and every
 * reference is checked. Totals are not read but added up again.
 */
#include <errno.h>
#include <json-c/json.h>
#include <string.h>

#include "model/tag_book.h"
#include "util/map.h"

static bool get(
	struct json_object *o, const char *key, enum json_type type, struct json_object **value)
{
	return json_object_object_get_ex(o, key, value) && json_object_is_type(*value, type);
}

/* A number that is not there is 0; those of a difference may be below it. */
static uint64_t number(struct json_object *o, const char *key)
{
	struct json_object *v;

	return get(o, key, json_type_int, &v) ? (uint64_t)json_object_get_int64(v) : 0;
}

static bool read_sums(struct json_object *o, const char *key, struct hl_tag_sums *sums)
{
	struct json_object *v;

	if (!get(o, key, json_type_object, &v))
		return false;
	*sums = (struct hl_tag_sums){
		.alloc_bytes = number(v, "allocated_bytes"),
		.alloc_blocks = number(v, "allocated_blocks"),
		.free_bytes = number(v, "freed_bytes"),
		.free_blocks = number(v, "freed_blocks"),
	};
	return true;
}

static int read_name(struct hl_tag_book *b, struct json_object *o, const char **name, uint32_t *len)
{
	struct json_object *v;
	char *copy;

	if (!get(o, "name", json_type_string, &v))
		return -EBADMSG;
	/* A name ends at a NUL, which no name that was written can hold. */
	*len = (uint32_t)strlen(json_object_get_string(v));
	copy = hl_tag_book_more(b, *len + (size_t)1);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, json_object_get_string(v), *len);
	*name = copy;
	return 0;
}

static void read_calls(struct json_object *o, uint64_t *calls)
{
	static const char *const names[HL_TAG_CALLS] = HL_TAG_CALL_NAMES;
	struct json_object *v;

	for (int i = 0; i < HL_TAG_CALLS && get(o, "calls", json_type_object, &v); i++)
		calls[i] = number(v, names[i]);
}

/* by_id: what has been read of this thread; a parent must be among them. */
static int read_scope(struct hl_tag_book *b, struct json_object *o, uint32_t thread, uint32_t at,
	struct hl_map *by_id)
{
	struct hl_tag_row *row = &b->r.rows[at];
	struct json_object *v;
	bool root = at == b->r.threads[thread].first;

	if (!json_object_is_type(o, json_type_object) || !read_sums(o, "self", &row->self))
		return -EBADMSG;
	row->id = (uint32_t)number(o, "id");
	row->thread = thread;
	row->entered = number(o, "entered");
	row->parent = HL_TAG_NO_ROW;
	read_calls(o, row->calls);
	if (!root) {
		if (!get(o, "parent", json_type_int, &v))
			return -EBADMSG;
		row->parent = hl_map_get(by_id, (uint64_t)json_object_get_int64(v), thread);
		if (row->parent == HL_MAP_NONE)
			return -EBADMSG;
	}
	if (hl_map_get(by_id, row->id, thread) != HL_MAP_NONE)
		return -EBADMSG;
	if (hl_map_put(by_id, row->id, thread, at))
		return -ENOMEM;
	return read_name(b, o, &row->name, &row->name_len);
}

static int read_thread(struct hl_tag_book *b, struct json_object *o, uint32_t thread,
	uint32_t *rows, struct hl_map *by_id)
{
	struct hl_tag_thread *t = &b->r.threads[thread];
	struct json_object *scopes;
	int err;

	if (!json_object_is_type(o, json_type_object) ||
		!get(o, "scopes", json_type_array, &scopes) ||
		json_object_array_length(scopes) == 0)
		return -EBADMSG;
	err = read_name(b, o, &t->name, &t->name_len);
	t->tid = (uint32_t)number(o, "tid");
	t->owners = number(o, "threads");
	t->unbalanced = number(o, "unbalanced_pops");
	t->failed = number(o, "failed_pushes");
	read_sums(o, "disabled", &t->off);
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
			get(o, "scopes", json_type_array, &scopes))
			n += json_object_array_length(scopes);
	}
	return n;
}

static int read_threads(struct hl_tag_book *b, struct json_object *threads)
{
	size_t n = json_object_array_length(threads);
	uint64_t n_rows = count_scopes(threads);
	struct hl_map by_id = {0};
	uint32_t rows = 0;
	int err = 0;

	if (n >= UINT32_MAX || n_rows >= UINT32_MAX)
		return -EBADMSG;
	b->r.threads = hl_tag_book_more(b, (n + 1) * sizeof(*b->r.threads));
	b->r.rows = hl_tag_book_more(b, (n_rows + 1) * sizeof(*b->r.rows));
	if (!b->r.threads || !b->r.rows)
		return -ENOMEM;
	b->r.n_threads = (uint32_t)n;
	b->r.n_rows = (uint32_t)n_rows;
	for (uint32_t i = 0; i < n && !err; i++)
		err = read_thread(b, json_object_array_get_idx(threads, i), i, &rows, &by_id);
	hl_map_fini(&by_id);
	return err;
}

static void read_process(struct hl_tag_report *r, struct json_object *o)
{
	struct json_object *v;

	r->owner = get(o, "charge", json_type_string, &v) &&
		   !strcmp(json_object_get_string(v), "owner");
	r->pid = number(o, "pid");
	r->start_s = (int64_t)number(o, "start");
	r->time_s = (int64_t)number(o, "time");
	r->before_bytes = number(o, "before_bytes");
	r->before_freed = number(o, "before_freed_bytes");
	r->vm_bytes = number(o, "vm_bytes");
	r->rss_bytes = number(o, "rss_bytes");
	r->own_bytes = number(o, "own_bytes");
	r->unsettled = number(o, "unsettled");
	r->allocator_known = get(o, "allocator", json_type_object, &v);
	if (r->allocator_known) {
		r->used_bytes = number(v, "used_bytes");
		r->free_bytes = number(v, "free_bytes");
		r->mapped_bytes = number(v, "mapped_bytes");
	}
}

static int read_whole(struct hl_tag_book *b, struct json_object *o)
{
	struct json_object *threads;
	int err;

	if (!json_object_is_type(o, json_type_object) || !number(o, "heaplapse_tags") ||
		!get(o, "threads", json_type_array, &threads))
		return -EBADMSG;
	if (number(o, "heaplapse_tags") != 1)
		return -EPROTO;
	read_process(&b->r, o);
	err = read_threads(b, threads);
	if (!err)
		hl_tag_report_settle(&b->r);
	return err;
}

int hl_tag_book_from_json(struct hl_tag_book *b, const char *text, size_t len)
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
		hl_tag_book_fini(b);
	return err;
}
