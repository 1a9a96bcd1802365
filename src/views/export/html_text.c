/*
 * html_text.c - what a page shows without its script: heading, notes, figures, the heap over time
 * and the largest sites; see html.h.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <time.h>

#include "model/suppress.h"
#include "util/text.h"
#include "views/export/html.h"

#define SITES_SHOWN   20
#define COMMAND_SHOWN 2000
/* As text, a hostile byte is six: with these all of it stays below 300,000. */
#define NAME_SHOWN  300
#define MARKS_SHOWN 40
#define FLAG_WIDTH  1.6 /* percent of the plot, roughly */

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

static void put_cut(FILE *out, const char *s, size_t room)
{
	struct hl_strbuf b = {0};

	hl_page_cut(&b, s, room);
	put_xml(out, hl_strbuf_str(&b));
	hl_strbuf_fini(&b);
}

/* --- heading --- */

static const char *program_of(const struct hl_page *p)
{
	return hl_export_base(hl_model_info(p->x->m)->meta.program);
}

void hl_page_title(struct hl_page *p, FILE *out)
{
	put_cut(out, program_of(p), NAME_SHOWN);
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
			end->oom ? ", by the kernel for want of memory" : "");
		break;
	case HL_END_EXEC:
		fputs("<li>became another program (exec)</li>", out);
		break;
	case HL_END_STOPPED:
		fputs("<li>the recording was stopped</li>", out);
		break;
	case HL_END_RUNNING:
		fputs("<li>still running</li>", out);
		break;
	default:
		fputs("<li>how it ended is not known</li>", out);
	}
}

void hl_page_heading(struct hl_page *p, FILE *out)
{
	const struct hl_trace_info *i = hl_model_info(p->x->m);
	struct hl_strbuf command = {0};
	char text[HL_TEXT_SIZE_MAX];

	fputs("<h1>", out);
	put_cut(out, program_of(p), NAME_SHOWN);
	fputs("</h1>\n<ul class=\"facts\">", out);
	put_start(out, i->meta.start_unix_ns);
	fprintf(out, "<li>ran for %s</li>", hl_text_duration(text, hl_model_end_ns(p->x->m)));
	put_end(out, &i->end);
	fprintf(out, "<li>pid %" PRIu64 "</li>", i->meta.pid);
	fprintf(out, "<li>%s thread%s</li></ul>\n", hl_text_count(text, i->threads),
		plural(i->threads));
	hl_export_command(&command, &i->meta);
	fputs("<p class=\"command\"><code>", out);
	put_cut(out, hl_strbuf_str(&command), COMMAND_SHOWN);
	fputs("</code></p>\n", out);
	hl_strbuf_fini(&command);
}

/* --- what one must know to read the numbers right --- */

static hl_printf(2, 3) void note(FILE *out, const char *fmt, ...)
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

static void note_recording(FILE *out, const struct hl_model *m)
{
	const struct hl_trace_info *i = hl_model_info(m);
	const char *empty = hl_model_why_empty(m);
	char n[HL_TEXT_SIZE_MAX];

	if (empty)
		note(out, "%c%s.", empty[0] - 'a' + 'A', empty + 1);
	if (i->damaged)
		note(out, "The trace is damaged: %s.", i->damage);
	if (i->counters.dropped_events)
		note(out, "%s events were dropped while recording: the numbers are not exact.",
			hl_text_count(n, i->counters.dropped_events));
	if (!i->has_end && i->end.kind == HL_END_RUNNING)
		note(out, "The recording still goes on: this is its state so far.");
	else if (!i->has_end)
		note(out, "The end of the recording is missing.");
	if (i->meta.forked)
		note(out, "A fork child: what its parent had allocated is not counted.");
	if (i->meta.continued)
		note(out, "An earlier collector died: counting starts where it stopped.");
	if (i->meta.start_off || i->stops)
		note(out, "Recording was off for a part of the run.");
	if (i->pauses)
		note(out, "Recording was paused for a part of the run: frees alone are in it.");
	if (i->totals.samples)
		note(out,
			"The recording is of %s samples: all numbers are estimates. ± is the "
			"range that holds the truth in 95 of 100 cases.",
			hl_text_count(n, i->totals.samples));
}

