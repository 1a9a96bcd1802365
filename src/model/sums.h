/*
 * sums.h - the sums of every node at a moment, by the shortest way that is exact.
 *
 * A moment is a place between two events. Its sums are those of a keyframe plus (or, from a later
 * keyframe, minus) the summaries of the whole chunks between, and the events of at most one chunk.
 * Over a chunk that is lost there is no way: sums over a hole are not what was live.
 */
#ifndef HL_MODEL_SUMS_H
#define HL_MODEL_SUMS_H

#include "model/model.h"

/* Up to where in a chunk. */
enum hl_cut {
	HL_CUT_START,  /* none of it */
	HL_CUT_TIME,   /* events at or before limit */
	HL_CUT_LIVE,   /* up to the event that first brings live bytes to limit */
	HL_CUT_EVENTS, /* the first `limit` events */
	HL_CUT_KEY,    /* none of it: where keyframe `limit` stands; UINT64_MAX: before all */
};

struct hl_place {
	size_t chunk; /* all chunks before it, and of this one: */
	enum hl_cut cut;
	uint64_t limit;
	uint64_t time_ns; /* what the place is called */
	bool sure;        /* false: chunks that are gone hide where exactly it is */
	bool moved;       /* not what was asked for, but the latest before it that can be known */
};

/* The first chunk of which nothing belongs to the place. */
static inline size_t hl_place_end(const struct hl_place *p)
{
	return p->chunk + (p->cut != HL_CUT_START && p->cut != HL_CUT_KEY);
}

/* Where the events at or before t end; t = UINT64_MAX for the end. */
struct hl_place hl_place_at(struct hl_model *m, uint64_t t);
/* The earliest moment of the highest live bytes. */
struct hl_place hl_place_peak(struct hl_model *m);
/* The latest place before this one that is known, where no lost chunk stands before it. */
struct hl_place hl_place_before_loss(struct hl_model *m, const struct hl_place *p);
/* How many events of the decoded chunk p->chunk belong to p. */
size_t hl_place_split(
	struct hl_model *m, const struct hl_place *p, const struct hl_chunk_events *c);
/* How many events of all, and how many allocations among them, come before p. 0, -ENODATA where a
 * loss hides it, or another -errno. Decodes one chunk. */
int hl_place_count(
	struct hl_model *m, const struct hl_place *p, uint64_t *events, uint64_t *allocs);
bool hl_chunk_is_lost(const struct hl_model *m, size_t chunk);
/* Before everything: where chunks are not all, also before keyframes that stand before the first.
 */
struct hl_place hl_place_start(void);
/* Behind the first n events of a chunk, the last of which is at this time. */
struct hl_place hl_place_event(size_t chunk, size_t n, uint64_t time_ns);
/* The place of a keyframe. */
struct hl_place hl_place_key(struct hl_model *m, size_t key);
/* The latest keyframe that is not after t and stands before chunk `end`; SIZE_MAX: none. */
size_t hl_key_before(const struct hl_model *m, uint64_t t, size_t end);
/* Is none of [from, to) lost? What is behind the last chunk is not. */
bool hl_chunks_are_there(const struct hl_model *m, size_t from, size_t to);

/*
 * Fills sums[n_nodes + 1]; the last is of blocks without a stack. If there is no exact way to *p,
 * *p moves to the latest place before it that has one (the start always has). 0 or -errno;
 * -EBADMSG when the sums contradict each other.
 */
int hl_sums_at(struct hl_model *m, struct hl_place *p, struct hl_sums *sums);
/* Those of a keyframe alone. */
int hl_sums_of_keyframe(struct hl_model *m, size_t key, struct hl_sums *sums);
/* The same by decoding every event from the start; -ENODATA when a chunk before it is lost. */
int hl_sums_by_decoding(struct hl_model *m, const struct hl_place *p, struct hl_sums *sums);

/*
 * Compares what the file says of itself, in summaries, keyframes and its end, with its events, as
 * far as none are lost before them. What differs is noted as damage. 0 or -errno; takes as long as
 * decoding everything.
 */
int hl_sums_check(struct hl_model *m);

/* More freed than allocated is no state that a program can be in: -EBADMSG. sums has n + 1 entries.
 */
int hl_sums_verify(struct hl_model *m, const struct hl_sums *sums, uint32_t n);

#endif
