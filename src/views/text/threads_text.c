/* SPDX-License-Identifier: Apache-2.0 */
/*
 * threads_text.c - allocations and frees by thread, and frees by other threads.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "util/safe_text.h"
#include "views/text/text_internal.h"

#define COLUMNS 7
static const char *const headers[COLUMNS] = {
	"thread", "tid", "allocated", "blocks", "freed itself", "by others", "not freed"};
/* The width of the values of most programs, so that most pages have the same columns. The sum is
 * less than 80. */
static const int min_widths[COLUMNS] = {6, 8, 10, 10, 12, 10, 10};

/* A wider value widens its column. */
static void widen_columns(int *width, const char (*cells)[HL_TEXT_SIZE_MAX])
{
	for (unsigned k = 0; k < COLUMNS; k++)
		width[k] = (int)strlen(cells[k]) > width[k] ? (int)strlen(cells[k]) : width[k];
}

static void format_row(char (*cells)[HL_TEXT_SIZE_MAX], uint32_t thread,
	const struct hl_thread_row *r, const struct hl_text_opts *opts)
{
	snprintf(cells[0], sizeof(cells[0]), "%" PRIu32, thread);
	snprintf(cells[1], sizeof(cells[1]), "%" PRIu64, r->tid);
	hl_text_size(cells[2], r->allocated.bytes, opts);
	hl_text_count(cells[3], r->allocated.blocks);
	hl_text_count(cells[4], r->freed_own.blocks);
	hl_text_count(cells[5], r->freed_by_others.blocks);
	hl_text_count(cells[6], r->not_freed.blocks);
}

static void put_cell(FILE *out, unsigned k, const int *width, const char *text)
{
	fprintf(out, "%*s%s", width[k], text, k + 1 < COLUMNS ? "  " : "");
}

/* The name is the last column and is not limited in width. */
static void put_name(FILE *out, const char *name)
{
	struct hl_strbuf b = {0};

	if (name)
		hl_text_escape(&b, name);
	fprintf(out, "%s%s\n", name ? "  " : "", hl_strbuf_str(&b));
	hl_strbuf_fini(&b);
}

/* The larger of allocated and freed, so that threads that only free are shown too. */
static uint64_t row_size(const void *rows, size_t i, const struct hl_limits *l)
{
	const struct hl_thread_row *r = (const struct hl_thread_row *)rows + i;

	return hl_max_u64(hl_limits_size(l, &r->allocated), hl_limits_size(l, &r->freed));
}

static void put_rows(
	FILE *out, const struct hl_threads *t, uint64_t least, const struct hl_text_opts *opts)
{
	bool *shown = hl_limits_select(&opts->limits, t->rows, t->n, row_size, least);
	char cells[COLUMNS][HL_TEXT_SIZE_MAX];
	int width[COLUMNS];
	uint64_t hidden = 0;
	bool named = false;

	memcpy(width, min_widths, sizeof(width));
	for (uint32_t i = 0; i < t->n; i++) {
		format_row(cells, i, &t->rows[i], opts);
		widen_columns(width, cells);
		named |= t->rows[i].name != NULL;
	}
	for (unsigned k = 0; k < COLUMNS; k++)
		put_cell(out, k, width, headers[k]);
	put_name(out, named ? "name" : NULL);
	for (uint32_t i = 0; i < t->n; i++) {
		format_row(cells, i, &t->rows[i], opts);
		for (unsigned k = 0; k < COLUMNS && (!shown || shown[i]); k++)
			put_cell(out, k, width, cells[k]);
		if (!shown || shown[i])
			put_name(out, t->rows[i].name);
		hidden += shown && !shown[i];
	}
	free(shown);
	hl_put_omitted_count(out, hidden, "thread", "threads", opts);
}

static void put_pairs(
	FILE *out, const struct hl_threads *t, uint64_t least, const struct hl_text_opts *opts)
{
	size_t shown = 0;
	char bytes[HL_TEXT_SIZE_MAX], blocks[HL_TEXT_SIZE_MAX];

	if (t->n_pairs > 0)
		fprintf(out, "\n%sblocks freed by another thread:%s\n",
			hl_text_style(opts, HL_STYLE_BOLD), hl_text_style(opts, HL_STYLE_PLAIN));
	for (size_t i = 0; i < t->n_pairs; i++) {
		if ((opts->limits.limited && shown == opts->limits.limit) ||
			hl_limits_size(&opts->limits, &t->pairs[i].value) < least)
			continue;
		shown++;
		fprintf(out,
			"  thread %" PRIu32 " allocated, thread %" PRIu32
			" freed: %s in %s block%s\n",
			t->pairs[i].from, t->pairs[i].to,
			hl_text_size(bytes, t->pairs[i].value.bytes, opts),
			hl_text_count(blocks, t->pairs[i].value.blocks),
			t->pairs[i].value.blocks == 1 ? "" : "s");
	}
	hl_put_omitted_count(out, t->n_pairs - shown, "pair", "pairs", opts);
}

int hl_text_threads(FILE *out, struct hl_result *r, const struct hl_text_opts *opts)
{
	const struct hl_threads *t = r->data;
	struct hl_value total = {0};
	uint64_t least;

	for (uint32_t i = 0; i < t->n; i++) {
		total.bytes += t->rows[i].allocated.bytes;
		total.blocks += t->rows[i].allocated.blocks;
	}
	least = hl_limits_minimum(&opts->limits, &total);
	fprintf(out,
		"%sthreads, over the whole run: allocations, and frees by this and other "
		"threads%s\n\n",
		hl_text_style(opts, HL_STYLE_BOLD), hl_text_style(opts, HL_STYLE_PLAIN));
	put_rows(out, t, least, opts);
	put_pairs(out, t, least, opts);
	return 0;
}
