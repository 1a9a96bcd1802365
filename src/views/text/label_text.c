/* SPDX-License-Identifier: Apache-2.0 */
/*
 * label_text.c - the label of a row, shortened to the rest of the line; see text_internal.h.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "util/safe_text.h"
#include "views/text/text_internal.h"

/* A shorter name says nothing: the location is shortened instead. */
#define NAME_MIN 14
/* A shorter location is omitted. */
#define LOCATION_MIN 8
/* How many characters of the common prefix are shown before the difference. */
#define CONTEXT_CHARS 4

size_t hl_display_columns(const char *s, size_t len)
{
	size_t n = 0;
	uint32_t rune;

	for (size_t i = 0; i < len; n++)
		i += hl_rune_decode(s + i, len - i, &rune);
	return n;
}

static size_t strbuf_columns(const struct hl_strbuf *b)
{
	return hl_display_columns(hl_strbuf_str(b), b->len);
}

/* The length in bytes of the first n characters. */
static size_t prefix_bytes(const char *s, size_t len, size_t n)
{
	size_t i = 0;
	uint32_t rune;

	for (; n > 0 && i < len; n--)
		i += hl_rune_decode(s + i, len - i, &rune);
	return i;
}

static const char *ellipsis(const struct hl_text_opts *opts)
{
	return opts->unicode ? "…" : "...";
}

static size_t ellipsis_width(const struct hl_text_opts *opts)
{
	return opts->unicode ? 1 : 3;
}

static void replace_strbuf(struct hl_strbuf *b, struct hl_strbuf *with)
{
	hl_strbuf_fini(b);
	*b = *with;
}

/* Arguments of a C++ function are the least important part: "f(int, char) const" becomes "f(…)
 * const". */
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
	replace_strbuf(name, &shorter);
}

/* Keeps the first `head` characters and the n characters from `from` on. */
static void keep_parts(struct hl_strbuf *b, size_t head, size_t from, size_t n, const char *gap)
{
	const char *s = hl_strbuf_str(b);
	size_t begin = prefix_bytes(s, b->len, from);
	size_t end = begin + prefix_bytes(s + begin, b->len - begin, n);
	struct hl_strbuf cut = {0};

	hl_strbuf_printf(&cut, "%.*s%s%.*s%s", (int)prefix_bytes(s, b->len, head), s,
		from > head ? gap : "", (int)(end - begin), s + begin, end < b->len ? gap : "");
	replace_strbuf(b, &cut);
}

static void remove_middle(
	struct hl_strbuf *b, size_t room, size_t head, const struct hl_text_opts *opts)
{
	size_t n = strbuf_columns(b), tail = room - ellipsis_width(opts) - head;

	if (n > room)
		keep_parts(b, head, n - tail, tail, ellipsis(opts));
}

/* Shortens a name so that the part at `differs`, which distinguishes it from others, is kept. */
static void cut_around(
	struct hl_strbuf *b, size_t room, size_t differs, const struct hl_text_opts *opts)
{
	size_t n = strbuf_columns(b), gap = ellipsis_width(opts), head = room / 4,
	       window = room - gap - head;
	size_t from = hl_display_columns(hl_strbuf_str(b), differs < b->len ? differs : b->len);

	if (n <= room)
		return;
	from = from > CONTEXT_CHARS ? from - CONTEXT_CHARS : 0;
	if (from <= head + gap)
		keep_parts(b, 0, 0, room - gap, ellipsis(opts));
	else if (n - from <= window)
		keep_parts(b, head, n - window, window, ellipsis(opts));
	else
		keep_parts(b, head, from, window - gap, ellipsis(opts));
}

/* Names of templates differ at their ends as often as at their beginnings, so the middle is
 * removed. */
static void cut_name(
	struct hl_strbuf *name, size_t room, size_t differs, const struct hl_text_opts *opts)
{
	if (strbuf_columns(name) <= room)
		return;
	if (differs > 0) {
		cut_around(name, room, differs, opts);
		return;
	}
	drop_arguments(name, ellipsis(opts));
	remove_middle(name, room, (room - ellipsis_width(opts)) * 2 / 3, opts);
}

