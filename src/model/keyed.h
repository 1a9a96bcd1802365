/*
 * keyed.h - sums by thread or size class at a moment, from chunk summaries.
 */
#ifndef HL_MODEL_KEYED_H
#define HL_MODEL_KEYED_H

#include "model/query.h"
#include "model/sums.h"

/* Do summaries know this key? */
bool hl_keyed_is_known(enum hl_key key);
/*
 * Fills sums[n_keys + 1] with all that happened before *p, charged to the blocks' births. Keyframes
 * do not know these keys: every chunk before *p must be readable, or *p moves before the first that
 * is not. 0 or -errno.
 */
int hl_keyed_sums_at(struct hl_model *m, enum hl_key key, uint32_t n_keys, struct hl_place *p,
	struct hl_sums *sums);

#endif
