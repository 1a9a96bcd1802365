/* SPDX-License-Identifier: Apache-2.0 */
/*
 * html_text.c - the parts of a page that do not need its script: heading, notes, summary values,
 * the heap over time and the largest sites; see html.h.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <time.h>

#include "model/query/suppress.h"
#include "model/overview/verdicts.h"
#include "model/stack/stack_rules.h"
#include "model/totals/short_lived.h"
#include "model/views/interpreter.h"
#include "util/safe_text.h"
#include "views/export/html/html.h"

#define SITES_SHOWN   20
#define COMMAND_SHOWN 2000
/* An escaped byte takes up to six bytes. With these limits all text stays below 300,000 bytes. */
#define NAME_SHOWN  300
#define MARKS_SHOWN 40
#define FLAG_WIDTH  1.6 /* in percent of the plot, approximately */

static const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

static void put_xml(FILE *out, const char *s)
{
	struct hl_strbuf b = {0};

	hl_export_xml(&b, s);
	fputs(hl_strbuf_str(&b), out);
	hl_strbuf_fini(&b);
}

static void put_shortened(FILE *out, const char *s, size_t room)
{
	struct hl_strbuf b = {0};

	hl_page_shorten_name(&b, s, room);
	put_xml(out, hl_strbuf_str(&b));
	hl_strbuf_fini(&b);
}

/* --- heading --- */

static const char *program_name(const struct hl_page *p)
{
	return hl_export_basename(hl_model_info(p->x->m)->meta.program);
}

void hl_page_title(struct hl_page *p, FILE *out)
{
	put_shortened(out, program_name(p), NAME_SHOWN);
}

static void put_start(FILE *out, uint64_t unix_ns)
{
	time_t s = (time_t)(unix_ns / 1000000000);
	char machine[32], text[64];
	struct tm tm;

	if (!gmtime_r(&s, &tm) || !strftime(machine, sizeof(machine), "%Y-%m-%dT%H:%M:%SZ", &tm) ||
		!strftime(text, sizeof(text), "%Y-%m-%d %H:%M UTC", &tm))
		return;
	fprintf(out, "<li>recorded <time datetime=\"%s\">%s</time></li>", machine, text);
}

static void put_end(FILE *out, const struct hl_end *end)
{
	switch (end->kind) {
	case HL_END_EXIT:
		fprintf(out, "<li>exit status %" PRId32 "</li>", end->value);
		break;
	case HL_END_SIGNAL:
		fprintf(out, "<li>killed by signal %" PRId32 "%s</li>", end->value,
			end->oom ? ", by the kernel (out of memory)" : "");
		break;
	case HL_END_EXEC:
		fputs("<li>became another program (exec)</li>", out);
		break;
	case HL_END_STOPPED:
		fputs("<li>the recording was stopped</li>", out);
		break;
	case HL_END_CONTINUED:
		fputs("<li>the recording continues in another file</li>", out);
		break;
	case HL_END_RUNNING:
		fputs("<li>still running</li>", out);
		break;
	default:
		fputs("<li>exit status not known</li>", out);
	}
}

void hl_page_heading(struct hl_page *p, FILE *out)
{
	const struct hl_trace_info *i = hl_model_info(p->x->m);
	struct hl_strbuf command = {0};
	char text[HL_TEXT_SIZE_MAX];

	fputs("<h1>", out);
	put_shortened(out, program_name(p), NAME_SHOWN);
	fputs("</h1>\n<ul class=\"facts\">", out);
	put_start(out, i->meta.start_unix_ns);
	fprintf(out, "<li>ran for %s</li>", hl_text_duration(text, hl_model_end_ns(p->x->m)));
	put_end(out, &i->end);
	if (i->meta.pid)
		fprintf(out, "<li>pid %" PRIu64 "</li>", i->meta.pid);
	if (i->meta.unknown & HL_UNKNOWN_THREADS)
		fputs("<li>threads not known</li></ul>\n", out);
	else
		fprintf(out, "<li>%s thread%s</li></ul>\n", hl_text_count(text, i->threads),
			plural(i->threads));
	hl_export_command(&command, &i->meta);
	fputs("<p class=\"command\"><code>", out);
	put_shortened(out, hl_strbuf_str(&command), COMMAND_SHOWN);
	fputs("</code></p>\n", out);
	hl_strbuf_fini(&command);
}

