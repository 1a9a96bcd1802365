/* SPDX-License-Identifier: Apache-2.0 */
/*
 * info_text.c - the properties and totals of a whole trace.
 */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/attr.h"
#include "base/mode.h"
#include "model/views/import_limits.h"
#include "model/views/trace_totals.h"
#include "model/slice/slice.h"
#include "util/terminal/terminal.h"
#include "util/safe_text.h"
#include "views/text/text.h"

/* --- estimates --- */

static void text_estimate(FILE *out, struct hl_model *m)
{
	uint64_t allocated, live;
	char a[HL_TEXT_SIZE_MAX], b[HL_TEXT_SIZE_MAX], n[HL_TEXT_SIZE_MAX];

	if (!hl_trace_margins(m, &allocated, &live))
		return;
	if (!hl_model_info(m)->totals.samples) {
		fprintf(out, "%-20s%s\n", "estimates",
			hl_model_info(m)->totals.sums.alloc_blocks
				? "none: each sample represents only itself"
				: "no samples: too little was allocated");
		return;
	}
	if (!hl_trace_margins_are_known(m)) {
		fprintf(out, "%-20sfrom %s samples; their accuracy is not known\n", "estimates",
			hl_text_count(n, hl_model_info(m)->totals.samples));
		return;
	}
	fprintf(out,
		"%-20sfrom %s samples; 95 %% confidence: bytes allocated +- %s, live bytes at end "
		"+- %s\n",
		"estimates", hl_text_count(n, hl_model_info(m)->totals.samples),
		hl_text_bytes(a, allocated), hl_text_bytes(b, live));
}

/* --- changes of the mode --- */

#define MODES_SHOWN 20

static void text_modes(FILE *out, struct hl_model *m)
{
	const struct hl_mode_change *c;
	char at[HL_TEXT_SIZE_MAX], rate[HL_TEXT_SIZE_MAX];
	size_t n = 0, i;

	if (!hl_trace_mode_changes(m, &c, &n))
		return;
	for (i = 0; i < n && i < MODES_SHOWN; i++) {
		fprintf(out, "%-20sfrom %s: %s", "", hl_text_duration(at, c[i].time_ns),
			hl_mode_name(c[i].mode));
		if (c[i].sample_bytes)
			fprintf(out, ", one in %s", hl_text_bytes(rate, c[i].sample_bytes));
		fputs(c[i].stopped ? ", stopped\n" : c[i].paused ? ", paused\n" : "\n", out);
	}
	if (i < n)
		fprintf(out, "%-20sand %zu more changes (info --json lists them)\n", "", n - i);
}

static void put_styled_line(FILE *out, const char *label, const char *text, const char *style)
{
	struct hl_strbuf b = {0};

	hl_text_escape(&b, text);
	fprintf(out, "%-20s%s%s%s\n", label, style, hl_strbuf_str(&b),
		style[0] ? hl_style_sequence(HL_STYLE_PLAIN) : "");
	hl_strbuf_fini(&b);
}

static void put_line(FILE *out, const char *label, const char *text)
{
	put_styled_line(out, label, text, "");
}

static void text_command(FILE *out, const struct hl_meta *meta)
{
	const char *s = meta->command, *end = s ? s + meta->command_len : NULL;
	struct hl_strbuf b = {0};

	for (; s < end; s += strnlen(s, (size_t)(end - s)) + 1)
		hl_strbuf_printf(&b, "%s%s", b.len ? " " : "", s);
	put_line(out, "command", hl_strbuf_str(&b));
	hl_strbuf_fini(&b);
}

void hl_text_unwritten(struct hl_strbuf *b, const struct hl_unwritten *u)
{
	char n[HL_TEXT_SIZE_MAX];

	hl_strbuf_puts(b, "the recording stops before the end: ");
	if (u->events == UINT64_MAX)
		hl_strbuf_puts(b, "an unknown number of events was not written");
	else
		hl_strbuf_printf(b, "%s event%s not written", hl_text_count(n, u->events),
			u->events == 1 ? " was" : "s were");
	hl_strbuf_printf(b, " (%s)", strerror((int)u->error));
}

