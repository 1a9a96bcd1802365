/* SPDX-License-Identifier: Apache-2.0 */
/*
 * realloc_chains.c - see realloc_chains.h.
 *
 * Most blocks are in a chain of length 1, and only two zero bits are stored for them: one bitmap
 * marks the blocks that a realloc made, the other the blocks that begin a chain. The rank of a bit
 * is the block's index in the arrays. Ordinals rise with time, so the first bitmap is filled from
 * left to right, and its ranks are usable while the trace is read.
 *
 * When a block is first passed to realloc, its allocation may be some chunks back. Only those
 * chunks are read again, at the end.
 */
#include "model/query/query_plan.h"
#include "model/scan/realloc_chains.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/scan/lifetimes.h"
#include "model/model_internal.h"

/* The memory limit. A trace with more reallocs than fit is refused with a message. */
#define CHAINS_BYTES (UINT64_C(256) << 20)

#define WORDS_PER_BASE 8u
#define NOT_KNOWN      UINT64_MAX

/* A bitmap that also counts the bits that are set before a bit. */
struct ranked_bits {
	uint64_t *words;
	uint32_t
		*base; /* of each group of WORDS_PER_BASE words: the number of bits set before it */
};

struct move {
	uint32_t chain, position;
};

struct chain {
	uint64_t first_ordinal;
	uint64_t first_size, last_size, alloc_ns, free_ns;
	uint32_t length;
};

struct hl_chains {
	uint64_t n_ordinals;
	struct ranked_bits moved;  /* made by a realloc; ranks are indexes into moves */
	struct ranked_bits firsts; /* the first block of a chain; ranks are indexes into by_first */
	uint64_t based;            /* groups of `moved` whose base is set */
	HL_VEC(struct move) moves;
	HL_VEC(struct chain) chains;
	uint32_t *by_first; /* chains in the order of their first blocks */
};

static bool has_bit(const struct ranked_bits *r, uint64_t bit)
{
	return r->words[bit / 64] >> bit % 64 & 1;
}

static void set_bit(struct ranked_bits *r, uint64_t bit)
{
	r->words[bit / 64] |= UINT64_C(1) << bit % 64;
}

static uint32_t rank_of(const struct ranked_bits *r, uint64_t bit)
{
	uint64_t word = bit / 64, at = word / WORDS_PER_BASE;
	uint32_t n = r->base[at];

	for (uint64_t i = at * WORDS_PER_BASE; i < word; i++)
		n += (uint32_t)__builtin_popcountll(r->words[i]);
	return n + (uint32_t)__builtin_popcountll(r->words[word] & ((UINT64_C(1) << bit % 64) - 1));
}

static int ranked_init(struct ranked_bits *r, uint64_t bits)
{
	size_t bases = bits / 64 / WORDS_PER_BASE + 1;

	r->words = calloc(bases * WORDS_PER_BASE, sizeof(*r->words));
	r->base = calloc(bases, sizeof(*r->base));
	return r->words && r->base ? 0 : -ENOMEM;
}

static void ranked_fini(struct ranked_bits *r)
{
	free(r->words);
	free(r->base);
}

/* Sets the bases of the groups [from, to). */
static void set_bases(struct ranked_bits *r, uint64_t from, uint64_t to)
{
	for (uint64_t i = from > 0 ? from : 1; i < to; i++) {
		uint32_t n = r->base[i - 1];

		for (unsigned k = 0; k < WORDS_PER_BASE; k++)
			n += (uint32_t)__builtin_popcountll(r->words[(i - 1) * WORDS_PER_BASE + k]);
		r->base[i] = n;
	}
}

void hl_chains_free(struct hl_chains *c)
{
	if (!c)
		return;
	ranked_fini(&c->moved);
	ranked_fini(&c->firsts);
	hl_vec_free(&c->moves);
	hl_vec_free(&c->chains);
	free(c->by_first);
	free(c);
}

/* --- reading --- */