static void note_suppressed(FILE *out, const struct hl_suppressions *s)
{
	struct hl_value sum = {0};
	char bytes[HL_TEXT_SIZE_MAX], blocks[HL_TEXT_SIZE_MAX];
	const struct hl_suppressed *taken;
	size_t n = 0;

	taken = hl_suppressions_taken(s, &n);
	for (size_t i = 0; i < n; i++)
		hl_value_add(&sum, &taken[i].value);
	if (sum.blocks)
		note(out,
			"Suppressed, and in no number of what is live at the end: %s in %s "
			"block%s.",
			hl_text_bytes(bytes, sum.bytes), hl_text_count(blocks, sum.blocks),
			plural(sum.blocks));
}

static bool is_empty(const struct hl_page *p)
{
	for (size_t i = 0; i < p->n; i++) {
		if (p->questions[i].a.total.blocks > 0)
			return false;
	}
	return true;
}

void hl_page_notes(struct hl_page *p, FILE *out)
{
	const struct hl_trace_info *i = hl_model_info(p->x->m);
	char to[HL_TEXT_SIZE_MAX], all[HL_TEXT_SIZE_MAX];

	note_recording(out, p->x->m);
	if (hl_model_withholds(p->x->m))
		note(out,
			"Of %s of %s blocks the trace has only sums (mode %s): what takes every "
			"single event is not known, and said to be so in its place.",
			hl_text_count(to, i->withheld.alloc_blocks),
			hl_text_count(all, i->totals.sums.alloc_blocks),
			hl_model_sums_mode(p->x->m));
	else if (p->x->moved)
		note(out, "A part of the trace cannot be read; what is shown goes up to %s.",
			hl_text_duration(to, p->x->to_ns));
	if (p->x->query.filter && i->totals.events > 0)
		note(out, "Only blocks that fit %s are shown. The figures below are of all blocks.",
			p->x->choice);
	if (p->x->query.pool)
		note(out,
			"Trees, sites and sizes are of blocks of the program's own pools (%s). The "
			"figures below and the heap over time are the heap's.",
			p->x->pool);
	if (p->x->grouped)
		note(out, "Flame graphs and trees are divided by %s first.",
			hl_group_name(p->x->group));
	if (p->x->query.suppressions)
		note_suppressed(out, p->x->query.suppressions);
	if (is_empty(p) && i->totals.events > 0)
		note(out, "No block fits what was asked: there is nothing to show.");
}

/* --- figures --- */

static void put_figure(FILE *out, const char *id, const char *label, uint64_t exact,
	const char *value, const char *more)
{
	fprintf(out,
		"<div class=\"figure\" id=\"figure-%s\"><dt>%s</dt><dd><data value=\"%" PRIu64
		"\">%s</data><small>%s</small></dd></div>\n",
		id, label, exact, value, more);
}

static void put_heap_figures(struct hl_page *p, FILE *out)
{
	const struct hl_totals *t = &hl_model_info(p->x->m)->totals;
	uint64_t left = hl_sums_live_bytes(&t->sums), blocks = hl_sums_live_blocks(&t->sums);
	char value[HL_TEXT_SIZE_MAX], n[HL_TEXT_SIZE_MAX], at[HL_TEXT_SIZE_MAX], more[128];

	snprintf(more, sizeof(more), "in %s block%s, at %s", hl_text_count(n, t->peak_blocks),
		plural(t->peak_blocks), hl_text_duration(at, t->peak_time_ns));
	put_figure(out, "peak", "Peak", t->peak_bytes, hl_text_bytes(value, t->peak_bytes), more);
	snprintf(more, sizeof(more), "in %s block%s", hl_text_count(n, blocks), plural(blocks));
	put_figure(out, "leaks", p->leaked ? "Leaked" : "Live at end", left,
		hl_text_bytes(value, left), more);
}