/* --- notes that are needed to read the values correctly --- */

static hl_printf(2, 3) void put_note(FILE *out, const char *fmt, ...)
{
	struct hl_strbuf b = {0};
	va_list args;

	va_start(args, fmt);
	hl_strbuf_vprintf(&b, fmt, args);
	va_end(args);
	fputs("<li>", out);
	put_xml(out, hl_strbuf_str(&b));
	fputs("</li>\n", out);
	hl_strbuf_fini(&b);
}

static void put_recording_notes(FILE *out, const struct hl_model *m)
{
	const struct hl_trace_info *i = hl_model_info(m);
	const char *empty = hl_model_empty_reason(m);
	char n[HL_TEXT_SIZE_MAX];

	if (empty)
		put_note(out, "%c%s.", empty[0] - 'a' + 'A', empty + 1);
	if (i->damaged)
		put_note(out, "The trace is damaged: %s.", i->damage);
	if (i->counters.dropped_events)
		put_note(out, "%s events were dropped while recording: the numbers are not exact.",
			hl_text_count(n, i->counters.dropped_events));
	if (!i->has_end && i->end.kind == HL_END_RUNNING)
		put_note(out, "The recording is still running: this is its state so far.");
	else if (!i->has_end)
		put_note(out, "The end of the recording is missing.");
	if (i->meta.forked)
		put_note(out, "A fork child: blocks that its parent allocated are not counted.");
	if (i->meta.taken_over)
		put_note(out, "An earlier collector died: counting starts where it stopped.");
	if (i->meta.started_off || i->stops)
		put_note(out, "Recording was off for part of the run.");
	if (i->pauses)
		put_note(out,
			"Recording was paused for part of the run; only frees were recorded then.");
	if (hl_model_has_estimates(m))
		put_note(out,
			"The recording has %s samples: all numbers are estimates. ± is the 95 %% "
			"confidence interval.",
			hl_text_count(n, i->totals.samples));
}

static void put_suppressed_note(FILE *out, const struct hl_suppressions *s)
{
	struct hl_value sum = hl_suppressions_total(s);
	char bytes[HL_TEXT_SIZE_MAX], blocks[HL_TEXT_SIZE_MAX];

	if (sum.blocks)
		put_note(out,
			"Suppressed and not included in numbers of memory live at the end: %s in "
			"%s block%s.",
			hl_text_bytes(bytes, sum.bytes), hl_text_count(blocks, sum.blocks),
			plural(sum.blocks));
}

static bool is_empty(const struct hl_page *p)
{
	for (size_t i = 0; i < p->n; i++) {
		if (p->queries[i].a.total.blocks > 0)
			return false;
	}
	return true;
}

static void put_verdicts(const struct hl_page *p, FILE *out)
{
	struct hl_strbuf text = {0}, how = {0};

	for (size_t i = 0; i < p->overview.n_verdicts; i++) {
		const struct hl_overview_verdict *v = &p->overview.verdicts[i];

		hl_strbuf_reset(&text);
		hl_strbuf_reset(&how);
		hl_verdict_put(&text, p->x->m, v);
		hl_verdict_put_options(&how, v);
		fputs("<li class=\"verdict\">", out);
		put_xml(out, hl_strbuf_str(&text));
		if (how.len)
			fprintf(out, " <code>report %s</code>", hl_strbuf_str(&how));
		fputs("</li>\n", out);
	}
	hl_strbuf_fini(&text);
	hl_strbuf_fini(&how);
}

