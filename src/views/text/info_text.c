/* SPDX-License-Identifier: Apache-2.0 */
/*
 * info_text.c - the properties and totals of a whole trace.
 */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/attr.h"
#include "base/mode.h"
#include "model/query/suppress.h"
#include "model/views/import_limits.h"
#include "model/totals/short_lived.h"
#include "model/totals/trace_totals.h"
#include "model/slice/slice.h"
#include "util/safe_text.h"
#include "util/terminal/wrap.h"
#include "views/text/overview_text_internal.h"

/* --- lines --- */

#define TEXT_COLUMN 20

struct info_printer {
	FILE *out;
	struct hl_model *m;
	const struct hl_text_opts *opts;
};

static void put_styled_line(
	const struct info_printer *p, const char *label, const char *text, enum hl_style style)
{
	struct hl_strbuf b = {0};
	const char *begin = style ? hl_text_style(p->opts, style) : "",
		   *end = style ? hl_text_style(p->opts, HL_STYLE_PLAIN) : "";

	hl_text_escape(&b, text);
	fprintf(p->out, "%-*s%s", TEXT_COLUMN, label, begin);
	if (!p->opts->shorten ||
		TEXT_COLUMN + hl_display_columns(hl_strbuf_str(&b), b.len) <= p->opts->width) {
		fprintf(p->out, "%s%s\n", hl_strbuf_str(&b), end);
	} else {
		hl_wrap(p->out, hl_strbuf_str(&b), TEXT_COLUMN, TEXT_COLUMN,
			(unsigned)p->opts->width);
		fputs(end, p->out);
	}
	hl_strbuf_fini(&b);
}

static void put_line(const struct info_printer *p, const char *label, const char *text)
{
	put_styled_line(p, label, text, HL_STYLE_PLAIN);
}

/* --- estimates --- */

static void text_estimate(const struct info_printer *p)
{
	struct hl_model *m = p->m;
	uint64_t allocated, live;
	char a[HL_TEXT_SIZE_MAX], b[HL_TEXT_SIZE_MAX], n[HL_TEXT_SIZE_MAX], text[192];

	if (!hl_trace_margins(m, &allocated, &live))
		return;
	if (!hl_model_info(m)->totals.samples) {
		fprintf(p->out, "%-20s%s\n", "estimates",
			hl_model_info(m)->totals.sums.alloc_blocks
				? "none: each sample represents only itself"
				: "no samples: too little was allocated");
		return;
	}
	if (!hl_trace_margins_are_known(m)) {
		fprintf(p->out, "%-20sfrom %s samples; their accuracy is not known\n", "estimates",
			hl_text_count(n, hl_model_info(m)->totals.samples));
		return;
	}
	snprintf(text, sizeof(text),
		"from %s samples; 95 %% confidence: bytes allocated +- %s, live bytes at end +- %s",
		hl_text_count(n, hl_model_info(m)->totals.samples), hl_text_bytes(a, allocated),
		hl_text_bytes(b, live));
	put_line(p, "estimates", text);
}

/* --- changes of the mode --- */

#define MODES_SHOWN 20

static void text_modes(const struct info_printer *p)
{
	const struct hl_mode_change *c;
	char at[HL_TEXT_SIZE_MAX], rate[HL_TEXT_SIZE_MAX];
	size_t n = 0, i;

	if (!hl_trace_mode_changes(p->m, &c, &n))
		return;
	for (i = 0; i < n && i < MODES_SHOWN; i++) {
		fprintf(p->out, "%-20sfrom %s: %s", "", hl_text_duration(at, c[i].time_ns),
			hl_mode_name(c[i].mode));
		if (c[i].sample_bytes)
			fprintf(p->out, ", one in %s", hl_text_bytes(rate, c[i].sample_bytes));
		fputs(c[i].stopped ? ", stopped\n" : c[i].paused ? ", paused\n" : "\n", p->out);
	}
	if (i < n)
		fprintf(p->out, "%-20sand %zu more changes (info --json lists them)\n", "", n - i);
}

