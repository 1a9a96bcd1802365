/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fragmentation_text.c - how full the heap's pages are.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "util/safe_text.h"
#include "util/terminal/wrap.h"
#include "views/text/text_internal.h"

/* The columns before the label of a holder. */
#define HOLDER_COLUMN 38
/* The columns before a number, and those of a number: "1023.9 KiB" or "12,345,678,901 B". */
#define NUMBER_COLUMN 25
#define NUMBER_WIDTH  11
#define EXACT_WIDTH   16

static void put_text(FILE *out, const char *name, const char *number, const char *description,
	const struct hl_text_opts *opts)
{
	unsigned width = opts->exact_bytes ? EXACT_WIDTH : NUMBER_WIDTH,
		 column = NUMBER_COLUMN + width + 2;

	fprintf(out, "  %-22s %*s  ", name, (int)width, number);
	hl_wrap(out, description, column, column, opts->shorten ? (unsigned)opts->width : 0);
}

static void put_line(FILE *out, const char *name, uint64_t bytes, const char *description,
	const struct hl_text_opts *opts)
{
	char text[HL_TEXT_SIZE_MAX];

	put_text(out, name, hl_text_size(text, bytes, opts), description, opts);
}

/* The interval of RSS samples in a recording: docs/numbers.md. */
#define RSS_INTERVAL_NS 100000000

static void put_resident(FILE *out, struct hl_model *m, const struct hl_fragmentation *f,
	const struct hl_text_opts *opts)
{
	char when[HL_TEXT_SIZE_MAX], note[128];

	if (!f->has_rss) {
		put_text(out, "resident", "-",
			hl_model_end_ns(m) <= RSS_INTERVAL_NS ? "not sampled in a run this short"
							      : "not sampled before this moment",
			opts);
		return;
	}
	snprintf(note, sizeof(note), "the whole program, sampled at %s",
		hl_text_duration(when, f->rss_time_ns));
	put_line(out, "resident", f->rss_bytes, note, opts);
}

/* The caller frees the labels. */
static struct hl_label *make_labels(struct hl_model *m, const struct hl_fragmentation *f, size_t n,
	const struct hl_text_opts *opts)
{
	struct hl_label *labels = calloc(n + 1, sizeof(*labels));

	for (size_t i = 0; labels && i < n; i++)
		labels[i] = (struct hl_label){.frame = hl_model_frame(m, f->holders[i].frame),
			.full_name = f->holders[i].full_name,
			.reserved_columns = HOLDER_COLUMN};
	if (labels)
		hl_disambiguate(labels, n, opts);
	return labels;
}

static void put_holders(FILE *out, struct hl_model *m, const struct hl_fragmentation *f,
	const struct hl_text_opts *opts)
{
	size_t shown = opts->limits.limited && opts->limits.limit < f->n_holders
			       ? opts->limits.limit
			       : f->n_holders;
	struct hl_label *labels;
	char a[HL_TEXT_SIZE_MAX], b[HL_TEXT_SIZE_MAX];

	/* Holders are sorted by pages, and their share is the share of sparse pages. */
	while (shown > 0 &&
		hl_percent(f->holders[shown - 1].pages, f->sparse_pages) < opts->limits.min_percent)
		shown--;
	if (shown > 0)
		fprintf(out,
			"\n%ssites that hold these pages:%s\n"
			"  %10s  %10s  %10s\n",
			hl_text_style(opts, HL_STYLE_BOLD), hl_text_style(opts, HL_STYLE_PLAIN),
			"pages", "bytes", "blocks");
	labels = make_labels(m, f, shown, opts);
	for (size_t i = 0; i < shown && labels; i++) {
		const struct hl_page_holder *h = &f->holders[i];

		if (!hl_row_begin(opts->rows, out, &h->value))
			continue;
		fprintf(out, "  %10s  %10s  ", hl_text_count(a, h->pages),
			hl_text_size(b, h->value.bytes, opts));
		fprintf(out, "%10s  ", hl_text_count(a, h->value.blocks));
		hl_put_label(out, &labels[i], opts);
		putc('\n', out);
		hl_row_end(opts->rows);
	}
	free(labels);
	hl_put_omitted_count(out, f->n_holders - shown, "site", "sites", opts);
}

int hl_text_fragmentation(FILE *out, struct hl_result *r, const struct hl_text_opts *opts)
{
	const struct hl_fragmentation *f = r->data;
	struct hl_model *m = r->m;
	char a[HL_TEXT_SIZE_MAX], b[HL_TEXT_SIZE_MAX], limit[HL_TEXT_SIZE_MAX], note[512];

	snprintf(note, sizeof(note), "the heap's pages, %s, at %s of %s", opts->quantity_text,
		hl_text_duration(a, f->time_ns), hl_text_duration(b, hl_model_end_ns(m)));
	hl_put_title(out, note, opts);
	putc('\n', out);
	snprintf(note, sizeof(note), "in %s blocks", hl_text_count(a, f->live.blocks));
	put_line(out, "live", f->live.bytes, note, opts);
	if (f->all.blocks != f->live.blocks) {
		snprintf(note, sizeof(note), "in %s blocks, regardless of the filter",
			hl_text_count(a, f->all.blocks));
		put_line(out, "all live", f->all.bytes, note, opts);
	}
	snprintf(note, sizeof(note), "%s pages that hold a live block, %.1f%% full",
		hl_text_count(a, f->pages), hl_percent(f->all.bytes, f->pages * HL_PAGE_BYTES));
	put_line(out, "pages in use", f->pages * HL_PAGE_BYTES, note, opts);
	snprintf(note, sizeof(note), "at least: from the first to the last block of %s region%s",
		hl_text_count(a, f->regions), f->regions == 1 ? "" : "s");
	put_line(out, "mapped", f->span_bytes, note, opts);
	put_resident(out, m, f, opts);
	put_line(out, "largest gap", f->largest_gap, "between two blocks of one region", opts);
	snprintf(note, sizeof(note), "%s pages with less than %s bytes each, %s in all",
		hl_text_count(a, f->sparse_pages), hl_text_count(limit, HL_SPARSE_BYTES),
		hl_text_size(b, f->sparse_bytes, opts));
	put_line(out, "held by few bytes", f->sparse_pages * HL_PAGE_BYTES, note, opts);
	put_holders(out, m, f, opts);
	return 0;
}
