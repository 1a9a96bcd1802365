/*
 * decoded.h - the chunk that was decoded last. Who asks about one moment after the other often asks
 * the same chunk again, and to decode it is most of the work.
 *
 * It is borrowed, not shared: what a borrower calls may decode chunks of its own.
 */
#ifndef HL_MODEL_DECODED_H
#define HL_MODEL_DECODED_H

#include "trace/reader.h"

struct hl_model;

struct hl_decoded {
	struct hl_chunk_events events;
	size_t chunk;
	unsigned want; /* HL_WANT_* that `events` has of it; 0: nothing is there */
};

/* An empty one if it is lent already. */
struct hl_decoded hl_decoded_borrow(struct hl_model *m);
void hl_decoded_return(struct hl_model *m, struct hl_decoded *d);
/* Fills d->events with at least this. 0 or -errno, as hl_reader_decode_some. */
int hl_decoded_read(struct hl_model *m, struct hl_decoded *d, size_t chunk, unsigned want);

#endif
