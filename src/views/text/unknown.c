/*
 * unknown.c - what an imported trace does not know, in words.
 */
#include "base/attr.h"
#include "views/text/text.h"

static const struct {
	uint32_t bit;
	const char *key, *text;
} rows[] = {
	{HL_UNKNOWN_ADDRESSES, "addresses", "addresses of blocks"},
	{HL_UNKNOWN_THREADS, "threads", "threads (all are one)"},
	{HL_UNKNOWN_CALLS, "calls", "which function was called (malloc, calloc ...)"},
	{HL_UNKNOWN_TIMES, "times", "times but for stamps now and then"},
	{HL_UNKNOWN_LIVES, "lives",
		"which block of its size and stack a free ended (the newest is taken: lifetimes "
		"are a guess)"},
	{HL_UNKNOWN_ORDER, "order",
		"the order of events (peak, temporary blocks and course over time); sizes are "
		"means"},
	{HL_UNKNOWN_COUNTS, "counts", "numbers of blocks"},
};

void hl_text_unknown(struct hl_strbuf *b, uint32_t unknown)
{
	for (size_t i = 0; i < HL_ARRAY_LEN(rows); i++)
		if (unknown & rows[i].bit)
			hl_strbuf_printf(b, "%s%s", b->len ? "; " : "", rows[i].text);
}

void hl_json_unknown(struct hl_json *j, uint32_t unknown)
{
	hl_json_begin_array(j);
	for (size_t i = 0; i < HL_ARRAY_LEN(rows); i++)
		if (unknown & rows[i].bit)
			hl_json_string(j, rows[i].key);
	hl_json_end_array(j);
}
