/*
 * course.c - see course.h.
 *
 * Lifetimes added are the times of all deaths less the times of all births: nothing has to be known
 * of single blocks.
 */
#include "model/course.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/model_internal.h"
#include "trace/totals.h"

struct work {
	struct hl_courses *c;
	struct hl_totals totals; /* nodes have their numbers; what has no stack is one more */
};

static int take(void *arg, const struct hl_event *event)
{
	struct work *w = arg;
	struct hl_event e = *event;
	struct hl_course *c;

	if (e.node == HL_NODE_NONE)
		e.node = w->c->n_nodes;
	c = &w->c->nodes[e.node];
	if (e.op == HL_OP_ALLOC) {
		c->left.bytes += e.bytes;
		c->left.blocks += e.blocks;
		c->life_ns -= e.blocks * e.time_ns;
		if (c->left.bytes > c->most.bytes)
			c->most = c->left;
	} else {
		c->left.bytes -= e.bytes;
		c->left.blocks -= e.blocks;
		c->life_ns += e.blocks * e.time_ns;
	}
	return hl_totals_apply(&w->totals, &e);
}

static struct hl_value value(uint64_t bytes, uint64_t blocks)
{
	return (struct hl_value){.bytes = bytes, .blocks = blocks};
}

static void finish(struct work *w)
{
	struct hl_courses *c = w->c;
	const struct hl_totals *t = &w->totals;

	c->allocated = value(t->sums.alloc_bytes, t->sums.alloc_blocks);
	c->left = value(hl_sums_live_bytes(&t->sums), hl_sums_live_blocks(&t->sums));
	c->at_peak = value(t->peak_bytes, t->peak_blocks);
	c->peak_ns = t->peak_time_ns;
	for (size_t i = 0; i < t->n_nodes && i <= c->n_nodes; i++) {
		struct hl_course *n = &c->nodes[i];

		n->allocated = value(t->nodes[i].sums.alloc_bytes, t->nodes[i].sums.alloc_blocks);
		hl_totals_at_peak(t, i, &n->at_peak.bytes, &n->at_peak.blocks);
		n->life_ns += n->left.blocks * c->end_ns;
	}
}

int hl_model_courses(struct hl_courses *c, struct hl_model *m, const struct hl_query *q)
{
	struct work w = {.c = c};
	struct hl_lives l = {.query = q,
		.want = HL_WANT_TIME | HL_WANT_FUNC | HL_WANT_OTHERS,
		.event = take,
		.arg = &w};
	int err;

	*c = (struct hl_courses){.n_nodes = m->n_nodes};
	c->nodes = calloc((size_t)m->n_nodes + 1, sizeof(*c->nodes));
	if (!c->nodes)
		return hl_model_fail(m, -ENOMEM);
	hl_totals_init(&w.totals);
	err = hl_model_lives(m, &l);
	c->end_ns = l.end_ns;
	c->moved = l.moved;
	if (!err)
		finish(&w);
	hl_totals_fini(&w.totals);
	return err;
}

void hl_courses_fini(struct hl_courses *c)
{
	free(c->nodes);
	memset(c, 0, sizeof(*c));
}
