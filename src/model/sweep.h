/*
 * sweep.h - every event chunk up to a place, in order: for sums that need no memory of blocks.
 */
#ifndef HL_MODEL_SWEEP_H
#define HL_MODEL_SWEEP_H

#include "model/sums.h"

struct hl_sweep {
	void (*begin)(void *arg); /* forget all: it begins, maybe again */
	/* -EBADMSG: the chunk cannot be read. */
	int (*chunk)(void *arg, size_t chunk);
	void *arg;
};

/* 0 or -errno. Where chunks are lost, the place moves before the first loss. */
int hl_sweep_chunks(struct hl_model *m, struct hl_place *p, const struct hl_sweep *s);

/*
 * Decodes a chunk with these fields (HL_WANT_*); *n: how many of its events come before the place.
 * 0 or -errno.
 */
int hl_sweep_decode(struct hl_model *m, const struct hl_place *p, size_t chunk, unsigned want,
	struct hl_chunk_events *events, size_t *n);

#endif
