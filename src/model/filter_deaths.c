/*
 * filter_deaths.c - terms about deaths, for events: see hl_filter_learn_deaths.
 *
 * An allocation comes before its block's death, so the trace is read once for a bit for each term
 * and allocation.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/filter_internal.h"
#include "model/lives.h"
#include "model/model_internal.h"
#include "model/stream.h"

struct learning {
	struct hl_filter *f;
	struct hl_model *m;
};

static void forget(void *arg)
{
	struct learning *l = arg;

	for (size_t i = 0; i < l->f->terms.len; i++) {
		struct hl_filter_term *t = &l->f->terms.data[i];

		if (t->of_block)
			memset(t->of_block, 0, t->n_of_block / 8 + 1);
	}
}

static int take(void *arg, const struct hl_block *b)
{
	struct learning *l = arg;
	int err = 0;

	for (size_t i = 0; i < l->f->terms.len && !err; i++) {
		struct hl_filter_term *t = &l->f->terms.data[i];
		bool holds = false;

		if (!t->of_block || b->ordinal >= t->n_of_block)
			continue;
		err = hl_filter_term_of_block(l->f, t, l->m, b, &holds);
		if (holds)
			t->of_block[b->ordinal / 8] |= (uint8_t)(1u << b->ordinal % 8);
	}
	return err;
}

static int make_room(struct hl_filter *f, struct hl_model *m)
{
	uint64_t n;
	int err = hl_model_n_ordinals(m, false, &n);

	for (size_t i = 0; i < f->terms.len && !err; i++) {
		struct hl_filter_term *t = &f->terms.data[i];

		if (!(t->subject & HL_FILTER_DEATH))
			continue;
		t->of_block = calloc(n / 8 + 1, 1);
		t->n_of_block = n;
		err = t->of_block ? 0 : hl_model_fail(m, -ENOMEM);
	}
	return err;
}

static void give_up(struct hl_filter *f)
{
	for (size_t i = 0; i < f->terms.len; i++) {
		free(f->terms.data[i].of_block);
		f->terms.data[i].of_block = NULL;
	}
}

int hl_filter_learn_deaths(struct hl_filter *f, struct hl_model *m)
{
	struct learning l = {f, m};
	struct hl_stream s = {.from = {.sure = true},
		.to = hl_place_at(m, UINT64_MAX),
		.to_end = true,
		.begin = forget,
		.block = take,
		.arg = &l};
	int err;

	if (!(hl_filter_subjects(f) & HL_FILTER_DEATH))
		return 0;
	err = make_room(f, m);
	if (!err)
		err = hl_stream_blocks(m, &s);
	if (err)
		give_up(f);
	return err;
}
