/*
 * course.c - see course.h.
 *
 * Lifetimes added are the times of all deaths less the times of all births: nothing has to be known
 * of single blocks.
 */
#include "model/course.h"

#include <string.h>

#include "model/model_internal.h"

struct work {
	struct hl_course *courses;
	uint32_t none;
};

static int take(void *arg, const struct hl_event *e)
{
	struct work *w = arg;
	struct hl_course *c = &w->courses[e->node == HL_NODE_NONE ? w->none : e->node];

	if (e->op == HL_OP_FREE) {
		c->left.bytes -= e->size;
		c->left.blocks--;
		c->life_ns += e->time_ns;
		return 0;
	}
	c->allocated.bytes += e->size;
	c->allocated.blocks++;
	c->left.bytes += e->size;
	c->left.blocks++;
	c->life_ns -= e->time_ns;
	if (c->left.bytes > c->most.bytes)
		c->most = c->left;
	return 0;
}

int hl_model_courses(struct hl_model *m, const struct hl_query *q, struct hl_course *courses,
	uint64_t *end_ns, bool *moved)
{
	struct work w = {.courses = courses, .none = m->n_nodes};
	struct hl_lives l = {.query = q, .want = HL_WANT_TIME, .event = take, .arg = &w};
	int err;

	memset(courses, 0, ((size_t)m->n_nodes + 1) * sizeof(*courses));
	err = hl_model_lives(m, &l);
	for (uint32_t i = 0; i <= m->n_nodes && !err; i++)
		courses[i].life_ns += courses[i].left.blocks * l.end_ns;
	*end_ns = l.end_ns;
	*moved = l.moved;
	return err;
}
