/* SPDX-License-Identifier: Apache-2.0 */
/*
 * import_limits_text.c - the information that an imported trace does not have, as text.
 */
#include "base/attr.h"
#include "views/text/text.h"

static const struct {
	uint32_t bit;
	const char *key, *text;
} rows[] = {
	{HL_UNKNOWN_ADDRESSES, "addresses", "addresses of blocks"},
	{HL_UNKNOWN_THREADS, "threads", "threads (all are one)"},
	{HL_UNKNOWN_CALLS, "calls", "the called function (malloc, calloc ...)"},
	{HL_UNKNOWN_TIMES, "times", "exact times (only occasional timestamps)"},
	{HL_UNKNOWN_LIFETIMES, "lives",
		"the exact block of a free (the newest of the same size and stack is assumed: "
		"lifetimes are a guess)"},
	{HL_UNKNOWN_ORDER, "order",
		"the order of events (peak, temporary blocks and history); sizes are averages"},
	{HL_UNKNOWN_COUNTS, "counts", "numbers of blocks"},
};

void hl_text_import_limits(struct hl_strbuf *b, uint32_t unknown)
{
	for (size_t i = 0; i < HL_ARRAY_LEN(rows); i++)
		if (unknown & rows[i].bit)
			hl_strbuf_printf(b, "%s%s", b->len ? "; " : "", rows[i].text);
}

void hl_json_import_limits(struct hl_json *j, uint32_t unknown)
{
	hl_json_begin_array(j);
	for (size_t i = 0; i < HL_ARRAY_LEN(rows); i++)
		if (unknown & rows[i].bit)
			hl_json_string(j, rows[i].key);
	hl_json_end_array(j);
}
