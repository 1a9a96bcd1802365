/*
 * tree_text.c - a tree of frames for people.
 *
 * One line a frame: share, bytes, blocks, frame. A chain of frames that all have the same numbers
 * stays at one depth and shows them once, so that deep stacks stay readable. What branches deeper
 * than HL_TEXT_DEPTH_MAX is one row. Where rows are cut, the tree is walked twice: how deep it is
 * tells how wide its lines may be.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "util/text.h"
#include "util/vec.h"
#include "views/text/text_internal.h"

/* What a frame must have left of its row: else the tree is drawn narrower. */
#define FRAME_LEAST 24
#define STEP_MAX    3 /* columns a depth */
#define INLINED     " (inlined)"
#define DEEPER      "deeper: --json shows all" /* no longer than FRAME_LEAST */
#define CUT         "  ... " DEEPER

struct place {
	uint32_t node, next; /* next: which child comes next */
	uint32_t shown;      /* how many of its children are large enough */
	size_t *differs;     /* see struct hl_label, one for each; NULL: 0 */
};

struct print {
	FILE *out;
	struct hl_model *m;
	const struct hl_tree *t;
	const struct hl_text_opts *opts;
	struct hl_numbers numbers;
	uint64_t least;  /* frames with less are left out */
	uint64_t hidden; /* how many subtrees were */
	struct hl_value hidden_sum;
	bool measuring;  /* nothing is printed */
	size_t deepest;  /* of what is shown */
	size_t step;     /* columns a depth, 1 to STEP_MAX */
	size_t n_depths; /* no more are drawn: of deeper ones the innermost */
	struct hl_strbuf indent;
	HL_VEC(size_t) indents; /* lengths of indent, one for each depth */
	HL_VEC(struct place) path;
};

static bool large_enough(const struct print *p, uint32_t node)
{
	return hl_measure(&p->t->nodes[node].total, p->opts) >= p->least;
}

/* Children come by size, so the shown ones are the first; the others are counted as hidden. */
static uint32_t count_shown(struct print *p, uint32_t node)
{
	const struct hl_tree_node *n = &p->t->nodes[node];
	uint32_t shown = 0;

	for (uint32_t i = 0; i < n->n_children; i++) {
		uint32_t child = p->t->children[n->first_child + i];

		if (large_enough(p, child) && !(p->opts->limited && shown == p->opts->limit)) {
			shown++;
			continue;
		}
		p->hidden++;
		p->hidden_sum.bytes += p->t->nodes[child].total.bytes;
		p->hidden_sum.blocks += p->t->nodes[child].total.blocks;
	}
	return shown;
}

static struct hl_label label_of(const struct print *p, const struct hl_tree_node *n, size_t depth)
{
	size_t drawn = depth < p->n_depths ? depth : p->n_depths;

	return (struct hl_label){
		.frame = hl_model_frame(p->m, n->frame),
		.full = n->full,
		.used = hl_numbers_width(&p->numbers) + p->step * drawn +
			(n->inlined ? sizeof(INLINED) - 1 : 0) + (n->cut ? sizeof(CUT) - 1 : 0),
	};
}

static void put_frame(struct print *p, const struct hl_tree_node *n, size_t depth, size_t differs)
{
	struct hl_label label = label_of(p, n, depth);

	label.differs = differs;
	hl_put_label(p->out, &label, p->opts);
	fprintf(p->out, "%s%s\n", n->inlined ? INLINED : "", n->cut ? CUT : "");
}

/* The lines of the depths that the next row is in, with room for `more` of its own. */
static void put_indent(struct print *p, size_t more)
{
	size_t depths = p->indents.len, drawn = p->n_depths - more;

	if (depths <= drawn)
		fputs(hl_strbuf_str(&p->indent), p->out);
	else if (drawn > 0)
		fprintf(p->out, "%s%*s%s", p->opts->unicode ? "…" : ".", (int)p->step - 1, "",
			hl_strbuf_str(&p->indent) +
				(drawn > 1 ? p->indents.data[depths - drawn + 1] : p->indent.len));
}

/* Moves to the next node of a chain: the only child, if it has the same numbers. */
static bool follow(const struct print *p, uint32_t *node)
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

/* Of the children that are shown. Without memory they look the same. */
static size_t *tell_apart(struct print *p, uint32_t node, uint32_t n)
{
	const uint32_t *children = p->t->children + p->t->nodes[node].first_child;
	bool wanted = p->opts->cut && !p->measuring && n > 1;
	struct hl_label *labels = wanted ? calloc(n, sizeof(*labels)) : NULL;
	size_t *differs = labels ? calloc(n, sizeof(*differs)) : NULL;

	for (uint32_t i = 0; differs && i < n; i++)
		labels[i] = label_of(p, &p->t->nodes[children[i]], p->indents.len + 1);
	if (differs)
		hl_tell_apart(labels, n, p->opts);
	for (uint32_t i = 0; differs && i < n; i++)
		differs[i] = labels[i].differs;
	free(labels);
	return differs;
}

