/*
 * chains.h - realloc chains: the blocks that a program made from each other by realloc.
 *
 * A realloc that succeeds, moved or in place, ends one block and begins the next of its chain.
 * realloc(NULL, n) begins a chain as malloc does, realloc(p, 0) ends one as free does. A block that
 * was never passed to realloc is a chain of length 1. The chain of any block is found by its
 * ordinal, so that it is known at birth.
 */
#ifndef HL_MODEL_CHAINS_H
#define HL_MODEL_CHAINS_H

#include "model/block.h"
#include "model/model.h"

struct hl_chain {
	uint64_t first_size, last_size; /* of its first and its last block */
	uint64_t birth_ns;              /* of the first block */
	uint64_t death_ns;              /* of the last one; UINT64_MAX: it is not freed */
	uint32_t length, position;      /* how many blocks; which of them this is, from 1 */
};

/* Finds the chains, once: reads the trace. 0 or -errno with hl_model_error(); -ENODATA: the trace
 * cannot tell, -EOVERFLOW: they would take too much memory. */
int hl_model_load_chains(struct hl_model *m);
/* Can it, as far as is known without reading it? */
bool hl_model_may_have_chains(const struct hl_model *m);

/*
 * The chain of a block, once they are loaded. Of a chain of length 1 the death is the block's, as
 * far as `b` knows it. A block of a pool is such a chain.
 */
struct hl_chain hl_chain_of(const struct hl_model *m, const struct hl_block *b);

#endif
