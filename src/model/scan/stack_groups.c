/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack_groups.c - see stack_groups.h.
 *
 * The pass is one of its own and not a consumer of a shared scan, because filters need the groups
 * before a scan begins.
 */
#include "model/scan/stack_groups.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "model/model_internal.h"
#include "model/query/query_plan.h"
#include "model/query/sums.h"

struct hl_stack_groups {
	unsigned parts;
	struct hl_stack_group *of; /* per node; the last: without a stack */
	uint64_t *live;            /* during the pass: live bytes of each group */
};

void hl_stack_groups_free(struct hl_stack_groups *g)
{
	if (!g)
		return;
	free(g->of);
	free(g->live);
	free(g);
}

static int fail_lost(struct hl_model *m)
{
	snprintf(m->error, sizeof(m->error),
		"the groups of blocks with one stack are not known: a part of the file is lost "
		"(see "
		"heaplapse info)");
	return -ENODATA;
}

/* --- counts --- */

static int load_counts(struct hl_model *m, struct hl_stack_groups *g)
{
	struct hl_position end = hl_position_at(m, UINT64_MAX);
	struct hl_sums *sums = malloc(((size_t)m->n_nodes + 1) * sizeof(*sums));
	int err = sums ? hl_sums_at(m, &end, sums) : -ENOMEM;

	if (!err && end.before_damage) {
		free(sums);
		return fail_lost(m);
	}
	for (uint32_t i = 0; i <= m->n_nodes && !err; i++) {
		g->of[i].blocks = sums[i].alloc_blocks;
		g->of[i].bytes = sums[i].alloc_bytes;
		g->of[i].leaked_blocks = sums[i].alloc_blocks - sums[i].free_blocks;
		g->of[i].leaked_bytes = sums[i].alloc_bytes - sums[i].free_bytes;
	}
	free(sums);
	return err ? hl_model_fail(m, err) : 0;
}

/* --- times --- */

static void add_alloc(struct hl_stack_group *g, uint64_t *live, const struct hl_event *e)
{
	if (g->first_ns == UINT64_MAX)
		g->first_ns = e->time_ns;
	g->last_ns = e->time_ns;
	*live += e->bytes;
	if (*live <= g->peak_bytes)
		return;
	g->peak_bytes = *live;
	g->peak_ns = e->time_ns;
}

/* A trace may have frees without their allocations, for example of another process. */
static int add_events(
	struct hl_stack_groups *g, const struct hl_model *m, const struct hl_chunk_events *c)
{
	for (size_t i = 0; i < c->n_events; i++) {
		const struct hl_event *e = &c->events[i];
		uint32_t at = e->node == HL_NODE_NONE ? m->n_nodes : e->node;

		if (at > m->n_nodes)
			return -EBADMSG;
		if (e->op == HL_OP_ALLOC)
			add_alloc(&g->of[at], &g->live[at], e);
		else
			g->live[at] -= hl_min_u64(e->bytes, g->live[at]);
	}
	return 0;
}

static int read_chunks(struct hl_model *m, struct hl_stack_groups *g, struct hl_decode_ahead *ahead)
{
	size_t n = hl_reader_n_chunks(m->reader);
	struct hl_chunk_events events = {0};
	int err = 0;

	for (size_t i = 0; i < n && !err; i++) {
		unsigned want = HL_WANT_TIME | HL_WANT_NODE;

		err = hl_work_tick(&m->work, i, n);
		if (!err)
			err = hl_chunk_is_lost(m, i)
				      ? -EBADMSG
				      : hl_decode_ahead_read(ahead, i, n, &want, &events);
		if (err == -EBADMSG)
			hl_model_mark_bad(m, &m->bad_chunks[i]);
		if (!err)
			err = add_events(g, m, &events);
	}
	hl_chunk_events_free(&events);
	return err == -EBADMSG ? fail_lost(m) : err ? hl_model_fail(m, err) : 0;
}

static int load_times(struct hl_model *m, struct hl_stack_groups *g)
{
	struct hl_decode_ahead ahead;
	int err;

	g->live = calloc((size_t)m->n_nodes + 1, sizeof(*g->live));
	if (!g->live)
		return hl_model_fail(m, -ENOMEM);
	for (uint32_t i = 0; i <= m->n_nodes; i++) {
		g->of[i].first_ns = UINT64_MAX;
		g->of[i].last_ns = g->of[i].peak_bytes = g->of[i].peak_ns = 0;
	}
	hl_work_begin(&m->work, HL_WORK_PASS, HL_WORK_READING);
	hl_decode_ahead_init(&ahead, m->reader);
	err = read_chunks(m, g, &ahead);
	hl_decode_ahead_fini(&ahead);
	hl_work_end(&m->work, HL_WORK_PASS);
	free(g->live);
	g->live = NULL;
	return err;
}

/* --- the groups of a trace --- */

int hl_model_check_groups(struct hl_model *m, unsigned parts)
{
	if (!(parts & HL_GROUPS_TIMES))
		return 0;
	return hl_model_require(
		m, HL_NEEDS_EVENTS | HL_NEEDS_ORDER, "the time of the allocations of a stack");
}

int hl_model_load_groups(struct hl_model *m, unsigned parts)
{
	struct hl_stack_groups *g = m->groups;
	int err = hl_model_check_groups(m, parts);

	if (err)
		return err;
	if (!g) {
		g = m->groups = calloc(1, sizeof(*g));
		if (g)
			g->of = calloc((size_t)m->n_nodes + 1, sizeof(*g->of));
		if (!g || !g->of) {
			hl_stack_groups_free(g);
			m->groups = NULL;
			return hl_model_fail(m, -ENOMEM);
		}
	}
	parts &= ~g->parts;
	if (parts & HL_GROUPS_COUNTS)
		err = load_counts(m, g);
	if (!err && parts & HL_GROUPS_TIMES)
		err = load_times(m, g);
	if (!err)
		g->parts |= parts;
	return err;
}

unsigned hl_model_groups_loaded(const struct hl_model *m)
{
	return m->groups ? m->groups->parts : 0;
}

const struct hl_stack_group *hl_model_group_of(const struct hl_model *m, uint32_t node)
{
	return &m->groups->of[node < m->n_nodes ? node : m->n_nodes];
}