static void put_interpreter(FILE *out, struct hl_model *m)
{
	struct hl_interpreter_found found;
	struct hl_strbuf b = {0};

	if (hl_interpreter_find(m, &found) || !found.is)
		return;
	hl_interpreter_put(&b, &found);
	put_note(out, "%s.", hl_strbuf_str(&b));
	hl_strbuf_fini(&b);
}

void hl_page_notes(struct hl_page *p, FILE *out)
{
	const struct hl_trace_info *i = hl_model_info(p->x->m);
	char to[HL_TEXT_SIZE_MAX], all[HL_TEXT_SIZE_MAX];
	struct hl_strbuf wrappers = {0};

	put_verdicts(p, out);
	put_recording_notes(out, p->x->m);
	if (hl_model_has_aggregated(p->x->m))
		put_note(out,
			"The trace has only sums of %s of %s blocks (mode %s): views that need "
			"every event are marked as not known.",
			hl_text_count(to, i->aggregated.alloc_blocks),
			hl_text_count(all, i->totals.sums.alloc_blocks),
			hl_model_sums_mode(p->x->m));
	else if (p->x->before_damage)
		put_note(out, "Part of the trace cannot be read; the page shows the run up to %s.",
			hl_text_duration(to, p->x->to_ns));
	if (p->x->query.filter && i->totals.events > 0)
		put_note(out,
			"Only blocks that match %s are shown. The figures below are of all blocks.",
			p->x->filter_text);
	if (p->x->query.pool)
		put_note(out,
			"Trees, sites and sizes are of blocks of the program's own pools (%s). The "
			"figures below and the timeline are those of the heap.",
			p->x->pool);
	if (p->x->grouped)
		put_note(out, "Flame graphs and trees are split by %s first.",
			hl_group_name(p->x->group));
	put_suppressed_note(out, p->suppressions[HL_PAGE_LISTS]);
	hl_model_put_wrappers(&wrappers, p->x->m);
	if (wrappers.len)
		put_note(out, "A%s.", hl_strbuf_str(&wrappers) + 1);
	hl_strbuf_fini(&wrappers);
	put_interpreter(out, p->x->m);
	if (is_empty(p) && i->totals.events > 0)
		put_note(out, "No block matches: there is nothing to show.");
}

/* --- summary values --- */

static void put_figure(FILE *out, const char *id, const char *label, uint64_t exact,
	const char *value, const char *detail)
{
	fprintf(out,
		"<div class=\"figure\" id=\"figure-%s\"><dt>%s</dt><dd><data value=\"%" PRIu64
		"\">%s</data><small>%s</small></dd></div>\n",
		id, label, exact, value, detail);
}

static void put_heap_figures(struct hl_page *p, FILE *out)
{
	const struct hl_totals *t = &hl_model_info(p->x->m)->totals;
	const struct hl_value *left = &p->leaks.leaked, *suppressed = &p->leaks.suppressed;
	char value[HL_TEXT_SIZE_MAX], n[HL_TEXT_SIZE_MAX], at[HL_TEXT_SIZE_MAX], detail[128];
	int len;

	snprintf(detail, sizeof(detail), "in %s block%s, at %s", hl_text_count(n, t->peak_blocks),
		plural(t->peak_blocks), hl_text_duration(at, t->peak_time_ns));
	if (hl_model_has_event_order(p->x->m))
		put_figure(out, "peak", "Peak", t->peak_bytes, hl_text_bytes(value, t->peak_bytes),
			detail);
	else
		put_figure(
			out, "peak", "Peak", 0, "–", "not known: the trace has no order of events");
	len = snprintf(detail, sizeof(detail), "in %s block%s", hl_text_count(n, left->blocks),
		plural(left->blocks));
	if (suppressed->blocks)
		snprintf(detail + len, sizeof(detail) - (size_t)len, "; %s suppressed",
			hl_text_bytes(value, suppressed->bytes));
	put_figure(out, "leaks", p->leaks.certain ? "Not freed" : "Live at end", left->bytes,
		hl_text_bytes(value, left->bytes), detail);
}

