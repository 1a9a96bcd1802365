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
 *
 * Widths depend on the sum of all processes, so frames are collected before they are drawn, callers
 * before their callees. The outermost frame of each of several processes is the process.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/attr.h"
#include "model/stack/frame_owner.h"
#include "model/stack/stack_rules.h"
#include "util/code_name/code_name.h"
#include "util/safe_text.h"
#include "util/string_table.h"
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

/* A frame of the picture. Its strings are in the table of the writer. */
struct drawn_frame {
	const char *name, *file, *module; /* file and module: NULL: none */
	struct hl_value value;
	uint64_t from; /* its position */
	uint32_t depth, line;
	enum hl_frame_owner kind;
	bool is_code;
};

struct writer {
	/* Of the file. */
	struct hl_value all;
	uint64_t total; /* the cost of all */
	uint32_t rows;  /* that have frames of at least a pixel */
	HL_VEC(struct drawn_frame) frames;
	struct hl_string_table strings;
	struct hl_strbuf b;        /* output buffer */
	struct hl_strbuf wrappers; /* that were seen through, a line for each process */
	/* Of a process. */
	struct hl_export_job *x;
	struct hl_tree t;
	size_t n_processes;
};

/* The colours of page/page.css: of viewers without style sheets, and the names of the classes. */
static const struct kind_color {
	const char *class, *legend;
	unsigned hue, hues, saturation, lightness; /* hues 0: grey */
} kind_colors[] = {
	[HL_OWNER_PROGRAM] = {"own", "the program", 14, 32, 82, 76},
	[HL_OWNER_LIBRARY] = {"library", "libraries", 198, 26, 48, 78},
	[HL_OWNER_RUNTIME] = {"runtime", "runtime libraries", 146, 26, 48, 78},
	[HL_OWNER_CALLED] = {"called", "allocation function", 0, 0, 0, 0},
	[HL_OWNER_UNKNOWN] = {"called", NULL, 0, 0, 0, 0},
	[HL_OWNER_GROUP] = {"called", NULL, 0, 0, 0, 0},
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
	return !f->group && hl_export_is_named(f);
}

