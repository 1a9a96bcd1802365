/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree_text.c - a tree of frames as text.
 *
 * One line per frame: share, bytes, blocks, frame. A chain of frames with equal values stays at one
 * depth and shows the values once, so that deep stacks are readable. Branches deeper than
 * HL_TREE_DEPTH_MAX are one row. With opts->shorten the tree is walked twice: the first walk
 * measures its depth, which determines the width of the indentation.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "util/safe_text.h"
#include "util/vec.h"
#include "views/text/text_internal.h"

/* The minimum of columns for a frame; if the tree leaves less, its indentation is made narrower. */
#define FRAME_MIN    24
#define STEP_MAX     3 /* columns per depth */
#define INLINED_TEXT " (inlined)"
#define DEEPER_TEXT  "deeper: --json shows all" /* no longer than FRAME_MIN */
#define CUT_TEXT     "  ... " DEEPER_TEXT
#define VIA_TEXT     "  via " /* precedes the name of what a site called */
/* The minimum of columns for a frame beside such a name. */
#define VIA_FRAME_MIN 40

struct path_entry {
	uint32_t node, next; /* next: index of the next child */
	uint32_t shown;      /* number of children that are large enough */
	size_t *differs;     /* see struct hl_label, one per child; NULL: all 0 */
};

struct tree_printer {
	FILE *out;
	struct hl_model *m;
	const struct hl_tree *t;
	const struct hl_text_opts *opts;
	struct hl_row_values values;
	uint64_t least;     /* smaller frames are omitted */
	uint64_t least_row; /* with a budget of rows: smaller frames are left out by it */
	uint64_t hidden;    /* number of omitted subtrees */
	struct hl_value hidden_sum;
	bool measuring;  /* first walk: nothing is printed, and no budget applies */
	uint64_t n_rows; /* of the first walk */
	uint64_t n_done; /* rows that are printed, or that the budget has counted as left out */
	size_t deepest;  /* maximum depth that is shown */
	size_t step;     /* columns per depth, 1 to STEP_MAX */
	size_t n_depths; /* maximum that is drawn; of a deeper row the innermost */
	struct hl_strbuf indent;
	HL_VEC(size_t) indents; /* length of `indent` at each depth */
	HL_VEC(struct path_entry) path;
};

static bool is_large_enough(const struct tree_printer *p, uint32_t node)
{
	return hl_limits_size(&p->opts->limits, &p->t->nodes[node].total) >= p->least;
}

static bool is_within_rows(const struct tree_printer *p, uint32_t node)
{
	return hl_limits_size(&p->opts->limits, &p->t->nodes[node].total) >= p->least_row;
}

/* Counts the children that are shown. Children are sorted by size, so these are the first. The
 * others are added to the hidden sum. */
static uint32_t count_shown(struct tree_printer *p, uint32_t node)
{
	const struct hl_tree_node *n = &p->t->nodes[node];
	uint32_t shown = 0;

	for (uint32_t i = 0; i < n->n_children; i++) {
		uint32_t child = p->t->children[n->first_child + i];

		if (is_large_enough(p, child) &&
			!(p->opts->limits.limited && shown == p->opts->limits.limit)) {
			shown += p->measuring || is_within_rows(p, child);
			continue;
		}
		p->hidden++;
		p->hidden_sum.bytes += p->t->nodes[child].total.bytes;
		p->hidden_sum.blocks += p->t->nodes[child].total.blocks;
	}
	return shown;
}

static size_t drawn_columns(const struct tree_printer *p, size_t depth)
{
	return hl_row_values_width(&p->values) +
	       p->step * (depth < p->n_depths ? depth : p->n_depths);
}

/* The name of what a site called; NULL: it has none, or it would take the room of the frame. */
static const char *via_name(
	const struct tree_printer *p, const struct hl_tree_node *n, size_t depth)
{
	const char *name = n->via == HL_NODE_NONE ? NULL : hl_model_frame(p->m, n->via)->function;
	size_t used;

	if (!name || !p->opts->shorten)
		return name;
	used = drawn_columns(p, depth) + sizeof(VIA_TEXT) - 1 +
	       hl_display_columns(name, strlen(name));
	return used + VIA_FRAME_MIN <= p->opts->width ? name : NULL;
}

static struct hl_label make_label(
	const struct tree_printer *p, const struct hl_tree_node *n, size_t depth)
{
	const char *via = via_name(p, n, depth);

	return (struct hl_label){
		.frame = hl_model_frame(p->m, n->frame),
		.full_name = n->full_name,
		.reserved_columns =
			drawn_columns(p, depth) + (n->inlined ? sizeof(INLINED_TEXT) - 1 : 0) +
			(via ? sizeof(VIA_TEXT) - 1 + hl_display_columns(via, strlen(via)) : 0) +
			(n->callers_omitted ? sizeof(CUT_TEXT) - 1 : 0),
	};
}

static void put_frame(
	struct tree_printer *p, const struct hl_tree_node *n, size_t depth, size_t differs)
{
	struct hl_label label = make_label(p, n, depth);
	const char *via = via_name(p, n, depth);