static void put_short_lived(struct hl_page *p, FILE *out)
{
	char value[HL_TEXT_SIZE_MAX], bound[HL_TEXT_SIZE_MAX], detail[128];
	struct hl_short_lived s;

	if (hl_model_info(p->x->m)->totals.sums.alloc_blocks == 0)
		return;
	if (hl_short_lived_find(p->x->m, UINT64_MAX, &s)) {
		put_figure(out, "short-lived", "Short-lived", 0, "–", "lifetimes are not known");
		return;
	}
	snprintf(value, sizeof(value), "%.1f%%", hl_short_lived_percent(&s));
	snprintf(detail, sizeof(detail), "of allocations lived less than %s",
		hl_short_lived_bound_text(bound, s.bound_ns));
	put_figure(out, "short-lived", "Short-lived", s.blocks, value, detail);
}

static void put_count_figures(struct hl_page *p, FILE *out)
{
	const struct hl_trace_info *i = hl_model_info(p->x->m);
	const struct hl_totals *t = &i->totals;
	uint64_t allocs = t->sums.alloc_blocks, dropped = i->counters.dropped_events;
	char value[HL_TEXT_SIZE_MAX], n[HL_TEXT_SIZE_MAX], detail[128];

	snprintf(detail, sizeof(detail), "%s in total", hl_text_bytes(n, t->sums.alloc_bytes));
	put_figure(out, "allocations", "Allocations", allocs, hl_text_count(value, allocs), detail);
	put_short_lived(p, out);
	if (dropped)
		put_figure(out, "dropped", "Dropped", dropped, hl_text_count(value, dropped),
			"events that were not recorded");
}

static void put_rss_figure(struct hl_page *p, FILE *out)
{
	char value[HL_TEXT_SIZE_MAX], at[HL_TEXT_SIZE_MAX], detail[128];

	if (p->n_rss == 0) {
		put_figure(out, "rss", "Resident (RSS)", 0, "–", "not sampled in a run this short");
		return;
	}
	snprintf(detail, sizeof(detail), "at most, at %s", hl_text_duration(at, p->rss_max_ns));
	put_figure(
		out, "rss", "Resident (RSS)", p->rss_max, hl_text_bytes(value, p->rss_max), detail);
}

void hl_page_summary(struct hl_page *p, FILE *out)
{
	put_heap_figures(p, out);
	put_count_figures(p, out);
	put_rss_figure(p, out);
}

/* --- heap over time --- */

#define UNITS 1000 /* width and height of the plot in its own units, for any display size */

/* Grid lines at multiples of a power of two, at most four of them; the highest is above all
 * values. */
struct scale {
	uint64_t step;
	unsigned steps;
};

static struct scale make_scale(uint64_t max)
{
	struct scale s = {.step = 1};

	while (s.step < UINT64_C(1) << 61 && s.step * 4 < max)
		s.step *= 2;
	s.steps = max ? (unsigned)((max + s.step - 1) / s.step) : 1;
	return s;
}

static double y_of(uint64_t bytes, const struct scale *s)
{
	return UNITS - (double)bytes * UNITS / ((double)s->step * s->steps);
}

static double x_of(size_t column)
{
	return (double)column * UNITS / HL_PAGE_COLUMNS;
}

/* The height of a column is its maximum; a lost part is a gap. */
static void put_live(FILE *out, const struct hl_page *p, const struct scale *s, bool area)
{
	bool open = false;

	fprintf(out, "<path class=\"%s\" d=\"", area ? "live area" : "live line");
	for (size_t i = 0; i <= HL_PAGE_COLUMNS; i++) {
		bool here =
			i < HL_PAGE_COLUMNS && !p->columns[i].lost && !p->columns[i].before_base;

		if (open && !here)
			fputs(area ? "V1000Z" : "", out);
		if (here && !open && area)
			fprintf(out, "M%.1f 1000", x_of(i));
		if (here)
			fprintf(out, "%s%.1f %.1fH%.1f", open || area ? "L" : "M", x_of(i),
				y_of(p->columns[i].max_bytes, s), x_of(i + 1));
		open = here;
	}
	fputs("\"/>", out);
}

