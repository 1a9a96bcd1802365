/*
 * chains.c - see chains.h.
 *
 * Most blocks are in no chain longer than 1, and nothing is kept of them but two zero bits: one
 * bitmap marks the blocks that a realloc made, one those that begin a chain. The rank of a bit is
 * the block's place in the arrays. Ordinals rise with time, so the first bitmap is filled from left
 * to right and its ranks are usable while the trace is read.
 *
 * When a block is first passed to realloc, its birth may be chunks away. Those chunks are read
 * again at the end, and no others.
 */
#include "model/chains.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/lives.h"
#include "model/model_internal.h"

/* What chains may take. A trace with more reallocs than fit is refused with a sentence. */
#define CHAINS_BYTES (UINT64_C(256) << 20)

#define WORDS_PER_BASE 8u
#define NOT_KNOWN      UINT64_MAX

/* A bitmap that tells how many bits are set before a bit. */
struct ranked {
	uint64_t *words;
	uint32_t *base; /* of each WORDS_PER_BASE words: bits set before them */
};

struct move {
	uint32_t chain, position;
};

struct chain {
	uint64_t first_ordinal;
	uint64_t first_size, last_size, birth_ns, death_ns;
	uint32_t length;
};

struct hl_chains {
	uint64_t n_ordinals;
	struct ranked moved;  /* made by a realloc: places in moves */
	struct ranked firsts; /* the first of a chain: places in by_first */
	uint64_t based;       /* how far the bases of `moved` are set */
	HL_VEC(struct move) moves;
	HL_VEC(struct chain) chains;
	uint32_t *by_first; /* chains in the order of their first blocks */
};

static bool has(const struct ranked *r, uint64_t bit)
{
	return r->words[bit / 64] >> bit % 64 & 1;
}

static void set(struct ranked *r, uint64_t bit)
{
	r->words[bit / 64] |= UINT64_C(1) << bit % 64;
}

static uint32_t rank(const struct ranked *r, uint64_t bit)
{
	uint64_t word = bit / 64, at = word / WORDS_PER_BASE;
	uint32_t n = r->base[at];

	for (uint64_t i = at * WORDS_PER_BASE; i < word; i++)
		n += (uint32_t)__builtin_popcountll(r->words[i]);
	return n + (uint32_t)__builtin_popcountll(r->words[word] & ((UINT64_C(1) << bit % 64) - 1));
}

static int ranked_init(struct ranked *r, uint64_t bits)
{
	size_t bases = bits / 64 / WORDS_PER_BASE + 1;

	r->words = calloc(bases * WORDS_PER_BASE, sizeof(*r->words));
	r->base = calloc(bases, sizeof(*r->base));
	return r->words && r->base ? 0 : -ENOMEM;
}

static void ranked_fini(struct ranked *r)
{
	free(r->words);
	free(r->base);
}

/* The bases of the groups [from, to). */
static void set_bases(struct ranked *r, uint64_t from, uint64_t to)
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

/* birth_ns and, with it, first_size of a chain that begins in an earlier chunk are found later. */
static int begin_chain(struct hl_chains *c, const struct hl_event *freed, struct move *last)
{
	struct chain chain = {.first_ordinal = freed->ordinal,
		.first_size = freed->size,
		.birth_ns = freed->birth_ns,
		.length = 1};

	*last = (struct move){.chain = (uint32_t)c->chains.len, .position = 1};
	set(&c->firsts, freed->ordinal);
	return hl_vec_push(&c->chains, chain);
}

/* A realloc: `made` follows `freed` in its chain. */
static int take_move(struct hl_chains *c, const struct hl_event *freed, const struct hl_event *made)
{
	uint64_t group = made->ordinal / 64 / WORDS_PER_BASE + 1;
	struct move last;
	struct chain *chain;
	int err = 0;

	if (has(&c->moved, freed->ordinal))
		last = c->moves.data[rank(&c->moved, freed->ordinal)];
	else
		err = begin_chain(c, freed, &last);
	if (err || is_too_large(c))
		return err ? err : -EOVERFLOW;
	set_bases(&c->moved, c->based, group);
	c->based = group;
	set(&c->moved, made->ordinal);
	chain = &c->chains.data[last.chain];
	chain->length = ++last.position;
	chain->last_size = made->size;
	chain->death_ns = UINT64_MAX;
	return hl_vec_push(&c->moves, last);
}

