/* SPDX-License-Identifier: Apache-2.0 */
/*
 * label_text.c - the label of a row, shortened to the rest of the line; see text_internal.h.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "util/code_name/code_name.h"
#include "util/safe_text.h"
#include "views/text/text_internal.h"

/* A name has at least this room, even if the row is then longer than the line. */
#define NAME_MIN 14
/* The same for a text that is not a function. */
#define TEXT_MIN 8
/* A shorter location is omitted. */
#define LOCATION_MIN 8
/* A file and a line are cut to this before they are omitted: "  ma…c:123". */
#define LOCATION_CUT 10

size_t hl_display_columns(const char *s, size_t len)
{
	return hl_code_name_columns(s, len);
}

static size_t strbuf_columns(const struct hl_strbuf *b)
{
	return hl_display_columns(hl_strbuf_str(b), b->len);
}

static const char *ellipsis(const struct hl_text_opts *opts)
{
	return opts->unicode ? "…" : "...";
}

static void replace_strbuf(struct hl_strbuf *b, struct hl_strbuf *with)
{
	hl_strbuf_fini(b);
	*b = *with;
}

/* The line number is at the end and is kept. Without room for more there is no location. */
static void cut_location(struct hl_strbuf *location, size_t room, const struct hl_text_opts *opts)
{
	struct hl_strbuf cut = {0};

	if (strbuf_columns(location) <= room)
		return;
	if (room >= LOCATION_MIN)
		hl_code_name_cut(
			&cut, hl_strbuf_str(location), location->len, room, 1, ellipsis(opts));
	replace_strbuf(location, &cut);
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

static bool is_code(const struct hl_label *l)
{
	return l->frame ? !l->frame->group : l->function;
}

/* Shortens a name to the room. Returns what is left of it. */
static enum hl_code_name_kept cut_name(const struct hl_label *l, struct hl_strbuf *name,
	size_t room, const struct hl_text_opts *opts)
{
	enum hl_code_name_kept kept = HL_CODE_NAME_CUT;
	struct hl_strbuf cut = {0};

	if (l->difference_at > 0 && l->difference_at != HL_LABEL_SAME_NAME)
		hl_code_name_fit_difference(
			&cut, hl_strbuf_str(name), room, l->difference_at, ellipsis(opts));
	else if (is_code(l))
		kept = hl_code_name_fit(&cut, hl_strbuf_str(name), room, ellipsis(opts));
	else
		hl_code_name_cut(&cut, hl_strbuf_str(name), name->len, room, 2, ellipsis(opts));
	replace_strbuf(name, &cut);
	return kept;
}

/* How many columns a name gets at least beside a location. */
static size_t name_room_beside(const struct hl_label *l, size_t room, size_t location)
{
	size_t least = room < NAME_MIN ? room : NAME_MIN;

	if (l->difference_at == HL_LABEL_SAME_NAME)
		location = location < room / 2 ? location : room / 2;
	else if (l->difference_at > 0 && room * 2 / 3 > NAME_MIN)
		least = room * 2 / 3;
	return room > location + least ? room - location : least;
}

/*
 * Divides the room. A file and a line stay, at last cut, as long as the function's own name fits
 * beside them. A module is worth less: it stays as long as there is room for the class too.
 */
static void fit_parts(const struct hl_label *l, const struct hl_text_opts *opts, size_t room,
	struct hl_strbuf *name, struct hl_strbuf *location)
{
	bool file = l->frame && l->frame->file;
	enum hl_code_name_kept needed = file ? HL_CODE_NAME_FUNCTION : HL_CODE_NAME_CLASS,
			       kept = HL_CODE_NAME_CUT;
	size_t beside = name_room_beside(l, room, strbuf_columns(location)),
	       short_location = file && room > LOCATION_CUT ? room - LOCATION_CUT : beside;
	const size_t rooms[] = {beside, short_location, room};
	size_t n = is_code(l) && l->difference_at == 0 ? HL_ARRAY_LEN(rooms) : 1;
	size_t left;
	struct hl_strbuf whole = {0};

	hl_strbuf_puts(&whole, hl_strbuf_str(name));
	for (size_t i = 0; i < n && kept < needed; i++) {
		hl_strbuf_reset(name);
		hl_strbuf_puts(name, hl_strbuf_str(&whole));
		kept = cut_name(l, name, rooms[i], opts);
	}
	hl_strbuf_fini(&whole);
	left = room - strbuf_columns(name);
	/* A part of the module is worth nothing beside a part of the name. */
	if (!file && n > 1 && kept != HL_CODE_NAME_WHOLE && strbuf_columns(location) > left)
		left = 0;
	cut_location(location, left, opts);
}

/* Makes name and location as they are shown, in empty buffers. */
static void make_parts(const struct hl_label *l, const struct hl_text_opts *opts,
	struct hl_strbuf *name, struct hl_strbuf *location)
{
	size_t least = l->frame ? NAME_MIN : TEXT_MIN, room;

	add_name(name, l);
	if (l->frame)
		add_location(location, l->frame);
	if (!opts->shorten)
		return;
	room = opts->width > l->reserved_columns + least ? opts->width - l->reserved_columns
							 : least;
	if (strbuf_columns(name) + strbuf_columns(location) > room)
		fit_parts(l, opts, room, name, location);
}

void hl_put_label(FILE *out, const struct hl_label *l, const struct hl_text_opts *opts)
{
	struct hl_strbuf name = {0}, location = {0};

	make_parts(l, opts, &name, &location);
	if (l->frame)
		hl_note_shown_frame(l->frame, opts);
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

/* The place where two names differ, as `difference_at`; HL_LABEL_SAME_NAME if they do not. */
static size_t find_difference(const char *a, const char *b)
{
	size_t n = 0;

	while (a[n] && a[n] == b[n])
		n++;
	if (a[n] == b[n])
		return HL_LABEL_SAME_NAME;
	while (n > 0 && ((unsigned char)a[n] & 0xc0) == 0x80)
		n--;
	return n > 0 ? n : 1;
}

/* The last difference counts, and one in the name more than one in the location. */
static void set_difference_at(struct hl_label *l, size_t n)
{
	if (n == HL_LABEL_SAME_NAME
			? l->difference_at == 0
			: l->difference_at == HL_LABEL_SAME_NAME || n > l->difference_at)
		l->difference_at = n;
}

/* Sets `difference_at` of two neighbors in the sorted order. Neighbors are the most similar names,
 * so the place where they differ distinguishes them from all others too. */
static void set_difference(struct label_text *a, struct label_text *b)
{
	size_t n;

	if (strcmp(hl_strbuf_str(&a->shown), hl_strbuf_str(&b->shown)) != 0)
		return;
	n = find_difference(hl_strbuf_str(&a->name), hl_strbuf_str(&b->name));
	set_difference_at(a->label, n);
	set_difference_at(b->label, n);
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
