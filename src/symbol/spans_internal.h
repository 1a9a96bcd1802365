/*
 * spans_internal.h - address ranges that may nest, and which of them hold an address.
 *
 * Used for units, functions with their inlined calls, and ELF symbols alike. After
 * hl_spans_sort, a span's `up` is the nearest one before it that reaches beyond its start; if the
 * ranges nest, climbing from the last span that starts at or below an address meets every span
 * that holds it, innermost first. Ranges that overlap without nesting cost nothing but that
 * promise.
 */
#ifndef HL_SYMBOL_SPANS_INTERNAL_H
#define HL_SYMBOL_SPANS_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

#include "util/vec.h"

#define HL_SPAN_NONE UINT32_MAX

struct hl_span {
	uint64_t lo, hi; /* [lo, hi) */
	uint64_t what;   /* the user's */
	uint32_t depth;  /* of equal ranges the deeper is inside; also the user's order */
	uint32_t up;
};

struct hl_spans {
	HL_VEC(struct hl_span) v;
};

/* Empty ranges are left out. 0 or -ENOMEM. */
int hl_spans_add(struct hl_spans *s, uint64_t lo, uint64_t hi, uint32_t depth, uint64_t what);
void hl_spans_sort(struct hl_spans *s);
/* The innermost span that holds addr, or NULL; then the next one outwards. */
const struct hl_span *hl_spans_find(const struct hl_spans *s, uint64_t addr);
const struct hl_span *hl_spans_outer(
	const struct hl_spans *s, const struct hl_span *of, uint64_t addr);
/* The last one that starts at or below addr, whether it holds it or not; or NULL. */
const struct hl_span *hl_spans_before(const struct hl_spans *s, uint64_t addr);
void hl_spans_fini(struct hl_spans *s);

#endif