/* The old block's free is somewhere before. Only a forged trace links one block to two. */
static int take_link(struct hl_chains *c, const struct hl_event *made)
{
	struct hl_event freed = {.ordinal = made->made_of, .birth_ns = NOT_KNOWN};

	if (has(&c->firsts, freed.ordinal))
		return -EBADMSG;
	return take_move(c, &freed, made);
}

static int take_alloc(struct hl_chains *c, const struct hl_event *e)
{
	/* Its free stands directly before it, in the same chunk: the decoder checks that. */
	if (e->flags & HL_EVENT_MOVED)
		return take_move(c, e - 1, e);
	return e->flags & HL_EVENT_LINKED ? take_link(c, e) : 0;
}

static int take_event(struct hl_chains *c, const struct hl_event *e)
{
	if (e->ordinal >= c->n_ordinals)
		return -EBADMSG;
	if (e->op == HL_OP_ALLOC)
		return take_alloc(c, e);
	if (!(e->flags & HL_EVENT_MOVED) && has(&c->moved, e->ordinal))
		c->chains.data[c->moves.data[rank(&c->moved, e->ordinal)].chain].death_ns =
			e->time_ns;
	return 0;
}

static int lost(struct hl_model *m)
{
	snprintf(m->error, sizeof(m->error),
		"realloc chains cannot be known: a part of the file is lost (heaplapse info says "
		"which)");
	return -ENODATA;
}

static int read_chunk(struct hl_model *m, size_t chunk, unsigned want, struct hl_chunk_events *e)
{
	int err = hl_chunk_is_lost(m, chunk) ? -EBADMSG
					     : hl_reader_decode_some(m->reader, chunk, want, e);

	if (err == -EBADMSG)
		hl_model_mark_bad(m, &m->bad_chunks[chunk]);
	return err == -EBADMSG ? lost(m) : err ? hl_model_fail(m, err) : 0;
}

static int too_large(struct hl_model *m, const struct hl_chains *c)
{
	snprintf(m->error, sizeof(m->error),
		"the trace has more reallocs than there is memory for their chains (%zu so far, in "
		"%zu chains): heaplapse slice --range cuts a part of the run out of it",
		c->moves.len, c->chains.len);
	return -EOVERFLOW;
}

static int read_moves(struct hl_model *m, struct hl_chains *c, struct hl_chunk_events *events)
{
	size_t n = hl_reader_n_chunks(m->reader);
	int err = 0;

	for (size_t i = 0; i < n && !err; i++) {
		err = read_chunk(m, i, HL_WANT_TIME | HL_WANT_OTHERS, events);
		for (size_t k = 0; k < events->n_events && !err; k++)
			err = take_event(c, &events->events[k]);
		hl_progress_tick(i + 1, n);
	}
	if (err == -EOVERFLOW)
		return too_large(m, c);
	return err == -ENODATA ? err : err ? hl_model_fail(m, err) : 0;
}

/* --- births that were in other chunks --- */

static int by_first(const void *pa, const void *pb, void *arg)
{
	const struct chain *chains = arg;
	uint64_t a = chains[*(const uint32_t *)pa].first_ordinal,
		 b = chains[*(const uint32_t *)pb].first_ordinal;

	return (a > b) - (a < b);
}

static int order_firsts(struct hl_chains *c)
{
	c->by_first = malloc((c->chains.len + 1) * sizeof(*c->by_first));
	if (!c->by_first)
		return -ENOMEM;
	for (size_t i = 0; i < c->chains.len; i++)
		c->by_first[i] = (uint32_t)i;
	qsort_r(c->by_first, c->chains.len, sizeof(*c->by_first), by_first, c->chains.data);
	set_bases(&c->firsts, 0, c->n_ordinals / 64 / WORDS_PER_BASE + 1);
	return 0;
}

/* Fills in the births of chains that begin in this chunk. *at: the first of them in by_first. */
static void take_births(struct hl_chains *c, const struct hl_chunk_events *events, size_t *at)
{
	for (size_t i = 0; i < events->n_events && *at < c->chains.len; i++) {
		const struct hl_event *e = &events->events[i];
		struct chain *chain = &c->chains.data[c->by_first[*at]];

		if (e->op != HL_OP_ALLOC || e->ordinal != chain->first_ordinal)
			continue;
		chain->birth_ns = e->time_ns;
		chain->first_size = e->size;
		++*at;
	}
}

