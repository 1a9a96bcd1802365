/*
 * parts.c - pieces that several views are made of; see text_internal.h.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/text.h"
#include "views/text/text_internal.h"

double hl_percent(uint64_t part, uint64_t whole)
{
	return whole ? (double)part * 100 / (double)whole : 0;
}

uint64_t hl_measure(const struct hl_value *v, const struct hl_text_opts *opts)
{
	return opts->by_blocks ? v->blocks : v->bytes;
}

uint64_t hl_text_least(const struct hl_value *total, const struct hl_text_opts *opts)
{
	double least = (double)hl_measure(total, opts) * opts->min_percent / 100;

	return least > 0 ? (uint64_t)least + ((double)(uint64_t)least < least) : 0;
}

struct rank {
	uint64_t size;
	size_t at;
};

static int by_rank(const void *pa, const void *pb)
{
	const struct rank *a = pa, *b = pb;

	if (a->size != b->size)
		return a->size > b->size ? -1 : 1;
	return a->at < b->at ? -1 : a->at > b->at;
}

bool *hl_pick(const void *rows, size_t n,
	uint64_t (*size_of)(const void *rows, size_t i, const struct hl_text_opts *opts),
	uint64_t least, const struct hl_text_opts *opts)
{
	struct rank *ranks = calloc(n + 1, sizeof(*ranks));
	bool *shown = calloc(n + 1, sizeof(*shown));

	if (!ranks || !shown) {
		free(ranks);
		free(shown);
		return NULL;
	}
	for (size_t i = 0; i < n; i++)
		ranks[i] = (struct rank){.size = size_of(rows, i, opts), .at = i};
	qsort(ranks, n, sizeof(*ranks), by_rank);
	for (size_t i = 0; i < n && !(opts->limited && i == opts->limit); i++)
		shown[ranks[i].at] = ranks[i].size >= least;
	free(ranks);
	return shown;
}

const char *hl_style(const struct hl_text_opts *opts, enum hl_style style)
{
	return opts->color ? hl_style_sequence(style) : "";
}

/* --- the columns of numbers --- */

/* As wide as "1023.9 KiB" and "10,000,000" at least, so that most pages look alike. */
#define NUMBER_WIDTH 10
#define SHARE_WIDTH  7

static int width_of(const char *number)
{
	return (int)strlen(number) > NUMBER_WIDTH ? (int)strlen(number) : NUMBER_WIDTH;
}

struct hl_numbers hl_numbers_of(const struct hl_value *total, const struct hl_text_opts *opts)
{
	char text[HL_TEXT_SIZE_MAX];

	return (struct hl_numbers){
		.total = *total,
		.bytes_width = width_of(hl_text_bytes(text, total->bytes)),
		.blocks_width = width_of(hl_text_count(text, total->blocks)),
		.opts = opts,
	};
}

/* What matters most is seen first: a quarter of all in red, a twentieth in yellow. */
static enum hl_style style_of_share(double percent)
{
	return percent >= 25 ? HL_STYLE_RED : percent >= 5 ? HL_STYLE_YELLOW : HL_STYLE_DIM;
}

void hl_put_numbers(FILE *out, const struct hl_numbers *n, const struct hl_value *v)
{
	char bytes[HL_TEXT_SIZE_MAX], blocks[HL_TEXT_SIZE_MAX];
	double share = hl_percent(hl_measure(v, n->opts), hl_measure(&n->total, n->opts));

	fprintf(out, "%s%*.1f%%%s  %*s  %*s  ", hl_style(n->opts, style_of_share(share)),
		SHARE_WIDTH - 1, share, hl_style(n->opts, HL_STYLE_PLAIN), n->bytes_width,
		hl_text_bytes(bytes, v->bytes), n->blocks_width, hl_text_count(blocks, v->blocks));
}

void hl_put_numbers_head(FILE *out, const struct hl_numbers *n)
{
	fprintf(out, "%*s  %*s  %*s  ", SHARE_WIDTH, "share", n->bytes_width, "bytes",
		n->blocks_width, "blocks");
}

size_t hl_numbers_width(const struct hl_numbers *n)
{
	return SHARE_WIDTH + (size_t)n->bytes_width + (size_t)n->blocks_width + 6;
}