static void put_rss(FILE *out, const struct hl_page *p, const struct scale *s)
{
	bool first = true;

	fputs("<path class=\"rss line\" d=\"", out);
	for (size_t i = 0; i < HL_PAGE_COLUMNS; i++) {
		if (!p->rss[i])
			continue;
		fprintf(out, "%s%.1f %.1f", first ? "M" : "L", x_of(i) + 0.5 * x_of(1),
			y_of(p->rss[i], s));
		first = false;
	}
	fputs("\"/>", out);
}

static void put_grid(FILE *out, const struct scale *s)
{
	fputs("<path class=\"grid\" d=\"", out);
	for (unsigned k = 0; k <= s->steps; k++)
		fprintf(out, "M0 %.1fH1000", y_of(k * s->step, s));
	fputs("\"/>", out);
}

/* Prints "4 MiB" instead of "4.0 MiB". */
static void put_ticks(FILE *out, const struct scale *s)
{
	for (unsigned k = 0; k <= s->steps; k++) {
		char text[HL_TEXT_SIZE_MAX],
			*round = strstr(hl_text_bytes(text, k * s->step), ".0 ");

		if (round)
			memmove(round, round + 2, strlen(round + 2) + 1);
		fprintf(out, "<span class=\"tick y\" style=\"bottom:%.2f%%\">%s</span>",
			(double)k * 100 / s->steps, k ? text : "0");
	}
}

static double percent_of(const struct hl_page *p, uint64_t ns)
{
	uint64_t end = hl_model_end_ns(p->x->m);

	return end ? (double)(ns < end ? ns : end) * 100 / (double)end : 0;
}

static void put_times(FILE *out, const struct hl_page *p)
{
	fputs("<div class=\"times\">", out);
	for (unsigned k = 0; k <= 4; k++) {
		char text[HL_TEXT_SIZE_MAX];

		fprintf(out, "<span class=\"tick x\" style=\"left:%u%%\">%s</span>", k * 25,
			k ? hl_text_duration(text, hl_model_end_ns(p->x->m) / 4 * k) : "0");
	}
	fputs("</div>\n", out);
}

static size_t count_shown_marks(const struct hl_page *p)
{
	return p->n_marks < MARKS_SHOWN ? p->n_marks : MARKS_SHOWN;
}

/* The last mark that has a label together with mark i, because it is too near for one of its own.
 * Such a label is wider. */
static size_t last_of_label(const struct hl_page *p, size_t i)
{
	double at = percent_of(p, p->marks[i].time_ns);
	size_t last = i;

	while (last + 1 < count_shown_marks(p) && percent_of(p, p->marks[last + 1].time_ns) - at <=
							  (last > i ? 2 * FLAG_WIDTH : FLAG_WIDTH))
		last++;
	return last;
}

static void put_flags(FILE *out, const struct hl_page *p, bool numbers)
{
	size_t labelled = 0; /* marks before this one have a label */

	for (size_t i = 0; i < count_shown_marks(p); i++) {
		fprintf(out, "<span class=\"flag\" style=\"left:%.3f%%\">",
			percent_of(p, p->marks[i].time_ns));
		if (numbers && i >= labelled) {
			labelled = last_of_label(p, i) + 1;
			fprintf(out, "<b>%zu", i + 1);
			if (labelled > i + 1)
				fprintf(out, "–%zu", labelled);
			fputs("</b>", out);
		}
		fputs("</span>", out);
	}
}

