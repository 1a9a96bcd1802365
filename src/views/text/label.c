/*
 * label.c - what a row is about, cut to what the page has left for it; see text_internal.h.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "util/text.h"
#include "views/text/text_internal.h"

/* A name with less says nothing: rather the location loses its middle, too. */
#define NAME_LEAST 14
/* A location with less is left out. */
#define LOCATION_LEAST 8
/* How much of what two names have in common stands before their difference. */
#define CONTEXT 4

size_t hl_columns(const char *s, size_t len)
{
	size_t n = 0;
	uint32_t rune;

	for (size_t i = 0; i < len; n++)
		i += hl_rune_decode(s + i, len - i, &rune);
	return n;
}

static size_t columns(const struct hl_strbuf *b)
{
	return hl_columns(hl_strbuf_str(b), b->len);
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

static const char *gap_of(const struct hl_text_opts *opts)
{
	return opts->unicode ? "…" : "...";
}

static size_t gap_width(const struct hl_text_opts *opts)
{
	return opts->unicode ? 1 : 3;
}

static void replace(struct hl_strbuf *b, struct hl_strbuf *with)
{
	hl_strbuf_fini(b);
	*b = *with;
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
	replace(name, &shorter);
}

/* Leaves the first `head` characters, and of the others those of [from, from + n). */
static void keep(struct hl_strbuf *b, size_t head, size_t from, size_t n, const char *gap)
{
	const char *s = hl_strbuf_str(b);
	size_t begin = first_runes(s, b->len, from);
	size_t end = begin + first_runes(s + begin, b->len - begin, n);
	struct hl_strbuf cut = {0};

	hl_strbuf_printf(&cut, "%.*s%s%.*s%s", (int)first_runes(s, b->len, head), s,
		from > head ? gap : "", (int)(end - begin), s + begin, end < b->len ? gap : "");
	replace(b, &cut);
}

static void cut_middle(
	struct hl_strbuf *b, size_t room, size_t head, const struct hl_text_opts *opts)
{
	size_t n = columns(b), tail = room - gap_width(opts) - head;

	if (n > room)
		keep(b, head, n - tail, tail, gap_of(opts));
}

/* What begins at `differs` is what tells it from others. */
static void cut_around(
	struct hl_strbuf *b, size_t room, size_t differs, const struct hl_text_opts *opts)
{
	size_t n = columns(b), gap = gap_width(opts), head = room / 4, window = room - gap - head;
	size_t from = hl_columns(hl_strbuf_str(b), differs < b->len ? differs : b->len);

	if (n <= room)
		return;
	from = from > CONTEXT ? from - CONTEXT : 0;
	if (from <= head + gap)
		keep(b, 0, 0, room - gap, gap_of(opts));
	else if (n - from <= window)
		keep(b, head, n - window, window, gap_of(opts));
	else
		keep(b, head, from, window - gap, gap_of(opts));
}

/* Names of templates differ at their ends as often as at their beginnings: the middle goes. */
static void cut_name(
	struct hl_strbuf *name, size_t room, size_t differs, const struct hl_text_opts *opts)
{
	if (columns(name) <= room)
		return;
	if (differs > 0) {
		cut_around(name, room, differs, opts);
		return;
	}
	drop_arguments(name, gap_of(opts));
	cut_middle(name, room, (room - gap_width(opts)) * 2 / 3, opts);
}

/* The line's number stays. */
static void cut_location(struct hl_strbuf *location, size_t room, const struct hl_text_opts *opts)
{
	if (columns(location) <= room)
		return;
	if (room < LOCATION_LEAST)
		hl_strbuf_reset(location);
	else
		cut_middle(location, room, room / 3, opts);
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
	hl_text_escape(b, !l->frame ? l->text : l->full ? l->frame->function : l->frame->shown);
}

/* Both as they are shown, into empty buffers. */
static void make(const struct hl_label *l, const struct hl_text_opts *opts, struct hl_strbuf *name,
	struct hl_strbuf *location)
{
	size_t room, least;

	add_name(name, l);
	if (l->frame)
		add_location(location, l->frame);
	if (!opts->cut)
		return;
	room = opts->width > l->used + NAME_LEAST ? opts->width - l->used : NAME_LEAST;
	if (columns(name) + columns(location) <= room)
		return;
	least = l->differs && room * 2 / 3 > NAME_LEAST ? room * 2 / 3 : NAME_LEAST;
	if (room > columns(location) + least)
		least = room - columns(location);
	cut_name(name, least, l->differs, opts);
	cut_location(location, room - columns(name), opts);
}

void hl_put_label(FILE *out, const struct hl_label *l, const struct hl_text_opts *opts)
{
	struct hl_strbuf name = {0}, location = {0};

	make(l, opts, &name, &location);
	if (l->frame)
		fprintf(out, "%s%s%s%s%s%s", hl_style(opts, HL_STYLE_BOLD), hl_strbuf_str(&name),
			hl_style(opts, HL_STYLE_PLAIN),
			hl_style(opts, l->frame->file ? HL_STYLE_CYAN : HL_STYLE_DIM),
			hl_strbuf_str(&location), hl_style(opts, HL_STYLE_PLAIN));
	else
		fputs(hl_strbuf_str(&name), out);
	hl_strbuf_fini(&name);
	hl_strbuf_fini(&location);
}

/* --- rows that look the same --- */

struct look {
	struct hl_strbuf shown, name;
	struct hl_label *label;
};

static int by_look(const void *pa, const void *pb)
{
	const struct look *a = pa, *b = pb;
	int order = strcmp(hl_strbuf_str(&a->shown), hl_strbuf_str(&b->shown));

	return order ? order : strcmp(hl_strbuf_str(&a->name), hl_strbuf_str(&b->name));
}

/* How long the beginning is that two names have in common; 0 if they are the same. */
static size_t in_common(const char *a, const char *b)
{
	size_t n = 0;

	while (a[n] && a[n] == b[n])
		n++;
	while (n > 0 && ((unsigned char)a[n] & 0xc0) == 0x80)
		n--;
	return a[n] == b[n] ? 0 : n;
}

/* The nearest names are neighbours: where they differ is where the others are told, too. */
static void tell(struct look *a, struct look *b)
{
	size_t n;

	if (strcmp(hl_strbuf_str(&a->shown), hl_strbuf_str(&b->shown)) != 0)
		return;
	n = in_common(hl_strbuf_str(&a->name), hl_strbuf_str(&b->name));
	if (n > a->label->differs)
		a->label->differs = n;
	if (n > b->label->differs)
		b->label->differs = n;
}

void hl_tell_apart(struct hl_label *labels, size_t n, const struct hl_text_opts *opts)
{
	struct look *looks = opts->cut && n > 1 ? calloc(n, sizeof(*looks)) : NULL;

	for (size_t i = 0; looks && i < n; i++) {
		struct hl_strbuf location = {0};

		looks[i].label = &labels[i];
		add_name(&looks[i].name, &labels[i]);
		make(&labels[i], opts, &looks[i].shown, &location);
		hl_strbuf_puts(&looks[i].shown, hl_strbuf_str(&location));
		hl_strbuf_fini(&location);
	}
	if (looks)
		qsort(looks, n, sizeof(*looks), by_look);
	for (size_t i = 1; looks && i < n; i++)
		tell(&looks[i - 1], &looks[i]);
	for (size_t i = 0; looks && i < n; i++) {
		hl_strbuf_fini(&looks[i].shown);
		hl_strbuf_fini(&looks[i].name);
	}
	free(looks);
}
