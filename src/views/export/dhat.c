/*
 * dhat.c - DHAT's output, version 2 of its format: for each stack what it allocated, how long that
 * lived, its own maximum, and its part of the maximum and of the end.
 *
 * The maximum is that of what is exported, as DHAT has it. Times are microseconds. Blocks that are
 * in sums alone have program points of their own, below a frame that says so; the maximum is then
 * that of the whole heap.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "model/course.h"
#include "model/divide.h"
#include "util/map.h"
#include "views/export/export_internal.h"

#define NS_PER_UNIT 1000
#define SHORT_LIVED 10 /* shown as such: below 10 us */

/* A frame where it is called: two calls on one line are two, or two stacks would look like one,
 * which readers refuse. */
struct place {
	uint64_t address;
	uint32_t frame;
};

struct writer {
	struct hl_export_job *x;
	struct hl_json j;
	HL_VEC(struct place) places;
	struct hl_map by_place;
	struct hl_division division; /* with --group */
	uint32_t rest_frame;
};

static int number_of(struct writer *w, uint64_t address, uint32_t frame, uint32_t *number)
{
	int err = 0;

	*number = hl_map_get(&w->by_place, address, frame);
	if (*number == HL_MAP_NONE) {
		*number = (uint32_t)w->places.len;
		err = hl_vec_push(&w->places, ((struct place){address, frame}));
		if (!err)
			err = hl_map_put(&w->by_place, address, frame, *number);
	}
	return err;
}

static void put_value(
	struct hl_json *j, const char *bytes, const char *blocks, const struct hl_value *v)
{
	hl_json_key_u64(j, bytes, v->bytes);
	hl_json_key_u64(j, blocks, v->blocks);
}

/* Innermost first; 0 is the root. */
static int put_frames_of(struct writer *w, uint32_t node)
{
	int err;

	do {
		uint64_t address = hl_export_address(w->x->m, node);
		const struct hl_frame_ref *refs;
		size_t n = 0;

		err = hl_model_node_frames(w->x->m, node, &refs, &n);
		for (size_t i = n; i-- > 0 && !err;) {
			uint32_t number;

			err = number_of(w, address, refs[i].frame, &number);
			hl_json_u64(&w->j, number + UINT64_C(1));
		}
		node = node == HL_NODE_NONE ? HL_NODE_NONE : hl_model_parent(w->x->m, node);
	} while (node != HL_NODE_NONE && !err);
	return err;
}

/* Before the innermost frame: from there its viewer's tree begins. */
static int put_group(struct writer *w, const struct hl_course *c)
{
	uint32_t frame = hl_division_frame(&w->division, c->node, c->key), number;
	int err = number_of(w, 0, frame, &number);

	hl_json_u64(&w->j, number + UINT64_C(1));
	return err;
}

static int put_rest(struct writer *w)
{
	uint32_t number;
	int err = number_of(w, 0, w->rest_frame, &number);

	hl_json_u64(&w->j, number + UINT64_C(1));
	return err;
}

static int put_point(struct writer *w, const struct hl_course *c)
{
	int err;

	fputs("\n", w->x->out);
	hl_json_begin_object(&w->j);
	put_value(&w->j, "tb", "tbk", &c->allocated);
	hl_json_key_u64(&w->j, "tl", c->life_ns / NS_PER_UNIT);
	put_value(&w->j, "mb", "mbk", &c->most);
	put_value(&w->j, "gb", "gbk", &c->at_peak);
	put_value(&w->j, "eb", "ebk", &c->left);
	hl_json_key(&w->j, "fs");
	hl_json_begin_array(&w->j);
	err = c->rest ? put_rest(w) : 0;
	if (!err && w->x->grouped)
		err = put_group(w, c);
	if (!err)
		err = put_frames_of(w, c->node);
	hl_json_end_array(&w->j);
	hl_json_end_object(&w->j);
	return err;
}

