/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chunk_cache.h - keeps the chunk that was decoded last. Successive queries about close moments
 * often need the same chunk, and decoding it is most of the work.
 *
 * The cache is borrowed, not shared: functions that the borrower calls may decode other chunks.
 */
#ifndef HL_MODEL_SCAN_CHUNK_CACHE_H
#define HL_MODEL_SCAN_CHUNK_CACHE_H

#include "trace/read/decode_ahead.h"

struct hl_model;

struct hl_chunk_cache {
	struct hl_chunk_events events;
	size_t chunk;
	unsigned want; /* HL_WANT_* fields that `events` has; 0: the cache is empty */
};

/* Takes the cache; it is empty if it is borrowed already. */
struct hl_chunk_cache hl_chunk_cache_borrow(struct hl_model *m);
void hl_chunk_cache_return(struct hl_model *m, struct hl_chunk_cache *d);
/* Fills d->events with at least the fields `want` of the chunk. Returns 0, or -errno as
 * hl_reader_decode_some. */
int hl_chunk_cache_read(struct hl_model *m, struct hl_chunk_cache *d, size_t chunk, unsigned want);
/* The same in a loop that reads the chunks up to `end` next. */
int hl_chunk_cache_read_ahead(struct hl_model *m, struct hl_chunk_cache *d,
	struct hl_decode_ahead *ahead, size_t chunk, size_t end, unsigned want);

#endif
