/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sums_by_key.c - sums by thread, tag or size class; see sums_by_key.h.
 */
#include "model/query/sums_by_key.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "base/bits.h"
#include "model/model_internal.h"
#include "model/query/key_index.h"

bool hl_key_sums_has_key(enum hl_key key)
{
	return key == HL_KEY_THREAD || key == HL_KEY_SIZE || key == HL_KEY_TAG;
}

static hl_tally *tally_of(struct hl_key_sums *k, uint32_t key)
{
	return &k->tallies[key < k->n_keys ? key : k->n_keys];
}

/* The key of the role that allocated. */
static uint32_t key_of_role(const struct hl_key_sums *k, enum hl_key key, uint32_t id)
{
	struct hl_role role = hl_role_at(k->m, id);

	return key == HL_KEY_TAG ? role.tag : role.thread;
}

void hl_key_sums_add_summary(struct hl_key_sums *k, const struct hl_summary *summary)
{
	for (size_t i = 0; i < summary->n; i++) {
		const struct hl_summary_row *r = &summary->rows[i];
		hl_tally *to = tally_of(k,
			k->key == HL_KEY_SIZE ? r->size_class : key_of_role(k, k->key, r->thread));

		(*to)[HL_OP_ALLOC].blocks += r->sums.alloc_blocks;
		(*to)[HL_OP_ALLOC].bytes += r->sums.alloc_bytes;
		(*to)[HL_OP_FREE].blocks += r->sums.free_blocks;
		(*to)[HL_OP_FREE].bytes += r->sums.free_bytes;
	}
}

/* The kind of an event is unpredictable, so it is used as an index instead of in a branch. */
hl_inline void add_events(
	struct hl_key_sums *k, enum hl_key key, const struct hl_event *events, size_t n)
{
	for (const struct hl_event *e = events; e < events + n; e++) {
		uint32_t at = key == HL_KEY_SIZE ? hl_size_octave(e->size)
						 : key_of_role(k, key, hl_event_alloc_role(e));

		hl_tally_add(&(*tally_of(k, at))[e->op], e->bytes, e->blocks);
	}
}

void hl_key_sums_add_events(struct hl_key_sums *k, const struct hl_event *events, size_t n)
{
	if (k->key == HL_KEY_SIZE)
		add_events(k, HL_KEY_SIZE, events, n);
	else if (k->key == HL_KEY_TAG)
		add_events(k, HL_KEY_TAG, events, n);
	else
		add_events(k, HL_KEY_THREAD, events, n);
}

/* --- stops --- */

/* The next stop, if it is at the begin of this chunk (border), or in it. */
static bool stops_in(const struct hl_key_sums *k, size_t chunk, bool border)
{
	const struct hl_position *p = k->next < k->n_stops ? &k->stops[k->next] : NULL;

	return p && p->chunk == chunk && (hl_position_end(p) == chunk) == border;
}

static void pass_border(struct hl_key_sums *k, size_t chunk)
{
	while (stops_in(k, chunk, true))
		k->at_stop(k->arg, k->next++);
}

/* A stop before these chunks was not exact. */
static void skip_stops(struct hl_key_sums *k, size_t chunk)
{
	while (k->next < k->n_stops &&
		(!k->stops[k->next].is_exact || k->stops[k->next].chunk < chunk))
		k->next++;
}

static int add_chunk(void *arg, size_t chunk, const struct hl_chunk_events *c)
{
	struct hl_key_sums *k = arg;
	size_t n = chunk < k->position.chunk ? c->n_events
					     : hl_position_split(k->m, &k->position, c),
	       done = 0;

	while (stops_in(k, chunk, false)) {
		size_t to = hl_min_u64(hl_position_split(k->m, &k->stops[k->next], c), n);

		if (to > done)
			hl_key_sums_add_events(k, c->events + done, to - done);
		done = to > done ? to : done;
		k->at_stop(k->arg, k->next++);
	}
	hl_key_sums_add_events(k, c->events + done, n - done);
	return 0;
}

/* The chunk up to which nothing stops. */
static size_t next_stop(const struct hl_key_sums *k)
{
	size_t end = k->position.chunk;

	if (k->next < k->n_stops && k->stops[k->next].is_exact)
		end = hl_min_u64(end, k->stops[k->next].chunk);
	return end;
}

/* Is the chunk before the last border of the index that comes before a stop? At that border its
 * sums replace what was counted. */
static bool is_in_index(struct hl_key_sums *k, size_t chunk)
{
	size_t border = hl_key_index_before(k->m, k->key, next_stop(k));

	if (border <= chunk)
		return false;
	if (border == chunk + 1)
		hl_key_index_load(k->m, k->key, border, k->n_keys, k->tallies);
	return true;
}

static int want_fields(void *arg, size_t chunk, unsigned *want)
{
	struct hl_key_sums *k = arg;
	bool whole;
	int err;

	skip_stops(k, chunk);
	pass_border(k, chunk);
	whole = chunk < k->position.chunk && !stops_in(k, chunk, false);
	if (whole && is_in_index(k, chunk)) {
		*want = HL_WANT_NO_EVENTS;
		return 0;
	}
	err = whole ? hl_reader_summary(k->m->reader, chunk, &k->summary) : -ENOENT;

	*want = whole ? 0 : HL_WANT_ALL;
	/* A damaged summary is treated as a missing one. */
	if (err == -ENOENT || err == -EBADMSG)
		return 0;
	if (err)
		return err;
	*want = HL_WANT_NO_EVENTS;
	hl_key_sums_add_summary(k, &k->summary);
	return 0;
}

/* Stops at the position, if that is between two chunks. */
static int end_scan(void *arg)
{
	struct hl_key_sums *k = arg;

	skip_stops(k, k->position.chunk);
	pass_border(k, k->position.chunk);
	return 0;
}

static int plan_chunks(struct hl_scan_consumer *r)
{
	struct hl_key_sums *k = r->arg;

	hl_scan_consumer_up_to(r, k->m, &k->position);
	k->next = 0;
	skip_stops(k, 0);
	/* From the last border of the index on, but no chunk of it if that is the begin. */
	k->begin = hl_key_index_before(k->m, k->key, hl_min_u64(next_stop(k), r->last_end));
	r->first = hl_max_u64(r->first, k->begin);
	return 0;
}

static int reset_tallies(void *arg)
{
	struct hl_key_sums *k = arg;

	memset(k->tallies, 0, ((size_t)k->n_keys + 1) * sizeof(*k->tallies));
	if (k->begin > 0)
		hl_key_index_load(k->m, k->key, k->begin, k->n_keys, k->tallies);
	k->next = 0;
	return 0;
}

int hl_key_sums_init(struct hl_key_sums *k, struct hl_model *m, enum hl_key key, uint32_t n_keys,
	const struct hl_position *position)
{
	*k = (struct hl_key_sums){.m = m,
		.key = key,
		.n_keys = n_keys,
		.position = *position,
		.consumer = {.plan = plan_chunks,
			.begin = reset_tallies,
			.want = want_fields,
			.chunk = add_chunk,
			.end = end_scan,
			.arg = k}};
	k->consumer.memory = ((uint64_t)n_keys + 1) * sizeof(*k->tallies);
	k->tallies = malloc(k->consumer.memory);
	return k->tallies ? 0 : -ENOMEM;
}

void hl_key_sums_fini(struct hl_key_sums *k)
{
	free(k->tallies);
	hl_summary_free(&k->summary);
	memset(k, 0, sizeof(*k));
}

int hl_key_sums_load(const struct hl_key_sums *k, struct hl_sums *sums)
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