/* By columns a depth: a child, the last child, below the one and below the other. */
static const char *const box[STEP_MAX][4] = {
	{"├", "└", "│", " "}, {"├ ", "└ ", "│ ", "  "}, {"├─ ", "└─ ", "│  ", "   "}};
static const char *const plain[STEP_MAX][4] = {
	{"|", "`", "|", " "}, {"| ", "` ", "| ", "  "}, {"|- ", "`- ", "|  ", "   "}};

static const char *const *lines_of(const struct print *p)
{
	return (p->opts->unicode ? box : plain)[p->step - 1];
}

/* One row for the first n children, and all below them. */
static void put_deeper(struct print *p, uint32_t node, uint32_t n)
{
	const uint32_t *children = p->t->children + p->t->nodes[node].first_child;
	struct hl_value sum = {0};

	for (uint32_t i = 0; i < n; i++) {
		sum.bytes += p->t->nodes[children[i]].total.bytes;
		sum.blocks += p->t->nodes[children[i]].total.blocks;
	}
	hl_put_numbers(p->out, &p->numbers, &sum);
	put_indent(p, 1);
	fprintf(p->out, "%s%s\n", lines_of(p)[1], DEEPER);
}

static int descend(struct print *p, uint32_t node)
{
	struct place place = {.node = node, .shown = count_shown(p, node)};
	int err;

	if (p->indents.len >= HL_TEXT_DEPTH_MAX && place.shown > 0) {
		if (!p->measuring)
			put_deeper(p, node, place.shown);
		place.shown = 0;
	}
	place.differs = tell_apart(p, node, place.shown);
	err = hl_vec_push(&p->path, place);
	if (err)
		free(place.differs);
	return err;
}

/* Prints a node and the chain that follows it; goes on at the chain's end. */
static int enter(struct print *p, uint32_t node, bool last, size_t differs)
{
	const char *const *lines = lines_of(p);

	if (!p->measuring) {
		hl_put_numbers(p->out, &p->numbers, &p->t->nodes[node].total);
		put_indent(p, 1);
		fputs(lines[last], p->out);
		put_frame(p, &p->t->nodes[node], p->indents.len + 1, differs);
	}
	if (hl_vec_push(&p->indents, p->indent.len))
		return -ENOMEM;
	p->deepest = p->indents.len > p->deepest ? p->indents.len : p->deepest;
	hl_strbuf_puts(&p->indent, lines[2 + last]);
	while (follow(p, &node)) {
		if (p->measuring)
			continue;
		hl_put_no_numbers(p->out, &p->numbers);
		put_indent(p, 0);
		put_frame(p, &p->t->nodes[node], p->indents.len, 0);
	}
	return hl_strbuf_error(&p->indent) ? -ENOMEM : descend(p, node);
}

static void leave(struct print *p)
{
	free(p->path.data[--p->path.len].differs);
	if (p->indents.len > 0) {
		p->indent.len = p->indents.data[--p->indents.len];
		p->indent.data[p->indent.len] = 0;
	}
}

static int walk(struct print *p)
{
	int err = descend(p, 0);

	while (p->path.len > 0 && !err) {
		struct place *at = &p->path.data[p->path.len - 1];
		const struct hl_tree_node *n = &p->t->nodes[at->node];

		if (at->next < at->shown) {
			uint32_t i = at->next++;

			err = enter(p, p->t->children[n->first_child + i], i + 1 == at->shown,
				at->differs ? at->differs[i] : 0);
		} else {
			leave(p);
		}
	}
	while (p->path.len > 0)
		leave(p);
	return err;
}

/* A deep tree on a narrow page has narrower lines, so that the frames keep their names. */
static int fit(struct print *p)
{
	size_t used = hl_numbers_width(&p->numbers) + FRAME_LEAST;
	size_t room = p->opts->width > used ? p->opts->width - used : 1;
	int err;

	p->step = STEP_MAX;
	p->n_depths = SIZE_MAX;
	if (!p->opts->cut)
		return 0;
	p->measuring = true;
	err = walk(p);
	p->measuring = false;
	p->hidden = 0;
	p->hidden_sum = (struct hl_value){0};
	while (p->step > 1 && p->step * p->deepest > room)
		p->step--;
	p->n_depths = room / p->step;
	return err;
}

int hl_text_tree(FILE *out, struct hl_model *m, const struct hl_answer *a, const struct hl_tree *t,
	const struct hl_text_opts *opts)
{
	struct print p = {.out = out, .m = m, .t = t, .opts = opts};
	int err;

	p.numbers = hl_numbers_of(&a->total, opts);
	p.least = hl_text_least(&a->total, opts);
	hl_put_head(out, m, a, opts);
	if (t->n_nodes > 1)
		putc('\n', out);
	err = fit(&p);
	if (!err)
		err = walk(&p);
	hl_put_hidden(out, &a->total, &p.hidden_sum, p.hidden, "branch", "branches", opts);
	hl_strbuf_fini(&p.indent);
	hl_vec_free(&p.indents);
	hl_vec_free(&p.path);
	return err;
}