static void put_marks(FILE *out, const struct hl_page *p)
{
	char at[HL_TEXT_SIZE_MAX], n[HL_TEXT_SIZE_MAX];

	if (p->n_marks == 0)
		return;
	fputs("<ol class=\"marks\">", out);
	for (size_t i = 0; i < count_shown_marks(p); i++) {
		fputs(p->marks[i].snapshot ? "<li>snapshot " : "<li>", out);
		put_shortened(out, p->marks[i].name, 200);
		fprintf(out, " <small>%s</small></li>", hl_text_duration(at, p->marks[i].time_ns));
	}
	fputs("</ol>", out);
	if (p->n_marks > count_shown_marks(p))
		fprintf(out, "<p class=\"more\">and %s more marks</p>",
			hl_text_count(n, p->n_marks - count_shown_marks(p)));
	putc('\n', out);
}

static void begin_plot(FILE *out, const char *kind, const char *label, const struct scale *s)
{
	fprintf(out,
		"<div class=\"plot %s\" data-top=\"%" PRIu64
		"\"><svg viewBox=\"0 0 1000 1000\" preserveAspectRatio=\"none\" role=\"img\" "
		"aria-label=\"%s\">",
		kind, s->step * s->steps, label);
	put_grid(out, s);
}

static void put_heap_plot(FILE *out, const struct hl_page *p, uint64_t max)
{
	struct scale s = make_scale(max);
	char bytes[HL_TEXT_SIZE_MAX], label[128];

	snprintf(label, sizeof(label), "live bytes over time, at most %s",
		hl_text_bytes(bytes, max));
	begin_plot(out, "heap", label, &s);
	put_live(out, p, &s, true);
	put_live(out, p, &s, false);
	fputs("</svg>", out);
	put_ticks(out, &s);
	if (p->peak.bytes)
		fprintf(out,
			"<span class=\"summit\" style=\"left:%.3f%%;bottom:%.3f%%\" title=\"the "
			"peak\"></span>",
			percent_of(p, p->peak.time_ns), 100 - y_of(p->peak.bytes, &s) / 10);
	put_flags(out, p, true);
	fputs("</div>\n", out);
}

/* The heap again, in the scale of the resident set, to show its share. */
static void put_rss_plot(FILE *out, const struct hl_page *p, uint64_t max)
{
	struct scale s = make_scale(p->rss_max > max ? p->rss_max : max);
	char bytes[HL_TEXT_SIZE_MAX], label[128];

	snprintf(label, sizeof(label), "resident memory over time, at most %s",
		hl_text_bytes(bytes, p->rss_max));
	begin_plot(out, "resident", label, &s);
	if (p->columns)
		put_live(out, p, &s, true);
	put_rss(out, p, &s);
	fputs("</svg>", out);
	put_ticks(out, &s);
	put_flags(out, p, false);
	fputs("</div>\n", out);
}

void hl_page_timeline(struct hl_page *p, FILE *out)
{
	uint64_t max = 0;

	for (size_t i = 0; i < HL_PAGE_COLUMNS && p->columns; i++)
		max = p->columns[i].max_bytes > max ? p->columns[i].max_bytes : max;
	fprintf(out, "<p class=\"legend\"><span class=\"key live\">live%s</span>%s%s</p>\n",
		p->x->query.filter ? " that matches the filter" : "",
		p->n_rss ? "<span class=\"key rss\">resident (RSS)</span>" : "",
		p->n_marks ? "<span class=\"key mark\">marks</span>" : "");
	fputs("<div id=\"plots\">\n", out);
	if (p->columns)
		put_heap_plot(out, p, max);
	if (p->n_rss)
		put_rss_plot(out, p, max);
	put_times(out, p);
	fputs("</div>\n", out);
	if (!p->columns) {
		fputs("<p class=\"unknown\">", out);
		put_xml(out, p->columns_why);
		fputs("</p>\n", out);
	}
	put_marks(out, p);
}