static void text_command(const struct info_printer *p, const struct hl_meta *meta)
{
	const char *s = meta->command, *end = s ? s + meta->command_len : NULL;
	struct hl_strbuf b = {0};

	for (; s < end; s += strnlen(s, (size_t)(end - s)) + 1)
		hl_strbuf_printf(&b, "%s%s", b.len ? " " : "", s);
	put_line(p, "command", hl_strbuf_str(&b));
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

static void text_unwritten(const struct info_printer *p, const struct hl_trace_info *i)
{
	struct hl_strbuf b = {0};

	hl_text_unwritten(&b, &i->unwritten);
	put_line(p, "end", hl_strbuf_str(&b));
	hl_strbuf_fini(&b);
}

static void text_end(const struct info_printer *p, const struct hl_trace_info *i)
{
	char text[80];

	if (!i->has_end && i->unwritten.error) {
		text_unwritten(p, i);
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
	case HL_END_CONTINUED:
		snprintf(text, sizeof(text), "the recording continues in another file");
		break;
	case HL_END_RUNNING:
		snprintf(text, sizeof(text), "still being recorded");
		break;
	default:
		snprintf(text, sizeof(text),
			"not in the file: it was not observed, or the file is truncated");
	}
	put_line(p, "end", text);
}

static void text_start(const struct info_printer *p, uint64_t unix_ns)
{
	time_t s = (time_t)(unix_ns / 1000000000);
	char text[64];
	struct tm tm;

	if (!unix_ns)
		snprintf(text, sizeof(text), "not known");
	else if (!localtime_r(&s, &tm) ||
		 !strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S %z", &tm))
		snprintf(text, sizeof(text), "%" PRIu64 " ns", unix_ns);
	put_line(p, "start", text);
}

static void text_row(const struct info_printer *p, const struct hl_trace_total *r)
{
	char exact[HL_TEXT_SIZE_MAX], round[HL_TEXT_SIZE_MAX];

	if (!r->known)
		fprintf(p->out, "%-20s%20s\n", r->label, "not known");
	else if (r->unit == HL_TOTAL_TIME)
		fprintf(p->out, "%-20s%20s\n", r->label, hl_text_duration(round, r->value));
	else if (r->unit == HL_TOTAL_BYTES)
		fprintf(p->out, "%-20s%20s  %s\n", r->label, hl_text_count(exact, r->value),
			hl_text_bytes(round, r->value));
	else
		fprintf(p->out, "%-20s%20s\n", r->label, hl_text_count(exact, r->value));
}

static void text_short_lived(const struct info_printer *p)
{
	char share[HL_TEXT_SIZE_MAX], bound[HL_TEXT_SIZE_MAX];
	struct hl_short_lived s;

	if (hl_short_lived_find(p->m, HL_SHORT_LIVED_EVENTS, &s)) {
		fprintf(p->out, "%-20s%20s\n", "short-lived", "not known");
		return;
	}
	snprintf(share, sizeof(share), "%.1f%%", hl_short_lived_percent(&s));
	fprintf(p->out, "%-20s%20s  lived less than %s\n", "short-lived", share,
		hl_short_lived_bound_text(bound, s.bound_ns));
}

static void text_source(const struct info_printer *p, const struct hl_meta *meta)
{
	struct hl_strbuf b = {0};

	put_line(p, "imported from", meta->source);
	hl_import_limits_describe(&b, meta->unknown);
	if (b.len)
		put_line(p, "not known", hl_strbuf_str(&b));
	hl_strbuf_fini(&b);
}

/* Notes that are necessary to interpret the totals. */
static void text_early(const struct info_printer *p, uint64_t blocks)
{
	char n[HL_TEXT_SIZE_MAX], text[160];

	snprintf(text, sizeof(text),
		"%s block%s written early, before the lifetime was known; record with a larger "
		"--pending",
		hl_text_count(n, blocks), blocks == 1 ? " was" : "s were");
	put_line(p, "note", text);
}

static void text_notes(const struct info_printer *p, const struct hl_trace_info *i)
{
	if (i->meta.forked)
		put_line(p, "note",
			"a fork child: blocks that its parent allocated are not counted");
	if (i->meta.taken_over)
		put_line(p, "note", "an earlier collector died: counting starts where it stopped");
	if (i->meta.started_off || i->stops)
		put_line(p, "note", "recording was off for part of the run");
	if (i->aggregated.alloc_blocks)
		put_line(p, "note",
			"blocks in sums only: included in all totals, but without events");
	if (i->counters.early_blocks)
		text_early(p, i->counters.early_blocks);
	if (i->meta.zeroed)
		put_line(p, "note", "memory was zeroed for the program (--zero-memory)");
	if (i->pauses)
		put_line(p, "note",
			"recording was paused for part of the run; only frees were recorded then");
	if (i->meta.source[0])
		text_source(p, &i->meta);
	else if (strcmp(i->meta.clock, "tsc") != 0)
		put_line(p, "clock", i->meta.clock);
}

void hl_text_base(struct hl_strbuf *b, const struct hl_base *base)
{
	char time[HL_TEXT_SIZE_MAX], n[HL_TEXT_SIZE_MAX];

	hl_strbuf_printf(b, "begins at %s of the run", hl_text_duration_up(time, base->time_ns));
	if (base->events > 0) /* in mode count there are none */
		hl_strbuf_printf(b, "; %s event%s before %s not in this file",
			hl_text_count(n, base->events), base->events == 1 ? "" : "s",
			base->events == 1 ? "is" : "are");
}

static void text_base(const struct info_printer *p, const struct hl_base *base)
{
	struct hl_strbuf b = {0};

	if (!base->is_late)
		return;
	hl_text_base(&b, base);
	put_line(p, "base", hl_strbuf_str(&b));
	hl_strbuf_fini(&b);
}

static void text_cut(const struct info_printer *p, const struct hl_trace_info *i)
{
	const struct hl_left_out *omitted = &i->left_out;
	char blocks[HL_TEXT_SIZE_MAX], bytes[HL_TEXT_SIZE_MAX];
	struct hl_strbuf b = {0};

	if (!i->meta.slice.flags)
		return;
	hl_slice_describe(&i->meta.slice, &b);
	put_line(p, "cut", hl_strbuf_str(&b));
	hl_strbuf_reset(&b);
	hl_strbuf_printf(&b, "%s allocations, %s", hl_text_count(blocks, omitted->blocks),
		hl_text_bytes(bytes, omitted->bytes));
	if (omitted->blocks && i->has_end)
		put_line(p, "left out", hl_strbuf_str(&b));
	hl_strbuf_reset(&b);
	hl_strbuf_printf(&b,
		"%s of the allocations, %s, were made before the range and were live when it began",
		hl_text_count(blocks, omitted->older_blocks),
		hl_text_bytes(bytes, omitted->older_bytes));
	if (omitted->older_blocks)
		put_line(p, "older", hl_strbuf_str(&b));
	hl_strbuf_fini(&b);
}

static void text_mappings(const struct info_printer *p, uint64_t samples)
{
	char n[HL_TEXT_SIZE_MAX], text[80];

	if (!samples)
		return;
	snprintf(text, sizeof(text), "%s sample%s (report --resident)", hl_text_count(n, samples),
		samples == 1 ? "" : "s");
	put_line(p, "mappings", text);
}

/* In a longer trace the statements take more time and memory than all other lines. */
#define VERDICTS_ALLOCATIONS_MAX 1000000u

/* The statements of the overview. If they are not known, as in a damaged file, there are none. */
static void text_verdicts(const struct info_printer *p)
{
	struct hl_overview_options options = {
		.rows = 1, .events_max = HL_OVERVIEW_EVENTS_MAX, .brief = true};
	struct hl_overview o = {0};
	int err;

	if (hl_model_info(p->m)->totals.sums.alloc_blocks > VERDICTS_ALLOCATIONS_MAX) {
		put_line(p, "statements", "left out in a trace of this length (report)");
		return;
	}
	err = hl_suppressions_new(&options.suppressions);
	if (!err)
		err = hl_suppressions_add_defaults(options.suppressions);
	if (!err)
		err = hl_overview(&o, p->m, &options);
	if (!err && o.n_verdicts > 0) {
		putc('\n', p->out);
		hl_overview_put_verdicts(p->out, p->m, &o, p->opts);
	}
	hl_overview_fini(&o);
	hl_suppressions_free(options.suppressions);
}

void hl_text_info(FILE *out, struct hl_model *m, const struct hl_text_opts *opts)
{
	const struct info_printer printer = {out, m, opts}, *p = &printer;
	const struct hl_trace_info *i = hl_model_info(m);
	struct hl_trace_total rows[HL_TRACE_TOTALS];
	char text[HL_TEXT_SIZE_MAX];

	put_styled_line(p, "program", i->meta.program, HL_STYLE_BOLD);
	text_command(p, &i->meta);
	if (i->meta.pid)
		fprintf(out, "%-20s%" PRIu64 "\n", "pid", i->meta.pid);
	if (i->meta.arch[0])
		put_line(p, "architecture", i->meta.arch);
	text_start(p, i->meta.start_unix_ns);
	put_line(p, "duration", hl_text_duration(text, i->end.duration_ns));
	text_end(p, i);
	put_line(p, "mode", i->meta.mode);
	text_modes(p);
	text_estimate(p);
	text_notes(p, i);
	text_cut(p, i);
	text_base(p, &i->meta.base);
	text_mappings(p, i->n_map_samples);
	put_styled_line(p, "complete", hl_model_is_complete(m) ? "yes" : "no",
		hl_model_is_complete(m) ? HL_STYLE_PLAIN : HL_STYLE_RED);
	if (i->damaged)
		put_styled_line(p, "damage", i->damage, HL_STYLE_RED);
	put_line(p, "file size", hl_text_bytes(text, i->file_bytes));
	putc('\n', out);
	hl_trace_totals(m, rows);
	for (size_t k = 0;
		k < (i->aggregated.alloc_blocks ? HL_TRACE_TOTALS
						: HL_TRACE_TOTALS - HL_TRACE_TOTALS_AGGREGATED);
		k++) {
		if (strcmp(rows[k].key, "temporary") == 0)
			text_short_lived(p);
		text_row(p, &rows[k]);
	}
	text_verdicts(p);
}
