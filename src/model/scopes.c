/*
 * scopes.c - see scopes.h.
 */
#include "model/scopes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/keyed.h"
#include "model/model_internal.h"
#include "model/stream.h"
#include "model/tags.h"

static void add(struct hl_value *v, const struct hl_value *more)
{
	v->bytes += more->bytes;
	v->blocks += more->blocks;
}

static void add_sums(struct hl_scope_sums *s, const struct hl_scope_sums *more)
{
	add(&s->allocated, &more->allocated);
	add(&s->freed, &more->freed);
	add(&s->live, &more->live);
}

static struct hl_scope_sums *self_of(struct hl_scope_tree *t, uint32_t tag)
{
	return tag < t->n ? &t->rows[tag].self : &t->outside;
}

/* --- without a filter summaries know all of it --- */

static int from_sums(
	struct hl_scope_tree *t, const struct hl_keyed *from, const struct hl_keyed *to)
{
	struct hl_sums *a = calloc((size_t)t->n + 1, sizeof(*a));
	struct hl_sums *b = calloc((size_t)t->n + 1, sizeof(*b));
	int err = a && b ? hl_keyed_sums(from, a) : -ENOMEM;

	if (!err)
		err = hl_keyed_sums(to, b);
	for (uint32_t i = 0; i <= t->n && !err; i++)
		*self_of(t, i) =
			(struct hl_scope_sums){.allocated = {b[i].alloc_bytes - a[i].alloc_bytes,
						       b[i].alloc_blocks - a[i].alloc_blocks},
				.freed = {b[i].free_bytes - a[i].free_bytes,
					b[i].free_blocks - a[i].free_blocks},
				.live = {hl_sums_live_bytes(&b[i]), hl_sums_live_blocks(&b[i])}};
	free(a);
	free(b);
	return err;
}

static int by_summaries(struct hl_scope_tree *t, struct hl_model *m, const struct hl_place *from,
	const struct hl_place *to)
{
	struct hl_keyed at_from = {0}, at_to = {0};
	int err = hl_keyed_init(&at_from, m, HL_KEY_TAG, t->n, from);

	if (!err)
		err = hl_keyed_init(&at_to, m, HL_KEY_TAG, t->n, to);
	if (!err)
		err = hl_pass(m, &at_to.reading, &at_from.reading);
	if (!err)
		err = from_sums(t, &at_from, &at_to);
	t->from_ns = at_from.place.time_ns;
	t->to_ns = at_to.place.time_ns;
	t->moved = at_from.place.moved || at_to.place.moved;
	hl_keyed_fini(&at_from);
	hl_keyed_fini(&at_to);
	return err;
}

/* --- with one, blocks are asked one by one --- */

static void forget(void *arg)
{
	struct hl_scope_tree *t = arg;

	for (uint32_t i = 0; i <= t->n; i++)
		*self_of(t, i) = (struct hl_scope_sums){0};
}

static int take_block(void *arg, const struct hl_block *b)
{
	struct hl_scope_sums *s = self_of(arg, b->tag);
	const struct hl_value one = {.bytes = b->bytes, .blocks = b->blocks};

	if (b->born == HL_PHASE_IN)
		add(&s->allocated, &one);
	if (b->died == HL_PHASE_IN)
		add(&s->freed, &one);
	if (b->died >= HL_PHASE_AFTER)
		add(&s->live, &one);
	return 0;
}

static int by_blocks(struct hl_scope_tree *t, struct hl_model *m, const struct hl_place *from,
	const struct hl_place *to, struct hl_filter *filter)
{
	struct hl_stream s = {.filter = filter,
		.from = *from,
		.to = *to,
		.older = true,
		.begin = forget,
		.block = take_block,
		.arg = t};
	int err = hl_stream_blocks(m, &s);

	t->from_ns = s.from.time_ns;
	t->to_ns = s.to.time_ns;
	t->moved = s.from.moved || s.to.moved;
	return err;
}

/* --- */

static int make_rows(struct hl_scope_tree *t, struct hl_model *m)
{
	t->n = hl_model_n_tags(m);
	t->rows = calloc((size_t)t->n + 1, sizeof(*t->rows));
	if (!t->rows)
		return hl_model_fail(m, -ENOMEM);
	for (uint32_t i = 0; i < t->n; i++) {
		t->rows[i].parent = hl_model_tag_parent(m, i);
		t->rows[i].name = hl_model_tag_name(m, i);
		t->rows[i].entered = HL_ENTERED_UNKNOWN;
	}
	return 0;
}

/* Children come after their parents: from the last on each is whole when it is added. */
static void add_up(struct hl_scope_tree *t)
{
	for (uint32_t i = t->n; i-- > 0;) {
		struct hl_scope_row *r = &t->rows[i];

		add_sums(&r->total, &r->self);
		add_sums(r->parent != HL_TAG_NONE ? &t->rows[r->parent].total : &t->all, &r->total);
	}
	add_sums(&t->all, &t->outside);
}

int hl_scopes_build(struct hl_scope_tree *t, struct hl_model *m, const struct hl_query *q)
{
	static const struct hl_query whole = {.to = {.kind = HL_WHEN_END}};
	struct hl_place from, to;
	int err;

	memset(t, 0, sizeof(*t));
	q = q ? q : &whole;
	err = hl_when_check(&q->from, m);
	if (!err)
		err = hl_when_check(&q->to, m);
	if (!err && q->filter)
		err = hl_filter_bind(q->filter, m);
	if (!err)
		err = make_rows(t, m);
	if (err)
		return err;
	from = hl_query_from(m, &q->from);
	to = hl_query_to(m, &q->to);
	err = q->filter ? by_blocks(t, m, &from, &to, q->filter) : by_summaries(t, m, &from, &to);
	if (err) {
		if (!m->error[0])
			hl_model_fail(m, err);
		hl_scope_tree_fini(t);
		return err;
	}
	add_up(t);
	return 0;
}

void hl_scope_tree_fini(struct hl_scope_tree *t)
{
	free(t->rows);
	memset(t, 0, sizeof(*t));
}
