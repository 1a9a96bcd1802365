/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_facts_text.c - the headline of the overview, and its statements.
 */
#include <stdlib.h>
#include <string.h>

#include "model/totals/short_lived.h"
#include "util/terminal/wrap.h"
#include "views/text/overview_text_internal.h"

/* --- the headline --- */

#define NAME_COLUMNS   12
#define VALUE_COLUMNS  12
#define DETAIL_COLUMNS (2 + NAME_COLUMNS + VALUE_COLUMNS + 2)

/* "  peak            12.4 MiB  in 162 blocks, at 30.7 ms" */
void hl_overview_put_fact(FILE *out, const char *name, const char *value, const char *detail,
	const struct hl_text_opts *opts)
{
	fprintf(out, "  %-*s%s%*s%s", NAME_COLUMNS, name, hl_text_bold(opts), VALUE_COLUMNS, value,
		hl_text_plain(opts));
	if (!detail[0]) {
		putc('\n', out);
		return;
	}
	fputs("  ", out);
	hl_wrap(out, detail, DETAIL_COLUMNS, DETAIL_COLUMNS,
		opts->shorten ? (unsigned)opts->width : 0);
}

/* An estimate of 0 has no margin: that no sample is live proves little. */
static void put_estimate(struct hl_strbuf *b, const struct hl_overview *o, const struct hl_value *v,
	const struct hl_text_opts *opts)
{
	char margin[HL_TEXT_SIZE_MAX];

	if (o->estimated)
		hl_strbuf_puts(b, v->blocks ? ", estimated" : ", estimated: no sample");
	if (v->variance > 0)
		hl_strbuf_printf(b, ", %s%s", opts->unicode ? "±" : "+-",
			hl_text_size(margin, hl_value_margin(v), opts));
}

static void put_peak(
	FILE *out, struct hl_model *m, const struct hl_overview *o, const struct hl_text_opts *opts)
{
	char value[HL_TEXT_SIZE_MAX], n[HL_TEXT_SIZE_MAX], at[HL_TEXT_SIZE_MAX];
	struct hl_strbuf b = {0};

	if (o->peak_state == HL_OVERVIEW_NOT_KNOWN) {
		hl_overview_put_fact(out, "peak", "-",
			hl_model_has_event_order(m) ? "not known: it needs every event"
						    : "not known: the trace has no order of events",
			opts);
		return;
	}
	if (o->peak_state != HL_OVERVIEW_KNOWN) {
		hl_overview_put_fact(out, "peak", "-", "not found within --max-time", opts);
		return;
	}
	hl_strbuf_printf(
		&b, "in %s block%s", hl_text_count(n, o->peak.blocks), hl_plural(o->peak.blocks));
	if (o->peak.blocks > 0)
		hl_strbuf_printf(&b, ", at %s", hl_text_duration(at, o->peak_ns));
	if (o->peak_since_ns)
		hl_strbuf_puts(&b, ", since the base");
	put_estimate(&b, o, &o->peak, opts);
	hl_overview_put_fact(
		out, "peak", hl_text_size(value, o->peak.bytes, opts), hl_strbuf_str(&b), opts);
	hl_strbuf_fini(&b);
}

static void put_end(FILE *out, const struct hl_overview *o, const struct hl_text_opts *opts)
{
	char value[HL_TEXT_SIZE_MAX], n[HL_TEXT_SIZE_MAX];
	struct hl_strbuf b = {0};

	hl_strbuf_printf(&b, "in %s block%s", hl_text_count(n, o->at_end.blocks),
		hl_plural(o->at_end.blocks));
	put_estimate(&b, o, &o->at_end, opts);
	if (o->suppressed.blocks > 0)
		hl_strbuf_printf(&b, ", plus %s held by the runtime",
			hl_text_size(n, o->suppressed.bytes, opts));
	hl_overview_put_fact(out, o->leaked ? "not freed" : "live at end",
		hl_text_size(value, o->at_end.bytes, opts), hl_strbuf_str(&b), opts);
	hl_strbuf_fini(&b);
}

static void put_short_lived(struct hl_strbuf *b, struct hl_model *m, const struct hl_overview *o)
{
	char bound[HL_TEXT_SIZE_MAX];

	if (o->short_state == HL_OVERVIEW_NOT_KNOWN && hl_model_has_aggregated(m))
		hl_strbuf_printf(b, "; lifetimes are not known in mode %s", hl_model_sums_mode(m));
	else if (o->short_state == HL_OVERVIEW_NOT_KNOWN)
		hl_strbuf_puts(b, "; lifetimes are not known");
	else if (o->short_state == HL_OVERVIEW_LEFT_OUT)
		hl_strbuf_puts(b, "; short-lived: see --lifetimes");
	else if (o->short_of > 0)
		hl_strbuf_printf(b, "; %s%.1f%%%s live less than %s",
			o->estimated ? "an estimated " : "",
			hl_percent(o->short_blocks, o->short_of),
			o->short_of == o->allocated.blocks ? "" : " of the run's",
			hl_short_lived_bound_text(bound, o->short_bound_ns));
}