	label.difference_at = differs;
	hl_put_label(p->out, &label, p->opts);
	fputs(n->inlined ? INLINED_TEXT : "", p->out);
	if (via)
		fprintf(p->out, VIA_TEXT "%s", via);
	fprintf(p->out, "%s\n", n->callers_omitted ? CUT_TEXT : "");
}

/* Prints the indentation of the next row, with room for `more` depths of its own. */
static void put_indent(struct tree_printer *p, size_t more)
{
	size_t depths = p->indents.len, drawn = p->n_depths - more;

	if (depths <= drawn)
		fputs(hl_strbuf_str(&p->indent), p->out);
	else if (drawn > 0)
		fprintf(p->out, "%s%*s%s", p->opts->unicode ? "…" : ".", (int)p->step - 1, "",
			hl_strbuf_str(&p->indent) +
				(drawn > 1 ? p->indents.data[depths - drawn + 1] : p->indent.len));
}

/* Moves to the next node of a chain: the only child, if it has the same values. */
static bool follow_chain(const struct tree_printer *p, uint32_t *node)
{
	const struct hl_tree_node *n = &p->t->nodes[*node], *c;

	if (n->n_children != 1)
		return false;
	c = &p->t->nodes[p->t->children[n->first_child]];
	if (c->total.bytes != n->total.bytes || c->total.blocks != n->total.blocks)
		return false;
	*node = p->t->children[n->first_child];
	return true;
}

/* Returns `difference_at` for each child that is shown. NULL if memory is short: labels may then
 * look the same. */
static size_t *find_differences(struct tree_printer *p, uint32_t node, uint32_t n)
{
	const uint32_t *children = p->t->children + p->t->nodes[node].first_child;
	bool wanted = p->opts->shorten && !p->measuring && n > 1;
	struct hl_label *labels = wanted ? calloc(n, sizeof(*labels)) : NULL;
	size_t *differs = labels ? calloc(n, sizeof(*differs)) : NULL;

	for (uint32_t i = 0; differs && i < n; i++)
		labels[i] = make_label(p, &p->t->nodes[children[i]], p->indents.len + 1);
	if (differs)
		hl_disambiguate(labels, n, p->opts);
	for (uint32_t i = 0; differs && i < n; i++)
		differs[i] = labels[i].difference_at;
	free(labels);
	return differs;
}

/* By columns per depth: a child, the last child, the line below a child and below the last
 * child. */
static const char *const box[STEP_MAX][4] = {
	{"├", "└", "│", " "}, {"├ ", "└ ", "│ ", "  "}, {"├─ ", "└─ ", "│  ", "   "}};
static const char *const plain[STEP_MAX][4] = {
	{"|", "`", "|", " "}, {"| ", "` ", "| ", "  "}, {"|- ", "`- ", "|  ", "   "}};

static const char *const *line_drawing(const struct tree_printer *p)
{
	return (p->opts->unicode ? box : plain)[p->step - 1];
}

/* Begins a row of the budget. Rows of a tree have no values that can be added: a frame has the
 * bytes of those below it. */
static bool begin_row(struct tree_printer *p)
{
	p->n_done++;
	return hl_row_begin(p->opts->rows, p->out, NULL);
}

/* Prints one row for the first n children and their subtrees. */
static void put_deeper(struct tree_printer *p, uint32_t node, uint32_t n)
{
	const uint32_t *children = p->t->children + p->t->nodes[node].first_child;
	struct hl_value sum = {0};

	for (uint32_t i = 0; i < n; i++) {
		hl_value_add(&sum, &p->t->nodes[children[i]].total);
	}
	if (!begin_row(p))
		return;
	hl_put_values(p->out, &p->values, &sum);
	put_indent(p, 1);
	fprintf(p->out, "%s%s\n", line_drawing(p)[1], DEEPER_TEXT);
	hl_row_end(p->opts->rows);
}

static int push_node(struct tree_printer *p, uint32_t node)
{
	struct path_entry path_entry = {.node = node, .shown = count_shown(p, node)};
	int err;

	if (p->indents.len >= HL_TREE_DEPTH_MAX && path_entry.shown > 0) {
		if (p->measuring)
			p->n_rows++;
		else
			put_deeper(p, node, path_entry.shown);
		path_entry.shown = 0;
	}
	path_entry.differs = find_differences(p, node, path_entry.shown);
	err = hl_vec_push(&p->path, path_entry);
	if (err)
		free(path_entry.differs);
	return err;
}

/* Prints the first node of a chain. Returns false if the budget leaves it out. */
static bool put_first(struct tree_printer *p, uint32_t node, bool last, size_t differs)
{
	const struct hl_tree_node *n = &p->t->nodes[node];

	if (!begin_row(p))
		return false;
	hl_put_values(p->out, &p->values, &n->total);
	put_indent(p, 1);
	fputs(line_drawing(p)[last], p->out);
	put_frame(p, n, p->indents.len + 1, differs);
	return hl_row_end(p->opts->rows);
}

