/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flat_table.c - flat tables; see flat_table.h.
 */
#include "model/stack/flat_table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/model_internal.h"
#include "model/stack/runtime_frames.h"
#include "model/stack/stack_rules.h"
#include "model/tags/roles.h"
#include "model/stack/tree.h"
#include "util/strbuf.h"
#include "util/safe_text.h"

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
	[HL_GROUP_LIFETIME] = {"life", HL_KEY_LIFETIME, true},
	[HL_GROUP_SNAPSHOT] = {"snapshot", HL_KEY_INTERVAL, true},
	[HL_GROUP_TAG] = {"tag", HL_KEY_TAG, false},
	[HL_GROUP_POOL] = {"pool", HL_KEY_POOL, false},
};

int hl_group_find(const char *name, enum hl_group *g)
{
	/* The filter's word for the same thing is accepted too. */
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

struct builder {
	struct hl_table *t;
	struct hl_model *m;
	const struct hl_answer *a;
	struct hl_pair_map rows; /* identity of a row (two words) -> index in `out` */
	HL_VEC(struct hl_table_row) out;
	uint32_t *row_of; /* row of each key; NULL: not requested */
	struct hl_strbuf text;
	bool folds;                      /* names of stacks begin at their sites and are folded */
	struct hl_runtime_frames starts; /* frames before main, not part of names */
};

/* Stores the text of b->text in the table's strings and empties b->text. */
static int store_text(struct builder *b, const char **name)
{
	uint32_t id;
	int err = hl_strbuf_error(&b->text);

	if (!err)
		err = hl_string_table_add(&b->t->strings, hl_strbuf_str(&b->text), &id);
	if (!err)
		*name = hl_string_table_get(&b->t->strings, id);
	hl_strbuf_reset(&b->text);
	return err;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static const char *frame_name(const struct hl_frame *f, bool full)
{
	return full ? f->function : f->display_name;
}

static void put_site(struct builder *b, const struct hl_frame *f, bool full)
{
	hl_strbuf_puts(&b->text, frame_name(f, full));
	if (f->file && f->line)
		hl_strbuf_printf(&b->text, " %s:%" PRIu32, base_name(f->file), f->line);
	else if (f->file)
		hl_strbuf_printf(&b->text, " %s", base_name(f->file));
	else if (f->module)
		hl_strbuf_printf(&b->text, " [%s]", base_name(f->module));
}

/* The caller of a node; HL_NODE_NONE at the end of the stack or, unless `whole`, at the first frame
 * before main. */
static uint32_t next_caller(struct builder *b, uint32_t node, bool whole)
{
	if (node != HL_NODE_NONE)
		node = hl_model_parent(b->m, node);
	return !whole && hl_runtime_frames_contain(&b->starts, node) ? HL_NODE_NONE : node;
}

struct stack_names {
	int shown;
	uint32_t run, outer; /* the run of folded frames that was not written yet */
};

static void put_run(struct builder *b, struct stack_names *s)
{
	const struct hl_frame *f = s->run ? hl_model_frame(b->m, s->outer) : NULL;

	if (s->run == 0)
		return;
	if (s->shown++)
		hl_strbuf_puts(&b->text, " < ");
	if (s->run == 1) {
		hl_strbuf_puts(&b->text, f->display_name);
	} else {
		hl_strbuf_printf(&b->text, "[%" PRIu32 " frames of ", s->run);
		hl_frame_put_family(&b->text, f);
		hl_strbuf_puts(&b->text, "]");
	}
	s->run = 0;
}

/* Frames that are folded count as a run, which is written before the next other frame. */
static int put_stack_frame(
	struct builder *b, struct stack_names *s, uint32_t frame, bool full, bool whole)
{
	enum hl_frame_kind kind = HL_FRAME_OWN;
	int err = b->folds && !whole && s->shown > 0 ? hl_model_frame_kind(b->m, frame, &kind) : 0;

	if (err)
		return err;
	if (hl_frame_kind_is_folded(kind)) {
		s->run++;
		s->outer = frame;
		return 0;
	}
	put_run(b, s);
	if (s->shown++)
		hl_strbuf_puts(&b->text, " < ");
	hl_strbuf_puts(&b->text, frame_name(hl_model_frame(b->m, frame), full));
	return 0;
}

/* Appends the function names of a stack, innermost first, at most 8, from its site outwards. */
static int put_stack(struct builder *b, uint32_t node, bool full)
{
	struct stack_names s = {0};
	struct hl_site site = {.node = node, .index = UINT32_MAX};
	bool whole = hl_runtime_frames_contain(&b->starts, node);
	int err = b->folds && !whole ? hl_model_locate_site(b->m, node, &site) : 0;

	if (err)
		return err;
	node = site.node;
	do {
		const struct hl_frame_ref *refs;
		size_t n;

		err = hl_model_node_frames(b->m, node, &refs, &n);
		if (!err && site.index < n)
			n = site.index + 1;
		site.index = UINT32_MAX;
		while (!err && n-- > 0 && s.shown < 8)
			err = put_stack_frame(b, &s, refs[n].frame, full, whole);
		node = next_caller(b, node, whole);
	} while (!err && node != HL_NODE_NONE && s.shown < 8);
	put_run(b, &s);
	if (node != HL_NODE_NONE)
		hl_strbuf_puts(&b->text, " < ...");
	return err;
}

/* An address says little without its module, which is added for display. */
static int name_function(struct builder *b, const char **name, bool full, const struct hl_frame *f)
{
	*name = full ? hl_frame_function_name(f) : f->display_name;
	if (full || !f->entry)
		return 0;
	hl_put_function(&b->text, f);
	return store_text(b, name);
}

static int name_code(
	struct builder *b, const char **name, bool full, uint32_t node, const struct hl_frame *f)
{
	switch (b->t->group) {
	case HL_GROUP_STACK:
		if (put_stack(b, node, full))
			return -ENOMEM;
		return store_text(b, name);
	case HL_GROUP_SITE:
		put_site(b, f, full);
		return store_text(b, name);
	case HL_GROUP_FUNCTION:
		return name_function(b, name, full, f);
	case HL_GROUP_FILE:
		*name = f->file ? f->file : "[file not known]";
		return 0;
	default:
		*name = f->module ? f->module : "[no module]";
		return 0;
	}
}

/* "64 B - 127 B" */
static void name_size(struct builder *b, struct hl_table_row *r)
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

static void put_duration(struct builder *b, uint64_t ns)
{
	static const char *const units[] = {"ns", "us", "ms", "s"};
	unsigned u = 0;

	for (; u < 3 && ns >= 1000; u++)
		ns /= 1000;
	hl_strbuf_printf(&b->text, "%" PRIu64 " %s", ns, units[u]);
}

static void name_lifetime(struct builder *b, struct hl_table_row *r)
{
	hl_lifetime_bounds(r->key, &r->lo, &r->hi);
	if (r->lo == 0)
		hl_strbuf_puts(&b->text, "< ");
	else if (r->hi == UINT64_MAX)
		hl_strbuf_puts(&b->text, ">= ");
	if (r->lo > 0)
		put_duration(b, r->lo);
	if (r->lo > 0 && r->hi != UINT64_MAX)
		hl_strbuf_puts(&b->text, " - < ");
	if (r->hi != UINT64_MAX)
		put_duration(b, r->hi);
}

static void name_interval(struct builder *b, uint32_t key)
{
	const char *name = key > 0 ? b->m->marks.data[b->m->snapshots.data[key - 1]].name : "";

	if (key > 0)
		hl_strbuf_printf(
			&b->text, "after snapshot %" PRIu32 "%s%s", key, name[0] ? ": " : "", name);
	else
		hl_strbuf_puts(&b->text, b->m->snapshots.len
						 ? "before the first snapshot"
						 : "no snapshot was requested; heaplapse log lists "
						   "those of the recorder");
}

static int name_key(struct builder *b, struct hl_table_row *r)
{
	if (r->key == b->a->n_keys) {
		r->lo = r->hi = UINT64_MAX;
		hl_strbuf_puts(&b->text, b->t->group == HL_GROUP_LIFETIME ? "not freed"
					 : b->t->group == HL_GROUP_TAG    ? "[no tag]"
					 : b->t->group == HL_GROUP_POOL   ? "[heap]"
									  : "not known");
		return store_text(b, &r->name);
	}
	switch (b->t->group) {
	case HL_GROUP_THREAD:
		hl_model_put_thread(b->m, r->key, &b->text);
		break;
	case HL_GROUP_CALL:
		hl_strbuf_puts(&b->text, hl_called_function_name(r->key));
		break;
	case HL_GROUP_SIZE:
		name_size(b, r);
		break;
	case HL_GROUP_LIFETIME:
		name_lifetime(b, r);
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
	return store_text(b, &r->name);
}

/* --- rows --- */

/* Two stacks with the same pair of words are in the same row. */
static void get_row_identity(enum hl_group g, uint32_t key, uint32_t frame,
	const struct hl_frame *f, uint64_t *id1, uint64_t *id2)
{
	*id2 = 0;
	switch (g) {
	case HL_GROUP_FUNCTION:
		*id1 = (uintptr_t)hl_frame_function_name(f); /* strings are interned */
		*id2 = (uintptr_t)f->module;
		break;
	case HL_GROUP_SITE:
		*id1 = frame;
		break;
	case HL_GROUP_FILE:
		*id1 = (uintptr_t)f->file;
		break;
	case HL_GROUP_MODULE:
		*id1 = (uintptr_t)f->module;
		break;
	default:
		*id1 = key;
	}
}

static int add_stack(struct builder *b, uint32_t key)
{
	uint32_t node = key < b->a->n_keys ? key : HL_NODE_NONE, frame, at;
	struct hl_table_row r = {.key = key, .value = b->a->values[key]};
	const struct hl_frame *f;
	uint64_t id1, id2;
	int err = hl_model_find_site(b->m, node, &frame);

	if (err)
		return err;
	f = hl_model_frame(b->m, frame);
	r.frame = b->t->group == HL_GROUP_SITE || b->t->group == HL_GROUP_STACK ? frame
										: HL_NODE_NONE;
	get_row_identity(b->t->group, key, frame, f, &id1, &id2);
	at = hl_pair_map_get(&b->rows, id1, id2);
	if (b->row_of)
		b->row_of[key] = at != HL_PAIR_MAP_NONE ? at : (uint32_t)b->out.len;
	if (at != HL_PAIR_MAP_NONE) {
		hl_value_add(&b->out.data[at].value, &r.value);
		return 0;
	}
	err = name_code(b, &r.name, true, node, f);
	if (!err)
		err = name_code(b, &r.display_name, false, node, f);
	if (!err)
		err = hl_pair_map_put(&b->rows, id1, id2, (uint32_t)b->out.len);
	return err ? err : hl_vec_push(&b->out, r);
}

static int add_key(struct builder *b, uint32_t key)
{
	struct hl_table_row r = {.key = key, .value = b->a->values[key], .frame = HL_NODE_NONE};
	int err = name_key(b, &r);

	r.display_name = r.name;
	if (b->row_of)
		b->row_of[key] = (uint32_t)b->out.len;
	return err ? err : hl_vec_push(&b->out, r);
}

/* Marks rows whose short names are equal but whose full names differ: they are shown with full
 * names. Strings are interned, so pointers are compared. */
static int mark_ambiguous_rows(struct builder *b)
{
	struct hl_pair_map seen = {0};
	int err = 0;

	for (uint32_t i = 0; i < b->out.len && !err; i++) {
		struct hl_table_row *r = &b->out.data[i];
		uint32_t first = hl_pair_map_get(&seen, (uintptr_t)r->display_name, 0);

		if (first == HL_PAIR_MAP_NONE)
			err = hl_pair_map_put(&seen, (uintptr_t)r->display_name, 0, i);
		else if (strcmp(b->out.data[first].name, r->name) != 0)
			b->out.data[first].full_name = r->full_name = true;
	}
	for (size_t i = 0; i < b->out.len; i++) {
		if (b->out.data[i].full_name)
			b->out.data[i].display_name = b->out.data[i].name;
	}
	hl_pair_map_fini(&seen);
	return err;
}

static int build_table(struct hl_table *t, struct hl_model *m, const struct hl_answer *a,
	enum hl_group g, bool folds, uint32_t *row_of)
{
	struct builder b = {.t = t, .m = m, .a = a, .row_of = row_of, .folds = folds};
	int err = 0;

	memset(t, 0, sizeof(*t));
	t->group = g;
	t->total = a->total;
	if (folds && g == HL_GROUP_STACK)
		err = hl_runtime_frames_find(&b.starts, m, a);
	hl_work_begin(&m->work, HL_WORK_SHORT, HL_WORK_NAMES);
	for (uint32_t i = 0; i <= a->n_keys && !err; i++) {
		err = hl_naming_tick(m, i, a->n_keys);
		if (!err && a->values[i].blocks > 0)
			err = groups[g].key == HL_KEY_STACK ? add_stack(&b, i) : add_key(&b, i);
	}
	hl_work_end(&m->work, HL_WORK_SHORT);
	if (!err && groups[g].key == HL_KEY_STACK)
		err = mark_ambiguous_rows(&b);
	t->rows = b.out.data;
	t->n = b.out.len;
	hl_runtime_frames_fini(&b.starts);
	hl_pair_map_fini(&b.rows);
	hl_strbuf_fini(&b.text);
	if (err)
		hl_table_fini(t);
	return err;
}

int hl_table_build(struct hl_table *t, struct hl_model *m, const struct hl_answer *a,
	enum hl_group g, bool folds)
{
	int err = build_table(t, m, a, g, folds, NULL);

	if (!err)
		hl_table_sort(t, hl_group_is_ordered(g) ? HL_SORT_OWN : HL_SORT_BYTES);
	return err;
}

int hl_table_build_mapped(struct hl_table *t, struct hl_model *m, const struct hl_answer *a,
	enum hl_group g, bool folds, uint32_t *row_of)
{
	for (uint32_t i = 0; i <= a->n_keys; i++)
		row_of[i] = UINT32_MAX;
	return build_table(t, m, a, g, folds, row_of);
}

/* --- order --- */

static int compare_descending(uint64_t a, uint64_t b)
{
	return a > b ? -1 : a < b;
}

static uint64_t average_size(const struct hl_table_row *r)
{
	return r->value.blocks ? r->value.bytes / r->value.blocks : 0;
}

static int compare_rows(const void *pa, const void *pb, void *arg)
{
	const struct hl_table_row *a = pa, *b = pb;
	enum hl_sort by = *(const enum hl_sort *)arg;
	int c = 0;

	if (by == HL_SORT_OWN)
		return a->key < b->key ? -1 : a->key > b->key;
	if (by == HL_SORT_BLOCKS)
		c = compare_descending(a->value.blocks, b->value.blocks);
	else if (by == HL_SORT_AVERAGE)
		c = compare_descending(average_size(a), average_size(b));
	if (!c && by != HL_SORT_NAME)
		c = compare_descending(a->value.bytes, b->value.bytes);
	if (!c && by != HL_SORT_NAME)
		c = compare_descending(a->value.blocks, b->value.blocks);
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
	hl_string_table_fini(&t->strings);
	memset(t, 0, sizeof(*t));
}
