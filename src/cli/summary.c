/* summary.c - see summary.h. */
#include <errno.h>
#include <stdio.h>

#include "cli/cli.h"
#include "cli/summary.h"
#include "trace/reader.h"
#include "util/text.h"

static const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

static void print_totals(const struct hl_trace_info *info)
{
	const struct hl_totals *t = &info->totals;
	uint64_t blocks = hl_sums_live_blocks(&t->sums), dropped = info->counters.dropped_events;
	char allocs[HL_TEXT_SIZE_MAX], peak[HL_TEXT_SIZE_MAX], live[HL_TEXT_SIZE_MAX], n[HL_TEXT_SIZE_MAX];

	fprintf(stderr, "heaplapse: %s allocation%s, peak %s, live at the end %s in %s block%s, %llu thread%s\n",
		hl_text_count(allocs, t->sums.alloc_blocks), plural(t->sums.alloc_blocks),
		hl_text_bytes(peak, t->peak_bytes), hl_text_bytes(live, hl_sums_live_bytes(&t->sums)),
		hl_text_count(n, blocks), plural(blocks), (unsigned long long)info->threads, plural(info->threads));
	if (dropped)
		fprintf(stderr, "heaplapse: %s event%s DROPPED: the collector was killed, or it or the disk could not keep up\n",
			hl_text_count(n, dropped), dropped == 1 ? " was" : "s were");
}

void hl_summary_print(const char *path)
{
	struct hl_reader_refusal why;
	const struct hl_trace_info *info;
	struct hl_reader *r;

	if (hl_reader_open(&r, path, &why) < 0) {
		hl_cli_error("%s", why.text);
		return;
	}
	if (hl_reader_info(r, &info) == 0)
		print_totals(info);
	fprintf(stderr, "heaplapse: the trace is %s; see it with: %s report %s\n", path, program_invocation_name, path);
	hl_reader_close(r);
}
