/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source_lines.c - an answer by the lines of one source file; see source_lines.h.
 *
 * The file is looked for among the stacks of the answer, and only if it is not there among all
 * stacks of the trace. Values are first added up at the nearest node with a line of the file, then
 * each of these nodes gives its value to the lines of its callers; a line that a recursion has
 * several times gets it once.
 */
#include "model/views/source_lines.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/model_internal.h"
#include "model/stack/site.h"
#include "model/stack/stack_rules.h"

#define SHOWN_MAX 4 /* names in a message */

struct builder {
	struct hl_source_lines *s;
	struct hl_model *m;
	const struct hl_answer *a;
	const char *name;
	size_t name_len;
	HL_VEC(const char *) files; /* different ones that match the name */
	HL_VEC(struct hl_source_line) lines;
	HL_VEC(uint32_t) stamps;    /* per line: the last stack that was added */
	struct hl_pair_map by_line; /* line -> index in lines */
	uint32_t *nearest;          /* per node: itself or its nearest caller with a line, plus 1 */
	uint8_t *wanted;            /* per node: it is in a stack of the answer */
	struct hl_value *values;    /* per node with a line: of the stacks that end there */
	uint32_t stamp;
};

/* --- the file --- */

static bool matches_name(const struct builder *b, const char *file)
{
	size_t len = strlen(file), n = b->name_len;

	if (len < n || memcmp(file + len - n, b->name, n) != 0)
		return false;
	return len == n || (n > 0 && (file[len - n - 1] == '/' || b->name[0] == '/'));
}

static int note_file(struct builder *b, const char *file)
{
	if (!file || !matches_name(b, file))
		return 0;
	for (size_t i = 0; i < b->files.len; i++) {
		if (b->files.data[i] == file || strcmp(b->files.data[i], file) == 0)
			return 0;
	}
	return hl_vec_push(&b->files, file);
}

static int note_files_of(struct builder *b, uint32_t node)
{
	const struct hl_frame_ref *refs;
	size_t n;
	int err = hl_model_node_frames(b->m, node, &refs, &n);

	for (size_t i = 0; i < n && !err; i++)
		err = note_file(b, hl_model_frame(b->m, refs[i].frame)->file);
	return err;
}

/* Looks up the files of stacks of the answer, or of all. */
static int find_files(struct builder *b, bool all)
{
	uint32_t n = hl_model_n_nodes(b->m);
	int err = 0;

	for (uint32_t i = 0; i < n && !err; i++) {
		err = hl_naming_tick(b->m, i, n);
		if (!err && (all || b->wanted[i]))
			err = note_files_of(b, i);
	}
	return err;
}

/* A whole name counts more than an end of another one. */
static const char *choose_file(const struct builder *b)
{
	for (size_t i = 0; i < b->files.len; i++) {
		if (strlen(b->files.data[i]) == b->name_len)
			return b->files.data[i];
	}
	return b->files.len == 1 ? b->files.data[0] : NULL;
}

static int refuse_file(struct builder *b)
{
	struct hl_strbuf text = {0};

	if (b->files.len == 0)
		hl_strbuf_printf(&text,
			"no stack of the trace has a source file %.*s; report "
			"--group=file lists the files",
			(int)(b->name_len < 200 ? b->name_len : 200), b->name);
	else
		hl_strbuf_printf(&text, "several source files end in %.*s:",
			(int)(b->name_len < 100 ? b->name_len : 100), b->name);
	for (size_t i = 0; i < b->files.len && i < SHOWN_MAX; i++)
		hl_strbuf_printf(&text, "%s %.90s", i ? "," : "", b->files.data[i]);
	if (b->files.len > SHOWN_MAX)
		hl_strbuf_printf(&text, " and %zu more", b->files.len - SHOWN_MAX);
	hl_model_set_error(b->m, hl_strbuf_str(&text));
	hl_strbuf_fini(&text);
	return b->files.len == 0 ? -ENOENT : -EINVAL;
}

static int find_file(struct builder *b)
{
	int err = find_files(b, false);

	if (!err && !choose_file(b)) {
		b->files.len = 0;
		b->m->looks_ahead = true;
		err = find_files(b, true);
		b->m->looks_ahead = false;
	}
	if (err)
		return err;
	b->s->file = choose_file(b);
	return b->s->file ? 0 : refuse_file(b);
}

/* --- lines --- */

static bool is_in_file(const struct builder *b, const struct hl_frame *f)
{
	return f->file && (f->file == b->s->file || strcmp(f->file, b->s->file) == 0);
}

static int find_line(struct builder *b, const struct hl_frame *f, uint32_t *index)
{
	struct hl_source_line line = {.line = f->line, .function = f->function};
	int err;

	*index = hl_pair_map_get(&b->by_line, f->line, 0);
	if (*index != HL_PAIR_MAP_NONE)
		return 0;
	*index = (uint32_t)b->lines.len;
	err = hl_vec_push(&b->lines, line);
	if (!err)
		err = hl_vec_push(&b->stamps, 0u);
	return err ? err : hl_pair_map_put(&b->by_line, f->line, 0, *index);
}

/* Nodes are after their callers. */
static int find_nearest(struct builder *b)
{
	uint32_t n = hl_model_n_nodes(b->m);
	int err = 0;

	for (uint32_t i = 0; i < n && !err; i++) {
		uint32_t parent = hl_model_parent(b->m, i);
		const struct hl_frame_ref *refs;
		size_t n_refs;

		err = hl_naming_tick(b->m, i, n);
		if (!b->wanted[i] || err)
			continue;
		b->nearest[i] = parent == HL_NODE_NONE ? 0 : b->nearest[parent];
		err = hl_model_node_frames(b->m, i, &refs, &n_refs);
		for (size_t k = 0; k < n_refs && !err; k++) {
			if (is_in_file(b, hl_model_frame(b->m, refs[k].frame)))
				b->nearest[i] = i + 1;
		}
	}
	return err;
}