static bool is_too_large(const struct hl_chains *c)
{
	return c->moves.len * sizeof(*c->moves.data) + c->chains.len * sizeof(*c->chains.data) >
		       CHAINS_BYTES ||
	       c->moves.len >= UINT32_MAX;
}

/* If the chain begins in an earlier chunk, alloc_ns and first_size are filled in later. */
static int begin_chain(struct hl_chains *c, const struct hl_event *freed, struct move *last)
{
	struct chain chain = {.first_ordinal = freed->ordinal,
		.first_size = freed->size,
		.alloc_ns = freed->alloc_ns,
		.length = 1};

	*last = (struct move){.chain = (uint32_t)c->chains.len, .position = 1};
	set_bit(&c->firsts, freed->ordinal);
	return hl_vec_push(&c->chains, chain);
}

/* A realloc: `made` follows `freed` in its chain. */
static int add_move(struct hl_chains *c, const struct hl_event *freed, const struct hl_event *made)
{
	uint64_t group = made->ordinal / 64 / WORDS_PER_BASE + 1;
	struct move last;
	struct chain *chain;
	int err = 0;

	if (has_bit(&c->moved, freed->ordinal))
		last = c->moves.data[rank_of(&c->moved, freed->ordinal)];
	else
		err = begin_chain(c, freed, &last);
	if (err || is_too_large(c))
		return err ? err : -EOVERFLOW;
	set_bases(&c->moved, c->based, group);
	c->based = group;
	set_bit(&c->moved, made->ordinal);
	chain = &c->chains.data[last.chain];
	chain->length = ++last.position;
	chain->last_size = made->size;
	chain->free_ns = UINT64_MAX;
	return hl_vec_push(&c->moves, last);
}

/* The free of the old block is an earlier event. Only a forged trace links one block to two. */
static int add_link(struct hl_chains *c, const struct hl_event *made)
{
	struct hl_event freed = {.ordinal = made->realloc_of, .alloc_ns = NOT_KNOWN};

	if (has_bit(&c->firsts, freed.ordinal))
		return -EBADMSG;
	return add_move(c, &freed, made);
}

static int add_alloc(struct hl_chains *c, const struct hl_event *e)
{
	/* Its free is the preceding event, in the same chunk: the decoder checks that. */
	if (e->flags & HL_EVENT_MOVED)
		return add_move(c, e - 1, e);
	return e->flags & HL_EVENT_LINKED ? add_link(c, e) : 0;
}

static int add_event(struct hl_chains *c, const struct hl_event *e)
{
	if (e->ordinal >= c->n_ordinals)
		return -EBADMSG;
	if (e->op == HL_OP_ALLOC)
		return add_alloc(c, e);
	if (!(e->flags & HL_EVENT_MOVED) && has_bit(&c->moved, e->ordinal))
		c->chains.data[c->moves.data[rank_of(&c->moved, e->ordinal)].chain].free_ns =
			e->time_ns;
	return 0;
}

static int fail_lost(struct hl_model *m)
{
	snprintf(m->error, sizeof(m->error),
		"realloc chains are not known: a part of the file is lost (see heaplapse info)");
	return -ENODATA;
}

static int read_chunk(struct hl_model *m, struct hl_decode_ahead *ahead, size_t chunk,
	unsigned want, struct hl_chunk_events *e)
{
	size_t n = hl_reader_n_chunks(m->reader);
	int err = hl_chunk_is_lost(m, chunk) ? -EBADMSG
					     : hl_decode_ahead_read(ahead, chunk, n, &want, e);

	if (err == -EBADMSG)
		hl_model_mark_bad(m, &m->bad_chunks[chunk]);
	return err == -EBADMSG ? fail_lost(m) : err ? hl_model_fail(m, err) : 0;
}

static int fail_too_large(struct hl_model *m, const struct hl_chains *c)
{
	snprintf(m->error, sizeof(m->error),
		"out of memory for realloc chains (%zu reallocs so far, in %zu chains): use "
		"heaplapse slice --range to get a shorter trace",
		c->moves.len, c->chains.len);
	return -EOVERFLOW;
}