void hl_put_no_numbers(FILE *out, const struct hl_numbers *n)
{
	fprintf(out, "%*s", (int)hl_numbers_width(n), "");
}

/* --- frames --- */

/* A name that has no more room than this says nothing: it rather breaks the line. */
#define NAME_MIN 24

static size_t runes(const char *s, size_t len)
{
	size_t n = 0;
	uint32_t rune;

	for (size_t i = 0; i < len; n++)
		i += hl_rune_decode(s + i, len - i, &rune);
	return n;
}

/* How many bytes the first n characters take. */
static size_t first_runes(const char *s, size_t len, size_t n)
{
	size_t i = 0;
	uint32_t rune;

	for (; n > 0 && i < len; n--)
		i += hl_rune_decode(s + i, len - i, &rune);
	return i;
}

/* The arguments of a C++ function are what one misses least: "f(int, char) const" is "f(…) const".
 */
static void drop_arguments(struct hl_strbuf *name, const char *gap)
{
	const char *s = hl_strbuf_str(name), *end = strrchr(s, ')'), *begin = end;
	struct hl_strbuf shorter = {0};

	for (size_t depth = 0; begin; begin--) {
		depth += *begin == ')';
		depth -= *begin == '(';
		if (depth == 0 || begin == s)
			break;
	}
	if (!begin || *begin != '(' || begin == s || end - begin < 4)
		return;
	hl_strbuf_printf(&shorter, "%.*s%s%s", (int)(begin + 1 - s), s, gap, end);
	hl_strbuf_fini(name);
	*name = shorter;
}

/* Names of templates differ at their ends as often as at their beginnings: the middle goes. */
static void put_cut(FILE *out, struct hl_strbuf *full, size_t room, bool unicode)
{
	const char *gap = unicode ? "…" : "...", *name;
	size_t len, n, head, tail;

	if (runes(hl_strbuf_str(full), full->len) > room)
		drop_arguments(full, gap);
	name = hl_strbuf_str(full);
	len = full->len;
	n = runes(name, len);
	if (n <= room) {
		fputs(name, out);
		return;
	}
	room -= unicode ? 1 : 3;
	head = first_runes(name, len, room * 2 / 3);
	tail = first_runes(name, len, n - (room - room * 2 / 3));
	fprintf(out, "%.*s%s%s", (int)head, name, gap, name + tail);
}

static void add_location(struct hl_strbuf *b, const struct hl_frame *f)
{
	const char *path = f->file ? f->file : f->module, *base = path ? strrchr(path, '/') : NULL;

	if (!path)
		return;
	hl_strbuf_puts(b, f->file ? "  " : "  [");
	hl_text_escape(b, base ? base + 1 : path);
	if (f->file && f->line)
		hl_strbuf_printf(b, ":%" PRIu32, f->line);
	if (!f->file)
		hl_strbuf_putc(b, ']');
}

static size_t room_for(const struct hl_text_opts *opts, size_t used)
{
	if (!opts->cut)
		return SIZE_MAX;
	return opts->width > used + NAME_MIN ? opts->width - used : NAME_MIN;
}

void hl_put_name(FILE *out, const char *text, const struct hl_text_opts *opts, size_t used)
{
	struct hl_strbuf name = {0};

	hl_text_escape(&name, text);
	put_cut(out, &name, room_for(opts, used), opts->unicode);
	hl_strbuf_fini(&name);
}

void hl_put_frame(FILE *out, const struct hl_frame *f, bool full, const struct hl_text_opts *opts,
	size_t used)
{
	struct hl_strbuf name = {0}, location = {0};

	hl_text_escape(&name, full ? f->function : f->shown);
	add_location(&location, f);
	used += runes(hl_strbuf_str(&location), location.len);
	fputs(hl_style(opts, HL_STYLE_BOLD), out);
	put_cut(out, &name, room_for(opts, used), opts->unicode);
	fprintf(out, "%s%s%s%s", hl_style(opts, HL_STYLE_PLAIN),
		hl_style(opts, f->file ? HL_STYLE_CYAN : HL_STYLE_DIM), hl_strbuf_str(&location),
		hl_style(opts, HL_STYLE_PLAIN));
	hl_strbuf_fini(&name);
	hl_strbuf_fini(&location);
}