/* The line number is kept. */
static void cut_location(struct hl_strbuf *location, size_t room, const struct hl_text_opts *opts)
{
	if (strbuf_columns(location) <= room)
		return;
	if (room < LOCATION_MIN)
		hl_strbuf_reset(location);
	else
		remove_middle(location, room, room / 3, opts);
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

static void add_name(struct hl_strbuf *b, const struct hl_label *l)
{
	hl_text_escape(b, !l->frame      ? l->text
			  : l->full_name ? l->frame->function
					 : l->frame->display_name);
}

/* Makes name and location as they are shown, in empty buffers. */
static void make_parts(const struct hl_label *l, const struct hl_text_opts *opts,
	struct hl_strbuf *name, struct hl_strbuf *location)
{
	size_t room, name_room;

	add_name(name, l);
	if (l->frame)
		add_location(location, l->frame);
	if (!opts->shorten)
		return;
	room = opts->width > l->reserved_columns + NAME_MIN ? opts->width - l->reserved_columns
							    : NAME_MIN;
	if (strbuf_columns(name) + strbuf_columns(location) <= room)
		return;
	name_room = l->difference_at && room * 2 / 3 > NAME_MIN ? room * 2 / 3 : NAME_MIN;
	if (room > strbuf_columns(location) + name_room)
		name_room = room - strbuf_columns(location);
	cut_name(name, name_room, l->difference_at, opts);
	cut_location(location, room - strbuf_columns(name), opts);
}

void hl_put_label(FILE *out, const struct hl_label *l, const struct hl_text_opts *opts)
{
	struct hl_strbuf name = {0}, location = {0};

	make_parts(l, opts, &name, &location);
	if (l->frame)
		fprintf(out, "%s%s%s%s%s%s", hl_text_style(opts, HL_STYLE_BOLD),
			hl_strbuf_str(&name), hl_text_style(opts, HL_STYLE_PLAIN),
			hl_text_style(opts, l->frame->file ? HL_STYLE_CYAN : HL_STYLE_DIM),
			hl_strbuf_str(&location), hl_text_style(opts, HL_STYLE_PLAIN));
	else
		fputs(hl_strbuf_str(&name), out);
	hl_strbuf_fini(&name);
	hl_strbuf_fini(&location);
}

/* --- labels that look the same --- */

struct label_text {
	struct hl_strbuf shown, name;
	struct hl_label *label;
};

static int compare_label_texts(const void *pa, const void *pb)
{
	const struct label_text *a = pa, *b = pb;
	int order = strcmp(hl_strbuf_str(&a->shown), hl_strbuf_str(&b->shown));

	return order ? order : strcmp(hl_strbuf_str(&a->name), hl_strbuf_str(&b->name));
}

/* The length of the common prefix of two names; 0 if they are equal. */
static size_t common_prefix(const char *a, const char *b)
{
	size_t n = 0;

	while (a[n] && a[n] == b[n])
		n++;
	while (n > 0 && ((unsigned char)a[n] & 0xc0) == 0x80)
		n--;
	return a[n] == b[n] ? 0 : n;
}

/* Sets `difference_at` of two neighbors in the sorted order. Neighbors are the most similar names,
 * so the place where they differ distinguishes them from all others too. */
static void set_difference(struct label_text *a, struct label_text *b)
{
	size_t n;

	if (strcmp(hl_strbuf_str(&a->shown), hl_strbuf_str(&b->shown)) != 0)
		return;
	n = common_prefix(hl_strbuf_str(&a->name), hl_strbuf_str(&b->name));
	if (n > a->label->difference_at)
		a->label->difference_at = n;
	if (n > b->label->difference_at)
		b->label->difference_at = n;
}

void hl_disambiguate(struct hl_label *labels, size_t n, const struct hl_text_opts *opts)
{
	struct label_text *texts = opts->shorten && n > 1 ? calloc(n, sizeof(*texts)) : NULL;

	for (size_t i = 0; texts && i < n; i++) {
		struct hl_strbuf location = {0};

		texts[i].label = &labels[i];
		add_name(&texts[i].name, &labels[i]);
		make_parts(&labels[i], opts, &texts[i].shown, &location);
		hl_strbuf_puts(&texts[i].shown, hl_strbuf_str(&location));
		hl_strbuf_fini(&location);
	}
	if (texts)
		qsort(texts, n, sizeof(*texts), compare_label_texts);
	for (size_t i = 1; texts && i < n; i++)
		set_difference(&texts[i - 1], &texts[i]);
	for (size_t i = 0; texts && i < n; i++) {
		hl_strbuf_fini(&texts[i].shown);
		hl_strbuf_fini(&texts[i].name);
	}
	free(texts);
}
