/* SPDX-License-Identifier: Apache-2.0 */
/*
 * import_limits.c - the information that an imported trace does not have.
 */
#include "model/views/import_limits.h"

#include "trace/event.h"

const struct hl_import_limit hl_import_limits[] = {
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
	{0},
};

void hl_import_limits_describe(struct hl_strbuf *b, uint32_t unknown)
{
	for (const struct hl_import_limit *l = hl_import_limits; l->bit; l++) {
		if (unknown & l->bit)
			hl_strbuf_printf(b, "%s%s", b->len ? "; " : "", l->text);
	}
}
