/*
 * keyed.c - sums by thread or size class; see keyed.h.
 */
#include "model/keyed.h"

#include <errno.h>
#include <string.h>

#include "model/model_internal.h"
#include "model/sweep.h"

struct keyed {
	struct hl_model *m;
	enum hl_key key;
	uint32_t n_keys;
	struct hl_sums *sums;
	const struct hl_place *place;
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

static int add_events(struct keyed *k, size_t chunk)
{
	size_t n;
	int err = hl_sweep_decode(k->m, k->place, chunk, 0, &k->events, &n);

	for (size_t i = 0; i < n && !err; i++) {
		const struct hl_event *e = &k->events.events[i];
		bool alloc = e->op == HL_OP_ALLOC;
		uint32_t key = k->key == HL_KEY_SIZE ? hl_size_octave(e->size)
			       : alloc               ? e->thread
						     : e->birth_thread;
		struct hl_sums *to = &k->sums[key < k->n_keys ? key : k->n_keys];

		to->alloc_blocks += alloc;
		to->alloc_bytes += alloc ? e->size : 0;
		to->free_blocks += !alloc;
		to->free_bytes += alloc ? 0 : e->size;
	}
	return err;
}

static int add_chunk(void *arg, size_t chunk)
{
	struct keyed *k = arg;
	int err = chunk < k->place->chunk ? hl_reader_summary(k->m->reader, chunk, &k->summary)
					  : -ENOENT;

	/* A summary that is damaged is no more than one that is missing. */
	if (err == -ENOENT || err == -EBADMSG)
		return add_events(k, chunk);
	for (size_t i = 0; i < k->summary.n && !err; i++) {
		const struct hl_summary_row *r = &k->summary.rows[i];

		add(k, k->key == HL_KEY_THREAD ? r->thread : r->size_class, &r->sums);
	}
	return err;
}

static void begin(void *arg)
{
	struct keyed *k = arg;

	memset(k->sums, 0, ((size_t)k->n_keys + 1) * sizeof(*k->sums));
}

int hl_keyed_sums_at(struct hl_model *m, enum hl_key key, uint32_t n_keys, struct hl_place *p,
	struct hl_sums *sums)
{
	struct keyed k = {.m = m, .key = key, .n_keys = n_keys, .sums = sums, .place = p};
	struct hl_sweep s = {.begin = begin, .chunk = add_chunk, .arg = &k};
	int err = hl_sweep_chunks(m, p, &s);

	hl_summary_free(&k.summary);
	hl_chunk_events_free(&k.events);
	if (err)
		return hl_model_fail(m, err);
	return hl_sums_verify(m, sums, n_keys);
}