static void put_count_figures(struct hl_page *p, FILE *out)
{
	const struct hl_trace_info *i = hl_model_info(p->x->m);
	const struct hl_totals *t = &i->totals;
	uint64_t allocs = t->sums.alloc_blocks, dropped = i->counters.dropped_events;
	char value[HL_TEXT_SIZE_MAX], n[HL_TEXT_SIZE_MAX], more[128];

	snprintf(more, sizeof(more), "of %s in all", hl_text_bytes(n, t->sums.alloc_bytes));
	put_figure(out, "allocations", "Allocations", allocs, hl_text_count(value, allocs), more);
	snprintf(more, sizeof(more), "%.1f%% were freed by the very next event",
		allocs ? (double)t->temporary * 100 / (double)allocs : 0);
	if (!hl_model_has_neighbours(p->x->m))
		put_figure(out, "temporary", "Temporary", 0, "–",
			"not known: others happened between the samples");
	else
		put_figure(out, "temporary", "Temporary", t->temporary,
			hl_text_count(value, t->temporary), more);
	if (dropped)
		put_figure(out, "dropped", "Dropped", dropped, hl_text_count(value, dropped),
			"events that were not recorded");
}

static void put_rss_figure(struct hl_page *p, FILE *out)
{
	char value[HL_TEXT_SIZE_MAX], at[HL_TEXT_SIZE_MAX], more[128];

	if (p->n_rss == 0) {
		put_figure(out, "rss", "Resident (RSS)", 0, "–", "not sampled in a run this short");
		return;
	}
	snprintf(more, sizeof(more), "at most, at %s", hl_text_duration(at, p->rss_most_ns));
	put_figure(
		out, "rss", "Resident (RSS)", p->rss_most, hl_text_bytes(value, p->rss_most), more);
}

void hl_page_figures(struct hl_page *p, FILE *out)
{
	put_heap_figures(p, out);
	put_count_figures(p, out);
	put_rss_figure(p, out);
}

/* --- the heap over time --- */

#define UNITS 1000 /* the plot is so wide and high, however large it is shown */

/* Lines at a power of two, at most four, the highest above everything. */
struct scale {
	uint64_t step;
	unsigned steps;
};

static struct scale scale_of(uint64_t most)
{
	struct scale s = {.step = 1};

