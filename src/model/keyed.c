/*
 * keyed.c - sums by thread, tag or size class; see keyed.h.
 */
#include "model/keyed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "model/model_internal.h"

bool hl_keyed_is_known(enum hl_key key)
{
	return key == HL_KEY_THREAD || key == HL_KEY_SIZE || key == HL_KEY_TAG;
}

static hl_tally *tally_of(struct hl_keyed *k, uint32_t key)
{
	return &k->tallies[key < k->n_keys ? key : k->n_keys];
}

/* The key of whoever allocated. */
static uint32_t key_of_role(const struct hl_keyed *k, enum hl_key key, uint32_t id)
{
	struct hl_role role = hl_role_of(k->m, id);

	return key == HL_KEY_TAG ? role.tag : role.thread;
}

static void add_summary(struct hl_keyed *k)
{
	for (size_t i = 0; i < k->summary.n; i++) {
		const struct hl_summary_row *r = &k->summary.rows[i];
		hl_tally *to = tally_of(k,
			k->key == HL_KEY_SIZE ? r->size_class : key_of_role(k, k->key, r->thread));

		(*to)[HL_OP_ALLOC].blocks += r->sums.alloc_blocks;
		(*to)[HL_OP_ALLOC].bytes += r->sums.alloc_bytes;
		(*to)[HL_OP_FREE].blocks += r->sums.free_blocks;
		(*to)[HL_OP_FREE].bytes += r->sums.free_bytes;
	}
}

/* Nobody could predict what an event does: it is looked up by that, not asked. */
hl_inline void add_events(
	struct hl_keyed *k, enum hl_key key, const struct hl_event *events, size_t n)
{
	for (const struct hl_event *e = events; e < events + n; e++) {
		uint32_t at = key == HL_KEY_SIZE ? hl_size_octave(e->size)
						 : key_of_role(k, key, hl_event_owner(e));

		hl_tally_add(&(*tally_of(k, at))[e->op], e->bytes, e->blocks);
	}
}

static int take(void *arg, size_t chunk, const struct hl_chunk_events *c)
{
	struct hl_keyed *k = arg;
	size_t n = chunk < k->place.chunk ? c->n_events : hl_place_split(k->m, &k->place, c);

	if (k->key == HL_KEY_SIZE)
		add_events(k, HL_KEY_SIZE, c->events, n);
	else if (k->key == HL_KEY_TAG)
		add_events(k, HL_KEY_TAG, c->events, n);
	else
		add_events(k, HL_KEY_THREAD, c->events, n);
	return 0;
}

static int want(void *arg, size_t chunk, unsigned *want)
{
	struct hl_keyed *k = arg;
	bool whole = chunk < k->place.chunk;
	int err = whole ? hl_reader_summary(k->m->reader, chunk, &k->summary) : -ENOENT;

	*want = whole ? 0 : HL_WANT_ALL;
	/* A summary that is damaged is no more than one that is missing. */
	if (err == -ENOENT || err == -EBADMSG)
		return 0;
	if (err)
		return err;
	*want = HL_WANT_NO_EVENTS;
	add_summary(k);
	return 0;
}

static int plan(struct hl_reading *r)
{
	struct hl_keyed *k = r->arg;

	hl_reading_up_to(r, k->m, &k->place);
	return 0;
}

static int begin(void *arg)
{
	struct hl_keyed *k = arg;

	memset(k->tallies, 0, ((size_t)k->n_keys + 1) * sizeof(*k->tallies));
	return 0;
}

int hl_keyed_init(struct hl_keyed *k, struct hl_model *m, enum hl_key key, uint32_t n_keys,
	const struct hl_place *place)
{
	*k = (struct hl_keyed){.m = m,
		.key = key,
		.n_keys = n_keys,
		.place = *place,
		.reading = {.plan = plan, .begin = begin, .want = want, .chunk = take, .arg = k}};
	k->reading.memory = ((uint64_t)n_keys + 1) * sizeof(*k->tallies);
	k->tallies = malloc(k->reading.memory);
	return k->tallies ? 0 : -ENOMEM;
}

void hl_keyed_fini(struct hl_keyed *k)
{
	free(k->tallies);
	hl_summary_free(&k->summary);
	memset(k, 0, sizeof(*k));
}

int hl_keyed_sums(const struct hl_keyed *k, struct hl_sums *sums)
{
	for (size_t i = 0; i <= k->n_keys; i++) {
		const struct hl_value *t = k->tallies[i];

		sums[i] = (struct hl_sums){.alloc_blocks = t[HL_OP_ALLOC].blocks,
			.alloc_bytes = t[HL_OP_ALLOC].bytes,
			.free_blocks = t[HL_OP_FREE].blocks,
			.free_bytes = t[HL_OP_FREE].bytes};
	}
	return hl_sums_verify(k->m, sums, k->n_keys);
}
