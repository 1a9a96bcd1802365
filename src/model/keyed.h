/*
 * keyed.h - sums by thread, tag or size class at a moment, from chunk summaries and events.
 */
#ifndef HL_MODEL_KEYED_H
#define HL_MODEL_KEYED_H

#include "model/pass.h"
#include "model/query.h"

/* Blocks by what they do, enum hl_op. */
typedef struct hl_value hl_tally[2];

static inline void hl_tally_add(struct hl_value *v, uint64_t bytes, uint64_t blocks)
{
	v->bytes += bytes;
	v->blocks += blocks;
}

struct hl_keyed {
	struct hl_reading reading;
	struct hl_model *m;
	enum hl_key key;
	uint32_t n_keys;
	struct hl_place place;
	hl_tally *tallies; /* n_keys + 1 */
	struct hl_summary summary;
};

/* Do summaries know this key? */
bool hl_keyed_is_known(enum hl_key key);
/*
 * Makes its reading ready for a pass, which counts all that happens before the place, charged to
 * the blocks' births. Keyframes do not know these keys: every chunk before it must be readable, or
 * the place moves before the first that is not. 0 or -ENOMEM.
 */
int hl_keyed_init(struct hl_keyed *k, struct hl_model *m, enum hl_key key, uint32_t n_keys,
	const struct hl_place *place);
void hl_keyed_fini(struct hl_keyed *k);
/* Fills sums[n_keys + 1] after the pass. 0 or -EBADMSG with hl_model_error(). */
int hl_keyed_sums(const struct hl_keyed *k, struct hl_sums *sums);

#endif