/* The same for one that follows. */
static bool put_next(struct tree_printer *p, uint32_t node)
{
	if (!begin_row(p))
		return false;
	hl_put_blank_values(p->out, &p->values);
	put_indent(p, 0);
	put_frame(p, &p->t->nodes[node], p->indents.len, 0);
	return hl_row_end(p->opts->rows);
}

/* Prints a node and the chain that follows it, and descends at the end of the chain. */
static int enter_node(struct tree_printer *p, uint32_t node, bool last, size_t differs)
{
	const char *const *lines = line_drawing(p);

	p->n_rows += p->measuring;
	if (!p->measuring && !put_first(p, node, last, differs))
		return 0;
	if (hl_vec_push(&p->indents, p->indent.len))
		return -ENOMEM;
	p->deepest = p->indents.len > p->deepest ? p->indents.len : p->deepest;
	hl_strbuf_puts(&p->indent, lines[2 + last]);
	while (follow_chain(p, &node)) {
		p->n_rows += p->measuring;
		if (!p->measuring && !put_next(p, node)) {
			p->indent.len = p->indents.data[--p->indents.len];
			p->indent.data[p->indent.len] = 0;
			return 0;
		}
	}
	return hl_strbuf_error(&p->indent) ? -ENOMEM : push_node(p, node);
}

static void leave_node(struct tree_printer *p)
{
	free(p->path.data[--p->path.len].differs);
	if (p->indents.len > 0) {
		p->indent.len = p->indents.data[--p->indents.len];
		p->indent.data[p->indent.len] = 0;
	}
}

static int walk_tree(struct tree_printer *p)
{
	int err = push_node(p, 0);

	while (p->path.len > 0 && !err) {
		struct path_entry *at = &p->path.data[p->path.len - 1];
		const struct hl_tree_node *n = &p->t->nodes[at->node];

		if (at->next < at->shown) {
			uint32_t i = at->next++;

			err = enter_node(p, p->t->children[n->first_child + i], i + 1 == at->shown,
				at->differs ? at->differs[i] : 0);
		} else {
			leave_node(p);
		}
	}
	while (p->path.len > 0)
		leave_node(p);
	return err;
}

static int compare_descending(const void *pa, const void *pb)
{
	uint64_t a = *(const uint64_t *)pa, b = *(const uint64_t *)pb;

	return a > b ? -1 : a < b;
}

/* With a budget of rows the largest frames are shown, not the first ones. Frames of equal size may
 * still be too many. If memory is short, the first ones are shown. */
static void choose_rows(struct tree_printer *p)
{
	uint64_t left = hl_row_limit_left(p->opts->rows);
	size_t n = p->t->n_nodes - 1;
	uint64_t *sizes = left > 0 && left < n ? malloc(n * sizeof(*sizes)) : NULL;

	if (!sizes)
		return;
	for (size_t i = 0; i < n; i++)
		sizes[i] = hl_limits_size(&p->opts->limits, &p->t->nodes[i + 1].total);
	qsort(sizes, n, sizeof(*sizes), compare_descending);
	p->least_row = sizes[left - 1];
	free(sizes);
}

static int measure(struct tree_printer *p)
{
	int err;

	p->step = STEP_MAX;
	p->n_depths = SIZE_MAX;
	if (!p->opts->shorten && !hl_row_limit_is_set(p->opts->rows))
		return 0;
	p->measuring = true;
	err = walk_tree(p);
	p->measuring = false;
	p->hidden = 0;
	p->hidden_sum = (struct hl_value){0};
	return err;
}

/* A deep tree on a narrow page gets a narrower indentation, so that frames keep their names. */
static void fit_to_page(struct tree_printer *p)
{
	size_t used = hl_row_values_width(&p->values) + FRAME_MIN;
	size_t room = p->opts->width > used ? p->opts->width - used : 1;

	if (!p->opts->shorten)
		return;
	while (p->step > 1 && p->step * p->deepest > room)
		p->step--;
	p->n_depths = room / p->step;
}

int hl_text_put_tree(FILE *out, struct hl_model *m, const struct hl_tree_result *x,
	const struct hl_text_opts *opts)
{
	const struct hl_answer *a = &x->answer;
	const struct hl_tree *t = &x->tree;
	struct tree_printer p = {.out = out, .m = m, .t = t, .opts = opts};
	int err;

	p.values = hl_row_values_make(&a->total, opts);
	p.least = hl_limits_minimum(&opts->limits, &a->total);
	choose_rows(&p);
	hl_put_header(out, m, a, opts);
	if (t->n_nodes > 1)
		putc('\n', out);
	err = measure(&p);
	fit_to_page(&p);
	if (!err)
		err = walk_tree(&p);
	if (!err && p.n_rows > p.n_done)
		hl_row_omit(opts->rows, p.n_rows - p.n_done, NULL);
	hl_put_hidden(out, &a->total, &p.hidden_sum, p.hidden, "branch", "branches", opts);
	hl_strbuf_fini(&p.indent);
	hl_vec_free(&p.indents);
	hl_vec_free(&p.path);
	return err;
}

int hl_text_tree(FILE *out, struct hl_result *r, const struct hl_text_opts *opts)
{
	return hl_text_put_tree(out, r->m, r->data, opts);
}
