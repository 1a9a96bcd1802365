/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spans_internal.h - address ranges that may nest, and the search for those that contain an
 * address.
 *
 * Used for units, functions with inlined calls, and ELF symbols. After hl_spans_sort, `outer` of a
 * span is the nearest one before it that ends after its start. If the ranges nest, following
 * `outer` from the last span that starts at or below an address reaches every span that contains
 * it, innermost first. If ranges overlap without nesting, some of them may be missed, but nothing
 * worse happens.
 */
#ifndef HL_SYMBOL_DWARF_SPANS_INTERNAL_H
#define HL_SYMBOL_DWARF_SPANS_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

#include "util/vec.h"

#define HL_SPAN_NONE UINT32_MAX

struct hl_span {
	uint64_t lo, hi;  /* [lo, hi) */
	uint64_t payload; /* of the caller */
	uint32_t depth;   /* of equal ranges the deeper is inner; also a priority */
	uint32_t outer;
};

struct hl_spans {
	HL_VEC(struct hl_span) v;
};

/* Adds a range. One with lo > hi is ignored. Empty ranges (lo == hi) are kept, but contain no
 * address. Returns 0 or -ENOMEM. */
int hl_spans_add(struct hl_spans *s, uint64_t lo, uint64_t hi, uint32_t depth, uint64_t payload);
void hl_spans_sort(struct hl_spans *s);
/* The innermost span that contains addr, or NULL; and the next one outwards. */
const struct hl_span *hl_spans_find(const struct hl_spans *s, uint64_t addr);
const struct hl_span *hl_spans_outer(
	const struct hl_spans *s, const struct hl_span *of, uint64_t addr);
/* The last span that starts at or below addr, even if it does not contain addr; or NULL. */
const struct hl_span *hl_spans_before(const struct hl_spans *s, uint64_t addr);
void hl_spans_fini(struct hl_spans *s);

#endif
