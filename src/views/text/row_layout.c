/* SPDX-License-Identifier: Apache-2.0 */
/*
 * row_layout.c - columns, headers and lines that several views share; see text_internal.h.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/safe_text.h"
#include "util/terminal/wrap.h"
#include "views/text/text_internal.h"

double hl_percent(uint64_t part, uint64_t whole)
{
	return whole ? (double)part * 100 / (double)whole : 0;
}

const char *hl_text_style(const struct hl_text_opts *opts, enum hl_style style)
{
	return opts->color ? hl_style_sequence(style) : "";
}

/* --- columns of values --- */

/* The width of "1023.9 KiB" and "10,000,000": a minimum, so that most pages have the same
 * columns. */
#define VALUE_WIDTH 10
#define SHARE_WIDTH 7
/* "+-196%", the largest margin: that of a single small sample. */
#define MARGIN_WIDTH 6

static int column_width(const char *number)
{
	return (int)strlen(number) > VALUE_WIDTH ? (int)strlen(number) : VALUE_WIDTH;
}

struct hl_row_values hl_row_values_make(
	const struct hl_value *total, const struct hl_text_opts *opts)
{
	char text[HL_TEXT_SIZE_MAX];

	return (struct hl_row_values){
		.total = *total,
		.bytes_width = column_width(hl_text_size(text, total->bytes, opts)),
		.blocks_width = column_width(hl_text_count(text, total->blocks)),
		.margin = total->variance > 0,
		.opts = opts,
	};
}

/* Red from a quarter of the total, yellow from a twentieth. */
static enum hl_style share_style(double percent)
{
	return percent >= 25 ? HL_STYLE_RED : percent >= 5 ? HL_STYLE_YELLOW : HL_STYLE_DIM;
}

/* Prints the margin behind the bytes, rounded up: "12.3 MiB ±8%". An exact value among estimates
 * has none. */
static void put_margin(FILE *out, const struct hl_row_values *n, const struct hl_value *v)
{
	const char *sign = n->opts->unicode ? "±" : "+-";
	double part = hl_percent(hl_value_margin(v), v->bytes);
	unsigned percent = part < 999 ? (unsigned)part + ((double)(unsigned)part < part) : 999;
	char text[32] = "";

	if (!n->margin)
		return;
	if (v->variance > 0)
		snprintf(text, sizeof(text), "%s%u%%", sign, percent);
	fprintf(out, "%s%*s ", text, MARGIN_WIDTH - (int)hl_display_columns(text, strlen(text)),
		"");
}

void hl_put_values(FILE *out, const struct hl_row_values *n, const struct hl_value *v)
{
	char bytes[HL_TEXT_SIZE_MAX], blocks[HL_TEXT_SIZE_MAX];
	double share = hl_percent(
		hl_limits_size(&n->opts->limits, v), hl_limits_size(&n->opts->limits, &n->total));

	fprintf(out, "%s%*.1f%%%s  %*s%s", hl_text_style(n->opts, share_style(share)),
		SHARE_WIDTH - 1, share, hl_text_style(n->opts, HL_STYLE_PLAIN), n->bytes_width,
		hl_text_size(bytes, v->bytes, n->opts), n->margin ? " " : "  ");
	put_margin(out, n, v);
	fprintf(out, "%*s  ", n->blocks_width, hl_text_count(blocks, v->blocks));
}

void hl_put_values_header(FILE *out, const struct hl_row_values *n)
{
	fprintf(out, "%*s  %*s%s%*s  ", SHARE_WIDTH, "share", n->bytes_width, "bytes",
		n->margin ? " margin " : "  ", n->blocks_width, "blocks");
}

size_t hl_row_values_width(const struct hl_row_values *n)
{
	return SHARE_WIDTH + (size_t)n->bytes_width + (size_t)n->blocks_width + 6 +
	       (n->margin ? MARGIN_WIDTH : 0);
}

void hl_put_blank_values(FILE *out, const struct hl_row_values *n)
{
	fprintf(out, "%*s", (int)hl_row_values_width(n), "");
}

/* --- lines --- */

void hl_put_wrapped(FILE *out, const char *text, enum hl_style style, unsigned indent,
	const struct hl_text_opts *opts)
{
	fputs(hl_text_style(opts, style), out);
	if (!opts->shorten || hl_display_columns(text, strlen(text)) <= opts->width) {
		fprintf(out, "%s%s\n", text, style ? hl_text_style(opts, HL_STYLE_PLAIN) : "");
		return;
	}
	fprintf(out, "%*s", (int)strspn(text, " "), "");
	hl_wrap(out, text, (unsigned)strspn(text, " "), indent, (unsigned)opts->width);
	if (style)
		fputs(hl_text_style(opts, HL_STYLE_PLAIN), out);
}

void hl_put_filter(FILE *out, const struct hl_text_opts *opts)
{
	struct hl_strbuf b = {0};

	if (!opts->filter_text || !opts->filter_text[0])
		return;
	hl_strbuf_puts(&b, "filter: ");
	hl_text_escape(&b, opts->filter_text);
	hl_put_wrapped(out, hl_strbuf_str(&b), HL_STYLE_PLAIN, 8, opts);
	hl_strbuf_fini(&b);
}

void hl_put_title(FILE *out, const char *text, const struct hl_text_opts *opts)
{
	hl_put_wrapped(out, text, HL_STYLE_BOLD, 2, opts);
	hl_put_filter(out, opts);
}