static int read_moves(struct hl_model *m, struct hl_chains *c, struct hl_decode_ahead *ahead,
	struct hl_chunk_events *events)
{
	size_t n = hl_reader_n_chunks(m->reader);
	int err = 0;

	for (size_t i = 0; i < n && !err; i++) {
		err = hl_work_tick(&m->work, i, n);
		if (!err)
			err = read_chunk(m, ahead, i, HL_WANT_TIME | HL_WANT_OTHERS, events);
		for (size_t k = 0; k < events->n_events && !err; k++)
			err = add_event(c, &events->events[k]);
	}
	if (err == -EOVERFLOW)
		return fail_too_large(m, c);
	return err == -ENODATA ? err : err ? hl_model_fail(m, err) : 0;
}

/* --- allocations that are in other chunks --- */

static int compare_first(const void *pa, const void *pb, void *arg)
{
	const struct chain *chains = arg;
	uint64_t a = chains[*(const uint32_t *)pa].first_ordinal,
		 b = chains[*(const uint32_t *)pb].first_ordinal;

	return (a > b) - (a < b);
}

static int sort_by_first(struct hl_chains *c)
{
	c->by_first = malloc((c->chains.len + 1) * sizeof(*c->by_first));
	if (!c->by_first)
		return -ENOMEM;
	for (size_t i = 0; i < c->chains.len; i++)
		c->by_first[i] = (uint32_t)i;
	qsort_r(c->by_first, c->chains.len, sizeof(*c->by_first), compare_first, c->chains.data);
	set_bases(&c->firsts, 0, c->n_ordinals / 64 / WORDS_PER_BASE + 1);
	return 0;
}

/* Fills in the first allocations of chains that begin in this chunk. *at: the first of them in
 * by_first. */
static void fill_first_blocks(struct hl_chains *c, const struct hl_chunk_events *events, size_t *at)
{
	for (size_t i = 0; i < events->n_events && *at < c->chains.len; i++) {
		const struct hl_event *e = &events->events[i];
		struct chain *chain = &c->chains.data[c->by_first[*at]];

		if (e->op != HL_OP_ALLOC || e->ordinal != chain->first_ordinal)
			continue;
		chain->alloc_ns = e->time_ns;
		chain->first_size = e->size;
		++*at;
	}
}

/* The end of the chains in by_first, from `at` on, that begin before ordinal `end`. *missing: the
 * first allocation of one of them is not known. */
static size_t chains_before(const struct hl_chains *c, size_t at, uint64_t end, bool *missing)
{
	*missing = false;
	for (; at < c->chains.len; at++) {
		const struct chain *chain = &c->chains.data[c->by_first[at]];

		if (chain->first_ordinal >= end)
			break;
		*missing |= chain->alloc_ns == NOT_KNOWN;
	}
	return at;
}

static int read_first_blocks(struct hl_model *m, struct hl_chains *c, struct hl_decode_ahead *ahead,
	struct hl_chunk_events *events)
{
	size_t n = hl_reader_n_chunks(m->reader), at = 0;
	int err = 0;

	for (size_t i = 0; i < n && at < c->chains.len && !err; i++) {
		uint64_t end =
			i + 1 < n ? hl_reader_chunk(m->reader, i + 1)->first_ordinal : UINT64_MAX;
		bool missing;
		size_t next = chains_before(c, at, end, &missing);

		err = hl_work_tick(&m->work, i, n);
		if (err) {
			hl_model_fail(m, err);
		} else if (missing) {
			err = read_chunk(m, ahead, i, HL_WANT_TIME, events);
			if (!err)
				fill_first_blocks(c, events, &at);
		}
		at = next;
	}
	return err;
}

/* --- the chains of a trace --- */

