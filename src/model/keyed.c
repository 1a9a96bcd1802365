/*
 * keyed.c - sums by thread or size class; see keyed.h.
 */
#include "model/keyed.h"

#include <errno.h>
#include <string.h>

#include "model/model_internal.h"

struct keyed {
	struct hl_model *m;
	enum hl_key key;
	uint32_t n_keys;
	struct hl_sums *sums;
	struct hl_summary summary;
	struct hl_chunk_events events;
};

bool hl_keyed_is_known(enum hl_key key)
{
	return key == HL_KEY_THREAD || key == HL_KEY_SIZE;
}

static void add(struct keyed *k, uint32_t key, const struct hl_sums *s)
{
	struct hl_sums *to = &k->sums[key < k->n_keys ? key : k->n_keys];

	to->alloc_blocks += s->alloc_blocks;
	to->alloc_bytes += s->alloc_bytes;
	to->free_blocks += s->free_blocks;
	to->free_bytes += s->free_bytes;
}

static int add_events(struct keyed *k, size_t chunk, const struct hl_place *p)
{
	int err = hl_reader_decode(k->m->reader, chunk, &k->events);
	size_t n;

	if (err)
		return err;
	n = chunk < p->chunk ? k->events.n_events : hl_place_split(k->m, p, &k->events);
	for (size_t i = 0; i < n; i++) {
		const struct hl_event *e = &k->events.events[i];
		bool alloc = e->op == HL_OP_ALLOC;
		struct hl_block b = {
			.size = e->size, .thread = alloc ? e->thread : e->birth_thread};
		struct hl_sums one = {.alloc_blocks = alloc,
			.alloc_bytes = alloc ? e->size : 0,
			.free_blocks = !alloc,
			.free_bytes = alloc ? 0 : e->size};

		add(k, hl_key_of(k->m, k->key, &b), &one);
	}
	return 0;
}

static int add_chunk(struct keyed *k, size_t chunk, const struct hl_place *p)
{
	int err = chunk < p->chunk ? hl_reader_summary(k->m->reader, chunk, &k->summary) : -ENOENT;

	/* A summary that is damaged is no more than one that is missing. */
	if (err == -ENOENT || err == -EBADMSG)
		err = add_events(k, chunk, p);
	else
		for (size_t i = 0; i < k->summary.n && !err; i++) {
			const struct hl_summary_row *r = &k->summary.rows[i];

			add(k, k->key == HL_KEY_THREAD ? r->thread : r->size_class, &r->sums);
		}
	if (err == -EBADMSG)
		hl_model_mark_bad(k->m, &k->m->bad_chunks[chunk]);
	return err;
}

static bool clear(const struct hl_model *m, const struct hl_place *p)
{
	for (size_t i = 0; i < hl_place_end(p) && i < hl_reader_n_chunks(m->reader); i++) {
		if (hl_chunk_is_lost(m, i))
			return false;
	}
	return true;
}

int hl_keyed_sums_at(struct hl_model *m, enum hl_key key, uint32_t n_keys, struct hl_place *p,
	struct hl_sums *sums)
{
	struct keyed k = {.m = m, .key = key, .n_keys = n_keys, .sums = sums};
	size_t bad;
	int err;

	/* Each turn marks a part bad or moves towards the start, so this ends. */
	do {
		bad = m->n_bad;
		err = 0;
		while (!p->sure || !clear(m, p))
			*p = hl_place_before_loss(m, p);
		memset(sums, 0, ((size_t)n_keys + 1) * sizeof(*sums));
		hl_progress_begin(HL_READING);
		for (size_t i = 0; i < hl_place_end(p) && i < hl_reader_n_chunks(m->reader) && !err;
			i++) {
			err = add_chunk(&k, i, p);
			hl_progress_tick(i + 1, hl_place_end(p));
		}
		hl_progress_end();
	} while (err == -EBADMSG && m->n_bad != bad);
	hl_summary_free(&k.summary);
	hl_chunk_events_free(&k.events);
	if (err)
		return hl_model_fail(m, err);
	return hl_sums_verify(m, sums, n_keys);
}