char *hl_text_begin(char *buf, const struct hl_model *m, uint64_t ns)
{
	const struct hl_base *base = hl_model_base(m);

	return base->is_late && ns == base->time_ns ? hl_text_duration_up(buf, ns)
						    : hl_text_duration(buf, ns);
}

void hl_put_header(
	FILE *out, struct hl_model *m, const struct hl_answer *a, const struct hl_text_opts *opts)
{
	char from[HL_TEXT_SIZE_MAX], to[HL_TEXT_SIZE_MAX], all[HL_TEXT_SIZE_MAX];
	char bytes[HL_TEXT_SIZE_MAX], blocks[HL_TEXT_SIZE_MAX];
	struct hl_strbuf b = {0};

	hl_text_duration(to, a->to_ns);
	hl_text_duration(all, hl_model_end_ns(m));
	if (a->quantity == HL_QUANTITY_LIVE)
		hl_strbuf_printf(&b, "%s, at %s of %s: ", opts->quantity_text, to, all);
	else
		hl_strbuf_printf(&b, "%s, from %s to %s of %s: ", opts->quantity_text,
			hl_text_begin(from, m, a->from_ns), to, all);
	hl_strbuf_printf(&b, "%s in %s block%s", hl_text_size(bytes, a->total.bytes, opts),
		hl_text_count(blocks, a->total.blocks), a->total.blocks == 1 ? "" : "s");
	if (a->total.variance > 0)
		hl_strbuf_printf(&b, ", estimated from samples: %s%s (95 %%)",
			opts->unicode ? "±" : "+-",
			hl_text_size(bytes, hl_value_margin(&a->total), opts));
	else if (a->has_unknown_accuracy)
		hl_strbuf_printf(&b, ", %sestimated from samples of unknown accuracy",
			hl_model_has_aggregated(m) ? "partly " : "");
	else if (a->total.blocks == 0 && hl_model_has_samples(m))
		hl_strbuf_puts(&b, "; no samples");
	hl_put_title(out, hl_strbuf_str(&b), opts);
	hl_strbuf_fini(&b);
}

/* Appends why rows are hidden, and which option shows them. */
static void append_reason(struct hl_strbuf *b, uint64_t count, const struct hl_text_opts *opts)
{
	if (opts->limits.limited && opts->limits.min_percent <= 0) {
		hl_strbuf_printf(b, "beyond -n %zu; -n 0 shows all", opts->limits.limit);
		return;
	}
	if (opts->limits.limited)
		hl_strbuf_printf(b, "beyond -n %zu or ", opts->limits.limit);
	hl_strbuf_printf(b, "below %g%%%s; %s--min 0 shows all", opts->limits.min_percent,
		count == 1 ? "" : " each", opts->limits.limited ? "-n 0 " : "");
}

void hl_put_hidden(FILE *out, const struct hl_value *total, const struct hl_value *v,
	uint64_t count, const char *one, const char *many, const struct hl_text_opts *opts)
{
	char bytes[HL_TEXT_SIZE_MAX], blocks[HL_TEXT_SIZE_MAX];
	struct hl_strbuf b = {0};

	if (count == 0)
		return;
	hl_strbuf_printf(&b, "hidden: %s in %s block%s (%.1f%%%s), %" PRIu64 " %s ",
		hl_text_size(bytes, v->bytes, opts), hl_text_count(blocks, v->blocks),
		v->blocks == 1 ? "" : "s",
		hl_percent(hl_limits_size(&opts->limits, v), hl_limits_size(&opts->limits, total)),
		opts->limits.by_blocks ? " of the blocks" : "", count, count == 1 ? one : many);
	append_reason(&b, count, opts);
	putc('\n', out);
	hl_put_wrapped(out, hl_strbuf_str(&b), HL_STYLE_PLAIN, 2, opts);
	hl_strbuf_fini(&b);
}

void hl_put_omitted_count(FILE *out, uint64_t count, const char *one, const char *many,
	const struct hl_text_opts *opts)
{
	char n[HL_TEXT_SIZE_MAX];

	if (count > 0)
		fprintf(out, "  and %s %s more; %s%s%s shows all\n", hl_text_count(n, count),
			count == 1 ? one : many, opts->limits.limited ? "-n 0" : "",
			opts->limits.limited && opts->limits.min_percent > 0 ? " " : "",
			opts->limits.min_percent > 0 ? "--min 0" : "");
}

const char *hl_bar(unsigned eighths, bool unicode)
{
	static const char *const blocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	static const char *const plain[] = {" ", ".", ".", ":", ":", "+", "+", "#", "#"};

	return (unicode ? blocks : plain)[eighths > 8 ? 8 : eighths];
}

static uint64_t find_max(const uint64_t *values, unsigned n)
{
	uint64_t highest = 0;

	for (unsigned k = 0; k < n; k++)
		highest = values[k] > highest ? values[k] : highest;
	return highest;
}

void hl_put_spark(FILE *out, const uint64_t *values, unsigned n, unsigned first, unsigned columns,
	bool unicode)
{
	unsigned points = n / columns;
	uint64_t max = find_max(values, n);

	for (unsigned k = 0; k < columns; k++) {
		uint64_t highest = find_max(values + k * points, points);
		double part = max ? (double)highest * 8 / (double)max : 0;
		unsigned eighths = (unsigned)part;

		if ((k + 1) * points <= first) {
			putc('?', out);
			continue;
		}
		fputs(hl_bar(eighths + ((double)eighths < part), unicode), out);
	}
}
