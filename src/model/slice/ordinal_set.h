/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ordinal_set.h - the blocks that a slice keeps: a set of ordinals, and the new ordinal of each.
 *
 * Memory is proportional to the kept blocks, an eighth of a byte for each where they are dense. A
 * forged ordinal in a file cannot make it larger than that. A zeroed set is an empty set.
 */
#ifndef HL_MODEL_SLICE_ORDINAL_SET_H
#define HL_MODEL_SLICE_ORDINAL_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hl_ordinal_page;
struct hl_ordinal_set {
	struct hl_ordinal_page **pages; /* NULL: none of its ordinals */
	size_t n_pages;
};

void hl_ordinal_set_fini(struct hl_ordinal_set *k);
/* Returns 0, -ENOMEM, or -EBADMSG if no trace can have such an ordinal. */
int hl_ordinal_set_add(struct hl_ordinal_set *k, uint64_t ordinal);
bool hl_ordinal_set_has(const struct hl_ordinal_set *k, uint64_t ordinal);
/* Must be called after the last hl_ordinal_set_add and before the first hl_ordinal_set_rank. */
void hl_ordinal_set_count(struct hl_ordinal_set *k);
/* The number of smaller ordinals in the set: the new ordinal. The ordinal must be in the set. */
uint64_t hl_ordinal_set_rank(const struct hl_ordinal_set *k, uint64_t ordinal);

#endif