	while (s.step < UINT64_C(1) << 61 && s.step * 4 < most)
		s.step *= 2;
	s.steps = most ? (unsigned)((most + s.step - 1) / s.step) : 1;
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

/* Each column is as high as the most in it; a part that is lost is a gap. */
static void put_live(FILE *out, const struct hl_page *p, const struct scale *s, bool area)
{
	bool open = false;

	fprintf(out, "<path class=\"%s\" d=\"", area ? "live area" : "live line");
	for (size_t i = 0; i <= HL_PAGE_COLUMNS; i++) {
		bool here = i < HL_PAGE_COLUMNS && !p->columns[i].lost;

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

/* "4 MiB" rather than "4.0 MiB". */
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

static size_t marks_shown(const struct hl_page *p)
{
	return p->n_marks < MARKS_SHOWN ? p->n_marks : MARKS_SHOWN;
}

static void put_flags(FILE *out, const struct hl_page *p, bool numbers)
{
	double last = -100;

	for (size_t i = 0; i < marks_shown(p); i++) {
		double at = percent_of(p, p->marks[i].time_ns);

		fprintf(out, "<span class=\"flag\" style=\"left:%.3f%%\">", at);
		if (numbers && at - last > FLAG_WIDTH) {
			fprintf(out, "<b>%zu</b>", i + 1);
			last = at;
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
	for (size_t i = 0; i < marks_shown(p); i++) {
		fputs(p->marks[i].snapshot ? "<li>snapshot " : "<li>", out);
		put_cut(out, p->marks[i].name, 200);
		fprintf(out, " <small>%s</small></li>", hl_text_duration(at, p->marks[i].time_ns));
	}
	fputs("</ol>", out);
	if (p->n_marks > marks_shown(p))
		fprintf(out, "<p class=\"more\">and %s more marks</p>",
			hl_text_count(n, p->n_marks - marks_shown(p)));
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

static void put_heap_plot(FILE *out, const struct hl_page *p, uint64_t most)
{
	struct scale s = scale_of(most);
	char bytes[HL_TEXT_SIZE_MAX], label[128];

	snprintf(label, sizeof(label), "live bytes over time, at most %s",
		hl_text_bytes(bytes, most));
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

/* The heap again, in the scale of all that is resident: how much of that it is. */
static void put_rss_plot(FILE *out, const struct hl_page *p, uint64_t most)
{
	struct scale s = scale_of(p->rss_most > most ? p->rss_most : most);
	char bytes[HL_TEXT_SIZE_MAX], label[128];

	snprintf(label, sizeof(label), "resident memory over time, at most %s",
		hl_text_bytes(bytes, p->rss_most));
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
	uint64_t most = 0;

	for (size_t i = 0; i < HL_PAGE_COLUMNS && p->columns; i++)
		most = p->columns[i].max_bytes > most ? p->columns[i].max_bytes : most;
	fprintf(out, "<p class=\"legend\"><span class=\"key live\">live%s</span>%s%s</p>\n",
		p->x->query.filter ? " that fits the filter" : "",
		p->n_rss ? "<span class=\"key rss\">resident (RSS)</span>" : "",
		p->n_marks ? "<span class=\"key mark\">marks</span>" : "");
	fputs("<div id=\"plots\">\n", out);
	if (p->columns)
		put_heap_plot(out, p, most);
	if (p->n_rss)
		put_rss_plot(out, p, most);
	put_times(out, p);
	fputs("</div>\n", out);
	if (!p->columns) {
		fputs("<p class=\"unknown\">", out);
		put_xml(out, p->columns_why);
		fputs("</p>\n", out);
	}
	put_marks(out, p);
}

/* --- the largest sites --- */

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
	put_cut(out, f->shown, NAME_SHOWN);
	fputs(" <small>", out);
	if (f->file)
		put_cut(out, hl_export_base(f->file), NAME_SHOWN);
	else if (f->module)
		put_cut(out, hl_export_base(f->module), NAME_SHOWN);
	if (f->file && f->line)
		fprintf(out, ":%" PRIu32, f->line);
	fputs("</small>", out);
}

static int by_bytes(const void *pa, const void *pb, void *arg)
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

/* The largest of a question; the rest is one row. */
static void put_site_rows(FILE *out, struct hl_page *p, const struct hl_page_site **sites)
{
	const struct hl_value *total = &p->questions[p->first].a.total;
	struct hl_value rest = *total;
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
		rest.bytes -= v->bytes;
		rest.blocks -= v->blocks;
	}
	if (left) {
		put_row(out, " class=\"other\"", &rest, total);
		fprintf(out, "other: %s site%s</td></tr>\n", hl_text_count(count, left),
			plural(left));
	}
	if (n == 0) {
		const char *why = p->questions[p->first].why;

		fputs("<tr><td colspan=\"4\">", out);
		fputs(why[0] ? "not known: " : "nothing", out);
		put_xml(out, why);
		fputs("</td></tr>\n", out);
	}
}

void hl_page_sites(struct hl_page *p, FILE *out)
{
	const struct hl_page_question *q = &p->questions[p->first];
	const struct hl_page_site **sites = calloc(p->sites.len + 1, sizeof(*sites));

	fprintf(out,
		"<table class=\"static\"><caption>%s</caption><thead><tr><th>share</th>"
		"<th>bytes</th><th>blocks</th><th>site</th></tr></thead><tbody>\n",
		q->what);
	for (size_t i = 0; sites && i < p->sites.len; i++)
		sites[i] = &p->sites.data[i];
	if (sites && p->sites.len > 0)
		qsort_r(sites, p->sites.len, sizeof(*sites), by_bytes, &p->first);
	if (sites)
		put_site_rows(out, p, sites);
	fputs("</tbody></table>\n", out);
	free(sites);
}
