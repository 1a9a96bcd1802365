/* SPDX-License-Identifier: Apache-2.0 */
/*
 * block_stream.h - delivers blocks one by one by decoding events, for queries that sums cannot
 * answer.
 */
#ifndef HL_MODEL_SCAN_BLOCK_STREAM_H
#define HL_MODEL_SCAN_BLOCK_STREAM_H

#include "model/scan/block_table.h"
#include "model/query/filter.h"
#include "model/scan/address_slices.h"
#include "model/scan/shared_scan.h"
#include "model/query/pattern.h"

/* Which blocks block() uses. The others may be left out, which costs less. */
enum hl_block_choice {
	HL_BLOCKS_ALL,
	HL_BLOCKS_LIVE,      /* those that are not freed before the end of the range */
	HL_BLOCKS_TEMPORARY, /* those with is_temporary */
};

/*
 * What to deliver. Each block that the filter selects is delivered once: when it is freed, or after
 * the last event that is read if it is not freed; with at_alloc when it is allocated, without its
 * free.
 */
struct hl_block_stream {
	struct hl_filter *filter;    /* bound; NULL: all blocks */
	struct hl_position from, to; /* the range; a position may be moved, see below */
	bool include_older;          /* also deliver blocks allocated before the range */
	bool read_all_frees;         /* also read frees after the range */
	bool at_alloc;
	bool func; /* hl_block.func must be known */
	enum hl_block_choice choice;
	unsigned unused; /* HL_WANT_ADDR, HL_WANT_FUNC: block() does not use these fields */
	const struct hl_pattern *pool; /* blocks of pools with such a name, not the heap's */
	void (*begin)(void *arg);      /* discard all results: a scan begins or begins again */
	int (*block)(void *arg, const struct hl_block *b);
	/* If not NULL, blocks are delivered by slices of the address space, lowest addresses first.
	 * Called after the last block of each slice. */
	int (*slice_end)(void *arg);
	void *arg;

	/* Results of hl_block_stream_plan. */
	struct hl_scan_consumer consumer;
	size_t start_set; /* the live set to start with; SIZE_MAX: start with no blocks */

	/* private */
	struct hl_model *m;
	bool filter_at_free; /* the filter is about frees: evaluate it when they are known */
	uint64_t last_alloc; /* ordinal of the preceding event if that is an allocation */
	struct hl_block_table live;
	/* If more blocks are live than the table can hold, each scan is for one share of the
	 * blocks. */
	uint32_t share, shares; /* shares: 0 if one scan is for all blocks, else a power of two */
	struct hl_address_slices slices; /* with `slice_end`, instead of shares */
	bool continuing;      /* the next scan is for the next share or slice; results are kept */
	uint64_t events_read; /* in all scans */
};

/*
 * Delivers the blocks to s->block. Returns 0, or -errno with hl_model_error(). If chunks are lost,
 * `to` moves before the first lost one, because sums across a hole would be wrong. If the frees
 * after a hole are needed, returns -ENODATA.
 */
int hl_block_stream_run(struct hl_model *m, struct hl_block_stream *s);

/* Only decides what a run would read, after hl_block_stream_init: the chunks from consumer.first to
 * consumer.last_end, and the live set start_set. Returns as hl_block_stream_run. */
int hl_block_stream_plan(struct hl_block_stream *s);

/* The same as a part of a shared scan: prepares s->consumer for hl_scan(). */
void hl_block_stream_init(struct hl_block_stream *s, struct hl_model *m);
void hl_block_stream_fini(struct hl_block_stream *s);

/* Fills in what a free event says about its block. If the event is half of a realloc, e must
 * point into its decoded chunk. */
void hl_block_set_freed(const struct hl_model *m, struct hl_block *b, const struct hl_event *e);
/* A block as its allocation event describes it. */
struct hl_block hl_block_from_alloc(
	const struct hl_model *m, const struct hl_event *e, enum hl_range_phase phase);

#endif
