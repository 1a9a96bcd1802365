/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group_tree.c - see group_tree.h.
 */
#include "model/stack/group_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "model/model_internal.h"
#include "util/strbuf.h"

static bool is_code_group(enum hl_group g)
{
	return hl_group_key(g) == HL_KEY_STACK;
}

static uint32_t get_key(const struct hl_grouping *d, uint32_t node, uint32_t key)
{
	return hl_min_u32(is_code_group(d->group) ? node : key, d->n_keys);
}

uint32_t hl_grouping_frame(const struct hl_grouping *d, uint32_t node, uint32_t key)
{
	return d->frames[get_key(d, node, key)];
}

/* --- frames --- */

/* Appends "size: 64 B". The name of a thread begins with the word "thread" already. */
static void put_name(struct hl_strbuf *b, enum hl_group g, const char *name)
{
	const char *kind = hl_group_name(g);
	size_t n = strlen(kind);

	if (strncmp(name, kind, n) != 0 || name[n] != ' ')
		hl_strbuf_printf(b, "%s: ", kind);
	hl_strbuf_puts(b, name);
}

static int make_group_frame(
	struct hl_model *m, enum hl_group g, const struct hl_table_row *r, uint32_t *frame)
{
	struct hl_strbuf name = {0}, shown = {0};
	int err;

	put_name(&name, g, r->name);
	put_name(&shown, g, r->display_name);
	err = hl_strbuf_error(&name) ? -ENOMEM : hl_strbuf_error(&shown);
	if (!err)
		err = hl_model_group_frame(m, hl_strbuf_str(&name), hl_strbuf_str(&shown), frame);
	hl_strbuf_fini(&name);
	hl_strbuf_fini(&shown);
	return err;
}

/* Replaces the row of each key by the frame of that row. */
static int make_frames(
	struct hl_grouping *d, struct hl_model *m, const struct hl_table *t, uint32_t *row_frames)
{
	int err = 0;

	for (size_t i = 0; i < t->n && !err; i++)
		err = make_group_frame(m, d->group, &t->rows[i], &row_frames[i]);
	for (uint32_t i = 0; i <= d->n_keys && !err; i++) {
		if (d->frames[i] != HL_NODE_NONE)
			d->frames[i] = row_frames[d->frames[i]];
	}
	return err;
}

/* Sums the values by key, as the input of hl_table_build_mapped. */
static int sum_by_key(const struct hl_grouping *d, struct hl_answer *a,
	const struct hl_cross_sums *answers, size_t n)
{
	*a = (struct hl_answer){.key = hl_group_key(d->group), .n_keys = d->n_keys};
	a->values = calloc((size_t)a->n_keys + 1, sizeof(*a->values));
	for (size_t k = 0; k < n && a->values; k++) {
		for (size_t i = 0; i < answers[k].n; i++) {
			const struct hl_cross_sums_row *r = &answers[k].rows[i];

			hl_value_add(&a->values[get_key(d, r->node, r->key)], &r->value);
		}
	}
	return a->values ? 0 : -ENOMEM;
}

int hl_grouping_make(struct hl_grouping *d, struct hl_model *m, enum hl_group g,
	const struct hl_cross_sums *answers, size_t n)
{
	struct hl_table t = {0};
	struct hl_answer a = {0};
	uint32_t *row_frames = NULL;
	int err;

	*d = (struct hl_grouping){.group = g};
	err = hl_key_count(m, hl_group_key(g), &d->n_keys);
	if (!err)
		err = sum_by_key(d, &a, answers, n);
	d->frames = malloc(((size_t)d->n_keys + 1) * sizeof(*d->frames));
	if (!err)
		err = d->frames ? hl_table_build_mapped(&t, m, &a, g, false, d->frames) : -ENOMEM;
	if (!err)
		row_frames = malloc((t.n + 1) * sizeof(*row_frames));
	if (!err)
		err = row_frames ? make_frames(d, m, &t, row_frames) : -ENOMEM;
	free(row_frames);
	hl_table_fini(&t);
	hl_answer_fini(&a);
	return err ? hl_model_fail(m, err) : 0;
}

void hl_grouping_fini(struct hl_grouping *d)
{
	free(d->frames);
	memset(d, 0, sizeof(*d));
}

/* --- one query --- */

int hl_model_group_stacks(struct hl_model *m, const struct hl_query *query, enum hl_group g,
	struct hl_grouped_stacks *d)
{
	struct hl_query q = *query;
	int err;

	memset(d, 0, sizeof(*d));
	q.key = hl_group_key(g);
	/* The answer by stack determines groups of code, and comes from keyframes. */
	if (is_code_group(g)) {
		err = hl_model_query(m, &q, &d->by_stack);
		if (!err)
			err = hl_cross_sums_of(&d->cross, m, &d->by_stack);
	} else {
		err = hl_model_cross_sums(m, &q, &d->cross, 1);
		if (!err)
			err = hl_cross_sums_by_stack(&d->cross, m, &q, &d->by_stack);
	}
	return err ? err : hl_grouping_make(&d->grouping, m, g, &d->cross, 1);
}

void hl_grouped_stacks_fini(struct hl_grouped_stacks *d)
{
	hl_answer_fini(&d->by_stack);
	hl_cross_sums_fini(&d->cross);
	hl_grouping_fini(&d->grouping);
}