static void text_unwritten(FILE *out, const struct hl_trace_info *i)
{
	struct hl_strbuf b = {0};

	hl_text_unwritten(&b, &i->unwritten);
	put_line(out, "end", hl_strbuf_str(&b));
	hl_strbuf_fini(&b);
}

static void text_end(FILE *out, const struct hl_trace_info *i)
{
	char text[80];

	if (!i->has_end && i->unwritten.error) {
		text_unwritten(out, i);
		return;
	}

	switch (i->end.kind) {
	case HL_END_EXIT:
		snprintf(text, sizeof(text), "exit status %" PRId32, i->end.value);
		break;
	case HL_END_SIGNAL:
		snprintf(text, sizeof(text), "killed by signal %" PRId32 "%s", i->end.value,
			i->end.oom ? ", by the kernel (out of memory)" : "");
		break;
	case HL_END_EXEC:
		snprintf(text, sizeof(text), "replaced by another program (exec)");
		break;
	case HL_END_STOPPED:
		snprintf(text, sizeof(text),
			i->meta.slice.flags & HL_SLICE_RANGE
				? "after the end of this slice (see cut)"
				: "the recording was stopped");
		break;
	case HL_END_RUNNING:
		snprintf(text, sizeof(text), "still being recorded");
		break;
	default:
		snprintf(text, sizeof(text),
			"not in the file: it was not observed, or the file is truncated");
	}
	put_line(out, "end", text);
}

