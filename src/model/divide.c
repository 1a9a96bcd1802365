/*
 * divide.c - see divide.h.
 */
#include "model/divide.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "model/model_internal.h"
#include "util/strbuf.h"

static bool is_of_code(enum hl_group g)
{
	return hl_group_key(g) == HL_KEY_STACK;
}

static uint32_t key_of(const struct hl_division *d, uint32_t node, uint32_t key)
{
	return hl_min_u32(is_of_code(d->group) ? node : key, d->n_keys);
}

uint32_t hl_division_frame(const struct hl_division *d, uint32_t node, uint32_t key)
{
	return d->frames[key_of(d, node, key)];
}

/* --- frames --- */

/* "size: 64 B"; the names of threads begin with the word already. */
static void put_name(struct hl_strbuf *b, enum hl_group g, const char *name)
{
	const char *kind = hl_group_name(g);
	size_t n = strlen(kind);

	if (strncmp(name, kind, n) != 0 || name[n] != ' ')
		hl_strbuf_printf(b, "%s: ", kind);
	hl_strbuf_puts(b, name);
}

static int frame_of(struct hl_model *m, enum hl_group g, const struct hl_row *r, uint32_t *frame)
{
	struct hl_strbuf name = {0}, shown = {0};
	int err;

	put_name(&name, g, r->name);
	put_name(&shown, g, r->shown);
	err = hl_strbuf_error(&name) ? -ENOMEM : hl_strbuf_error(&shown);
	if (!err)
		err = hl_model_group_frame(m, hl_strbuf_str(&name), hl_strbuf_str(&shown), frame);
	hl_strbuf_fini(&name);
	hl_strbuf_fini(&shown);
	return err;
}

/* From the row of each key to its frame. */
static int make_frames(
	struct hl_division *d, struct hl_model *m, const struct hl_table *t, uint32_t *of_row)
{
	int err = 0;

	for (size_t i = 0; i < t->n && !err; i++)
		err = frame_of(m, d->group, &t->rows[i], &of_row[i]);
	for (uint32_t i = 0; i <= d->n_keys && !err; i++) {
		if (d->frames[i] != HL_NODE_NONE)
			d->frames[i] = of_row[d->frames[i]];
	}
	return err;
}

/* All that is counted under a key: what a table is made of. */
static int by_key(
	const struct hl_division *d, struct hl_answer *a, const struct hl_cross *answers, size_t n)
{
	*a = (struct hl_answer){.key = hl_group_key(d->group), .n_keys = d->n_keys};
	a->values = calloc((size_t)a->n_keys + 1, sizeof(*a->values));
	for (size_t k = 0; k < n && a->values; k++) {
		for (size_t i = 0; i < answers[k].n; i++) {
			const struct hl_cross_row *r = &answers[k].rows[i];

			hl_value_add(&a->values[key_of(d, r->node, r->key)], &r->value);
		}
	}
	return a->values ? 0 : -ENOMEM;
}

int hl_division_make(struct hl_division *d, struct hl_model *m, enum hl_group g,
	const struct hl_cross *answers, size_t n)
{
	struct hl_table t = {0};
	struct hl_answer a = {0};
	uint32_t *of_row = NULL;
	int err;

	*d = (struct hl_division){.group = g};
	err = hl_key_count(m, hl_group_key(g), &d->n_keys);
	if (!err)
		err = by_key(d, &a, answers, n);
	d->frames = malloc(((size_t)d->n_keys + 1) * sizeof(*d->frames));
	if (!err)
		err = d->frames ? hl_table_build_mapped(&t, m, &a, g, d->frames) : -ENOMEM;
	if (!err)
		of_row = malloc((t.n + 1) * sizeof(*of_row));
	if (!err)
		err = of_row ? make_frames(d, m, &t, of_row) : -ENOMEM;
	free(of_row);
	hl_table_fini(&t);
	hl_answer_fini(&a);
	return err ? hl_model_fail(m, err) : 0;
}

void hl_division_fini(struct hl_division *d)
{
	free(d->frames);
	memset(d, 0, sizeof(*d));
}

/* --- one question --- */

int hl_model_divide(
	struct hl_model *m, const struct hl_query *question, enum hl_group g, struct hl_divided *d)
{
	struct hl_query q = *question;
	int err;

	memset(d, 0, sizeof(*d));
	q.key = hl_group_key(g);
	/* Keyframes know stacks, and the code that a group is of. */
	if (is_of_code(g)) {
		err = hl_model_query(m, &q, &d->by_stack);
		if (!err)
			err = hl_cross_of(&d->cross, m, &d->by_stack);
	} else {
		err = hl_model_cross(m, &q, &d->cross, 1);
		if (!err)
			err = hl_cross_by_stack(&d->cross, m, &q, &d->by_stack);
	}
	return err ? err : hl_division_make(&d->division, m, g, &d->cross, 1);
}

void hl_divided_fini(struct hl_divided *d)
{
	hl_answer_fini(&d->by_stack);
	hl_cross_fini(&d->cross);
	hl_division_fini(&d->division);
}
