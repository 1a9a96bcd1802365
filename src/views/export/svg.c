/* SPDX-License-Identifier: Apache-2.0 */
/*
 * svg.c - a flame graph as one self-contained file: a picture for every viewer, which can be
 * searched and zoomed in a browser.
 *
 * The outermost frame is at the top. Each frame is a group with its position and width in units of
 * the cost (data-x, data-w), from which the script computes pixels for the width of the window. The
 * picture without a script is WIDTH pixels wide. Frames narrower than a pixel are not drawn, and
 * add nothing to the height; zooming in shows those that are wide enough to be in the file. The
 * width of a caller includes those that are not.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/attr.h"
#include "util/code_name/code_name.h"
#include "util/safe_text.h"
#include "views/export/export_internal.h"

#define WIDTH             1200
#define ROW               17
#define TOP               70
#define BOTTOM            10
#define MIN_WIDTH_DIVISOR 20000 /* as a divisor of the total */
#define DEPTH_MAX         1000
#define LETTER_WIDTH      7.4 /* in pixels, approximately */
#define TEXT_MARGIN       3
#define TEXT_MIN          3 /* characters */
#define FORM_STEP         4 /* a form that is shorter by less is not worth its bytes */

#include "views/export/svg_script.inc"
#include "views/export/svg_style.inc"

struct writer {
	struct hl_export_job *x;
	struct hl_tree t;
	uint64_t total;
	uint32_t rows;      /* that have frames of at least a pixel */
	struct hl_strbuf b; /* output buffer */
};

/* The colours of page/page.css: of viewers without style sheets, and the names of the classes. */
static const struct kind_color {
	const char *class, *legend;
	unsigned hue, hues, saturation, lightness; /* hues 0: grey */
} kind_colors[] = {
	[HL_EXPORT_FRAME_OWN] = {"own", "the program", 14, 32, 82, 76},
	[HL_EXPORT_FRAME_LIBRARY] = {"library", "libraries", 198, 26, 48, 78},
	[HL_EXPORT_FRAME_RUNTIME] = {"runtime", "runtime libraries", 146, 26, 48, 78},
	[HL_EXPORT_FRAME_CALLED] = {"called", "allocation function", 0, 0, 0, 0},
	[HL_EXPORT_FRAME_UNKNOWN] = {"called", NULL, 0, 0, 0, 0},
	[HL_EXPORT_FRAME_GROUP] = {"called", NULL, 0, 0, 0, 0},
};

/* --- colours --- */

/* A number from 0 to 999. A function has the same colour in every picture and page. */
static unsigned name_variation(const char *name)
{
	uint32_t h = 7;

	for (const char *c = name; *c; c++)
		h = h * 31 + (unsigned char)*c;
	return h % 1000;
}

/* One channel of a colour in HSL: 0 red, 8 green, 4 blue. */
static unsigned color_channel(const struct kind_color *k, double hue, unsigned channel)
{
	double position = hue / 30 + channel, light = k->lightness / 100.0, least,
	       reach = k->saturation / 100.0 * (light < 0.5 ? light : 1 - light);

	while (position >= 12)
		position -= 12;
	least = position - 3 < 9 - position ? position - 3 : 9 - position;
	least = least > 1 ? 1 : least < -1 ? -1 : least;
	return (unsigned)((light - reach * least) * 255 + 0.5);
}

static void put_fill(struct hl_strbuf *b, const struct kind_color *k, unsigned variation)
{
	double hue = k->hue + k->hues * variation / 1000.0;

	if (k->hues == 0)
		hl_strbuf_puts(b, " fill=\"#d5dae1\"");
	else
		hl_strbuf_printf(b, " fill=\"#%02x%02x%02x\"", color_channel(k, hue, 0),
			color_channel(k, hue, 8), color_channel(k, hue, 4));
}

/* --- names --- */

static void put_cost(struct writer *w, const struct hl_value *v)
{
	char bytes[HL_TEXT_SIZE_MAX], blocks[HL_TEXT_SIZE_MAX];

	hl_strbuf_printf(&w->b, "%s in %s block%s", hl_text_bytes(bytes, v->bytes),
		hl_text_count(blocks, v->blocks), v->blocks == 1 ? "" : "s");
}

static size_t text_room(double width)
{
	double room = (width - 2 * TEXT_MARGIN) / LETTER_WIDTH;

	return room < TEXT_MIN ? 0 : (size_t)room;
}

static bool has_code_name(const struct hl_frame *f)
{
	return f && !f->group && hl_export_is_named(f);
}

/* As much of the name as fits. */
static void put_text(struct hl_strbuf *b, const struct hl_frame *f, const char *name, double width)
{
	size_t room = text_room(width);
	struct hl_strbuf fitted = {0};

	if (room == 0)
		return;
	if (has_code_name(f))
		hl_code_name_fit(&fitted, name, room, "…");
	else
		hl_code_name_cut(&fitted, name, strlen(name), room, 2, "…");
	hl_export_xml(b, hl_strbuf_str(&fitted));
	hl_strbuf_fini(&fitted);
}

