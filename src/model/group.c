/*
 * group.c - flat tables; see group.h.
 */
#include "model/group.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/model_internal.h"
#include "model/start.h"
#include "model/tags.h"
#include "model/tree.h"
#include "util/strbuf.h"
#include "util/text.h"

static const struct {
	const char *name;
	enum hl_key key;
	bool ordered;
} groups[HL_GROUP_COUNT] = {
	[HL_GROUP_STACK] = {"stack", HL_KEY_STACK, false},
	[HL_GROUP_FUNCTION] = {"function", HL_KEY_STACK, false},
	[HL_GROUP_SITE] = {"site", HL_KEY_STACK, false},
	[HL_GROUP_FILE] = {"file", HL_KEY_STACK, false},
	[HL_GROUP_MODULE] = {"module", HL_KEY_STACK, false},
	[HL_GROUP_THREAD] = {"thread", HL_KEY_THREAD, true},
	[HL_GROUP_CALL] = {"call", HL_KEY_CALL, false},
	[HL_GROUP_SIZE] = {"size", HL_KEY_SIZE, true},
	[HL_GROUP_LIFE] = {"life", HL_KEY_LIFE, true},
	[HL_GROUP_SNAPSHOT] = {"snapshot", HL_KEY_INTERVAL, true},
	[HL_GROUP_TAG] = {"tag", HL_KEY_TAG, false},
	[HL_GROUP_POOL] = {"pool", HL_KEY_POOL, false},
};

int hl_group_find(const char *name, enum hl_group *g)
{
	/* The filter's other word for it is as good. */
	if (strcmp(name, "func") == 0)
		name = "call";
	for (*g = 0; *g < HL_GROUP_COUNT; ++*g) {
		if (strcmp(groups[*g].name, name) == 0)
			return 0;
	}
	return -EINVAL;
}

const char *hl_group_name(enum hl_group g)
{
	return groups[g].name;
}

enum hl_key hl_group_key(enum hl_group g)
{
	return groups[g].key;
}

bool hl_group_is_ordered(enum hl_group g)
{
	return groups[g].ordered;
}

/* --- names --- */

struct build {
	struct hl_table *t;
	struct hl_model *m;
	const struct hl_answer *a;
	struct hl_map rows; /* what a row stands for -> its number */
	HL_VEC(struct hl_row) out;
	uint32_t *row_of; /* of each key; NULL: nobody asks */
	struct hl_strbuf text;
	struct hl_starts starts; /* frames that no stack is named by */
};

/* Keeps what was put together in b->text. */
static int keep(struct build *b, const char **name)
{
	uint32_t id;
	int err = hl_strbuf_error(&b->text);

	if (!err)
		err = hl_strings_add(&b->t->strings, hl_strbuf_str(&b->text), &id);
	if (!err)
		*name = hl_strings_get(&b->t->strings, id);
	hl_strbuf_reset(&b->text);
	return err;
}

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static const char *name_of(const struct hl_frame *f, bool full)
{
	return full ? f->function : f->shown;
}

static void put_site(struct build *b, const struct hl_frame *f, bool full)
{
	hl_strbuf_puts(&b->text, name_of(f, full));
	if (f->file && f->line)
		hl_strbuf_printf(&b->text, " %s:%" PRIu32, base_of(f->file), f->line);
	else if (f->file)
		hl_strbuf_printf(&b->text, " %s", base_of(f->file));
	else if (f->module)
		hl_strbuf_printf(&b->text, " [%s]", base_of(f->module));
}

/* The next node outwards that the stack is named by. */
static uint32_t outwards(struct build *b, uint32_t node, bool whole)
{
	if (node != HL_NODE_NONE)
		node = hl_model_parent(b->m, node);
	return !whole && hl_starts_have(&b->starts, node) ? HL_NODE_NONE : node;
}

/* Innermost first, as far as a line is worth it. */
static int put_stack(struct build *b, uint32_t node, bool full)
{
	bool whole = hl_starts_have(&b->starts, node);
	int err = 0, shown = 0;

	do {
		const struct hl_frame_ref *refs;
		size_t n;

		err = hl_model_node_frames(b->m, node, &refs, &n);
		while (!err && n-- > 0 && shown < 8) {
			if (shown++)
				hl_strbuf_puts(&b->text, " < ");
			hl_strbuf_puts(
				&b->text, name_of(hl_model_frame(b->m, refs[n].frame), full));
		}
		node = outwards(b, node, whole);
	} while (!err && node != HL_NODE_NONE && shown < 8);
	if (node != HL_NODE_NONE)
		hl_strbuf_puts(&b->text, " < ...");
	return err;
}

static int name_code(
	struct build *b, const char **name, bool full, uint32_t node, const struct hl_frame *f)
{
	switch (b->t->group) {
	case HL_GROUP_STACK:
		if (put_stack(b, node, full))
			return -ENOMEM;
		return keep(b, name);
	case HL_GROUP_SITE:
		put_site(b, f, full);
		return keep(b, name);
	case HL_GROUP_FUNCTION:
		*name = name_of(f, full);
		return 0;
	case HL_GROUP_FILE:
		*name = f->file ? f->file : "[file not known]";
		return 0;
	default:
		*name = f->module ? f->module : "[no module]";
		return 0;
	}
}