/* Blocks may be missing from the middle of a chain. */
static bool has_gaps(const struct hl_model *m)
{
	return m->info->meta.slice.flags & (HL_SLICE_FILTER | HL_SLICE_LIFETIME);
}

bool hl_model_may_have_chains(const struct hl_model *m)
{
	return !has_gaps(m) && !hl_model_has_aggregated(m) && !hl_model_has_samples(m) &&
	       hl_model_has_event_order(m) && !hl_model_is_imported(m);
}

static int fail_no_chains(struct hl_model *m)
{
	const struct hl_meta *meta = &m->info->meta;

	if (hl_model_is_imported(m))
		snprintf(m->error, sizeof(m->error),
			"realloc chains are not known: the trace was imported from %.200s, which "
			"does not say which block a realloc was made from",
			meta->source);
	else if (hl_model_has_samples(m))
		snprintf(m->error, sizeof(m->error),
			"realloc chains are not known: the trace has samples, and the blocks "
			"between them are missing; record with --mode=trace");
	else if (has_gaps(m))
		snprintf(m->error, sizeof(m->error),
			"realloc chains are not known: the trace is a slice by --filter or "
			"--min-life, which removed blocks of chains; use the original trace");
	else
		return hl_model_require(m, HL_NEEDS_EVENTS, "a realloc chain");
	return -ENODATA;
}

static int build_chains(struct hl_model *m, struct hl_chains *c)
{
	struct hl_chunk_events events = {0};
	struct hl_decode_ahead ahead;
	int err = hl_model_n_ordinals(m, false, &c->n_ordinals);

	if (err)
		return err;
	err = ranked_init(&c->moved, c->n_ordinals);
	if (!err)
		err = ranked_init(&c->firsts, c->n_ordinals);
	if (err)
		return hl_model_fail(m, err);
	hl_work_begin(&m->work, HL_WORK_PASS, HL_WORK_READING);
	hl_decode_ahead_init(&ahead, m->reader);
	err = read_moves(m, c, &ahead, &events);
	if (!err) {
		set_bases(&c->moved, c->based, c->n_ordinals / 64 / WORDS_PER_BASE + 1);
		err = sort_by_first(c);
		err = err ? hl_model_fail(m, err) : read_first_blocks(m, c, &ahead, &events);
	}
	hl_work_end(&m->work, HL_WORK_PASS);
	hl_decode_ahead_fini(&ahead);
	hl_chunk_events_free(&events);
	return err;
}

int hl_model_load_chains(struct hl_model *m)
{
	struct hl_chains *c;
	int err;

	if (m->chains)
		return 0;
	if (!hl_model_may_have_chains(m))
		return fail_no_chains(m);
	c = calloc(1, sizeof(*c));
	err = c ? build_chains(m, c) : hl_model_fail(m, -ENOMEM);
	if (err)
		hl_chains_free(c);
	else
		m->chains = c;
	return err;
}

struct hl_chain hl_chain_of(const struct hl_model *m, const struct hl_block *b)
{
	const struct hl_chains *c = m->chains;
	struct move at = {.position = 1};
	const struct chain *chain;

	if (c && b->pool == UINT32_MAX && b->ordinal < c->n_ordinals) {
		if (has_bit(&c->moved, b->ordinal))
			at = c->moves.data[rank_of(&c->moved, b->ordinal)];
		else if (has_bit(&c->firsts, b->ordinal))
			at.chain = c->by_first[rank_of(&c->firsts, b->ordinal)];
		else
			c = NULL;
	} else {
		c = NULL;
	}
	if (!c)
		return (struct hl_chain){.first_size = b->size,
			.last_size = b->size,
			.alloc_ns = b->alloc_ns,
			.free_ns = b->free_ns,
			.length = 1,
			.position = 1};
	chain = &c->chains.data[at.chain];
	return (struct hl_chain){.first_size = chain->first_size,
		.last_size = chain->last_size,
		.alloc_ns = chain->alloc_ns,
		.free_ns = chain->free_ns,
		.length = chain->length,
		.position = at.position};
}
