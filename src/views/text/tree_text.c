/*
 * tree_text.c - a tree of frames for people.
 *
 * One line a frame: share, bytes, blocks, frame. A chain of frames that all have the same numbers
 * stays at one depth and shows them once, so that deep stacks stay readable.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/attr.h"
#include "util/text.h"
#include "util/vec.h"
#include "views/text/text_internal.h"

struct place {
	uint32_t node, next; /* next: which child comes next */
	uint32_t shown;      /* how many of its children are large enough */
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

/* Each depth takes three characters, see enter. */
static void put_frame(struct print *p, const struct hl_tree_node *n, size_t depth)
{
	size_t used = hl_numbers_width(&p->numbers) + 3 * depth + (n->inlined ? 10 : 0);

	hl_put_frame(p->out, hl_model_frame(p->m, n->frame), n->full, p->opts, used);
	fputs(n->inlined ? " (inlined)\n" : "\n", p->out);
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

/* Prints a node and the chain that follows it; goes on at the chain's end. */
static int enter(struct print *p, uint32_t node, bool last)
{
	static const char *const box[] = {"├─ ", "└─ ", "│  ", "   "};
	static const char *const plain[] = {"|- ", "`- ", "|  ", "   "};
	const char *const *lines = p->opts->unicode ? box : plain;

	hl_put_numbers(p->out, &p->numbers, &p->t->nodes[node].total);
	fprintf(p->out, "%s%s", hl_strbuf_str(&p->indent), lines[last]);
	put_frame(p, &p->t->nodes[node], p->indents.len + 1);
	if (hl_vec_push(&p->indents, p->indent.len))
		return -ENOMEM;
	hl_strbuf_puts(&p->indent, lines[2 + last]);
	while (follow(p, &node)) {
		hl_put_no_numbers(p->out, &p->numbers);
		fputs(hl_strbuf_str(&p->indent), p->out);
		put_frame(p, &p->t->nodes[node], p->indents.len);
	}
	if (hl_strbuf_error(&p->indent))
		return -ENOMEM;
	return hl_vec_push(&p->path, ((struct place){.node = node, .shown = count_shown(p, node)}));
}

static void leave(struct print *p)
{
	p->path.len--;
	if (p->indents.len > 0) {
		p->indent.len = p->indents.data[--p->indents.len];
		p->indent.data[p->indent.len] = 0;
	}
}

static int walk(struct print *p)
{
	int err = hl_vec_push(&p->path, ((struct place){.shown = count_shown(p, 0)}));

	while (p->path.len > 0 && !err) {
		struct place *at = &p->path.data[p->path.len - 1];
		const struct hl_tree_node *n = &p->t->nodes[at->node];

		if (at->next < at->shown) {
			bool last = at->next + 1 == at->shown;

			err = enter(p, p->t->children[n->first_child + at->next++], last);
		} else {
			leave(p);
		}
	}
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
	err = walk(&p);
	hl_put_hidden(out, &a->total, &p.hidden_sum, p.hidden, "branch", "branches", opts);
	hl_strbuf_fini(&p.indent);
	hl_vec_free(&p.indents);
	hl_vec_free(&p.path);
	return err;
}