/* The lines of one node alone. */
static int add_to_node(struct builder *b, uint32_t node, const struct hl_value *v)
{
	const struct hl_frame_ref *refs;
	size_t n;
	int err = hl_model_node_frames(b->m, node, &refs, &n);

	for (size_t i = 0; i < n && !err; i++) {
		const struct hl_frame *f = hl_model_frame(b->m, refs[i].frame);
		uint32_t index;

		if (!is_in_file(b, f))
			continue;
		err = find_line(b, f, &index);
		if (err || b->stamps.data[index] == b->stamp)
			continue;
		b->stamps.data[index] = b->stamp;
		hl_value_add(&b->lines.data[index].value, v);
	}
	return err;
}

static int add_to_callers(struct builder *b, uint32_t node)
{
	const struct hl_value *v = &b->values[node];
	int err = 0;

	b->stamp++;
	hl_value_add(&b->s->value, v);
	for (uint32_t at = node + 1; at != 0 && !err;) {
		uint32_t parent;

		err = add_to_node(b, at - 1, v);
		parent = hl_model_parent(b->m, at - 1);
		at = parent == HL_NODE_NONE ? 0 : b->nearest[parent];
	}
	return err;
}

static int add_own(struct builder *b, uint32_t node, const struct hl_value *v)
{
	const struct hl_frame *f;
	uint32_t frame, index;
	int err = hl_model_find_site(b->m, node, &frame);

	if (err)
		return err;
	f = hl_model_frame(b->m, frame);
	if (!is_in_file(b, f))
		return 0;
	err = find_line(b, f, &index);
	if (err)
		return err;
	hl_value_add(&b->lines.data[index].own, v);
	hl_value_add(&b->s->own, v);
	return 0;
}

static int add_stacks(struct builder *b)
{
	uint32_t n = hl_model_n_nodes(b->m);
	int err = 0;

	for (uint32_t i = 0; i < b->a->n_keys && !err; i++) {
		err = hl_naming_tick(b->m, i, b->a->n_keys);
		if (err || !b->a->values[i].blocks || i >= n || !b->nearest[i])
			continue;
		hl_value_add(&b->values[b->nearest[i] - 1], &b->a->values[i]);
		err = add_own(b, i, &b->a->values[i]);
	}
	for (uint32_t i = 0; i < n && !err; i++) {
		if (b->values[i].blocks)
			err = add_to_callers(b, i);
	}
	return err;
}

static int compare_lines(const void *pa, const void *pb)
{
	const struct hl_source_line *a = pa, *b = pb;

	return a->line < b->line ? -1 : a->line > b->line;
}

/* --- all --- */

/* The stacks of the answer, with their callers. */
static int start(struct builder *b)
{
	uint32_t n = hl_model_n_nodes(b->m);

	b->nearest = calloc((size_t)n + 1, sizeof(*b->nearest));
	b->wanted = calloc((size_t)n + 1, sizeof(*b->wanted));
	b->values = calloc((size_t)n + 1, sizeof(*b->values));
	if (!b->nearest || !b->wanted || !b->values)
		return -ENOMEM;
	for (uint32_t i = n; i-- > 0;) {
		uint32_t parent = hl_model_parent(b->m, i);

		b->wanted[i] |= i < b->a->n_keys && b->a->values[i].blocks > 0;
		if (b->wanted[i] && parent != HL_NODE_NONE)
			b->wanted[parent] = 1;
	}
	return 0;
}

static int build(struct builder *b)
{
	int err = start(b);

	if (!err)
		err = find_file(b);
	if (!err)
		err = find_nearest(b);
	if (!err)
		err = add_stacks(b);
	if (err)
		return err;
	b->s->n = b->lines.len;
	b->s->lines = b->lines.data;
	b->lines.data = NULL;
	if (b->s->n > 1)
		qsort(b->s->lines, b->s->n, sizeof(*b->s->lines), compare_lines);
	return 0;
}

static void free_builder(struct builder *b)
{
	hl_vec_free(&b->files);
	hl_vec_free(&b->lines);
	hl_vec_free(&b->stamps);
	hl_pair_map_fini(&b->by_line);
	free(b->nearest);
	free(b->wanted);
	free(b->values);
}

int hl_source_lines_make(struct hl_source_lines *s, struct hl_model *m, const struct hl_answer *a,
	const char *name, size_t name_len)
{
	static const struct hl_source_places none;
	struct builder b = {.s = s, .m = m, .a = a, .name = name, .name_len = name_len};
	int err;

	*s = (struct hl_source_lines){0};
	/* It looks up frames, which must not happen while frames of a node are in use. */
	err = hl_model_find_wrappers(m);
	if (err)
		return err;
	hl_work_begin(&m->work, HL_WORK_SHORT, HL_WORK_NAMES);
	err = build(&b);
	hl_work_end(&m->work, HL_WORK_SHORT);
	free_builder(&b);
	if (!err)
		err = hl_source_text_read(&s->text, m->sources ? m->sources : &none, s->file,
			m->info->meta.start_unix_ns);
	return err == -ENOENT || err == -EINVAL ? err : err ? hl_model_fail(m, err) : 0;
}

void hl_source_lines_fini(struct hl_source_lines *s)
{
	free(s->lines);
	hl_source_text_fini(&s->text);
	*s = (struct hl_source_lines){0};
}
