/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filter_frees.c - terms about frees, for events; see hl_filter_load_frees.
 *
 * An allocation comes before its block's free, so the whole trace is read once beforehand, to set a
 * bit for each term and allocation.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/query/filter_internal.h"
#include "model/scan/lifetimes.h"
#include "model/model_internal.h"
#include "model/scan/block_stream.h"

struct frees_loader {
	struct hl_filter *f;
	struct hl_model *m;
};

static void reset_bits(void *arg)
{
	struct frees_loader *l = arg;

	for (size_t i = 0; i < l->f->terms.len; i++) {
		struct hl_filter_term *t = &l->f->terms.data[i];

		if (t->block_bits)
			memset(t->block_bits, 0, t->n_block_bits / 8 + 1);
	}
}

static int set_bits(void *arg, const struct hl_block *b)
{
	struct frees_loader *l = arg;
	int err = 0;

	for (size_t i = 0; i < l->f->terms.len && !err; i++) {
		struct hl_filter_term *t = &l->f->terms.data[i];
		bool holds = false;

		if (!t->block_bits || b->ordinal >= t->n_block_bits)
			continue;
		err = hl_filter_term_of_block(l->f, t, l->m, b, &holds);
		if (holds)
			t->block_bits[b->ordinal / 8] |= (uint8_t)(1u << b->ordinal % 8);
	}
	return err;
}

static int alloc_bits(struct hl_filter *f, struct hl_model *m)
{
	uint64_t n;
	int err = hl_model_n_ordinals(m, false, &n);

	for (size_t i = 0; i < f->terms.len && !err; i++) {
		struct hl_filter_term *t = &f->terms.data[i];

		if (!(t->subject & HL_FILTER_FREE_TIME))
			continue;
		t->block_bits = calloc(n / 8 + 1, 1);
		t->n_block_bits = n;
		err = t->block_bits ? 0 : hl_model_fail(m, -ENOMEM);
	}
	return err;
}

static void free_bits(struct hl_filter *f)
{
	for (size_t i = 0; i < f->terms.len; i++) {
		free(f->terms.data[i].block_bits);
		f->terms.data[i].block_bits = NULL;
	}
}

int hl_filter_load_frees(struct hl_filter *f, struct hl_model *m)
{
	struct frees_loader l = {f, m};
	struct hl_block_stream s = {.from = {.is_exact = true},
		.to = hl_position_at(m, UINT64_MAX),
		.read_all_frees = true,
		.begin = reset_bits,
		.block = set_bits,
		.arg = &l};
	int err;

	if (!(hl_filter_subjects(f) & HL_FILTER_FREE_TIME))
		return 0;
	err = alloc_bits(f, m);
	if (!err)
		err = hl_block_stream_run(m, &s);
	if (err)
		free_bits(f);
	return err;
}
