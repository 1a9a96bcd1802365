/*
 * query.c - answers; see query.h.
 *
 * Whatever can be had from keyframes and summaries is; only filters on more than the stack need
 * every event.
 */
#include "model/query.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/model_internal.h"
#include "model/stream.h"
#include "model/sums.h"

const char *hl_quantity_name(enum hl_quantity q)
{
	return q == HL_QUANTITY_LIVE ? "live" : "allocated";
}

static struct hl_place place_of(struct hl_model *m, const struct hl_when *when)
{
	if (when->kind == HL_WHEN_PEAK)
		return hl_place_peak(m);
	return hl_place_at(m, when->kind == HL_WHEN_END ? UINT64_MAX : hl_when_ns(when, m));
}

/* A moment after the end is the end, if the end is known. */
static uint64_t asked(struct hl_model *m, const struct hl_query *q, const struct hl_place *p)
{
	return p->moved ? hl_when_ns(&q->to, m) : p->time_ns;
}

static void live_values(const struct hl_sums *sums, struct hl_answer *a)
{
	for (uint32_t i = 0; i <= a->n_nodes; i++) {
		a->nodes[i].bytes = hl_sums_live_bytes(&sums[i]);
		a->nodes[i].blocks = hl_sums_live_blocks(&sums[i]);
	}
}

/*
 * The last keyframe of a file that was ended knows what was live at the peak. -ENODATA when there
 * is none, or when it does not agree with the totals.
 */
static int peak_from_keyframe(struct hl_model *m, struct hl_answer *a)
{
	size_t n = hl_reader_n_keyframes(m->reader);
	const struct hl_keyframe_info *k = n > 0 ? hl_reader_keyframe(m->reader, n - 1) : NULL;
	struct hl_node_totals *nodes;
	const struct hl_totals *all = &m->info->totals;
	struct hl_value sum = {0};
	int err;

	if (!m->info->has_end || !k || k->lost || m->bad_keyframes[n - 1] ||
		k->chunk != hl_reader_n_chunks(m->reader))
		return -ENODATA;
	nodes = malloc(((size_t)m->n_nodes + 1) * sizeof(*nodes));
	if (!nodes)
		return -ENOMEM;
	err = hl_reader_load_keyframe(m->reader, n - 1, nodes, m->n_nodes);
	if (err == -EBADMSG)
		hl_model_mark_bad(m, &m->bad_keyframes[n - 1]);
	for (uint32_t i = 0; i < a->n_nodes && !err; i++) {
		a->nodes[i].bytes = nodes[i].peak_bytes;
		a->nodes[i].blocks = nodes[i].peak_blocks;
		sum.bytes += nodes[i].peak_bytes;
		sum.blocks += nodes[i].peak_blocks;
	}
	free(nodes);
	if (err == -ENOMEM)
		return err;
	if (err || sum.bytes > all->peak_bytes || sum.blocks > all->peak_blocks)
		return -ENODATA;
	/* The rest has no stack. */
	a->nodes[a->n_nodes].bytes = all->peak_bytes - sum.bytes;
	a->nodes[a->n_nodes].blocks = all->peak_blocks - sum.blocks;
	a->to_ns = m->info->totals.peak_time_ns;
	return 0;
}

static int live_of_all(struct hl_model *m, const struct hl_query *q, struct hl_answer *a)
{
	struct hl_place p;
	struct hl_sums *sums;
	int err;

	if (q->to.kind == HL_WHEN_PEAK) {
		err = peak_from_keyframe(m, a);
		if (err != -ENODATA)
			return err;
	}
	sums = malloc(((size_t)m->n_nodes + 1) * sizeof(*sums));
	if (!sums)
		return -ENOMEM;
	p = place_of(m, &q->to);
	a->asked_ns = asked(m, q, &p);
	err = hl_sums_at(m, &p, sums);
	a->to_ns = p.time_ns;
	a->moved = p.moved;
	if (!err)
		live_values(sums, a);
	free(sums);
	return err;
}

