/* SPDX-License-Identifier: Apache-2.0 */
/*
 * realloc_chains.h - realloc chains: the blocks that a program made from one another by realloc.
 *
 * A realloc that succeeds, moved or in place, ends one block and begins the next of its chain.
 * realloc(NULL, n) begins a chain as malloc does, realloc(p, 0) ends one as free does. A block that
 * was never passed to realloc is a chain of length 1. The chain of a block is found by its ordinal,
 * so it is known at the allocation.
 */
#ifndef HL_MODEL_SCAN_REALLOC_CHAINS_H
#define HL_MODEL_SCAN_REALLOC_CHAINS_H

#include "model/scan/block_table.h"
#include "model/model.h"

struct hl_chain {
	uint64_t first_size, last_size; /* of its first and its last block */
	uint64_t alloc_ns;              /* allocation of the first block */
	uint64_t free_ns;               /* free of the last block; UINT64_MAX: not freed */
	uint32_t length, position;      /* number of blocks; which of them this is, from 1 */
};

/* Finds all chains by reading the trace; later calls do nothing. Returns 0, or -errno with
 * hl_model_error(); -ENODATA: the trace does not have the data, -EOVERFLOW: the chains would use
 * too much memory. */
int hl_model_load_chains(struct hl_model *m);
/* May the trace have the data, as far as is known without reading it? */
bool hl_model_may_have_chains(const struct hl_model *m);

/*
 * The chain of a block, after hl_model_load_chains(). A chain of length 1 has the block's own free
 * time, if `b` has it. A block of a pool is such a chain.
 */
struct hl_chain hl_chain_of(const struct hl_model *m, const struct hl_block *b);

#endif