/* As much of the name as fits. */
static void put_text(struct hl_strbuf *b, const struct drawn_frame *f, double width)
{
	const char *name = f->name;
	size_t room = text_room(width);
	struct hl_strbuf fitted = {0};

	if (room == 0)
		return;
	if (f->is_code)
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

static void put_tooltip(struct writer *w, const struct drawn_frame *f)
{
	uint64_t cost = hl_export_cost(w->x, &f->value);
	struct hl_strbuf *b = &w->b;

	hl_strbuf_puts(b, "<title>");
	hl_export_xml(b, f->name);
	hl_strbuf_puts(b, "\n");
	put_cost(w, &f->value);
	hl_strbuf_printf(b, ", %.1f%%", w->total ? (double)cost * 100 / (double)w->total : 0);
	if (f->file) {
		hl_strbuf_puts(b, "\n");
		hl_export_xml(b, f->file);
		if (f->line)
			hl_strbuf_printf(b, ":%" PRIu32, f->line);
	}
	if (f->module) {
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

static void put_frame(struct writer *w, const struct drawn_frame *f)
{
	const struct kind_color *k = &kind_colors[f->kind];
	uint64_t cost = hl_export_cost(w->x, &f->value);
	double width = f->depth ? pixels(w, cost) : WIDTH;
	struct hl_strbuf *b = &w->b;

	hl_strbuf_reset(b);
	hl_strbuf_printf(b, "<g class=\"f %s\"", k->class);
	if (k->hues)
		hl_strbuf_printf(b, " style=\"--v:%.3f\"", name_variation(f->name) / 1000.0);
	hl_strbuf_printf(b,
		" data-x=\"%" PRIu64 "\" data-w=\"%" PRIu64 "\" data-d=\"%" PRIu32 "\" data-n=\"",
		f->from, cost, f->depth);
	hl_export_xml(b, f->name);
	hl_strbuf_puts(b, "\"");
	if (f->is_code)
		put_forms(b, f->name);
	hl_strbuf_puts(b, width < 1 ? " display=\"none\">" : ">");
	put_tooltip(w, f);
	put_box(w, k, f->name, pixels(w, f->from), width, f->depth);
	put_text(b, f, width);
	hl_strbuf_puts(b, "</text></g>\n");
	fputs(hl_strbuf_str(b), w->x->out);
}

/* --- collecting --- */

static int keep_string(struct writer *w, const char *s, const char **kept)
{
	uint32_t id;
	int err = s ? hl_string_table_add(&w->strings, s, &id) : 0;

	*kept = s && !err ? hl_string_table_get(&w->strings, id) : NULL;
	return err;
}

static int add_frame(struct writer *w, uint32_t node, uint64_t from, uint32_t depth)
{
	const struct hl_tree_node *n = &w->t.nodes[node];
	const struct hl_frame *f = hl_model_frame(w->x->m, n->frame);
	struct drawn_frame d = {.value = n->total,
		.from = from,
		.depth = depth,
		.line = f->line,
		.kind = hl_model_frame_owner(w->x->m, f),
		.is_code = has_code_name(f)};
	struct hl_strbuf name = {0};
	int err;

	hl_export_name(&name, f);
	err = keep_string(w, hl_strbuf_str(&name), &d.name);
	if (!err)
		err = keep_string(w, f->file, &d.file);
	if (!err)
		err = keep_string(w, f->module, &d.module);
	hl_strbuf_fini(&name);
	return err ? err : hl_vec_push(&w->frames, d);
}

/* The frame that is not code: all, or a process. */
static int add_outer_frame(
	struct writer *w, const char *text, const struct hl_value *v, uint64_t from, uint32_t depth)
{
	struct drawn_frame d = {.value = *v, .from = from, .depth = depth, .kind = HL_OWNER_GROUP};
	int err = keep_string(w, text, &d.name);

	return err ? err : hl_vec_push(&w->frames, d);
}

static bool is_wide(uint64_t cost, uint64_t total)
{
	return cost > 0 && cost >= total / MIN_WIDTH_DIVISOR;
}

/* Adds the frames of a process that may be wide enough in the picture. `from`, `depth`: of its
 * outermost frames. */
static int add_frames(struct writer *w, uint64_t total, uint64_t from, uint32_t depth)
{
	struct level {
		uint32_t node, next;
		uint64_t from; /* position of its next child */
	};
	HL_VEC(struct level) path = {0};
	int err = hl_vec_push(&path, ((struct level){.from = from}));

	while (path.len > 0 && !err) {
		struct level *l = &path.data[path.len - 1];
		const struct hl_tree_node *n = &w->t.nodes[l->node];
		uint32_t child, at = depth + (uint32_t)path.len - 1;
		uint64_t child_from = l->from;

		if (l->next == n->n_children) {
			path.len--;
			continue;
		}
		child = w->t.children[n->first_child + l->next++];
		l->from += hl_export_cost(w->x, &w->t.nodes[child].total);
		if (!is_wide(hl_export_cost(w->x, &w->t.nodes[child].total), total) ||
			at >= DEPTH_MAX)
			continue;
		err = add_frame(w, child, child_from, at);
		if (!err)
			err = hl_vec_push(
				&path, ((struct level){.node = child, .from = child_from}));
	}
	hl_vec_free(&path);
	return err;
}

static void count_rows(struct writer *w)
{
	w->rows = 1;
	for (size_t i = 0; i < w->frames.len; i++) {
		const struct drawn_frame *f = &w->frames.data[i];

		if (f->depth + 1 > w->rows && pixels(w, hl_export_cost(w->x, &f->value)) >= 1)
			w->rows = f->depth + 1;
	}
}

static void put_frames(struct writer *w)
{
	for (size_t i = 0; i < w->frames.len; i++) {
		const struct drawn_frame *f = &w->frames.data[i];

		if (!f->depth || is_wide(hl_export_cost(w->x, &f->value), w->total))
			put_frame(w, f);
	}
}

/* Folded stacks end at their sites, without allocation functions. */
static void put_legend(struct hl_strbuf *b, bool full_stacks)
{
	static const enum hl_frame_owner kinds[] = {
		HL_OWNER_PROGRAM, HL_OWNER_LIBRARY, HL_OWNER_RUNTIME, HL_OWNER_CALLED};
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

/* For programs and readers of the source: viewers show no description of the whole picture. */
static void put_wrappers(struct writer *w)
{
	if (w->wrappers.len == 0)
		return;
	hl_strbuf_puts(&w->b, "<desc>");
	hl_export_xml(&w->b, hl_strbuf_str(&w->wrappers));
	hl_strbuf_puts(&w->b, "</desc>\n");
}

/* The program, or of a run of several processes their number. */
static void put_subject(struct writer *w)
{
	char n[HL_TEXT_SIZE_MAX];

	if (w->x->process)
		hl_strbuf_printf(&w->b, "%s processes", hl_text_count(n, w->n_processes));
	else
		hl_export_xml(&w->b, hl_export_basename(hl_model_info(w->x->m)->meta.program));
}

static void put_header(struct writer *w)
{
	unsigned height = TOP + w->rows * ROW + BOTTOM;
	struct hl_strbuf *b = &w->b;

	hl_strbuf_reset(b);
	hl_strbuf_printf(b,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" width=\"%d\" "
		"height=\"%u\" viewBox=\"0 0 %d %u\" font-family=\"monospace\" font-size=\"12\" "
		"fill=\"#1c2530\" data-total=\"%" PRIu64
		"\" data-cost=\"%s\">\n<style>\n%s</style>\n",
		WIDTH, height, WIDTH, height, w->total, w->x->by_blocks ? "blocks" : "bytes",
		svg_style);
	put_wrappers(w);
	hl_strbuf_printf(b,
		"<rect id=\"card\" width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n<text "
		"id=\"title\" "
		"x=\"%d\" y=\"21\" font-family=\"sans-serif\" font-size=\"15\" "
		"font-weight=\"bold\">",
		TEXT_MARGIN);
	put_subject(w);
	hl_strbuf_puts(b, ": ");
	hl_export_xml(b, w->x->title);
	hl_strbuf_puts(b, ", ");
	put_cost(w, &w->all);
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

void hl_export_svg_drop(void *kept)
{
	struct writer *w = kept;

	if (!w)
		return;
	hl_vec_free(&w->frames);
	hl_string_table_fini(&w->strings);
	hl_strbuf_fini(&w->b);
	hl_strbuf_fini(&w->wrappers);
	free(w);
}

static void note_wrappers(struct writer *w)
{
	struct hl_strbuf text = {0};

	hl_model_put_wrappers(&text, w->x->m);
	if (text.len > 0)
		hl_strbuf_printf(&w->wrappers, "%s%s%s%s", w->wrappers.len ? "\n" : "",
			w->x->process ? w->x->process : "", w->x->process ? ": " : "",
			hl_strbuf_str(&text));
	hl_strbuf_fini(&text);
}

static int collect_process(struct writer *w)
{
	uint64_t from = hl_export_cost(w->x, &w->all);
	struct hl_answer a;
	int err = hl_export_folded_tree(w->x, &a, &w->t);

	hl_value_add(&w->all, &a.total);
	w->n_processes++;
	if (!err && w->x->is_first)
		err = add_outer_frame(w, "all", &(struct hl_value){0}, 0, 0);
	if (!err && w->x->process && hl_export_cost(w->x, &a.total))
		err = add_outer_frame(w, w->x->process, &a.total, from, 1);
	if (!err)
		err = add_frames(w, hl_export_cost(w->x, &a.total), from, w->x->process ? 2 : 1);
	note_wrappers(w);
	hl_tree_fini(&w->t);
	hl_answer_fini(&a);
	return err;
}

static void draw(struct writer *w)
{
	w->total = hl_export_cost(w->x, &w->all);
	w->frames.data[0].value = w->all;
	count_rows(w);
	put_header(w);
	put_frames(w);
	fprintf(w->x->out, "</g>\n<script><![CDATA[\n%s]]></script>\n</svg>\n", svg_script);
}

int hl_export_svg(struct hl_export_job *x)
{
	struct writer *w = x->is_first ? calloc(1, sizeof(*w)) : *x->kept;
	int err = -ENOMEM;

	if (w) {
		w->x = x;
		err = collect_process(w);
	}
	if (!err && x->is_last)
		draw(w);
	if (err || x->is_last) {
		hl_export_svg_drop(w);
		w = NULL;
	}
	*x->kept = w;
	return err;
}
