/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rotate.c - see rotate.h. The order of the writer's calls is described in trace/write/writer.h.
 */
#include "collect/match/rotate.h"

#include <errno.h>
#include <string.h>

#include "collect/control/steering.h"
#include "collect/drain/region.h"
#include "collect/output/base_task.h"

#define BASE_BYTES_BLOCK 32u /* a packed block of a live set has 8 to 20 */
#define BASE_BYTES_NODE  48u /* its definition and its sums */
#define BASE_BYTES_MORE  16384u

uint64_t hl_match_base_bytes_max(const struct hl_target *p)
{
	return (p->match.n_allocs - p->match.n_frees) * BASE_BYTES_BLOCK +
	       p->match.tree.nodes.len * BASE_BYTES_NODE + BASE_BYTES_MORE;
}

void hl_match_end_output(struct hl_target *p, const struct hl_end *end)
{
	struct hl_end full_end = *end;
	struct hl_counters counters = hl_target_counters(p);
	uint64_t events = p->match.n_allocs + p->match.n_frees;

	/* At least one: the events lost for lack of memory were not counted. */
	if (p->match.out_of_memory && !counters.dropped_events)
		counters.dropped_events = 1;
	if (full_end.duration_ns < hl_target_last_ns(p))
		full_end.duration_ns = hl_target_last_ns(p);
	hl_trace_output_end(
		p->output, &full_end, &counters, &p->match.cost, events - p->match.n_earlier);
	p->match.n_earlier = events;
}

static void add_roles(struct hl_target *p, struct hl_writer *w)
{
	for (uint32_t i = 0; i < p->match.roles.len; i++) {
		const struct hl_match_role *r = &p->match.roles.data[i];

		if (r->tag == HL_TAG_NONE)
			(void)hl_writer_add_thread(w, r->tid);
		else
			(void)hl_writer_add_role(w, r->thread, r->tag);
	}
}

/* All tables of the run, in the order of their ids. The writer remembers its errors. */
static void add_tables(struct hl_target *p, struct hl_trace_output *next)
{
	const struct hl_calltree *t = &p->match.tree;
	const struct hl_tag_paths *tags = &p->match.tags;
	struct hl_writer *w = hl_trace_output_writer(next);

	for (size_t i = 0; i < p->match.modules.len; i++)
		(void)hl_trace_output_add_module(next, p->match.modules.data[i]);
	for (size_t i = 0; i < t->nodes.len; i++) {
		struct hl_node node = t->frames.data[t->nodes.data[i].frame];

		node.parent = t->nodes.data[i].parent;
		(void)hl_writer_add_node(w, &node);
	}
	for (size_t i = 0; i < tags->defined.len; i++) {
		const char *name = hl_string_table_get(&tags->names, tags->defined.data[i].name);

		(void)hl_writer_add_tag(w, tags->defined.data[i].parent, name, strlen(name));
	}
	add_roles(p, w);
}

/* Side events from before the base that later ones refer to, in the order of time. */
static int add_extras(struct hl_target *p, struct hl_trace_output *next)
{
	hl_extras list = {0};
	int err = hl_base_extras_list(&p->match.base_extras, &list);

	if (!err)
		err = hl_pool_blocks_list(&p->match.pools, &list);
	if (!err)
		err = hl_extras_sort(&list);
	for (size_t i = 0; i < list.len && !err; i++)
		err = hl_writer_add_extra(hl_trace_output_writer(next), &list.data[i]);
	hl_vec_free(&list);
	return err;
}

/* Posts the live blocks of the base; they are copied from here on. */
static int post_blocks(
	struct hl_target *p, struct hl_trace_output *next, const struct hl_base_place *place)
{
	const struct hl_steering *s = p->control.steering;
	struct hl_base_task *t;
	int err;

	if (place->blocks == 0)
		return 0;
	t = hl_base_task_new(&p->match.live, place, s ? s->rates : NULL, p->control.salt);
	if (!t)
		return -ENOMEM;
	err = hl_trace_output_post_base(next, t);
	if (err)
		hl_base_task_free(t);
	else
		p->match.base = t;
	return err;
}

/* The tables of the run are complete, so that the next file can have them. */
static int check_tables(const struct hl_target *p)
{
	return p->match.roles.len == p->match.n_roles &&
			       p->match.tags.defined.len == p->match.tags.n &&
			       !p->match.base_extras.incomplete
		       ? 0
		       : -ENOMEM;
}

static int prepare(struct hl_target *p, struct hl_trace_output *next)
{
	struct hl_base base;
	int err;

	hl_target_flush(p);
	hl_retain_write_queue(p);
	if (hl_writer_flush(p->writer))
		return -ENODATA;
	err = check_tables(p);
	if (!err)
		err = hl_writer_describe_base(p->writer, hl_target_last_ns(p),
			hl_writer_written_live_blocks(p->writer), &base);
	base.snapshots = p->retain.n_snapshots;
	return err ? err : hl_trace_output_begin(next, &base);
}

int hl_match_rotate(struct hl_target *p, struct hl_trace_output *next)
{
	struct hl_writer *old = p->writer;
	struct hl_base_place place;
	int err = p->match.base ? -EAGAIN : prepare(p, next);

	if (err)
		return err;
	add_tables(p, next);
	hl_trace_output_set_successor(p->output, next);
	hl_match_end_output(p, &(struct hl_end){.kind = HL_END_CONTINUED});
	p->output = next;
	p->writer = hl_trace_output_writer(next);
	err = hl_writer_begin_base(p->writer, old, &place);
	hl_writer_close(old);
	if (!err)
		err = post_blocks(p, next, &place);
	if (!err)
		err = add_extras(p, next);
	if (!err)
		err = hl_writer_end_base(p->writer);
	/* The recording goes on; a file without a whole base is reported as incomplete. */
	if (err)
		hl_trace_output_fail(next, err);
	return 0;
}

void hl_match_copy_base(struct hl_target *p, uint32_t n)
{
	struct hl_base_task *t = p->match.base;

	if (!t || !hl_live_copy_step(&t->copy, &p->match.live, n))
		return;
	p->match.base = NULL;
	hl_base_task_complete(t);
}