/* --- largest sites --- */

static void put_row(
	FILE *out, const char *class, const struct hl_value *v, const struct hl_value *total)
{
	char bytes[HL_TEXT_SIZE_MAX], blocks[HL_TEXT_SIZE_MAX];

	fprintf(out,
		"<tr%s><td class=\"n\">%.1f%%</td><td class=\"n\"><data value=\"%" PRIu64
		"\">%s</data></td><td class=\"n\">%s</td><td>",
		class, total->bytes ? (double)v->bytes * 100 / (double)total->bytes : 0, v->bytes,
		hl_text_bytes(bytes, v->bytes), hl_text_count(blocks, v->blocks));
}

static void put_frame(FILE *out, const struct hl_frame *f)
{
	put_shortened(out, f->display_name, NAME_SHOWN);
	fputs(" <small>", out);
	if (f->file)
		put_shortened(out, hl_export_basename(f->file), NAME_SHOWN);
	else if (f->module)
		put_shortened(out, hl_export_basename(f->module), NAME_SHOWN);
	if (f->file && f->line)
		fprintf(out, ":%" PRIu32, f->line);
	fputs("</small>", out);
}

static int compare_bytes(const void *pa, const void *pb, void *arg)
{
	const struct hl_page_site *const *a = pa, *const *b = pb;
	const struct hl_value *va = &(*a)->values[*(size_t *)arg],
			      *vb = &(*b)->values[*(size_t *)arg];

	if (va->bytes != vb->bytes)
		return va->bytes > vb->bytes ? -1 : 1;
	if (va->blocks != vb->blocks)
		return va->blocks > vb->blocks ? -1 : 1;
	return (*a)->frame < (*b)->frame ? -1 : (*a)->frame > (*b)->frame;
}

/* The largest sites of the first query; all others are one row. */
static void put_site_rows(FILE *out, struct hl_page *p, const struct hl_page_site **sites)
{
	const struct hl_value *total = &p->queries[p->first].a.total;
	struct hl_value remaining = *total;
	size_t n = 0, left = 0;
	char count[HL_TEXT_SIZE_MAX];

	for (size_t i = 0; i < p->sites.len; i++) {
		const struct hl_value *v = &sites[i]->values[p->first];

		if (v->blocks == 0)
			continue;
		if (n++ >= SITES_SHOWN) {
			left++;
			continue;
		}
		put_row(out, "", v, total);
		put_frame(out, hl_model_frame(p->x->m, sites[i]->frame));
		fputs("</td></tr>\n", out);
		remaining.bytes -= v->bytes;
		remaining.blocks -= v->blocks;
	}
	if (left) {
		put_row(out, " class=\"other\"", &remaining, total);
		fprintf(out, "other: %s site%s</td></tr>\n", hl_text_count(count, left),
			plural(left));
	}
	if (n == 0) {
		const char *why = p->queries[p->first].why;

		fputs("<tr><td colspan=\"4\">", out);
		fputs(why[0] ? "not known: " : "nothing", out);
		put_xml(out, why);
		fputs("</td></tr>\n", out);
	}
}

void hl_page_sites(struct hl_page *p, FILE *out)
{
	const struct hl_page_query *q = &p->queries[p->first];
	const struct hl_page_site **sites = calloc(p->sites.len + 1, sizeof(*sites));

	fprintf(out,
		"<table class=\"static\"><caption>%s</caption><thead><tr><th>share</th>"
		"<th>bytes</th><th>blocks</th><th>site</th></tr></thead><tbody>\n",
		q->title);
	for (size_t i = 0; sites && i < p->sites.len; i++)
		sites[i] = &p->sites.data[i];
	if (sites && p->sites.len > 0)
		qsort_r(sites, p->sites.len, sizeof(*sites), compare_bytes, &p->first);
	if (sites)
		put_site_rows(out, p, sites);
	fputs("</tbody></table>\n", out);
	free(sites);
}