/* The end of the chains that begin in the chunk, from `at` on; *missing: a birth is not known. */
static size_t firsts_in(const struct hl_chains *c, size_t at, uint64_t end, bool *missing)
{
	*missing = false;
	for (; at < c->chains.len; at++) {
		const struct chain *chain = &c->chains.data[c->by_first[at]];

		if (chain->first_ordinal >= end)
			break;
		*missing |= chain->birth_ns == NOT_KNOWN;
	}
	return at;
}

static int read_births(struct hl_model *m, struct hl_chains *c, struct hl_chunk_events *events)
{
	size_t n = hl_reader_n_chunks(m->reader), at = 0;
	int err = 0;

	for (size_t i = 0; i < n && at < c->chains.len && !err; i++) {
		uint64_t end =
			i + 1 < n ? hl_reader_chunk(m->reader, i + 1)->first_ordinal : UINT64_MAX;
		bool missing;
		size_t next = firsts_in(c, at, end, &missing);

		if (missing) {
			err = read_chunk(m, i, HL_WANT_TIME, events);
			if (!err)
				take_births(c, events, &at);
		}
		at = next;
		hl_progress_tick(i + 1, n);
	}
	return err;
}

/* --- the whole --- */

/* Blocks of a chain may be missing from the middle of it. */
static bool has_gaps(const struct hl_model *m)
{
	return m->info->meta.cut.flags & (HL_CUT_FILTER | HL_CUT_LIFE);
}

bool hl_model_may_have_chains(const struct hl_model *m)
{
	return !has_gaps(m) && !hl_model_withholds(m) && !hl_model_samples(m) &&
	       hl_model_has_order(m) && !hl_model_is_imported(m);
}

static int cannot_have(struct hl_model *m)
{
	const struct hl_meta *meta = &m->info->meta;

	if (hl_model_is_imported(m))
		snprintf(m->error, sizeof(m->error),
			"realloc chains are not known: the trace was imported from %.200s, which "
			"does not say which block a realloc was made from",
			meta->source);
	else if (hl_model_samples(m))
		snprintf(m->error, sizeof(m->error),
			"realloc chains are not known: the trace has samples, and the blocks "
			"between them are missing; record with --mode=trace");
	else if (has_gaps(m))
		snprintf(m->error, sizeof(m->error),
			"realloc chains are not known: the trace is a slice by --filter or "
			"--min-life, which left blocks of chains out; ask the trace that it was "
			"cut from");
	else
		return hl_model_no_events(m, "a realloc chain");
	return -ENODATA;
}

static int build(struct hl_model *m, struct hl_chains *c)
{
	struct hl_chunk_events events = {0};
	int err = hl_model_n_ordinals(m, false, &c->n_ordinals);

	if (err)
		return err;
	err = ranked_init(&c->moved, c->n_ordinals);
	if (!err)
		err = ranked_init(&c->firsts, c->n_ordinals);
	if (err)
		return hl_model_fail(m, err);
	hl_progress_begin(HL_READING);
	err = read_moves(m, c, &events);
	if (!err) {
		set_bases(&c->moved, c->based, c->n_ordinals / 64 / WORDS_PER_BASE + 1);
		err = order_firsts(c);
		err = err ? hl_model_fail(m, err) : read_births(m, c, &events);
	}
	hl_progress_end();
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
		return cannot_have(m);
	c = calloc(1, sizeof(*c));
	err = c ? build(m, c) : hl_model_fail(m, -ENOMEM);
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
		if (has(&c->moved, b->ordinal))
			at = c->moves.data[rank(&c->moved, b->ordinal)];
		else if (has(&c->firsts, b->ordinal))
			at.chain = c->by_first[rank(&c->firsts, b->ordinal)];
		else
			c = NULL;
	} else {
		c = NULL;
	}
	if (!c)
		return (struct hl_chain){.first_size = b->size,
			.last_size = b->size,
			.birth_ns = b->birth_ns,
			.death_ns = b->death_ns,
			.length = 1,
			.position = 1};
	chain = &c->chains.data[at.chain];
	return (struct hl_chain){.first_size = chain->first_size,
		.last_size = chain->last_size,
		.birth_ns = chain->birth_ns,
		.death_ns = chain->death_ns,
		.length = chain->length,
		.position = at.position};
}
