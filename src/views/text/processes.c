/*
 * processes.c - one line for each process of a run.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "util/text.h"
#include "views/text/text_internal.h"

#define BEFORE_PROGRAM 24

static uint64_t size_of(const void *rows, size_t i, const struct hl_text_opts *opts)
{
	return hl_measure(&((const struct hl_process_row *)rows)[i].value, opts);
}

/* Of all of them, shown or not: the total is without these, too. */
static void put_suppressed(FILE *out, const struct hl_process_row *rows, size_t n)
{
	bool any = false;

	for (size_t i = 0; i < n; i++) {
		if (!rows[i].suppressed || !rows[i].suppressed[0])
			continue;
		if (!any)
			fputs(HL_SUPPRESSED_HEAD, out);
		any = true;
		fputs(rows[i].suppressed, out);
	}
	if (any)
		putc('\n', out);
}

void hl_text_processes(FILE *out, const struct hl_process_row *rows, size_t n,
	const struct hl_value *total, const struct hl_text_opts *opts)
{
	bool *shown = hl_pick(rows, n, size_of, hl_text_least(total, opts), opts);
	char bytes[HL_TEXT_SIZE_MAX], blocks[HL_TEXT_SIZE_MAX], more[128];
	uint64_t hidden = 0;

	for (size_t i = 0; i < n; i++) {
		const struct hl_process_row *r = &rows[i];
		struct hl_label label = {.text = r->program};

		if (shown && !shown[i]) {
			hidden++;
			continue;
		}
		fprintf(out, "%10s  %10s  %s", hl_text_bytes(bytes, r->value.bytes),
			hl_text_count(blocks, r->value.blocks), hl_style(opts, HL_STYLE_BOLD));
		snprintf(more, sizeof(more), " (pid %" PRIu64 "), %s", r->pid, r->what);
		label.used = BEFORE_PROGRAM + strlen(more);
		hl_put_label(out, &label, opts);
		fprintf(out, "%s%s\n", hl_style(opts, HL_STYLE_PLAIN), more);
	}
	free(shown);
	hl_put_more(out, hidden, "process", "processes", opts);
	put_suppressed(out, rows, n);
}
