/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sums.h - the sums of every node at a position, by the shortest exact computation; and positions.
 *
 * A position is a point between two events. Its sums are those of a keyframe plus (or, from a later
 * keyframe, minus) the summaries of the whole chunks between them, and the events of at most one
 * chunk. A path must not cross a lost chunk: the sums after a hole would not be those of the live
 * blocks.
 */
#ifndef HL_MODEL_QUERY_SUMS_H
#define HL_MODEL_QUERY_SUMS_H

#include "model/model.h"

/* How much of a chunk is before a position. */
enum hl_cut {
	HL_CUT_START,  /* nothing */
	HL_CUT_TIME,   /* events at or before time `limit` */
	HL_CUT_LIVE,   /* up to the event that first brings live bytes to `limit` */
	HL_CUT_EVENTS, /* the first `limit` events */
	HL_CUT_KEY,    /* nothing: at keyframe `limit`; UINT64_MAX: before all keyframes */
};

struct hl_position {
	size_t chunk; /* all chunks before this one, and of this one as `cut` says */
	enum hl_cut cut;
	uint64_t limit;
	uint64_t time_ns;   /* the time to show for it */
	bool is_exact;      /* false: missing chunks hide the exact position */
	bool before_damage; /* not the requested position but the latest known one before it */
};

/* The first chunk that is completely after the position. */
static inline size_t hl_position_end(const struct hl_position *p)
{
	return p->chunk + (p->cut != HL_CUT_START && p->cut != HL_CUT_KEY);
}

/* After the last event at or before t; t = UINT64_MAX: the end. */
struct hl_position hl_position_at(struct hl_model *m, uint64_t t);
/* The earliest moment with the highest live bytes. */
struct hl_position hl_position_peak(struct hl_model *m);
/* The latest known position before this one with no lost chunk before it. */
struct hl_position hl_position_before_loss(struct hl_model *m, const struct hl_position *p);
/* The number of events of the decoded chunk p->chunk that are before p. */
size_t hl_position_split(
	struct hl_model *m, const struct hl_position *p, const struct hl_chunk_events *c);
/* The number of events, and of allocations among them, before p. Returns 0, -ENODATA if a loss
 * hides it, or another -errno. Decodes one chunk. */
int hl_position_count(
	struct hl_model *m, const struct hl_position *p, uint64_t *events, uint64_t *allocs);
bool hl_chunk_is_lost(const struct hl_model *m, size_t chunk);
/* Before everything. If there are aggregated blocks, also before keyframes that are before the
 * first chunk. */
struct hl_position hl_position_start(void);
/* Where the events of the trace begin: hl_position_start(), or the base of a trace that begins
 * late. */
struct hl_position hl_position_first(struct hl_model *m);
/* After the first n events of a chunk, the last of which is at this time. */
struct hl_position hl_position_event(size_t chunk, size_t n, uint64_t time_ns);
/* The position of a keyframe. */
struct hl_position hl_position_key(struct hl_model *m, size_t key);
/* The latest readable keyframe that is not after t and not after the start of chunk `end`;
 * SIZE_MAX: none. */
size_t hl_key_before(const struct hl_model *m, uint64_t t, size_t end);
/* Is none of the chunks [from, to) lost? Indexes after the last chunk are not lost. */
bool hl_chunks_are_readable(const struct hl_model *m, size_t from, size_t to);

/* A path from a keyframe (or the start) to a position. */
struct hl_sums_path {
	size_t keyframe; /* SIZE_MAX: the start */
	size_t from, to; /* whole chunks between them: [from, to) */
	bool back;       /* the keyframe is after the position: subtract */
	bool onward;     /* the sums at the begin of `from` are there already */
};
/* Finds the path over the fewest chunks. Returns false if there is none. */
bool hl_sums_find_path(
	const struct hl_model *m, const struct hl_position *p, struct hl_sums_path *best);

/*
 * Fills sums[n_nodes + 1]; the last entry is for blocks without a stack. If no path leads to *p, *p
 * moves to the latest position before it that has one (the start always has). Returns 0 or -errno;
 * -EBADMSG: the sums contradict each other.
 */
int hl_sums_at(struct hl_model *m, struct hl_position *p, struct hl_sums *sums);
/*
 * The same for several positions, in the order of time: summaries between two of them are read
 * once. `sums` are those of the last position. hl_sums_walk_to returns as hl_sums_at. The caller
 * calls fini in every case.
 */
struct hl_sums_walk {
	struct hl_model *m;
	struct hl_sums *sums;
	struct hl_sums *border; /* at the begin of `chunk` */
	size_t chunk;
	bool has_border;
};
int hl_sums_walk_init(struct hl_sums_walk *w, struct hl_model *m);
int hl_sums_walk_to(struct hl_sums_walk *w, struct hl_position *p);
void hl_sums_walk_fini(struct hl_sums_walk *w);
/* The sums of a keyframe alone. */
int hl_sums_of_keyframe(struct hl_model *m, size_t key, struct hl_sums *sums);

/*
 * Compares the summaries, keyframes and final totals of the file with its events, as far as no
 * events are lost before them. A difference is noted as damage. Returns 0 or -errno. Takes as long
 * as decoding everything.
 */
int hl_sums_check(struct hl_model *m);

/* Returns -EBADMSG if more was freed than allocated, which is impossible. sums has n + 1
 * entries. */
int hl_sums_verify(struct hl_model *m, const struct hl_sums *sums, uint32_t n);

#endif
