/* SPDX-License-Identifier: Apache-2.0 */
/*
 * key_index.h - sums by thread, size and tag between chunks, kept by a model.
 *
 * Keyframes have sums by stack only, so sums by another key need every chunk before a position. A
 * model that answers many queries keeps these sums at borders between chunks: at every border, or
 * if that takes too much memory at every 2nd, 4th ... one. Chunks never change, so a refresh keeps
 * the index. Only a caller that has the time makes it: hl_key_index_extend.
 */
#ifndef HL_MODEL_QUERY_KEY_INDEX_H
#define HL_MODEL_QUERY_KEY_INDEX_H

#include "model/query/sums_by_key.h"

struct hl_key_index;

/*
 * Reads up to `chunks` more chunks. *left: how many the index still lacks; 0 if the model cannot
 * have an index, or if the next chunk is lost. Returns 0 or -errno.
 */
int hl_key_index_extend(struct hl_model *m, size_t chunks, size_t *left);
/* The number of chunks that must be read for sums by this key at the begin of the chunk. */
size_t hl_key_index_distance(const struct hl_model *m, enum hl_key key, size_t chunk);
/* The last border in the index that is not after the begin of the chunk; 0: none. */
size_t hl_key_index_before(const struct hl_model *m, enum hl_key key, size_t chunk);
/* Copies the tallies at such a border, for n_keys keys. */
void hl_key_index_load(const struct hl_model *m, enum hl_key key, size_t border, uint32_t n_keys,
	hl_tally *tallies);
/* The most memory for the borders of a key; for tests. */
extern uint64_t hl_key_index_bytes;
/* NULL is allowed. */
void hl_key_index_free(struct hl_key_index *x);

#endif
