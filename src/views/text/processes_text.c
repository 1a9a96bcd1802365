/* SPDX-License-Identifier: Apache-2.0 */
/*
 * processes_text.c - one line for each process of a run.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "util/safe_text.h"
#include "views/text/text_internal.h"

#define PROGRAM_COLUMN 24

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

void hl_text_processes(FILE *out, const struct hl_process_row *rows, size_t n,
	const struct hl_value *total, const struct hl_text_opts *opts)
{
	bool *shown = hl_limits_select(
		&opts->limits, rows, n, row_size, hl_limits_minimum(&opts->limits, total));
	char bytes[HL_TEXT_SIZE_MAX], blocks[HL_TEXT_SIZE_MAX], suffix[128];
	uint64_t hidden = 0;

	for (size_t i = 0; i < n; i++) {
		const struct hl_process_row *r = &rows[i];
		struct hl_label label = {.text = r->program};

		if (shown && !shown[i]) {
			hidden++;
			continue;
		}
		fprintf(out, "%10s  %10s  %s", hl_text_size(bytes, r->value.bytes, opts),
			hl_text_count(blocks, r->value.blocks), hl_text_style(opts, HL_STYLE_BOLD));
		snprintf(suffix, sizeof(suffix), " (pid %" PRIu64 "), %s", r->pid, r->what);
		label.reserved_columns = PROGRAM_COLUMN + strlen(suffix);
		hl_put_label(out, &label, opts);
		fprintf(out, "%s%s\n", hl_text_style(opts, HL_STYLE_PLAIN), suffix);
	}
	free(shown);
	hl_put_omitted_count(out, hidden, "process", "processes", opts);
	put_suppressed(out, rows, n);
}
