/*
 * stream.h - blocks, one after the other, by decoding events: for all that sums cannot tell.
 */
#ifndef HL_MODEL_STREAM_H
#define HL_MODEL_STREAM_H

#include "model/block.h"
#include "model/filter.h"
#include "model/parts.h"
#include "model/pass.h"
#include "model/pattern.h"

/*
 * What is wanted. Each block that the filter selects is handed over once: when it dies, or after
 * the last event that is read if it does not; with at_birth when it is born and without its death.
 */
struct hl_stream {
	struct hl_filter *filter; /* bound; NULL: all */
	struct hl_place from, to; /* the range; a place may be moved, see below */
	bool older;               /* blocks from before the range are wanted too */
	bool to_end;              /* deaths after the range are wanted */
	bool at_birth;
	bool func;                     /* hl_block.func must be known */
	const struct hl_pattern *pool; /* blocks of pools with such a name, not the heap's */
	void (*begin)(void *arg);      /* forget all: it begins, maybe again */
	int (*block)(void *arg, const struct hl_block *b);
	/* Not NULL: blocks come by parts of the address space, from the lowest up, and this comes
	 * after the last block of each part. */
	int (*part)(void *arg);
	void *arg;

	/* its own */
	struct hl_model *m;
	struct hl_reading reading;
	size_t start_set;  /* the live set that it begins with; SIZE_MAX: with nothing */
	bool late_verdict; /* the filter is about deaths: ask it when they are known */
	uint64_t previous; /* ordinal of the event before if that was an allocation */
	struct hl_blocks alive;
	/* Where more are alive than the table takes, each reading is for a share of the blocks. */
	uint32_t share, shares; /* shares: 0 for one of all, else a power of two */
	struct hl_parts parts;  /* with `part`, instead of shares */
	bool go_on;             /* the next reading is for the next share or part */
	uint64_t events_read;   /* of all readings */
};

/*
 * 0 or -errno with hl_model_error(). Where chunks are lost, `to` moves before the first loss: sums
 * over a hole are nobody's. Deaths after a hole are -ENODATA.
 */
int hl_stream_blocks(struct hl_model *m, struct hl_stream *s);

/* The same with others: makes its reading ready for a pass. */
void hl_stream_init(struct hl_stream *s, struct hl_model *m);
void hl_stream_fini(struct hl_stream *s);

/* What a free tells of its block. Half of a realloc must stand in its decoded chunk. */
void hl_block_freed(const struct hl_model *m, struct hl_block *b, const struct hl_event *e);
/* A block as its allocation tells of it. */
struct hl_block hl_block_born(
	const struct hl_model *m, const struct hl_event *e, enum hl_phase phase);

#endif