/* The shorter forms of the name, one per line, from which the script chooses for other widths. The
 * last one is always there. */
static void put_forms(struct hl_strbuf *b, const char *name)
{
	size_t last = hl_code_name_columns(name, strlen(name)), n_put = 0;
	struct hl_strbuf form = {0}, next = {0};
	enum hl_code_name_kept kept;
	bool more = hl_code_name_form(&form, name, 1, "…", &kept);

	for (unsigned n = 2; more; n++) {
		size_t columns = hl_code_name_columns(hl_strbuf_str(&form), form.len);

		more = hl_code_name_form(&next, name, n, "…", &kept);
		if (columns + (more ? FORM_STEP : 1) <= last) {
			hl_strbuf_puts(b, n_put++ == 0 ? " data-s=\"" : "&#10;");
			hl_export_xml(b, hl_strbuf_str(&form));
			last = columns;
		}
		hl_strbuf_reset(&form);
		hl_strbuf_puts(&form, hl_strbuf_str(&next));
		hl_strbuf_reset(&next);
	}
	hl_strbuf_puts(b, n_put > 0 ? "\"" : "");
	hl_strbuf_fini(&form);
	hl_strbuf_fini(&next);
}

/* --- frames --- */

static void put_tooltip(
	struct writer *w, const struct hl_frame *f, const char *name, const struct hl_value *v)
{
	struct hl_strbuf *b = &w->b;
	uint64_t cost = hl_export_cost(w->x, v);

	hl_strbuf_puts(b, "<title>");
	hl_export_xml(b, name);
	hl_strbuf_puts(b, "\n");
	put_cost(w, v);
	hl_strbuf_printf(b, ", %.2f%%", w->total ? (double)cost * 100 / (double)w->total : 0);
	if (f && f->file) {
		hl_strbuf_puts(b, "\n");
		hl_export_xml(b, f->file);
		if (f->line)
			hl_strbuf_printf(b, ":%" PRIu32, f->line);
	}
	if (f && f->module) {
		hl_strbuf_puts(b, "\n");
		hl_export_xml(b, f->module);
	}
	hl_strbuf_puts(b, "</title>");
}

static double pixels(const struct writer *w, uint64_t cost)
{
	return w->total ? (double)cost * WIDTH / (double)w->total : 0;
}

static void put_box(struct writer *w, const struct kind_color *k, const char *name, double x,
	double width, uint32_t depth)
{
	hl_strbuf_printf(&w->b, "<rect x=\"%.3f\" y=\"%u\" width=\"%.3f\" height=\"%d\" rx=\"1\"",
		x, TOP + depth * ROW, width, ROW - 1);
	put_fill(&w->b, k, name_variation(name));
	hl_strbuf_printf(&w->b, "/><text x=\"%.3f\" y=\"%u\">", x + TEXT_MARGIN,
		TOP + depth * ROW + ROW - 5);
}

static void put_frame(struct writer *w, uint32_t node, uint64_t from, uint32_t depth)
{
	const struct hl_tree_node *n = &w->t.nodes[node];
	const struct hl_frame *f = node ? hl_model_frame(w->x->m, n->frame) : NULL;
	const struct kind_color *k =
		&kind_colors[f ? hl_export_frame_kind(w->x, f) : HL_EXPORT_FRAME_GROUP];
	uint64_t cost = hl_export_cost(w->x, &n->total);
	double width = node ? pixels(w, cost) : WIDTH;
	struct hl_strbuf name = {0}, *b = &w->b;

	if (f)
		hl_export_name(&name, f);
	else
		hl_strbuf_puts(&name, "all");
	hl_strbuf_reset(b);
	hl_strbuf_printf(b, "<g class=\"f %s\"", k->class);
	if (k->hues)
		hl_strbuf_printf(
			b, " style=\"--v:%.3f\"", name_variation(hl_strbuf_str(&name)) / 1000.0);
	hl_strbuf_printf(b,
		" data-x=\"%" PRIu64 "\" data-w=\"%" PRIu64 "\" data-d=\"%" PRIu32 "\" data-n=\"",
		from, cost, depth);
	hl_export_xml(b, hl_strbuf_str(&name));
	hl_strbuf_puts(b, "\"");
	if (has_code_name(f))
		put_forms(b, hl_strbuf_str(&name));
	hl_strbuf_puts(b, width < 1 ? " display=\"none\">" : ">");
	put_tooltip(w, f, hl_strbuf_str(&name), &n->total);
	put_box(w, k, hl_strbuf_str(&name), pixels(w, from), width, depth);
	put_text(b, f, hl_strbuf_str(&name), width);
	hl_strbuf_puts(b, "</text></g>\n");
	fputs(hl_strbuf_str(b), w->x->out);
	hl_strbuf_fini(&name);
}

static bool is_shown(const struct writer *w, uint32_t node, uint32_t depth)
{
	uint64_t cost = hl_export_cost(w->x, &w->t.nodes[node].total);

	return cost > 0 && cost >= w->total / MIN_WIDTH_DIVISOR && depth < DEPTH_MAX;
}

