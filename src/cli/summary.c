/* summary.c - see summary.h. */
#include <stdio.h>

#include "cli/cli.h"
#include "cli/summary.h"
#include "trace/reader.h"

static void print_size(uint64_t bytes)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
	double v = (double)bytes;
	size_t u = 0;

	while (v >= 1024 && u + 1 < HL_ARRAY_LEN(units)) {
		v /= 1024;
		u++;
	}
	fprintf(stderr, u ? "%.1f %s" : "%.0f %s", v, units[u]);
}

static void print_totals(const struct hl_trace_info *info)
{
	const struct hl_totals *t = &info->totals;

	fprintf(stderr, "heaplapse: %llu allocations, peak ", (unsigned long long)t->sums.alloc_blocks);
	print_size(t->peak_bytes);
	fputs(", live at the end ", stderr);
	print_size(hl_sums_live_bytes(&t->sums));
	fprintf(stderr, " in %llu blocks, %llu thread%s\n", (unsigned long long)hl_sums_live_blocks(&t->sums),
		(unsigned long long)info->threads, info->threads == 1 ? "" : "s");
	if (info->counters.dropped_events)
		fprintf(stderr, "heaplapse: %llu events were DROPPED: the collector or the disk could not keep up\n",
			(unsigned long long)info->counters.dropped_events);
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
	fprintf(stderr, "heaplapse: the trace is %s; see it with: heaplapse report %s\n", path, path);
	hl_reader_close(r);
}
