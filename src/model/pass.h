/*
 * pass.h - the trace read once for all who need its events.
 *
 * Each chunk is decoded once, with the fields that any of them wants, and handed to each in turn.
 * Whoever meets damage begins again before it, together with the others that did; the rest go on.
 * So each has what it would have alone.
 */
#ifndef HL_MODEL_PASS_H
#define HL_MODEL_PASS_H

#include "model/sums.h"

/* No events of this chunk: it has been taken in another way. */
#define HL_WANT_NO_EVENTS (1u << 31)

enum hl_reading_state { HL_READING_NOT_YET, HL_READING_NOW, HL_READING_DONE, HL_READING_FAILED };

/* One who reads along. All calls are 0 or -errno; -EBADMSG with something newly marked bad, or
 * -EAGAIN: it begins again. */
struct hl_reading {
	/* Settles which chunks it needs, [first, last_end), none of them lost. Fails with
	 * hl_model_error(). */
	int (*plan)(struct hl_reading *r);
	int (*begin)(void *arg); /* forget all: it begins, maybe again */
	/* Which fields (HL_WANT_*) of the events of this chunk. */
	int (*want)(void *arg, size_t chunk, unsigned *want);
	int (*chunk)(void *arg, size_t chunk, const struct hl_chunk_events *events);
	int (*end)(void *arg); /* NULL: nothing is left to do */
	void *arg;
	size_t first, last_end;
	uint64_t memory; /* what it may come to hold; for those that are taken along */
	bool along;      /* it is taken along, and has no more than that */

	enum hl_reading_state state; /* these two are the pass's */
	bool waits;                  /* for the events of this chunk */
};

/* Plans for all chunks up to a place. Where some are lost, the place moves before the first. */
void hl_reading_up_to(struct hl_reading *r, struct hl_model *m, struct hl_place *p);

/*
 * Reads for this one and one more if it is not NULL, and takes along the questions that are
 * expected (question.h). 0 or -errno with hl_model_error() if the one or the other failed.
 */
int hl_pass(struct hl_model *m, struct hl_reading *one, struct hl_reading *other);

#endif
