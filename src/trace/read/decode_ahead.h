/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decode_ahead.h - decodes the chunks of a loop over a trace in other threads, ahead of the loop.
 *
 * A loop calls hl_decode_ahead_read for one chunk after the other. Worker threads read, check and
 * decode the following ones meanwhile. The loop gets what hl_reader_decode_some would give it, in
 * its own order: events, errors, marks of damage and numbers of bytes are the same with any number
 * of threads, also with none. A chunk that a worker cannot decode is decoded again by the caller,
 * so only the caller changes the reader.
 *
 * Threads start when a loop has read some chunks in a row, so a query about few chunks costs no
 * more than before. Up to hl_reader_set_workers() threads run; if one cannot be created, the loop
 * works with fewer.
 */
#ifndef HL_TRACE_READ_DECODE_AHEAD_H
#define HL_TRACE_READ_DECODE_AHEAD_H

#include "trace/read/reader.h"

struct hl_decode_pool;

/* Used by one thread at a time. The reader must outlive it; that thread may call any function of
 * the reader meanwhile. */
struct hl_decode_ahead {
	struct hl_reader *reader;
	struct hl_decode_pool *pool; /* NULL: no worker is running */
	size_t next;                 /* the chunk after the last one that was read */
	unsigned streak;             /* chunks that were read in a row */
	bool is_off;                 /* do not try to start workers */
};

void hl_decode_ahead_init(struct hl_decode_ahead *a, struct hl_reader *r);
/* Ends the workers, at any time: each finishes at most the chunk that it is decoding. */
void hl_decode_ahead_fini(struct hl_decode_ahead *a);

/*
 * Decodes a chunk as hl_reader_decode_some. At least the fields `*want` are decoded; on success,
 * *want has all fields that are. The loop expects to read the chunks up to `end` next, with the
 * same fields; it may skip some or stop.
 */
int hl_decode_ahead_read(struct hl_decode_ahead *a, size_t chunk, size_t end, unsigned *want,
	struct hl_chunk_events *into);

#endif
