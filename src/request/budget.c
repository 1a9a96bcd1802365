/* SPDX-License-Identifier: Apache-2.0 */
/* budget.c - see budget.h. */
#include "request/budget.h"

/* Bytes that are left for the text behind the rows: totals, what is left out, and headings of
 * further results. */
#define RESERVED_BYTES 2048

void hl_row_limit_init(struct hl_row_limit *l, const struct hl_budget *b)
{
	*l = (struct hl_row_limit){.budget = *b};
}

void hl_row_limit_reset(struct hl_row_limit *l)
{
	if (!l)
		return;
	l->omitted = 0;
	l->omitted_value = (struct hl_value){0};
	l->no_values = false;
}

uint64_t hl_row_limit_left(const struct hl_row_limit *l)
{
	if (!l || (!l->full && !l->budget.max_rows))
		return UINT64_MAX;
	return l->full ? 0 : l->budget.max_rows - l->rows;
}

bool hl_row_limit_is_set(const struct hl_row_limit *l)
{
	return l && (l->budget.max_rows || l->budget.max_bytes);
}

void hl_row_omit(struct hl_row_limit *l, uint64_t n, const struct hl_value *value)
{
	if (!l || n == 0)
		return;
	l->omitted += n;
	if (value)
		hl_value_add(&l->omitted_value, value);
	else
		l->no_values = true;
}

bool hl_row_begin(struct hl_row_limit *l, FILE *out, const struct hl_value *value)
{
	if (!l)
		return true;
	if (hl_row_limit_left(l) == 0) {
		l->full = true;
		hl_row_omit(l, 1, value);
		return false;
	}
	l->out = out;
	l->begin = l->budget.max_bytes ? ftello(out) : 0;
	l->has_value = value != NULL;
	l->value = value ? *value : (struct hl_value){0};
	return true;
}

static bool is_too_long(const struct hl_row_limit *l)
{
	return l->budget.max_bytes &&
	       (uint64_t)ftello(l->out) + RESERVED_BYTES > l->budget.max_bytes;
}

bool hl_row_end(struct hl_row_limit *l)
{
	if (!l)
		return true;
	if (!is_too_long(l)) {
		l->rows++;
		return true;
	}
	l->full = l->by_bytes = true;
	fseeko(l->out, l->begin, SEEK_SET);
	hl_row_omit(l, 1, l->has_value ? &l->value : NULL);
	return false;
}

bool hl_row_fits(struct hl_row_limit *l, FILE *out, size_t bytes)
{
	if (!l || !l->budget.max_bytes ||
		(uint64_t)ftello(out) + bytes + RESERVED_BYTES <= l->budget.max_bytes)
		return true;
	l->full = l->by_bytes = true;
	hl_row_omit(l, 1, NULL);
	return false;
}

const char *hl_row_limit_option(const struct hl_row_limit *l)
{
	if (!l || l->omitted == 0)
		return NULL;
	return l->by_bytes ? "--max-bytes" : "--max-rows";
}
