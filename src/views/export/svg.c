/* SPDX-License-Identifier: Apache-2.0 */
/*
 * svg.c - a flame graph as one self-contained file: a picture for every viewer, which can be
 * searched and zoomed in a browser.
 *
 * Each frame is a group with its position and width in units of the cost (data-x, data-w), from
 * which the script computes pixels. Frames that are too narrow or too deep to be visible are not
 * drawn; the width of their caller includes them.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/hash.h"
#include "util/safe_text.h"
#include "views/export/export_internal.h"

#define WIDTH             1200
#define ROW               17
#define TOP               60
#define BOTTOM            30
#define MIN_WIDTH_DIVISOR 20000 /* as a divisor of the total */
#define DEPTH_MAX         1000
#define LETTER_WIDTH      7.4 /* in pixels, approximately */

#include "views/export/svg_script.inc"

struct writer {
	struct hl_export_job *x;
	struct hl_tree t;
	uint64_t total;
	uint32_t rows;
	struct hl_strbuf b; /* output buffer */
};

/* Writes as much of the name as fits, without splitting a character. */
static void put_text(struct hl_strbuf *b, const char *name, double width)
{
	size_t room = width > 3 * LETTER_WIDTH ? (size_t)(width / LETTER_WIDTH) : 0,
	       n = strlen(name);
	struct hl_strbuf part = {0};

	if (room == 0)
		return;
	if (n > room) {
		n = room - 2;
		while (n > 0 && ((unsigned char)name[n] & 0xc0) == 0x80)
			n--;
	}
	hl_strbuf_add(&part, name, n);
	hl_export_xml(b, hl_strbuf_str(&part));
	if (n < strlen(name))
		hl_strbuf_puts(b, "..");
	hl_strbuf_fini(&part);
}

static void put_cost(struct writer *w, const struct hl_value *v)
{
	char bytes[HL_TEXT_SIZE_MAX], blocks[HL_TEXT_SIZE_MAX];
	uint64_t cost = hl_export_cost(w->x, v);

	hl_strbuf_printf(&w->b, "%s in %s block%s, %.2f%%", hl_text_bytes(bytes, v->bytes),
		hl_text_count(blocks, v->blocks), v->blocks == 1 ? "" : "s",
		w->total ? (double)cost * 100 / (double)w->total : 0);
}

/* A function has the same colour in every picture. */
static void put_color(struct hl_strbuf *b, const char *name, bool called)
{
	uint64_t h = 0;

	for (const char *c = name; *c; c++)
		h = hl_hash_pair(h, (unsigned char)*c);
	if (called)
		hl_strbuf_printf(b, "hsl(200,45%%,%u%%)", 68 + (unsigned)(h % 12));
	else
		hl_strbuf_printf(b, "hsl(%u,%u%%,%u%%)", 5 + (unsigned)(h % 45),
			70 + (unsigned)(h / 45 % 25), 60 + (unsigned)(h / 2000 % 14));
}

static void put_frame(struct writer *w, uint32_t node, uint64_t from, uint32_t depth)
{
	const struct hl_tree_node *n = &w->t.nodes[node];
	const struct hl_frame *f = node ? hl_model_frame(w->x->m, n->frame) : NULL;
	uint64_t cost = hl_export_cost(w->x, &n->total);
	double scale = w->total ? (double)WIDTH / (double)w->total : 0;
	double x = (double)from * scale, width = node ? (double)cost * scale : WIDTH;
	unsigned y = TOP + (w->rows - 1 - depth) * ROW;
	struct hl_strbuf name = {0}, *b = &w->b;

	if (f)
		hl_export_name(&name, f);
	else
		hl_strbuf_puts(&name, "all");
	hl_strbuf_reset(b);
	hl_strbuf_printf(b,
		"<g class=\"f\" data-x=\"%" PRIu64 "\" data-w=\"%" PRIu64 "\" data-d=\"%" PRIu32
		"\" data-n=\"",
		from, cost, depth);
	hl_export_xml(b, hl_strbuf_str(&name));
	hl_strbuf_puts(b, "\"><title>");
	hl_export_xml(b, hl_strbuf_str(&name));
	hl_strbuf_puts(b, "\n");
	put_cost(w, &n->total);
	if (f && f->file) {
		hl_strbuf_puts(b, "\n");
		hl_export_xml(b, f->file);
		hl_strbuf_printf(b, ":%" PRIu32, f->line);
	}
	hl_strbuf_printf(b,
		"</title><rect x=\"%.3f\" y=\"%u\" width=\"%.3f\" height=\"%d\" fill=\"", x, y,
		width, ROW - 1);
	if (f && !f->group)
		put_color(b, hl_strbuf_str(&name), !f->module && !f->file);
	else
		hl_strbuf_puts(b, "#ccc");
	hl_strbuf_printf(b, "\" rx=\"1\"/><text x=\"%.3f\" y=\"%u\">", x + 3, y + ROW - 5);
	put_text(b, hl_strbuf_str(&name), width);
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
		if (depth + 1 > w->rows)
			w->rows = depth + 1;
		if (draw)
			put_frame(w, child, from, depth);
		err = hl_vec_push(&path, ((struct level){.node = child, .from = from}));
	}
	hl_vec_free(&path);
	return err;
}

static void put_header(struct writer *w, const struct hl_answer *a)
{
	unsigned height = TOP + w->rows * ROW + BOTTOM;
	struct hl_strbuf *b = &w->b;

	hl_strbuf_reset(b);
	hl_strbuf_printf(b,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" width=\"%d\" "
		"height=\"%u\" viewBox=\"0 0 %d %u\" data-total=\"%" PRIu64 "\" data-cost=\"%s\">\n"
		"<style>text{font:12px monospace;fill:#222}.f{cursor:pointer}"
		".f:hover rect{stroke:#000;stroke-width:.6}.f text{pointer-events:none}"
		".hit rect{fill:#c060e0 !important}.b{cursor:pointer;fill:#1565c0}"
		"#title{font:bold 15px sans-serif}.up rect{opacity:.55}</style>\n"
		"<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n<text id=\"title\" "
		"x=\"10\" "
		"y=\"22\">",
		WIDTH, height, WIDTH, height, w->total, w->x->by_blocks ? "blocks" : "bytes");
	hl_export_xml(b, hl_export_basename(hl_model_info(w->x->m)->meta.program));
	hl_strbuf_puts(b, ": ");
	hl_export_xml(b, w->x->title);
	hl_strbuf_puts(b, ", ");
	put_cost(w, &a->total);
	hl_strbuf_printf(b,
		"</text>\n<text id=\"reset\" class=\"b\" x=\"10\" y=\"44\" "
		"visibility=\"hidden\">show "
		"all</text>\n<text id=\"search\" class=\"b\" x=\"%d\" y=\"44\" "
		"text-anchor=\"end\">search</text>\n<text id=\"found\" x=\"%d\" y=\"%u\" "
		"text-anchor=\"end\"></text>\n<g id=\"frames\">\n",
		WIDTH - 10, WIDTH - 10, height - 10);
	fputs(hl_strbuf_str(b), w->x->out);
}

int hl_export_svg(struct hl_export_job *x)
{
	struct writer w = {.x = x, .rows = 1};
	struct hl_answer a;
	int err = hl_export_tree(x, true, &a, &w.t);

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
