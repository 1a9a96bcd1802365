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
#include "views/text/text.h"

/* How wide the numbers are: "100.0%  1023.9 KiB  1,234,567  ". */
#define NUMBERS    "%6.1f%%  %10s  %10s  "
#define NO_NUMBERS "%33s"

struct place {
	uint32_t node, next; /* next: which child comes next */
	uint32_t shown;      /* how many of its children are large enough */
};

struct print {
	FILE *out;
	struct hl_model *m;
	const struct hl_tree *t;
	const struct hl_text_tree_opts *opts;
	uint64_t least;  /* frames with fewer bytes are left out */
	uint64_t hidden; /* how many subtrees were */
	struct hl_value hidden_sum;
	struct hl_strbuf indent;
	HL_VEC(size_t) indents; /* lengths of indent, one for each depth */
	HL_VEC(struct place) path;
};

static double percent(const struct print *p, uint64_t bytes)
{
	uint64_t all = p->t->nodes[0].total.bytes;

	return all ? (double)bytes * 100 / (double)all : 0;
}

static bool large_enough(const struct print *p, uint32_t node)
{
	return p->t->nodes[node].total.bytes >= p->least;
}

/* Children come by size, so the shown ones are the first; the others are counted as hidden. */
static uint32_t count_shown(struct print *p, uint32_t node)
{
	const struct hl_tree_node *n = &p->t->nodes[node];
	uint32_t shown = 0;

	for (uint32_t i = 0; i < n->n_children; i++) {
		uint32_t child = p->t->children[n->first_child + i];

		if (large_enough(p, child)) {
			shown++;
			continue;
		}
		p->hidden++;
		p->hidden_sum.bytes += p->t->nodes[child].total.bytes;
		p->hidden_sum.blocks += p->t->nodes[child].total.blocks;
	}
	return shown;
}

static void put_frame(struct print *p, const struct hl_tree_node *n)
{
	const struct hl_frame *f = hl_model_frame(p->m, n->frame);
	struct hl_strbuf b = {0};
	const char *base;

	hl_text_escape(&b, f->function);
	if (f->file) {
		hl_strbuf_puts(&b, "  ");
		base = strrchr(f->file, '/');
		hl_text_escape(&b, base ? base + 1 : f->file);
		if (f->line)
			hl_strbuf_printf(&b, ":%" PRIu32, f->line);
	} else if (f->module) {
		hl_strbuf_puts(&b, "  [");
		base = strrchr(f->module, '/');
		hl_text_escape(&b, base ? base + 1 : f->module);
		hl_strbuf_puts(&b, "]");
	}
	if (n->inlined)
		hl_strbuf_puts(&b, " (inlined)");
	fprintf(p->out, "%s\n", hl_strbuf_str(&b));
	hl_strbuf_fini(&b);
}

static void put_numbers(struct print *p, const struct hl_value *v)
{
	char bytes[HL_TEXT_SIZE_MAX], blocks[HL_TEXT_SIZE_MAX];

	fprintf(p->out, NUMBERS, percent(p, v->bytes), hl_text_bytes(bytes, v->bytes),
		hl_text_count(blocks, v->blocks));
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

	put_numbers(p, &p->t->nodes[node].total);
	fprintf(p->out, "%s%s", hl_strbuf_str(&p->indent), lines[last]);
	put_frame(p, &p->t->nodes[node]);
	if (hl_vec_push(&p->indents, p->indent.len))
		return -ENOMEM;
	hl_strbuf_puts(&p->indent, lines[2 + last]);
	while (follow(p, &node)) {
		fprintf(p->out, NO_NUMBERS "%s", "", hl_strbuf_str(&p->indent));
		put_frame(p, &p->t->nodes[node]);
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

static void head(struct print *p, const struct hl_answer *a)
{
	char from[HL_TEXT_SIZE_MAX], to[HL_TEXT_SIZE_MAX], all[HL_TEXT_SIZE_MAX];
	char bytes[HL_TEXT_SIZE_MAX], blocks[HL_TEXT_SIZE_MAX];

	hl_text_duration(to, a->to_ns);
	hl_text_duration(all, hl_model_end_ns(p->m));
	if (a->from_ns == a->to_ns)
		fprintf(p->out, "%s, at %s of %s: ", p->opts->what, to, all);
	else
		fprintf(p->out, "%s, from %s to %s of %s: ", p->opts->what,
			hl_text_duration(from, a->from_ns), to, all);
	fprintf(p->out, "%s in %s block%s\n", hl_text_bytes(bytes, a->total.bytes),
		hl_text_count(blocks, a->total.blocks), a->total.blocks == 1 ? "" : "s");
}

static void foot(struct print *p)
{
	char bytes[HL_TEXT_SIZE_MAX], blocks[HL_TEXT_SIZE_MAX];

	if (p->hidden > 0)
		fprintf(p->out,
			"\nhidden: %s in %s block%s (%.1f%%), %" PRIu64
			" branch%s below %g%% each; --min 0 shows all\n",
			hl_text_bytes(bytes, p->hidden_sum.bytes),
			hl_text_count(blocks, p->hidden_sum.blocks),
			p->hidden_sum.blocks == 1 ? "" : "s", percent(p, p->hidden_sum.bytes),
			p->hidden, p->hidden == 1 ? "" : "es", p->opts->min_percent);
}

int hl_text_tree(FILE *out, struct hl_model *m, const struct hl_answer *a, const struct hl_tree *t,
	const struct hl_text_tree_opts *opts)
{
	struct print p = {.out = out, .m = m, .t = t, .opts = opts};
	double least = (double)a->total.bytes * opts->min_percent / 100;
	int err;

	p.least = least > 0 ? (uint64_t)least + ((double)(uint64_t)least < least) : 0;
	head(&p, a);
	if (t->n_nodes > 1)
		putc('\n', out);
	err = walk(&p);
	foot(&p);
	hl_text_notes(out, m);
	hl_strbuf_fini(&p.indent);
	hl_vec_free(&p.indents);
	hl_vec_free(&p.path);
	return err;
}
