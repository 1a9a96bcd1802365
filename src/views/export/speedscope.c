/* SPDX-License-Identifier: Apache-2.0 */
/*
 * speedscope.c - the format of speedscope: one profile in bytes and one in blocks, with the same
 * frames.
 *
 * Each of several processes has its own two profiles and its own frames. The frames of all follow
 * the profiles, so their text is kept until then.
 */
#include <errno.h>
#include <stdlib.h>

#include "views/export/export_internal.h"

struct writer {
	struct hl_export_job *x;
	struct hl_json j;
	struct hl_export_frames frames;
	struct hl_export_path path;
	struct hl_tree t;
	struct hl_export_tail *all; /* frames */
};

static uint64_t cost_of(const struct hl_value *v, bool blocks)
{
	return blocks ? v->blocks : v->bytes;
}

static int put_sample(struct writer *w, uint32_t node)
{
	int err = hl_export_path(&w->path, &w->t, node);

	hl_json_begin_array(&w->j);
	for (size_t i = 0; i < w->path.len && !err; i++) {
		uint32_t number;

		err = hl_export_frame_number(
			&w->frames, w->t.nodes[w->path.nodes[i]].frame, &number);
		hl_json_u64(&w->j, w->all->n + number);
	}
	hl_json_end_array(&w->j);
	return err;
}

static int put_profile(struct writer *w, const struct hl_answer *a, bool blocks)
{
	struct hl_strbuf name = {0};
	int err = 0;

	hl_strbuf_printf(&name, "%s%s%s, %s", w->x->process ? w->x->process : "",
		w->x->process ? ": " : "", w->x->title, blocks ? "blocks" : "bytes");
	hl_json_begin_object(&w->j);
	hl_json_key_string(&w->j, "type", "sampled");
	hl_json_key_string(&w->j, "name", hl_strbuf_str(&name));
	hl_json_key_string(&w->j, "unit", blocks ? "none" : "bytes");
	hl_json_key_u64(&w->j, "startValue", 0);
	hl_json_key_u64(&w->j, "endValue", cost_of(&a->total, blocks));
	hl_json_key(&w->j, "samples");
	hl_json_begin_array(&w->j);
	for (uint32_t i = 1; i < w->t.n_nodes && !err; i++) {
		if (cost_of(&w->t.nodes[i].self, blocks))
			err = put_sample(w, i);
	}
	hl_json_end_array(&w->j);
	hl_json_key(&w->j, "weights");
	hl_json_begin_array(&w->j);
	for (uint32_t i = 1; i < w->t.n_nodes && !err; i++) {
		if (cost_of(&w->t.nodes[i].self, blocks))
			hl_json_u64(&w->j, cost_of(&w->t.nodes[i].self, blocks));
	}
	hl_json_end_array(&w->j);
	hl_json_end_object(&w->j);
	hl_strbuf_fini(&name);
	return err;
}

static void put_frame(struct hl_json *j, const struct hl_frame *f)
{
	struct hl_strbuf name = {0};

	hl_export_name(&name, f);
	hl_json_begin_object(j);
	hl_json_key_string(j, "name", hl_strbuf_str(&name));
	if (f->file)
		hl_json_key_string(j, "file", f->file);
	if (f->line)
		hl_json_key_u64(j, "line", f->line);
	hl_json_end_object(j);
	hl_strbuf_fini(&name);
}

/* Adds the frames of this process to those of all. */
static void keep_frames(struct writer *w)
{
	struct hl_json j = {.out = w->all->out, .comma = w->all->n > 0};

	for (size_t i = 0; i < w->frames.list.len; i++)
		put_frame(&j, hl_model_frame(w->x->m, w->frames.list.data[i]));
	w->all->n += w->frames.list.len;
}

static void put_header(struct writer *w)
{
	hl_json_begin_object(&w->j);
	hl_json_key_string(&w->j, "$schema", "https://www.speedscope.app/file-format-schema.json");
	hl_json_key_string(&w->j, "exporter", "heaplapse " HL_VERSION);
	hl_json_key_string(&w->j, "name", hl_export_basename(hl_model_info(w->x->m)->meta.program));
	hl_json_key_u64(&w->j, "activeProfileIndex", w->x->by_blocks);
	hl_json_key(&w->j, "profiles");
	hl_json_begin_array(&w->j);
}

/* Returns 0 or -ENOMEM. */
static int put_footer(struct writer *w)
{
	int err;

	hl_json_end_array(&w->j);
	hl_json_key(&w->j, "shared");
	hl_json_begin_object(&w->j);
	hl_json_key(&w->j, "frames");
	hl_json_begin_array(&w->j);
	err = hl_export_tail_end(w->all, w->x->out);
	hl_json_end_array(&w->j);
	hl_json_end_object(&w->j);
	hl_json_end_object(&w->j);
	fputs("\n", w->x->out);
	return err;
}

static int put_process(struct writer *w)
{
	struct hl_export_job *x = w->x;
	struct hl_answer a;
	int err = hl_export_tree(x, true, &a, &w->t);

	hl_json_init(&w->j, x->out);
	if (x->is_first)
		put_header(w);
	else
		w->j.comma = true;
	for (int blocks = 0; blocks < 2 && !err; blocks++)
		err = put_profile(w, &a, blocks);
	if (!err)
		keep_frames(w);
	if (!err && x->is_last)
		err = put_footer(w);
	hl_answer_fini(&a);
	return err;
}

int hl_export_speedscope(struct hl_export_job *x)
{
	struct writer w = {.x = x, .all = x->is_first ? hl_export_tail_new() : *x->kept};
	int err = w.all ? put_process(&w) : -ENOMEM;

	if (err || x->is_last) {
		hl_export_tail_free(w.all);
		w.all = NULL;
	}
	*x->kept = w.all;
	hl_export_frames_fini(&w.frames);
	free(w.path.nodes);
	hl_tree_fini(&w.t);
	return err;
}
