/* SPDX-License-Identifier: Apache-2.0 */
/*
 * processes_text.c - one line for each process of a run, the largest first.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "util/safe_text.h"
#include "views/text/text_internal.h"

#define PROGRAM_COLUMN  32
#define RESIDENT_COLUMN 12
#define RESIDENT_WIDTH  100 /* of a terminal: in a narrower one the names need the room */

static uint64_t row_size(const void *rows, size_t i, const struct hl_limits *l)
{
	return hl_limits_size(l, &((const struct hl_process_row *)rows)[i].value);
}

/* Of all processes, shown or not, because the total excludes suppressed blocks of all of them. */
static void put_suppressed(FILE *out, const struct hl_process_row *rows, size_t n)
{
	bool any = false;

	for (size_t i = 0; i < n; i++) {
		if (!rows[i].suppressed || !rows[i].suppressed[0])
			continue;
		if (!any)
			fputs(HL_SUPPRESSED_HEADER, out);
		any = true;
		fputs(rows[i].suppressed, out);
	}
	if (any)
		putc('\n', out);
}

static void put_resident(FILE *out, uint64_t bytes, const struct hl_text_opts *opts)
{
	char text[HL_TEXT_SIZE_MAX];

	fprintf(out, "%10s  ", bytes ? hl_text_size(text, bytes, opts) : "-");
}

void hl_text_processes(FILE *out, const struct hl_process_row *rows, size_t n,
	const struct hl_value *total, const struct hl_text_opts *opts)
{
	bool *shown = hl_limits_select(
		&opts->limits, rows, n, row_size, hl_limits_minimum(&opts->limits, total));
	char bytes[HL_TEXT_SIZE_MAX], blocks[HL_TEXT_SIZE_MAX], suffix[128];
	bool resident = !opts->shorten || opts->width >= RESIDENT_WIDTH;
	size_t *order = hl_process_rows_rank(rows, n, opts->limits.by_blocks);
	uint64_t hidden = 0;

	if (n > 0) {
		hl_put_filter(out, opts);
		fprintf(out, "%10s  %10s  %6s  %sprocess\n", "bytes", "blocks", "share",
			resident ? "  resident  " : "");
	}
	for (size_t at = 0; at < n; at++) {
		size_t i = order ? order[at] : at;
		const struct hl_process_row *r = &rows[i];
		struct hl_label label = {.text = r->program};

		if (shown && !shown[i]) {
			hidden++;
			continue;
		}
		if (!hl_row_begin(opts->rows, out, &r->value))
			continue;
		fprintf(out, "%10s  %10s  %5.1f%%  ", hl_text_size(bytes, r->value.bytes, opts),
			hl_text_count(blocks, r->value.blocks),
			(double)hl_process_row_share(r, total, opts->limits.by_blocks) / 10000);
		if (resident)
			put_resident(out, r->resident_bytes, opts);
		fputs(hl_text_style(opts, HL_STYLE_BOLD), out);
		snprintf(suffix, sizeof(suffix), " (pid %" PRIu64 "), %s", r->pid, r->what);
		label.reserved_columns =
			PROGRAM_COLUMN + strlen(suffix) + (resident ? RESIDENT_COLUMN : 0);
		hl_put_label(out, &label, opts);
		fprintf(out, "%s%s\n", hl_text_style(opts, HL_STYLE_PLAIN), suffix);
		hl_row_end(opts->rows);
	}
	free(shown);
	free(order);
	hl_put_omitted_count(out, hidden, "process", "processes", opts);
	hl_put_truncated(out, opts);
	put_suppressed(out, rows, n);
}
