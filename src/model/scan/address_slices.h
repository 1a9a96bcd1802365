/* SPDX-License-Identifier: Apache-2.0 */
/*
 * address_slices.h - the address space in slices, from the lowest address up. If a query needs all
 * blocks in the order of their addresses, and they do not fit into memory at once, the trace is
 * scanned once for each slice.
 *
 * A slice begins as the whole rest of the address space. Whenever its blocks become too many, it
 * drops those with the highest addresses, which then belong to a later slice. So the blocks
 * determine the size of the slices: memory is bounded, and only the number of scans grows with the
 * heap. Chunks that have no addresses in a slice, as seen in the first scan, are not read for it.
 */
#ifndef HL_MODEL_SCAN_ADDRESS_SLICES_H
#define HL_MODEL_SCAN_ADDRESS_SLICES_H

#include "model/scan/block_table.h"
#include "trace/read/reader.h"

/* Less than 128 MiB, including the results made from them. */
#define HL_ADDRESS_SLICE_BLOCKS (UINT64_C(1) << 20)

struct hl_address_slices {
	uint64_t low, high; /* addresses of the current slice, inclusive */
	/* The lowest and the highest address of each chunk; unknown until the chunk is read in the
	 * first slice. */
	struct hl_address_slices_span {
		uint64_t low, high;
	} * spans;
	size_t n_spans;
};

/* The first slice, with all addresses, of a trace with n_chunks chunks. Returns 0 or -ENOMEM. */
int hl_address_slices_begin(struct hl_address_slices *p, size_t n_chunks);
void hl_address_slices_fini(struct hl_address_slices *p);

static inline bool hl_address_slices_contains(const struct hl_address_slices *p, uint64_t addr)
{
	return addr >= p->low && addr <= p->high;
}

/* Records the addresses of the events of a chunk (in the first slice only).
 * hl_address_slices_may_skip returns whether the chunk has no address in the current slice. */
void hl_address_slices_note_chunk(
	struct hl_address_slices *p, size_t chunk, const struct hl_event *events, size_t n_events);
bool hl_address_slices_may_skip(const struct hl_address_slices *p, size_t chunk);

/* Drops the half of these blocks with the highest addresses, or more if addresses are equal, from
 * the table and from the slice. Returns 0, -ENOMEM, or -EOVERFLOW if too many blocks are at one
 * address, which no real heap has. */
int hl_address_slices_narrow(struct hl_address_slices *p, struct hl_block_table *blocks);

/* Moves to the next slice. Returns false if there is none. */
bool hl_address_slices_next(struct hl_address_slices *p);

#endif
