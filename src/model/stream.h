/*
 * stream.h - sums of the blocks that a filter selects, by decoding every event.
 */
#ifndef HL_MODEL_STREAM_H
#define HL_MODEL_STREAM_H

#include "model/filter.h"
#include "model/query.h"
#include "model/sums.h"

/*
 * Sets values[n_nodes + 1] (the last: blocks without a stack) to what the filter selects: with
 * `live` the blocks that exist at *to, else the allocations from from_ns on. Moves *to before the
 * first lost chunk if there is one on the way: a filter on how blocks were born needs every
 * event. 0 or -errno.
 */
int hl_stream_sums(struct hl_model *m, struct hl_filter *f, bool live, uint64_t from_ns,
	struct hl_place *to, struct hl_value *values);

#endif
