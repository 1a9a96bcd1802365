/*
 * kept.h - which blocks are kept when a trace is cut: a set of ordinals, and the new ordinal of
 * each.
 *
 * Memory follows the blocks that are kept, an eighth of a byte each where they are dense; a number
 * in a file can make it no larger than that. A zeroed set is an empty one.
 */
#ifndef HL_MODEL_KEPT_H
#define HL_MODEL_KEPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hl_kept_page;
struct hl_kept {
	struct hl_kept_page **pages; /* NULL: none of its ordinals */
	size_t n_pages;
};

void hl_kept_fini(struct hl_kept *k);
/* 0, -ENOMEM, or -EBADMSG: no trace has so many. */
int hl_kept_add(struct hl_kept *k, uint64_t ordinal);
bool hl_kept_has(const struct hl_kept *k, uint64_t ordinal);
/* After the last hl_kept_add and before the first hl_kept_rank. */
void hl_kept_count(struct hl_kept *k);
/* How many smaller ones there are: the ordinal among those that are kept. */
uint64_t hl_kept_rank(const struct hl_kept *k, uint64_t ordinal);

#endif