void hl_put_head(
	FILE *out, struct hl_model *m, const struct hl_answer *a, const struct hl_text_opts *opts)
{
	char from[HL_TEXT_SIZE_MAX], to[HL_TEXT_SIZE_MAX], all[HL_TEXT_SIZE_MAX];
	char bytes[HL_TEXT_SIZE_MAX], blocks[HL_TEXT_SIZE_MAX];

	fputs(hl_style(opts, HL_STYLE_BOLD), out);
	hl_text_duration(to, a->to_ns);
	hl_text_duration(all, hl_model_end_ns(m));
	if (a->quantity == HL_QUANTITY_LIVE)
		fprintf(out, "%s, at %s of %s: ", opts->what, to, all);
	else
		fprintf(out, "%s, from %s to %s of %s: ", opts->what,
			hl_text_duration(from, a->from_ns), to, all);
	fprintf(out, "%s in %s block%s%s\n", hl_text_bytes(bytes, a->total.bytes),
		hl_text_count(blocks, a->total.blocks), a->total.blocks == 1 ? "" : "s",
		hl_style(opts, HL_STYLE_PLAIN));
}

void hl_put_hidden(FILE *out, const struct hl_value *total, const struct hl_value *v,
	uint64_t count, const char *one, const char *many, const struct hl_text_opts *opts)
{
	char bytes[HL_TEXT_SIZE_MAX], blocks[HL_TEXT_SIZE_MAX];

	if (count == 0)
		return;
	fprintf(out, "\nhidden: %s in %s block%s (%.1f%%%s), %" PRIu64 " %s ",
		hl_text_bytes(bytes, v->bytes), hl_text_count(blocks, v->blocks),
		v->blocks == 1 ? "" : "s", hl_percent(hl_measure(v, opts), hl_measure(total, opts)),
		opts->by_blocks ? " of the blocks" : "", count, count == 1 ? one : many);
	if (opts->limited && opts->min_percent <= 0) {
		fprintf(out, "beyond -n %zu; -n 0 shows all\n", opts->limit);
		return;
	}
	if (opts->limited)
		fprintf(out, "beyond -n %zu or ", opts->limit);
	fprintf(out, "below %g%%%s; %s--min 0 shows all\n", opts->min_percent,
		count == 1 ? "" : " each", opts->limited ? "-n 0 " : "");
}

void hl_put_more(FILE *out, uint64_t count, const char *one, const char *many,
	const struct hl_text_opts *opts)
{
	if (count > 0)
		fprintf(out, "  and %" PRIu64 " %s more; %s%s%s shows all\n", count,
			count == 1 ? one : many, opts->limited ? "-n 0" : "",
			opts->limited && opts->min_percent > 0 ? " " : "",
			opts->min_percent > 0 ? "--min 0" : "");
}

const char *hl_bar(unsigned eighths, bool unicode)
{
	static const char *const blocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	static const char *const plain[] = {" ", ".", ".", ":", ":", "+", "+", "#", "#"};

	return (unicode ? blocks : plain)[eighths > 8 ? 8 : eighths];
}

void hl_json_value(struct hl_json *j, const char *prefix, const struct hl_value *v)
{
	char key[64];

	snprintf(key, sizeof(key), "%s%sbytes", prefix, prefix[0] ? "_" : "");
	hl_json_key_u64(j, key, v->bytes);
	snprintf(key, sizeof(key), "%s%sblocks", prefix, prefix[0] ? "_" : "");
	hl_json_key_u64(j, key, v->blocks);
}

void hl_json_answer(struct hl_json *j, const struct hl_answer *a)
{
	hl_json_key_string(j, "quantity", hl_quantity_name(a->quantity));
	hl_json_key_u64(j, "from_ns", a->from_ns);
	hl_json_key_u64(j, "to_ns", a->to_ns);
	hl_json_value(j, "total", &a->total);
}

void hl_json_frame(struct hl_json *j, const struct hl_frame *f)
{
	hl_json_key_string(j, "function", f->function);
	hl_json_key_string(j, "file", f->file);
	hl_json_key_u64(j, "line", f->line);
	hl_json_key_string(j, "module", f->module);
}
