/* SPDX-License-Identifier: Apache-2.0 */
/* live_curve.c - see live_curve.h. */
#include "model/views/live/live_curve.h"

#include <string.h>

size_t hl_time_range_column(const struct hl_time_range *r, uint64_t ns, size_t n)
{
	uint64_t length = r->to_ns - r->from_ns;
	size_t at = 0;

	if (length && ns > r->from_ns)
		at = (size_t)(((unsigned __int128)(ns - r->from_ns) * n - 1) / length);
	return at < n ? at : n - 1;
}

static uint64_t last_ns(const struct hl_live_curve *c)
{
	return c->range.to_ns < c->end_ns ? c->range.to_ns : UINT64_MAX;
}

static size_t find_column(const struct hl_live_curve *c, uint64_t ns)
{
	size_t lo = 0, hi = c->n - 1;

	if (!c->ends)
		return hl_time_range_column(&c->range, ns, c->n);
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (c->ends[mid] < ns)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

uint64_t hl_time_range_end(const struct hl_time_range *r, size_t column, size_t n)
{
	return r->from_ns +
	       (uint64_t)((unsigned __int128)(r->to_ns - r->from_ns) * (column + 1) / n);
}

/* The first time that is not in the column. */
static uint64_t column_end(const struct hl_live_curve *c, size_t column)
{
	uint64_t last = last_ns(c);

	if (column + 1 >= c->n)
		return last < UINT64_MAX ? last + 1 : last;
	return (c->ends ? c->ends[column] : hl_time_range_end(&c->range, column, c->n)) + 1;
}

void hl_live_curve_begin(struct hl_live_curve *c)
{
	if (c->n > 0)
		memset(c->columns, 0, c->n * sizeof(*c->columns));
	c->at = 0;
	c->bytes = 0;
	c->has_begun = c->ended = false;
	c->next_ns = c->n > 0 ? c->range.from_ns : UINT64_MAX;
}

static void begin_range(struct hl_live_curve *c)
{
	c->has_begun = true;
	c->columns[0].max_bytes = c->columns[0].end_bytes = c->bytes;
}

static void move_to_column(struct hl_live_curve *c, size_t column)
{
	c->columns[c->at].end_bytes = c->bytes;
	while (c->at < column) {
		c->at++;
		c->columns[c->at].max_bytes = c->columns[c->at].end_bytes = c->bytes;
	}
}

void hl_live_curve_advance(struct hl_live_curve *c, uint64_t ns)
{
	if (c->n == 0 || c->ended || ns < c->range.from_ns)
		return;
	if (!c->has_begun)
		begin_range(c);
	if (ns > last_ns(c)) {
		move_to_column(c, c->n - 1);
		c->ended = true;
		c->next_ns = UINT64_MAX;
		return;
	}
	move_to_column(c, find_column(c, ns));
	c->next_ns = column_end(c, c->at);
}

void hl_live_curve_end(struct hl_live_curve *c)
{
	if (c->n == 0 || c->ended)
		return;
	if (!c->has_begun)
		begin_range(c);
	move_to_column(c, c->n - 1);
}

size_t hl_live_curve_column_of(const struct hl_live_curve *c, uint64_t a, uint64_t b)
{
	uint64_t last = last_ns(c);
	size_t first;

	if (c->n == 0)
		return 0;
	if (b < c->range.from_ns || a > last)
		return c->n;
	if (a < c->range.from_ns || b > last)
		return SIZE_MAX;
	first = find_column(c, a);
	return first == find_column(c, b) ? first : SIZE_MAX;
}