static void text_start(FILE *out, uint64_t unix_ns)
{
	time_t s = (time_t)(unix_ns / 1000000000);
	char text[64];
	struct tm tm;

	if (!unix_ns)
		snprintf(text, sizeof(text), "not known");
	else if (!localtime_r(&s, &tm) ||
		 !strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S %z", &tm))
		snprintf(text, sizeof(text), "%" PRIu64 " ns", unix_ns);
	put_line(out, "start", text);
}

static void text_row(FILE *out, const struct hl_trace_total *r)
{
	char exact[HL_TEXT_SIZE_MAX], round[HL_TEXT_SIZE_MAX];

	if (!r->known)
		fprintf(out, "%-20s%20s\n", r->label, "not known");
	else if (r->unit == HL_TOTAL_TIME)
		fprintf(out, "%-20s%20s\n", r->label, hl_text_duration(round, r->value));
	else if (r->unit == HL_TOTAL_BYTES)
		fprintf(out, "%-20s%20s  %s\n", r->label, hl_text_count(exact, r->value),
			hl_text_bytes(round, r->value));
	else
		fprintf(out, "%-20s%20s\n", r->label, hl_text_count(exact, r->value));
}

static void text_source(FILE *out, const struct hl_meta *meta)
{
	struct hl_strbuf b = {0};

	put_line(out, "imported from", meta->source);
	hl_import_limits_describe(&b, meta->unknown);
	if (b.len)
		put_line(out, "not known", hl_strbuf_str(&b));
	hl_strbuf_fini(&b);
}

/* Notes that are necessary to interpret the totals. */
static void text_early(FILE *out, uint64_t blocks)
{
	char n[HL_TEXT_SIZE_MAX], text[160];

	snprintf(text, sizeof(text),
		"%s block%s written early, before the lifetime was known; record with a larger "
		"--pending",
		hl_text_count(n, blocks), blocks == 1 ? " was" : "s were");
	put_line(out, "note", text);
}

static void text_notes(FILE *out, const struct hl_trace_info *i)
{
	if (i->meta.forked)
		put_line(out, "note",
			"a fork child: blocks that its parent allocated are not counted");
	if (i->meta.taken_over)
		put_line(
			out, "note", "an earlier collector died: counting starts where it stopped");
	if (i->meta.started_off || i->stops)
		put_line(out, "note", "recording was off for part of the run");
	if (i->aggregated.alloc_blocks)
		put_line(out, "note",
			"blocks in sums only: included in all totals, but without events");
	if (i->counters.early_blocks)
		text_early(out, i->counters.early_blocks);
	if (i->meta.zeroed)
		put_line(out, "note", "memory was zeroed for the program (--zero-memory)");
	if (i->pauses)
		put_line(out, "note",
			"recording was paused for part of the run; only frees were recorded then");
	if (i->meta.source[0])
		text_source(out, &i->meta);
	else if (strcmp(i->meta.clock, "tsc") != 0)
		put_line(out, "clock", i->meta.clock);
}

void hl_text_base(struct hl_strbuf *b, const struct hl_base *base)
{
	char time[HL_TEXT_SIZE_MAX], n[HL_TEXT_SIZE_MAX];

	hl_strbuf_printf(b, "begins at %s of the run; %s event%s before %s not in this file",
		hl_text_duration(time, base->time_ns), hl_text_count(n, base->events),
		base->events == 1 ? "" : "s", base->events == 1 ? "is" : "are");
}

static void text_base(FILE *out, const struct hl_base *base)
{
	struct hl_strbuf b = {0};

	if (!base->is_late)
		return;
	hl_text_base(&b, base);
	put_line(out, "base", hl_strbuf_str(&b));
	hl_strbuf_fini(&b);
}

static void text_cut(FILE *out, const struct hl_trace_info *i)
{
	const struct hl_left_out *omitted = &i->left_out;
	char blocks[HL_TEXT_SIZE_MAX], bytes[HL_TEXT_SIZE_MAX];
	struct hl_strbuf b = {0};

	if (!i->meta.slice.flags)
		return;
	hl_slice_describe(&i->meta.slice, &b);
	put_line(out, "cut", hl_strbuf_str(&b));
	hl_strbuf_reset(&b);
	hl_strbuf_printf(&b, "%s allocations, %s", hl_text_count(blocks, omitted->blocks),
		hl_text_bytes(bytes, omitted->bytes));
	if (omitted->blocks && i->has_end)
		put_line(out, "left out", hl_strbuf_str(&b));
	hl_strbuf_reset(&b);
	hl_strbuf_printf(&b,
		"%s of the allocations, %s, were made before the range and were live when it began",
		hl_text_count(blocks, omitted->older_blocks),
		hl_text_bytes(bytes, omitted->older_bytes));
	if (omitted->older_blocks)
		put_line(out, "older", hl_strbuf_str(&b));
	hl_strbuf_fini(&b);
}

void hl_text_info(FILE *out, struct hl_model *m, bool color)
{
	const char *bold = color ? hl_style_sequence(HL_STYLE_BOLD) : "";
	const char *red = color ? hl_style_sequence(HL_STYLE_RED) : "";
	const struct hl_trace_info *i = hl_model_info(m);
	struct hl_trace_total rows[HL_TRACE_TOTALS];
	char text[HL_TEXT_SIZE_MAX];

	put_styled_line(out, "program", i->meta.program, bold);
	text_command(out, &i->meta);
	if (i->meta.pid)
		fprintf(out, "%-20s%" PRIu64 "\n", "pid", i->meta.pid);
	if (i->meta.arch[0])
		put_line(out, "architecture", i->meta.arch);
	text_start(out, i->meta.start_unix_ns);
	put_line(out, "duration", hl_text_duration(text, i->end.duration_ns));
	text_end(out, i);
	put_line(out, "mode", i->meta.mode);
	text_modes(out, m);
	text_estimate(out, m);
	text_notes(out, i);
	text_cut(out, i);
	text_base(out, &i->meta.base);
	put_styled_line(out, "complete", hl_model_is_complete(m) ? "yes" : "no",
		hl_model_is_complete(m) ? "" : red);
	if (i->damaged)
		put_styled_line(out, "damage", i->damage, red);
	put_line(out, "file size", hl_text_bytes(text, i->file_bytes));
	putc('\n', out);
	hl_trace_totals(m, rows);
	for (size_t k = 0;
		k < (i->aggregated.alloc_blocks ? HL_TRACE_TOTALS
						: HL_TRACE_TOTALS - HL_TRACE_TOTALS_AGGREGATED);
		k++)
		text_row(out, &rows[k]);
}
