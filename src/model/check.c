/*
 * check.c - are the sums that a file keeps those of its events? See hl_sums_check in sums.h.
 *
 * Nobody but a forger or a bug of ours makes such a file: its checksums are right.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/model_internal.h"
#include "model/sums.h"

/* Keyframes are compared node by node: of a forged file with very many of both only some. */
#define COMPARE_MOST (UINT64_C(1) << 28)

struct checking {
	struct hl_model *m;
	struct hl_sums *sums, *rest, *key; /* n_nodes + 1 each; rest: events less summary */
	struct hl_chunk_events events;
	struct hl_summary summary;
	uint64_t compared;
	bool differs;
};

static void add(struct hl_sums *to, const struct hl_sums *s)
{
	to->alloc_blocks += s->alloc_blocks;
	to->alloc_bytes += s->alloc_bytes;
	to->free_blocks += s->free_blocks;
	to->free_bytes += s->free_bytes;
}

static void subtract(struct hl_sums *from, const struct hl_sums *s)
{
	from->alloc_blocks -= s->alloc_blocks;
	from->alloc_bytes -= s->alloc_bytes;
	from->free_blocks -= s->free_blocks;
	from->free_bytes -= s->free_bytes;
}

/* Back to zeros; says whether they were. */
static bool clear(struct hl_sums *s)
{
	static const struct hl_sums none;
	bool was = memcmp(s, &none, sizeof(none)) == 0;

	*s = none;
	return was;
}

static size_t slot(const struct checking *k, uint32_t node)
{
	return node < k->m->n_nodes ? node : k->m->n_nodes;
}

static int check_chunk(struct checking *k, size_t chunk)
{
	struct hl_reader *r = k->m->reader;
	int has = hl_reader_summary(r, chunk, &k->summary);
	int err = hl_reader_decode_some(r, chunk, HL_WANT_NODE, &k->events);

	if (err || (has && has != -ENOENT && has != -EBADMSG))
		return err ? err : has;
	for (size_t i = 0; i < k->events.n_events; i++) {
		const struct hl_event *e = &k->events.events[i];
		struct hl_sums one = {0};

		if (e->op == HL_OP_ALLOC)
			one = (struct hl_sums){.alloc_blocks = 1, .alloc_bytes = e->size};
		else
			one = (struct hl_sums){.free_blocks = 1, .free_bytes = e->size};
		add(&k->sums[slot(k, e->node)], &one);
		if (!has)
			add(&k->rest[slot(k, e->node)], &one);
	}
	if (has)
		return 0;
	for (size_t i = 0; i < k->summary.n; i++)
		subtract(&k->rest[slot(k, k->summary.rows[i].node)], &k->summary.rows[i].sums);
	for (size_t i = 0; i < k->events.n_events; i++)
		k->differs |= !clear(&k->rest[slot(k, k->events.events[i].node)]);
	for (size_t i = 0; i < k->summary.n; i++)
		k->differs |= !clear(&k->rest[slot(k, k->summary.rows[i].node)]);
	return 0;
}

/* The keyframes that stand before this chunk. */
static int check_keyframes(struct checking *k, size_t chunk, size_t *next)
{
	struct hl_reader *r = k->m->reader;
	size_t n = hl_reader_n_keyframes(r), len = (size_t)k->m->n_nodes + 1;
	int err = 0;

	for (; *next < n && hl_reader_keyframe(r, *next)->chunk <= chunk && !err; (*next)++) {
		if (hl_reader_keyframe(r, *next)->lost ||
			(k->compared > COMPARE_MOST && *next + 1 < n))
			continue;
		k->compared += len;
		err = hl_sums_of_keyframe(k->m, *next, k->key);
		if (!err)
			k->differs |= memcmp(k->key, k->sums, len * sizeof(*k->key)) != 0;
		err = err == -EBADMSG ? 0 : err; /* damage is found by others */
	}
	return err;
}

static void check_end(struct checking *k)
{
	struct hl_sums all = {0};

	for (size_t i = 0; i <= k->m->n_nodes; i++)
		add(&all, &k->sums[i]);
	if (k->m->info->has_end)
		k->differs |= memcmp(&all, &k->m->info->totals.sums, sizeof(all)) != 0;
}

static int check_all(struct checking *k)
{
	struct hl_reader *r = k->m->reader;
	size_t n = hl_reader_n_chunks(r), next = 0;
	int err = 0;

	hl_progress_begin(HL_READING);
	for (size_t i = 0; i < n && !err && !k->differs; i++) {
		hl_progress_tick(i, n);
		err = check_keyframes(k, i, &next);
		if (!err && hl_chunk_is_lost(k->m, i))
			err = -EBADMSG;
		if (!err)
			err = check_chunk(k, i);
	}
	hl_progress_end();
	if (!err)
		err = check_keyframes(k, n, &next);
	if (!err)
		check_end(k);
	return err == -EBADMSG ? 0 : err; /* behind a loss nothing can be compared */
}

int hl_sums_check(struct hl_model *m)
{
	size_t n = (size_t)m->n_nodes + 1;
	struct checking k = {.m = m,
		.sums = calloc(n, sizeof(*k.sums)),
		.rest = calloc(n, sizeof(*k.rest)),
		.key = calloc(n, sizeof(*k.key))};
	int err = k.sums && k.rest && k.key ? check_all(&k) : -ENOMEM;

	if (k.differs)
		hl_reader_note_contradiction(m->reader);
	free(k.sums);
	free(k.rest);
	free(k.key);
	hl_summary_free(&k.summary);
	hl_chunk_events_free(&k.events);
	return err ? hl_model_fail(m, err) : 0;
}