/* "64 B - 127 B" */
static void name_size(struct build *b, struct hl_row *r)
{
	char lo[HL_TEXT_SIZE_MAX], hi[HL_TEXT_SIZE_MAX];

	r->lo = r->key == 0 ? 0 : UINT64_C(1) << (r->key - 1);
	r->hi = r->key == 0 ? 1 : r->key == 64 ? UINT64_MAX : UINT64_C(1) << r->key;
	if (r->hi - r->lo == 1)
		hl_strbuf_printf(&b->text, "%" PRIu64 " B", r->lo);
	else if (r->lo < 1024)
		hl_strbuf_printf(&b->text, "%" PRIu64 " B - %" PRIu64 " B", r->lo, r->hi - 1);
	else
		hl_strbuf_printf(
			&b->text, "%s - < %s", hl_text_bytes(lo, r->lo), hl_text_bytes(hi, r->hi));
}

static void put_round(struct build *b, uint64_t ns)
{
	static const char *const units[] = {"ns", "us", "ms", "s"};
	unsigned u = 0;

	for (; u < 3 && ns >= 1000; u++)
		ns /= 1000;
	hl_strbuf_printf(&b->text, "%" PRIu64 " %s", ns, units[u]);
}

static void name_life(struct build *b, struct hl_row *r)
{
	hl_life_bounds(r->key, &r->lo, &r->hi);
	if (r->lo == 0)
		hl_strbuf_puts(&b->text, "< ");
	else if (r->hi == UINT64_MAX)
		hl_strbuf_puts(&b->text, ">= ");
	if (r->lo > 0)
		put_round(b, r->lo);
	if (r->lo > 0 && r->hi != UINT64_MAX)
		hl_strbuf_puts(&b->text, " - < ");
	if (r->hi != UINT64_MAX)
		put_round(b, r->hi);
}

static void name_interval(struct build *b, uint32_t key)
{
	const char *name = key > 0 ? b->m->marks.data[b->m->snapshots.data[key - 1]].name : "";

	if (key > 0)
		hl_strbuf_printf(
			&b->text, "after snapshot %" PRIu32 "%s%s", key, name[0] ? ": " : "", name);
	else
		hl_strbuf_puts(&b->text, b->m->snapshots.len
						 ? "before the first snapshot"
						 : "no snapshot was asked for; heaplapse log "
						   "lists those of the recorder");
}

static int name_key(struct build *b, struct hl_row *r)
{
	if (r->key == b->a->n_keys) {
		r->lo = r->hi = UINT64_MAX;
		hl_strbuf_puts(&b->text, b->t->group == HL_GROUP_LIFE   ? "not freed"
					 : b->t->group == HL_GROUP_TAG  ? "[no tag]"
					 : b->t->group == HL_GROUP_POOL ? "[heap]"
									: "not known");
		return keep(b, &r->name);
	}
	switch (b->t->group) {
	case HL_GROUP_THREAD:
		hl_model_put_thread(b->m, r->key, &b->text);
		break;
	case HL_GROUP_CALL:
		hl_strbuf_puts(&b->text, hl_call_name(r->key));
		break;
	case HL_GROUP_SIZE:
		name_size(b, r);
		break;
	case HL_GROUP_LIFE:
		name_life(b, r);
		break;
	case HL_GROUP_POOL:
		hl_strbuf_puts(&b->text, hl_model_pool_name(b->m, r->key));
		break;
	case HL_GROUP_TAG:
		hl_model_put_tag(b->m, r->key, &b->text);
		break;
	default:
		name_interval(b, r->key);
	}
	return keep(b, &r->name);
}

/* --- rows --- */

/* What makes two stacks one row, as two words. */
static void identity(enum hl_group g, uint32_t key, uint32_t frame, const struct hl_frame *f,
	uint64_t *one, uint64_t *two)
{
	*two = 0;
	switch (g) {
	case HL_GROUP_FUNCTION:
		*one = (uintptr_t)f->function; /* each string is kept once */
		*two = (uintptr_t)f->module;
		break;
	case HL_GROUP_SITE:
		*one = frame;
		break;
	case HL_GROUP_FILE:
		*one = (uintptr_t)f->file;
		break;
	case HL_GROUP_MODULE:
		*one = (uintptr_t)f->module;
		break;
	default:
		*one = key;
	}
}

static int add_code(struct build *b, uint32_t key)
{
	uint32_t node = key < b->a->n_keys ? key : HL_NODE_NONE, frame, at;
	struct hl_row r = {.key = key, .value = b->a->values[key]};
	const struct hl_frame *f;
	uint64_t one, two;
	int err = hl_model_site(b->m, node, &frame);

	if (err)
		return err;
	f = hl_model_frame(b->m, frame);
	r.frame = b->t->group == HL_GROUP_SITE || b->t->group == HL_GROUP_STACK ? frame
										: HL_NODE_NONE;
	identity(b->t->group, key, frame, f, &one, &two);
	at = hl_map_get(&b->rows, one, two);
	if (b->row_of)
		b->row_of[key] = at != HL_MAP_NONE ? at : (uint32_t)b->out.len;
	if (at != HL_MAP_NONE) {
		hl_value_add(&b->out.data[at].value, &r.value);
		return 0;
	}
	err = name_code(b, &r.name, true, node, f);
	if (!err)
		err = name_code(b, &r.shown, false, node, f);
	if (!err)
		err = hl_map_put(&b->rows, one, two, (uint32_t)b->out.len);
	return err ? err : hl_vec_push(&b->out, r);
}

