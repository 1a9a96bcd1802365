/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spans.c - address ranges that may nest; see spans_internal.h.
 */
#include <stdlib.h>

#include "symbol/dwarf/spans_internal.h"

int hl_spans_add(struct hl_spans *s, uint64_t lo, uint64_t hi, uint32_t depth, uint64_t payload)
{
	struct hl_span span = {.lo = lo, .hi = hi, .depth = depth, .payload = payload};

	if (lo > hi)
		return 0;
	if (s->v.len >= HL_SPAN_NONE - 1)
		return -ENOMEM;
	return hl_vec_push(&s->v, span);
}

static int compare_spans(const void *pa, const void *pb)
{
	const struct hl_span *a = pa, *b = pb;

	if (a->lo != b->lo)
		return a->lo < b->lo ? -1 : 1;
	if (a->depth != b->depth)
		return a->depth < b->depth ? -1 : 1;
	if (a->hi != b->hi)
		return a->hi > b->hi ? -1 : 1;
	return a->payload < b->payload ? -1 : a->payload > b->payload;
}

void hl_spans_sort(struct hl_spans *s)
{
	if (s->v.len > 1)
		qsort(s->v.data, s->v.len, sizeof(*s->v.data), compare_spans);
	for (size_t i = 0; i < s->v.len; i++) {
		uint32_t up = i == 0 ? HL_SPAN_NONE : (uint32_t)i - 1;

		while (up != HL_SPAN_NONE && s->v.data[up].hi <= s->v.data[i].lo)
			up = s->v.data[up].outer;
		s->v.data[i].outer = up;
	}
}

/* The first span that contains addr, from span i outwards. */
static const struct hl_span *find_outwards(const struct hl_spans *s, uint32_t i, uint64_t addr)
{
	while (i != HL_SPAN_NONE && addr >= s->v.data[i].hi)
		i = s->v.data[i].outer;
	return i == HL_SPAN_NONE ? NULL : &s->v.data[i];
}

const struct hl_span *hl_spans_before(const struct hl_spans *s, uint64_t addr)
{
	size_t lo = 0, hi = s->v.len;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (s->v.data[mid].lo <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo == 0 ? NULL : &s->v.data[lo - 1];
}

const struct hl_span *hl_spans_find(const struct hl_spans *s, uint64_t addr)
{
	const struct hl_span *last = hl_spans_before(s, addr);

	return last ? find_outwards(s, (uint32_t)(last - s->v.data), addr) : NULL;
}

const struct hl_span *hl_spans_outer(
	const struct hl_spans *s, const struct hl_span *of, uint64_t addr)
{
	return find_outwards(s, of->outer, addr);
}

void hl_spans_fini(struct hl_spans *s)
{
	hl_vec_free(&s->v);
}
