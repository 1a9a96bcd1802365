/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dhat.c - the output format of DHAT, version 2: for each stack its allocations, their lifetimes,
 * its own maximum, and its share of the global maximum and of the end.
 *
 * The maximum is that of the exported blocks, as in DHAT; in a trace that begins late it is that
 * since the base. Times are in microseconds. Aggregated blocks have separate program points, below
 * a frame that says so; the maximum is then that of the whole heap.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "model/views/site_history.h"
#include "model/stack/group_tree.h"
#include "util/pair_map.h"
#include "views/export/export_internal.h"

#define NS_PER_UNIT 1000
#define SHORT_LIVED 10 /* microseconds; the viewer marks shorter lifetimes */

/* A frame with its address. Two calls on one line are two frames; otherwise two stacks would look
 * the same, which readers refuse. */
struct frame_at {
	uint64_t address;
	uint32_t frame;
};

struct writer {
	struct hl_export_job *x;
	struct hl_json j;
	HL_VEC(struct frame_at) frames_at;
	struct hl_pair_map frame_numbers;
	struct hl_grouping grouping; /* with --group */
	uint32_t aggregated_frame;
};

static int find_frame_number(struct writer *w, uint64_t address, uint32_t frame, uint32_t *number)
{
	int err = 0;

	*number = hl_pair_map_get(&w->frame_numbers, address, frame);
	if (*number == HL_PAIR_MAP_NONE) {
		*number = (uint32_t)w->frames_at.len;
		err = hl_vec_push(&w->frames_at, ((struct frame_at){address, frame}));
		if (!err)
			err = hl_pair_map_put(&w->frame_numbers, address, frame, *number);
	}
	return err;
}

static void put_value(
	struct hl_json *j, const char *bytes, const char *blocks, const struct hl_value *v)
{
	hl_json_key_u64(j, bytes, v->bytes);
	hl_json_key_u64(j, blocks, v->blocks);
}

/* Innermost frame first; number 0 is the root. */
static int put_stack_frames(struct writer *w, uint32_t node)
{
	int err;

	do {
		uint64_t address = hl_export_address(w->x->m, node);
		const struct hl_frame_ref *refs;
		size_t n = 0;

		err = hl_model_node_frames(w->x->m, node, &refs, &n);
		for (size_t i = n; i-- > 0 && !err;) {
			uint32_t number;

			err = find_frame_number(w, address, refs[i].frame, &number);
			hl_json_u64(&w->j, number + UINT64_C(1));
		}
		node = node == HL_NODE_NONE ? HL_NODE_NONE : hl_model_parent(w->x->m, node);
	} while (node != HL_NODE_NONE && !err);
	return err;
}

/* The group is in front of the innermost frame, where the viewer's tree begins. */
static int put_group(struct writer *w, const struct hl_site_history *c)
{
	uint32_t frame = hl_grouping_frame(&w->grouping, c->node, c->key), number;
	int err = find_frame_number(w, 0, frame, &number);

	hl_json_u64(&w->j, number + UINT64_C(1));
	return err;
}

static int put_aggregated_frame(struct writer *w)
{
	uint32_t number;
	int err = find_frame_number(w, 0, w->aggregated_frame, &number);

	hl_json_u64(&w->j, number + UINT64_C(1));
	return err;
}

static int put_point(struct writer *w, const struct hl_site_history *c)
{
	int err;

	fputs("\n", w->x->out);
	hl_json_begin_object(&w->j);
	put_value(&w->j, "tb", "tbk", &c->allocated);
	hl_json_key_u64(&w->j, "tl", c->life_ns / NS_PER_UNIT);
	put_value(&w->j, "mb", "mbk", &c->max_live);
	put_value(&w->j, "gb", "gbk", &c->at_peak);
	put_value(&w->j, "eb", "ebk", &c->live_end);
	hl_json_key(&w->j, "fs");
	hl_json_begin_array(&w->j);
	err = c->is_aggregated ? put_aggregated_frame(w) : 0;
	if (!err && w->x->grouped)
		err = put_group(w, c);
	if (!err)
		err = put_stack_frames(w, c->node);
	hl_json_end_array(&w->j);
	hl_json_end_object(&w->j);
	return err;
}

/* Prints "0x10000a1b2: parse (app.c:12)". Readers identify frames by the whole text. */
static void put_table(struct writer *w)
{
	hl_json_key(&w->j, "ftbl");
	hl_json_begin_array(&w->j);
	hl_json_string(&w->j, "[root]");
	for (size_t i = 0; i < w->frames_at.len; i++) {
		const struct hl_frame *f = hl_model_frame(w->x->m, w->frames_at.data[i].frame);
		struct hl_strbuf text = {0};

		fputs("\n", w->x->out);
		hl_strbuf_printf(
			&text, "0x%" PRIx64 ": %s ", w->frames_at.data[i].address, f->function);
		if (f->file)
			hl_strbuf_printf(&text, "(%s:%" PRIu32 ")", f->file, f->line);
		else
			hl_strbuf_printf(&text, "(in %s)", f->module ? f->module : "???");
		hl_json_string(&w->j, hl_strbuf_str(&text));
		hl_strbuf_fini(&text);
	}
	hl_json_end_array(&w->j);
}

static void put_header(struct writer *w, const struct hl_site_histories *c)
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

/* Builds the groups from the allocated values. */
static int build_groups(struct writer *w, const struct hl_site_histories *c)
{
	struct hl_cross_sums all = {.n = c->n};
	int err;

	all.rows = malloc((c->n + 1) * sizeof(*all.rows));
	if (!all.rows)
		return -ENOMEM;
	for (size_t i = 0; i < c->n; i++)
		all.rows[i] = (struct hl_cross_sums_row){.node = c->rows[i].node,
			.key = c->rows[i].key,
			.value = c->rows[i].allocated};
	err = hl_grouping_make(&w->grouping, w->x->m, w->x->group, &all, 1);
	hl_cross_sums_fini(&all);
	return err;
}

int hl_export_dhat(struct hl_export_job *x)
{
	struct writer w = {.x = x};
	struct hl_query q = x->query;
	struct hl_site_histories c;
	int err;

	if (x->grouped)
		q.key = hl_group_key(x->group);
	err = hl_model_site_histories(&c, x->m, &q, x->aggregated);
	if (!err && x->aggregated)
		err = hl_aggregated_frame(x->m, &w.aggregated_frame);
	if (!err && x->grouped)
		err = build_groups(&w, &c);
	x->before_damage |= c.before_damage;
	if (!x->query.filter && !x->query.pool && !x->quantity_given && hl_export_find_peak(x) == 0)
		x->lacks_peak = x->peak.before_base;
	x->to_ns = c.end_ns;
	hl_json_init(&w.j, x->out);
	hl_json_begin_object(&w.j);
	if (!err)
		put_header(&w, &c);
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
	hl_vec_free(&w.frames_at);
	hl_pair_map_fini(&w.frame_numbers);
	hl_grouping_fini(&w.grouping);
	hl_site_histories_fini(&c);
	return err;
}