/* "0x10000a1b2: parse (app.c:12)": readers tell frames apart by the whole text. */
static void put_table(struct writer *w)
{
	hl_json_key(&w->j, "ftbl");
	hl_json_begin_array(&w->j);
	hl_json_string(&w->j, "[root]");
	for (size_t i = 0; i < w->places.len; i++) {
		const struct hl_frame *f = hl_model_frame(w->x->m, w->places.data[i].frame);
		struct hl_strbuf text = {0};

		fputs("\n", w->x->out);
		hl_strbuf_printf(
			&text, "0x%" PRIx64 ": %s ", w->places.data[i].address, f->function);
		if (f->file)
			hl_strbuf_printf(&text, "(%s:%" PRIu32 ")", f->file, f->line);
		else
			hl_strbuf_printf(&text, "(in %s)", f->module ? f->module : "???");
		hl_json_string(&w->j, hl_strbuf_str(&text));
		hl_strbuf_fini(&text);
	}
	hl_json_end_array(&w->j);
}

static void put_head(struct writer *w, const struct hl_courses *c)
{
	const struct hl_meta *meta = &hl_model_info(w->x->m)->meta;
	struct hl_strbuf command = {0};

	hl_export_command(&command, meta);
	hl_json_key_u64(&w->j, "dhatFileVersion", 2);
	hl_json_key_string(&w->j, "mode", "heap");
	hl_json_key_string(&w->j, "verb", "Allocated");
	hl_json_key_bool(&w->j, "bklt", true);
	hl_json_key_bool(&w->j, "bkacc", false);
	hl_json_key_string(&w->j, "tu", "µs");
	hl_json_key_string(&w->j, "Mtu", "s");
	hl_json_key_u64(&w->j, "tuth", SHORT_LIVED);
	hl_json_key_string(&w->j, "cmd", hl_strbuf_str(&command));
	hl_json_key_u64(&w->j, "pid", meta->pid);
	hl_json_key_u64(&w->j, "te", c->end_ns / NS_PER_UNIT);
	hl_json_key_u64(&w->j, "tg", c->peak_ns / NS_PER_UNIT);
	hl_strbuf_fini(&command);
}

/* The groups of what was allocated. */
static int divide(struct writer *w, const struct hl_courses *c)
{
	struct hl_cross all = {.n = c->n};
	int err;

	all.rows = malloc((c->n + 1) * sizeof(*all.rows));
	if (!all.rows)
		return -ENOMEM;
	for (size_t i = 0; i < c->n; i++)
		all.rows[i] = (struct hl_cross_row){.node = c->rows[i].node,
			.key = c->rows[i].key,
			.value = c->rows[i].allocated};
	err = hl_division_make(&w->division, w->x->m, w->x->group, &all, 1);
	hl_cross_fini(&all);
	return err;
}

int hl_export_dhat(struct hl_export_job *x)
{
	struct writer w = {.x = x};
	struct hl_query q = x->query;
	struct hl_courses c;
	int err;

	if (x->grouped)
		q.key = hl_group_key(x->group);
	err = hl_model_courses(&c, x->m, &q, x->rest);
	if (!err && x->rest)
		err = hl_rest_frame(x->m, &w.rest_frame);
	if (!err && x->grouped)
		err = divide(&w, &c);
	x->moved |= c.moved;
	x->to_ns = c.end_ns;
	hl_json_init(&w.j, x->out);
	hl_json_begin_object(&w.j);
	if (!err)
		put_head(&w, &c);
	hl_json_key(&w.j, "pps");
	hl_json_begin_array(&w.j);
	for (size_t i = 0; i < c.n && !err; i++) {
		if (c.rows[i].allocated.blocks)
			err = put_point(&w, &c.rows[i]);
	}
	hl_json_end_array(&w.j);
	put_table(&w);
	hl_json_end_object(&w.j);
	fputs("\n", x->out);
	hl_vec_free(&w.places);
	hl_map_fini(&w.by_place);
	hl_division_fini(&w.division);
	hl_courses_fini(&c);
	return err;
}