static int add_key(struct build *b, uint32_t key)
{
	struct hl_row r = {.key = key, .value = b->a->values[key], .frame = HL_NODE_NONE};
	int err = name_key(b, &r);

	r.shown = r.name;
	if (b->row_of)
		b->row_of[key] = (uint32_t)b->out.len;
	return err ? err : hl_vec_push(&b->out, r);
}

/* Rows that look the same by short names are shown by full ones; each string is kept once. */
static int tell_apart(struct build *b)
{
	struct hl_map seen = {0};
	int err = 0;

	for (uint32_t i = 0; i < b->out.len && !err; i++) {
		struct hl_row *r = &b->out.data[i];
		uint32_t first = hl_map_get(&seen, (uintptr_t)r->shown, 0);

		if (first == HL_MAP_NONE)
			err = hl_map_put(&seen, (uintptr_t)r->shown, 0, i);
		else if (strcmp(b->out.data[first].name, r->name) != 0)
			b->out.data[first].full = r->full = true;
	}
	for (size_t i = 0; i < b->out.len; i++) {
		if (b->out.data[i].full)
			b->out.data[i].shown = b->out.data[i].name;
	}
	hl_map_fini(&seen);
	return err;
}

static int build(struct hl_table *t, struct hl_model *m, const struct hl_answer *a, enum hl_group g,
	bool no_starts, uint32_t *row_of)
{
	struct build b = {.t = t, .m = m, .a = a, .row_of = row_of};
	int err = 0;

	memset(t, 0, sizeof(*t));
	t->group = g;
	t->total = a->total;
	if (no_starts && g == HL_GROUP_STACK)
		err = hl_starts_find(&b.starts, m, a);
	hl_progress_begin(HL_NAMES);
	for (uint32_t i = 0; i <= a->n_keys && !err; i++) {
		hl_names_tick(i, a->n_keys);
		if (a->values[i].blocks > 0)
			err = groups[g].key == HL_KEY_STACK ? add_code(&b, i) : add_key(&b, i);
	}
	hl_progress_end();
	if (!err && groups[g].key == HL_KEY_STACK)
		err = tell_apart(&b);
	t->rows = b.out.data;
	t->n = b.out.len;
	hl_starts_fini(&b.starts);
	hl_map_fini(&b.rows);
	hl_strbuf_fini(&b.text);
	if (err)
		hl_table_fini(t);
	return err;
}

int hl_table_build(struct hl_table *t, struct hl_model *m, const struct hl_answer *a,
	enum hl_group g, bool no_starts)
{
	int err = build(t, m, a, g, no_starts, NULL);

	if (!err)
		hl_table_sort(t, hl_group_is_ordered(g) ? HL_SORT_OWN : HL_SORT_BYTES);
	return err;
}

int hl_table_build_mapped(struct hl_table *t, struct hl_model *m, const struct hl_answer *a,
	enum hl_group g, uint32_t *row_of)
{
	for (uint32_t i = 0; i <= a->n_keys; i++)
		row_of[i] = UINT32_MAX;
	return build(t, m, a, g, false, row_of);
}

/* --- order --- */

static int larger_first(uint64_t a, uint64_t b)
{
	return a > b ? -1 : a < b;
}

static uint64_t average(const struct hl_row *r)
{
	return r->value.blocks ? r->value.bytes / r->value.blocks : 0;
}

static int compare_rows(const void *pa, const void *pb, void *arg)
{
	const struct hl_row *a = pa, *b = pb;
	enum hl_sort by = *(const enum hl_sort *)arg;
	int c = 0;

	if (by == HL_SORT_OWN)
		return a->key < b->key ? -1 : a->key > b->key;
	if (by == HL_SORT_BLOCKS)
		c = larger_first(a->value.blocks, b->value.blocks);
	else if (by == HL_SORT_AVERAGE)
		c = larger_first(average(a), average(b));
	if (!c && by != HL_SORT_NAME)
		c = larger_first(a->value.bytes, b->value.bytes);
	if (!c && by != HL_SORT_NAME)
		c = larger_first(a->value.blocks, b->value.blocks);
	if (!c)
		c = strcmp(a->name, b->name);
	return c ? c : a->key < b->key ? -1 : a->key > b->key;
}

void hl_table_sort(struct hl_table *t, enum hl_sort by)
{
	if (t->n > 1)
		qsort_r(t->rows, t->n, sizeof(*t->rows), compare_rows, &by);
}

void hl_table_fini(struct hl_table *t)
{
	free(t->rows);
	hl_strings_fini(&t->strings);
	memset(t, 0, sizeof(*t));
}
