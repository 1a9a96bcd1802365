/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scope_tree.c - see scope_tree.h.
 */
#include "model/tags/scope_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/query/sums_by_key.h"
#include "model/model_internal.h"
#include "model/scan/block_stream.h"
#include "model/tags/roles.h"

static void add_value(struct hl_value *v, const struct hl_value *more)
{
	v->bytes += more->bytes;
	v->blocks += more->blocks;
}

static void add_sums(struct hl_scope_sums *s, const struct hl_scope_sums *more)
{
	add_value(&s->allocated, &more->allocated);
	add_value(&s->freed, &more->freed);
	add_value(&s->live, &more->live);
}

static struct hl_scope_sums *self_of(struct hl_scope_tree *t, uint32_t tag)
{
	return tag < t->n ? &t->rows[tag].self : &t->outside;
}

/* --- without a filter, from summaries --- */

static int from_sums(
	struct hl_scope_tree *t, const struct hl_key_sums *from, const struct hl_key_sums *to)
{
	struct hl_sums *a = calloc((size_t)t->n + 1, sizeof(*a));
	struct hl_sums *b = calloc((size_t)t->n + 1, sizeof(*b));
	int err = a && b ? hl_key_sums_load(from, a) : -ENOMEM;

	if (!err)
		err = hl_key_sums_load(to, b);
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

static int by_summaries(struct hl_scope_tree *t, struct hl_model *m, const struct hl_position *from,
	const struct hl_position *to)
{
	struct hl_key_sums at_from = {0}, at_to = {0};
	int err = hl_key_sums_init(&at_from, m, HL_KEY_TAG, t->n, from);

	if (!err)
		err = hl_key_sums_init(&at_to, m, HL_KEY_TAG, t->n, to);
	if (!err)
		err = hl_scan(m, &at_to.consumer, &at_from.consumer);
	if (!err)
		err = from_sums(t, &at_from, &at_to);
	t->from_ns = at_from.position.time_ns;
	t->to_ns = at_to.position.time_ns;
	t->moved = at_from.position.before_damage || at_to.position.before_damage;
	hl_key_sums_fini(&at_from);
	hl_key_sums_fini(&at_to);
	return err;
}

/* --- with a filter, from single blocks --- */

static void reset_sums(void *arg)
{
	struct hl_scope_tree *t = arg;

	for (uint32_t i = 0; i <= t->n; i++)
		*self_of(t, i) = (struct hl_scope_sums){0};
}

static int add_block(void *arg, const struct hl_block *b)
{
	struct hl_scope_sums *s = self_of(arg, b->tag);
	const struct hl_value one = {.bytes = b->bytes, .blocks = b->blocks};

	if (b->alloc_phase == HL_RANGE_IN)
		add_value(&s->allocated, &one);
	if (b->free_phase == HL_RANGE_IN)
		add_value(&s->freed, &one);
	if (b->free_phase >= HL_RANGE_AFTER)
		add_value(&s->live, &one);
	return 0;
}

static int by_blocks(struct hl_scope_tree *t, struct hl_model *m, const struct hl_position *from,
	const struct hl_position *to, struct hl_filter *filter)
{
	struct hl_block_stream s = {.filter = filter,
		.from = *from,
		.to = *to,
		.include_older = true,
		.begin = reset_sums,
		.block = add_block,
		.arg = t};
	int err = hl_block_stream_run(m, &s);

	t->from_ns = s.from.time_ns;
	t->to_ns = s.to.time_ns;
	t->moved = s.from.before_damage || s.to.before_damage;
	return err;
}

/* --- both --- */

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

/* Children come after their parents. Going backwards, each row is complete when it is added to its
 * parent. */
static void add_up_totals(struct hl_scope_tree *t)
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
	static const struct hl_query whole = {.to = {.kind = HL_TIME_SPEC_END}};
	struct hl_position from, to;
	int err;

	memset(t, 0, sizeof(*t));
	q = q ? q : &whole;
	err = hl_time_spec_check(&q->from, m);
	if (!err)
		err = hl_time_spec_check_blocks(&q->to, m);
	if (!err && q->filter)
		err = hl_filter_bind(q->filter, m);
	if (!err)
		err = make_rows(t, m);
	if (err)
		return err;
	/* Blocks of a base count as allocated, because their frees count as freed. */
	from = hl_time_spec_ns(&q->from, m) == 0 ? hl_position_start() : hl_query_from(m, &q->from);
	to = hl_query_to(m, &q->to);
	err = q->filter ? by_blocks(t, m, &from, &to, q->filter) : by_summaries(t, m, &from, &to);
	if (err) {
		if (!m->error[0])
			hl_model_fail(m, err);
		hl_scope_tree_fini(t);
		return err;
	}
	add_up_totals(t);
	return 0;
}

void hl_scope_tree_fini(struct hl_scope_tree *t)
{
	free(t->rows);
	memset(t, 0, sizeof(*t));
}
