/*
 * parts.h - the address space in parts, from the lowest address up: where a question needs all
 * blocks in the order of their places, and they are too many to be in memory at once, the trace is
 * read once for each part.
 *
 * A part begins as all that is left. Whenever its blocks become too many it gives the highest away,
 * which are then of a later part. How large parts are is so settled by the blocks themselves: what
 * is held is bounded, and what grows with the heap is how often the trace is read. Chunks that a
 * reading has shown to have nothing in a part are not read for it.
 */
#ifndef HL_MODEL_PARTS_H
#define HL_MODEL_PARTS_H

#include "model/block.h"
#include "trace/reader.h"

/* With what is made of them less than 128 MiB. */
#define HL_PARTS_BLOCKS (UINT64_C(1) << 20)

struct hl_parts {
	uint64_t low, high; /* this part's addresses, both among them */
	/* The lowest and the highest address of each chunk; none before it was read in the first
	 * part. */
	struct hl_parts_span {
		uint64_t low, high;
	} * spans;
	size_t n_spans;
};

/* All addresses, as the first part, of a trace of so many chunks. 0 or -ENOMEM. */
int hl_parts_begin(struct hl_parts *p, size_t n_chunks);
void hl_parts_fini(struct hl_parts *p);

static inline bool hl_parts_has(const struct hl_parts *p, uint64_t addr)
{
	return addr >= p->low && addr <= p->high;
}

/* Takes down where the events of a chunk lie; and is there nothing in this part? */
void hl_parts_see(struct hl_parts *p, size_t chunk, const struct hl_event *events, size_t n_events);
bool hl_parts_may_skip(const struct hl_parts *p, size_t chunk);

/* Gives away half of these blocks, those with the highest addresses, and maybe more where
 * addresses are the same. 0, -ENOMEM, or -EOVERFLOW: too many are at one address, as no heap has
 * them. */
int hl_parts_narrow(struct hl_parts *p, struct hl_blocks *blocks);

/* Goes on to the next part; false: there is none. */
bool hl_parts_next(struct hl_parts *p);

#endif
