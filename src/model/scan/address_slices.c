/* SPDX-License-Identifier: Apache-2.0 */
/*
 * address_slices.c - see address_slices.h.
 */
#include "model/scan/address_slices.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"

int hl_address_slices_begin(struct hl_address_slices *p, size_t n_chunks)
{
	hl_address_slices_fini(p);
	p->high = UINT64_MAX;
	p->spans = calloc(n_chunks + 1, sizeof(*p->spans));
	p->n_spans = p->spans ? n_chunks : 0;
	for (size_t i = 0; i < p->n_spans; i++)
		p->spans[i].high = UINT64_MAX; /* not known: any address is possible */
	return p->spans ? 0 : -ENOMEM;
}

void hl_address_slices_fini(struct hl_address_slices *p)
{
	free(p->spans);
	memset(p, 0, sizeof(*p));
}

void hl_address_slices_note_chunk(
	struct hl_address_slices *p, size_t chunk, const struct hl_event *events, size_t n_events)
{
	struct hl_address_slices_span span = {.low = UINT64_MAX};

	if (p->low > 0 || chunk >= p->n_spans)
		return;
	for (size_t i = 0; i < n_events; i++) {
		span.low = hl_min_u64(span.low, events[i].addr);
		span.high = hl_max_u64(span.high, events[i].addr);
	}
	p->spans[chunk] = span;
}

bool hl_address_slices_may_skip(const struct hl_address_slices *p, size_t chunk)
{
	return p->low > 0 && chunk < p->n_spans &&
	       (p->spans[chunk].high < p->low || p->spans[chunk].low > p->high);
}

/* The k-th smallest value: a radix selection, from the highest bit in which any two values differ.
 * Its cost does not depend on the order of the addresses. */
static uint64_t select_kth(uint64_t *v, size_t n, size_t k)
{
	uint64_t differ = 0, swap;

	for (size_t i = 1; i < n; i++)
		differ |= v[i] ^ v[0];
	for (uint64_t bit = UINT64_C(1) << hl_log2(differ); bit > 0 && n > 1; bit >>= 1) {
		size_t zeros = 0;

		for (size_t i = 0; i < n; i++) {
			if (v[i] & bit)
				continue;
			swap = v[zeros];
			v[zeros++] = v[i];
			v[i] = swap;
		}
		if (k < zeros) {
			n = zeros;
		} else {
			v += zeros;
			n -= zeros;
			k -= zeros;
		}
	}
	return v[k];
}

int hl_address_slices_narrow(struct hl_address_slices *p, struct hl_block_table *blocks)
{
	uint64_t *addrs = malloc((blocks->len + 1) * sizeof(*addrs)), cut;
	struct hl_block b;
	size_t n = 0, at = 0;

	if (!addrs)
		return -ENOMEM;
	while (hl_block_table_next(blocks, &at, &b))
		addrs[n++] = b.addr;
	cut = n > 0 ? select_kth(addrs, n, n / 2) : 0;
	free(addrs);
	if (cut <= p->low)
		return -EOVERFLOW;
	p->high = cut - 1;
	hl_block_table_drop_above(blocks, cut);
	return 0;
}

bool hl_address_slices_next(struct hl_address_slices *p)
{
	if (p->high == UINT64_MAX)
		return false;
	p->low = p->high + 1;
	p->high = UINT64_MAX;
	return true;
}