/* Visits all frames that are shown. Draws them, or only finds the number of rows. */
static int walk_frames(struct writer *w, bool draw)
{
	struct level {
		uint32_t node, next;
		uint64_t from; /* position of its next child */
	};
	HL_VEC(struct level) path = {0};
	int err = hl_vec_push(&path, ((struct level){0}));

	if (draw)
		put_frame(w, 0, 0, 0);
	while (path.len > 0 && !err) {
		struct level *l = &path.data[path.len - 1];
		const struct hl_tree_node *n = &w->t.nodes[l->node];
		uint32_t child, depth = (uint32_t)path.len;
		uint64_t from = l->from;

		if (l->next == n->n_children) {
			path.len--;
			continue;
		}
		child = w->t.children[n->first_child + l->next++];
		l->from += hl_export_cost(w->x, &w->t.nodes[child].total);
		if (!is_shown(w, child, depth))
			continue;
		if (depth + 1 > w->rows &&
			pixels(w, hl_export_cost(w->x, &w->t.nodes[child].total)) >= 1)
			w->rows = depth + 1;
		if (draw)
			put_frame(w, child, from, depth);
		err = hl_vec_push(&path, ((struct level){.node = child, .from = from}));
	}
	hl_vec_free(&path);
	return err;
}

/* Folded stacks end at their sites, without allocation functions. */
static void put_legend(struct hl_strbuf *b, bool full_stacks)
{
	static const enum hl_export_frame_kind kinds[] = {HL_EXPORT_FRAME_OWN,
		HL_EXPORT_FRAME_LIBRARY, HL_EXPORT_FRAME_RUNTIME, HL_EXPORT_FRAME_CALLED};
	double x = TEXT_MARGIN;

	hl_strbuf_puts(b, "<g id=\"legend\" font-size=\"11\" fill=\"#5c6875\">\n");
	for (size_t i = 0; i < HL_ARRAY_LEN(kinds) - !full_stacks; i++) {
		const struct kind_color *k = &kind_colors[kinds[i]];

		hl_strbuf_printf(b,
			"<g class=\"%s\" style=\"--v:.5\"><rect x=\"%.0f\" y=\"33\" width=\"10\" "
			"height=\"10\" rx=\"2\"",
			k->class, x);
		put_fill(b, k, 500);
		hl_strbuf_printf(
			b, "/><text x=\"%.0f\" y=\"42\">%s</text></g>\n", x + 15, k->legend);
		x += 30 + 6.8 * (double)strlen(k->legend);
	}
	hl_strbuf_puts(b, "</g>\n");
}

static void put_header(struct writer *w, const struct hl_answer *a)
{
	unsigned height = TOP + w->rows * ROW + BOTTOM;
	struct hl_strbuf *b = &w->b;

	hl_strbuf_reset(b);
	hl_strbuf_printf(b,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" width=\"%d\" "
		"height=\"%u\" viewBox=\"0 0 %d %u\" font-family=\"monospace\" font-size=\"12\" "
		"fill=\"#1c2530\" data-total=\"%" PRIu64
		"\" data-cost=\"%s\">\n<style>\n%s</style>\n"
		"<rect id=\"card\" width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n<text "
		"id=\"title\" "
		"x=\"%d\" y=\"21\" font-family=\"sans-serif\" font-size=\"15\" "
		"font-weight=\"bold\">",
		WIDTH, height, WIDTH, height, w->total, w->x->by_blocks ? "blocks" : "bytes",
		svg_style, TEXT_MARGIN);
	hl_export_xml(b, hl_export_basename(hl_model_info(w->x->m)->meta.program));
	hl_strbuf_puts(b, ": ");
	hl_export_xml(b, w->x->title);
	hl_strbuf_puts(b, ", ");
	put_cost(w, &a->total);
	hl_strbuf_puts(b, "</text>\n");
	put_legend(b, w->x->full_stacks);
	hl_strbuf_printf(b,
		"<text id=\"reset\" class=\"button\" x=\"%d\" y=\"61\" visibility=\"hidden\">show "
		"all</text>\n<text id=\"found\" x=\"%d\" y=\"61\" text-anchor=\"end\"></text>\n"
		"<text id=\"search\" class=\"button\" x=\"%d\" y=\"61\" text-anchor=\"end\" "
		"visibility=\"hidden\">search</text>\n<g id=\"frames\">\n",
		TEXT_MARGIN, WIDTH - 60, WIDTH - TEXT_MARGIN);
	fputs(hl_strbuf_str(b), w->x->out);
}

int hl_export_svg(struct hl_export_job *x)
{
	struct writer w = {.x = x, .rows = 1};
	struct hl_answer a;
	int err = hl_export_folded_tree(x, &a, &w.t);

	w.total = hl_export_cost(x, &a.total);
	if (!err)
		err = walk_frames(&w, false);
	if (!err) {
		put_header(&w, &a);
		err = walk_frames(&w, true);
		fprintf(x->out, "</g>\n<script><![CDATA[\n%s]]></script>\n</svg>\n", svg_script);
	}
	hl_strbuf_fini(&w.b);
	hl_tree_fini(&w.t);
	hl_answer_fini(&a);
	return err;
}
