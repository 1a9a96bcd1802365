/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chunk_cache.c - see chunk_cache.h.
 */
#include "model/scan/chunk_cache.h"

#include <string.h>

#include "model/model_internal.h"

struct hl_chunk_cache hl_chunk_cache_borrow(struct hl_model *m)
{
	struct hl_chunk_cache d = m->decoded;

	memset(&m->decoded, 0, sizeof(m->decoded));
	return d;
}

void hl_chunk_cache_return(struct hl_model *m, struct hl_chunk_cache *d)
{
	hl_chunk_events_free(&m->decoded.events);
	m->decoded = *d;
	memset(d, 0, sizeof(*d));
}

static bool has_fields(const struct hl_chunk_cache *d, size_t chunk, unsigned want)
{
	return d->want && d->chunk == chunk && (d->want & want) == want;
}

static int note_decoded(
	struct hl_model *m, struct hl_chunk_cache *d, size_t chunk, unsigned want, int err)
{
	d->chunk = chunk;
	d->want = err ? 0 : want;
	m->events_decoded += d->events.n_events;
	return err;
}

int hl_chunk_cache_read(struct hl_model *m, struct hl_chunk_cache *d, size_t chunk, unsigned want)
{
	if (has_fields(d, chunk, want))
		return 0;
	return note_decoded(
		m, d, chunk, want, hl_reader_decode_some(m->reader, chunk, want, &d->events));
}

int hl_chunk_cache_read_ahead(struct hl_model *m, struct hl_chunk_cache *d,
	struct hl_decode_ahead *ahead, size_t chunk, size_t end, unsigned want)
{
	int err;

	if (has_fields(d, chunk, want))
		return 0;
	err = hl_decode_ahead_read(ahead, chunk, end, &want, &d->events);
	return note_decoded(m, d, chunk, want, err);
}