static int allocated_of_all(struct hl_model *m, const struct hl_query *q, struct hl_answer *a)
{
	size_t n = (size_t)m->n_nodes + 1;
	struct hl_sums *at_from = calloc(n, sizeof(*at_from)), *at_to = malloc(n * sizeof(*at_to));
	struct hl_place from, to = place_of(m, &q->to);
	int err = at_from && at_to ? 0 : -ENOMEM;

	a->asked_ns = asked(m, q, &to);
	if (!err)
		err = hl_sums_at(m, &to, at_to);
	a->to_ns = to.time_ns;
	a->moved = to.moved;
	a->from_ns = hl_when_ns(&q->from, m);
	if (!err && a->from_ns > 0) {
		from = hl_place_at(m, a->from_ns - 1);
		err = hl_sums_at(m, &from, at_from);
		if (from.moved)
			a->from_ns = from.time_ns;
		a->moved |= from.moved;
	}
	for (uint32_t i = 0; i <= a->n_nodes && !err; i++) {
		if (at_to[i].alloc_blocks < at_from[i].alloc_blocks)
			continue; /* the range is empty or turned round */
		a->nodes[i].bytes = at_to[i].alloc_bytes - at_from[i].alloc_bytes;
		a->nodes[i].blocks = at_to[i].alloc_blocks - at_from[i].alloc_blocks;
	}
	free(at_from);
	free(at_to);
	return err;
}

static int filtered(struct hl_model *m, const struct hl_query *q, struct hl_answer *a)
{
	struct hl_place to = place_of(m, &q->to);
	bool live = q->quantity == HL_QUANTITY_LIVE;
	int err;

	a->asked_ns = asked(m, q, &to);
	a->from_ns = live ? 0 : hl_when_ns(&q->from, m);
	err = hl_stream_sums(m, q->filter, live, a->from_ns, &to, a->nodes);
	a->to_ns = to.time_ns;
	a->moved = to.moved;
	return err;
}

/* Stacks that a filter on stacks leaves out. */
static int mask(struct hl_model *m, struct hl_filter *f, struct hl_answer *a)
{
	int err = 0;

	for (uint32_t i = 0; i <= a->n_nodes && !err; i++) {
		bool holds = true;

		if (a->nodes[i].blocks == 0)
			continue;
		err = hl_filter_node(f, m, i < a->n_nodes ? i : HL_NODE_NONE, &holds);
		if (!holds)
			a->nodes[i] = (struct hl_value){0};
	}
	return err;
}

static int answer(struct hl_model *m, const struct hl_query *q, struct hl_answer *a)
{
	int err;

	if (q->filter) {
		hl_filter_bind(q->filter, m);
		if (hl_filter_subjects(q->filter) & ~HL_FILTER_FUNCTION)
			return filtered(m, q, a);
	}
	err = q->quantity == HL_QUANTITY_LIVE ? live_of_all(m, q, a) : allocated_of_all(m, q, a);
	return !err && q->filter ? mask(m, q->filter, a) : err;
}

int hl_model_query(struct hl_model *m, const struct hl_query *q, struct hl_answer *a)
{
	int err;

	*a = (struct hl_answer){.quantity = q->quantity, .n_nodes = m->n_nodes};
	a->nodes = calloc((size_t)m->n_nodes + 1, sizeof(*a->nodes));
	if (!a->nodes)
		return hl_model_fail(m, -ENOMEM);
	a->asked_ns = hl_when_ns(&q->to, m);
	m->error[0] = 0;
	err = answer(m, q, a);
	if (err) {
		hl_answer_fini(a);
		return m->error[0] ? err : hl_model_fail(m, err);
	}
	if (q->quantity == HL_QUANTITY_LIVE)
		a->from_ns = a->to_ns;
	for (uint32_t i = 0; i <= a->n_nodes; i++) {
		a->total.bytes += a->nodes[i].bytes;
		a->total.blocks += a->nodes[i].blocks;
	}
	return 0;
}

void hl_answer_fini(struct hl_answer *a)
{
	free(a->nodes);
	memset(a, 0, sizeof(*a));
}