static void put_allocations(
	FILE *out, struct hl_model *m, const struct hl_overview *o, const struct hl_text_opts *opts)
{
	char value[HL_TEXT_SIZE_MAX], n[HL_TEXT_SIZE_MAX];
	struct hl_strbuf b = {0};

	hl_strbuf_printf(&b, "%s in total", hl_text_size(n, o->allocated.bytes, opts));
	put_estimate(&b, o, &o->allocated, opts);
	put_short_lived(&b, m, o);
	hl_overview_put_fact(out, "allocations", hl_text_count(value, o->allocated.blocks),
		hl_strbuf_str(&b), opts);
	hl_strbuf_fini(&b);
}

/* Resident memory includes code and stacks, so a ratio to a small heap says nothing. */
#define RATIO_MIN_BYTES (UINT64_C(16) << 20)

static void put_resident(FILE *out, const struct hl_overview *o, const struct hl_text_opts *opts)
{
	char value[HL_TEXT_SIZE_MAX], live[HL_TEXT_SIZE_MAX];
	struct hl_strbuf b = {0};

	if (!o->has_rss)
		return;
	hl_text_size(live, o->rss_live_bytes, opts);
	if (!o->has_rss_live)
		hl_strbuf_puts(&b, "at most");
	else if (o->rss_live_bytes >= RATIO_MIN_BYTES)
		hl_strbuf_printf(&b, "at most, %.2f times the heap then (%s)",
			(double)o->rss_bytes / (double)o->rss_live_bytes, live);
	else
		hl_strbuf_printf(&b, "at most, when the heap had %s", live);
	if (o->rss_is_elsewhere)
		hl_strbuf_puts(&b, o->has_maps ? "; most is not heap: report --resident, --mmaps"
					       : "; most is not heap: record --mmap shows it with "
						 "report --resident, --mmaps");
	hl_overview_put_fact(
		out, "resident", hl_text_size(value, o->rss_bytes, opts), hl_strbuf_str(&b), opts);
	hl_strbuf_fini(&b);
}

void hl_text_headline(
	FILE *out, struct hl_model *m, const struct hl_overview *o, const struct hl_text_opts *opts)
{
	put_peak(out, m, o, opts);
	put_end(out, o, opts);
	put_allocations(out, m, o, opts);
	put_resident(out, o, opts);
}

static void put_title(FILE *out, struct hl_result *r, const struct hl_text_opts *opts)
{
	const struct hl_trace_info *i = hl_model_info(r->m);
	const char *slash = i->meta.program ? strrchr(i->meta.program, '/') : NULL;
	char time[HL_TEXT_SIZE_MAX], n[HL_TEXT_SIZE_MAX];
	struct hl_strbuf b = {0};

	hl_text_escape(&b, slash ? slash + 1 : i->meta.program ? i->meta.program : "?");
	hl_strbuf_printf(&b, ": %s, ", hl_text_duration(time, hl_model_end_ns(r->m)));
	if (i->meta.unknown & HL_UNKNOWN_THREADS)
		hl_strbuf_puts(&b, "threads not known");
	else
		hl_strbuf_printf(
			&b, "%s thread%s", hl_text_count(n, i->threads), hl_plural(i->threads));
	hl_put_wrapped(out, hl_strbuf_str(&b), HL_STYLE_BOLD, 2, opts);
	hl_put_filter(out, opts);
	hl_strbuf_fini(&b);
}

void hl_overview_put_head(FILE *out, struct hl_result *r, const struct hl_text_opts *opts)
{
	const struct hl_overview_result *x = r->data;

	put_title(out, r, opts);
	hl_text_headline(out, r->m, &x->overview, opts);
}

/* --- verdicts --- */

/* The command has a line of its own, and is not divided: a line is selected to be copied. */
static void put_verdict(FILE *out, struct hl_model *m, const struct hl_overview_verdict *v,
	const struct hl_text_opts *opts)
{
	struct hl_strbuf raw = {0}, text = {0}, how = {0};

	hl_verdict_put(&raw, m, v);
	hl_strbuf_puts(&text, opts->unicode ? "▲ " : "! ");
	hl_text_escape(&text, hl_strbuf_str(&raw));
	hl_put_wrapped(out, hl_strbuf_str(&text), HL_STYLE_YELLOW, 2, opts);
	hl_strbuf_reset(&raw);
	hl_verdict_put_options(&raw, v);
	if (raw.len > 0) {
		hl_overview_put_command(&how, hl_strbuf_str(&raw), opts);
		fprintf(out, "  %s%s%s\n", hl_text_dim(opts), hl_strbuf_str(&how),
			hl_text_plain(opts));
	}
	hl_strbuf_fini(&raw);
	hl_strbuf_fini(&text);
	hl_strbuf_fini(&how);
}

void hl_overview_put_verdicts(
	FILE *out, struct hl_model *m, const struct hl_overview *o, const struct hl_text_opts *opts)
{
	for (size_t i = 0; i < o->n_verdicts; i++) {
		if (!hl_row_begin(opts->rows, out, NULL))
			continue;
		put_verdict(out, m, &o->verdicts[i], opts);
		hl_row_end(opts->rows);
	}
}
