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
#define TID     1
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
	if (width[k])
		fprintf(out, "%s%*s", k > 0 ? "  " : "", width[k], text);
}

/* The names that Linux permits have at most 15 characters. */
#define NAME_MAX_COLUMNS 15

static size_t sum_widths(const int *width)
{
	size_t sum = 0;

	for (unsigned k = 0; k < COLUMNS; k++)
		sum += width[k] ? (size_t)width[k] + (k > 0 ? 2 : 0) : 0;
	return sum;
}

/* On a narrow page the columns become as narrow as possible; if that is not enough, the tid is left
 * out. */
static void fit_to_page(int *width, const int *natural, bool named, const struct hl_text_opts *opts)
{
	size_t name = named ? 2 + NAME_MAX_COLUMNS : 0;

	if (!opts->shorten || sum_widths(width) + name <= opts->width)
		return;
	memcpy(width, natural, COLUMNS * sizeof(*width));
	if (sum_widths(width) + name > opts->width)
		width[TID] = 0;
}

/* The name is the last column. */
static void put_name(FILE *out, const char *name, const int *width, const struct hl_text_opts *opts)
{
	struct hl_label label = {.text = name, .reserved_columns = sum_widths(width) + 2};

	if (name) {
		fputs("  ", out);
		hl_put_label(out, &label, opts);
	}
	putc('\n', out);
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
	int width[COLUMNS], natural[COLUMNS];
	uint64_t hidden = 0;
	bool named = false;

	memcpy(width, min_widths, sizeof(width));
	for (unsigned k = 0; k < COLUMNS; k++)
		natural[k] = (int)strlen(headers[k]);
	for (uint32_t i = 0; i < t->n; i++) {
		format_row(cells, i, &t->rows[i], opts);
		widen_columns(width, cells);
		widen_columns(natural, cells);
		named |= t->rows[i].name != NULL;
	}
	fit_to_page(width, natural, named, opts);
	for (unsigned k = 0; k < COLUMNS; k++)
		put_cell(out, k, width, headers[k]);
	put_name(out, named ? "name" : NULL, width, opts);
	for (uint32_t i = 0; i < t->n; i++) {
		hidden += shown && !shown[i];
		if ((shown && !shown[i]) || !hl_row_begin(opts->rows, out, &t->rows[i].allocated))
			continue;
		format_row(cells, i, &t->rows[i], opts);
		for (unsigned k = 0; k < COLUMNS; k++)
			put_cell(out, k, width, cells[k]);
		put_name(out, t->rows[i].name, width, opts);
		hl_row_end(opts->rows);
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
		if (!hl_row_begin(opts->rows, out, NULL))
			continue;
		fprintf(out,
			"  thread %" PRIu32 " allocated, thread %" PRIu32
			" freed: %s in %s block%s\n",
			t->pairs[i].from, t->pairs[i].to,
			hl_text_size(bytes, t->pairs[i].value.bytes, opts),
			hl_text_count(blocks, t->pairs[i].value.blocks),
			t->pairs[i].value.blocks == 1 ? "" : "s");
		hl_row_end(opts->rows);
	}
	hl_put_omitted_count(out, t->n_pairs - shown, "pair", "pairs", opts);
}

static void put_heading(FILE *out, const struct hl_model *m, const struct hl_text_opts *opts)
{
	const struct hl_base *base = hl_model_base(m);
	char from[HL_TEXT_SIZE_MAX], of[80] = "over the whole run", title[160];

	if (base->is_late)
		snprintf(of, sizeof(of), "of blocks live at %s, the base, and later ones",
			hl_text_duration(from, base->time_ns));
	snprintf(title, sizeof(title),
		"threads, %s: allocations, and frees by this and other threads", of);
	hl_put_title(out, title, opts);
	putc('\n', out);
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
	put_heading(out, r->m, opts);
	put_rows(out, t, least, opts);
	put_pairs(out, t, least, opts);
	return 0;
}
