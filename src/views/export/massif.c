/*
 * massif.c - massif's output: the heap at moments of the run, with a tree at some of them and at
 * the peak.
 *
 * Moments are at equal distances, as many as massif itself would show, and the very event of the
 * peak. Trees have the allocating function first. A line says how many follow below it, so what is
 * too small to be shown is one line.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "model/divide.h"
#include "util/progress.h"
#include "util/text.h"
#include "views/export/export_internal.h"

#define MOMENTS   72
#define DETAILED  9 /* each so many moments, one with a tree */
#define NS_PER_MS 1000000
#define THRESHOLD 100 /* as a divisor: below 1 % */
#define DEPTH_MAX 200 /* ms_print recurses */

struct writer {
	struct hl_export_job *x;
	struct hl_tree t; /* of the snapshot that is being written */
	uint64_t least;
	uint32_t n;       /* snapshots so far */
	uint64_t last_ns; /* of the last one */
};

static void put_label(struct hl_strbuf *b, const struct hl_frame *f, uint32_t frame)
{
	struct hl_strbuf raw = {0};

	hl_strbuf_printf(&raw, "0x%" PRIX32 ": %s ", frame + 1, f->function);
	if (f->file)
		hl_strbuf_printf(&raw, "(%s:%" PRIu32 ")", hl_export_base(f->file), f->line);
	else
		hl_strbuf_printf(&raw, "(in %s)", f->module ? f->module : "???");
	hl_text_escape(b, hl_strbuf_str(&raw));
	hl_strbuf_fini(&raw);
}

/* How many children are large enough, which stand first; the others are one more line. */
static uint32_t shown(const struct writer *w, const struct hl_tree_node *n, uint32_t depth,
	struct hl_value *rest, uint32_t *n_rest)
{
	uint32_t k = 0;

	*rest = (struct hl_value){0};
	*n_rest = 0;
	for (uint32_t i = 0; i < n->n_children; i++) {
		const struct hl_tree_node *c = &w->t.nodes[w->t.children[n->first_child + i]];

		if (c->total.bytes >= w->least && c->total.bytes > 0 && depth < DEPTH_MAX) {
			k++;
		} else {
			rest->bytes += c->total.bytes;
			++*n_rest;
		}
	}
	return k;
}

static void put_line(
	struct writer *w, uint32_t depth, uint32_t lines, uint64_t bytes, const char *text)
{
	fprintf(w->x->out, "%*sn%" PRIu32 ": %" PRIu64 " %s\n", (int)depth, "", lines, bytes, text);
}

static void put_node(struct writer *w, uint32_t node, uint32_t depth, uint32_t lines)
{
	const struct hl_tree_node *n = &w->t.nodes[node];
	struct hl_strbuf text = {0};

	if (node == 0)
		hl_strbuf_puts(
			&text, "(heap allocation functions) malloc/new/new[], --alloc-fns, etc.");
	else
		put_label(&text, hl_model_frame(w->x->m, n->frame), n->frame);
	put_line(w, depth, lines, n->total.bytes, hl_strbuf_str(&text));
	hl_strbuf_fini(&text);
}

static void put_rest(struct writer *w, uint32_t depth, const struct hl_value *rest, uint32_t n)
{
	char text[96];

	snprintf(text, sizeof(text),
		"in %" PRIu32 " place%s, all below massif's threshold (1.00%%)", n,
		n == 1 ? "" : "s");
	put_line(w, depth, 0, rest->bytes, text);
}

static int put_tree(struct writer *w)
{
	struct level {
		uint32_t node, next, k;
	};
	HL_VEC(struct level) path = {0};
	struct level l = {0};
	struct hl_value rest;
	uint32_t n_rest;
	int err = 0;

	for (;;) {
		const struct hl_tree_node *n = &w->t.nodes[l.node];
		uint32_t depth = (uint32_t)path.len;

		/* Coming to it: its own line. After the last child that is shown: the others. */
		l.k = shown(w, n, depth, &rest, &n_rest);
		if (l.next == 0)
			put_node(w, l.node, depth, l.k + (n_rest > 0));
		if (l.next < l.k) {
			uint32_t child = w->t.children[n->first_child + l.next++];

			err = hl_vec_push(&path, l);
			if (err)
				break;
			l = (struct level){.node = child};
			continue;
		}
		if (n_rest > 0)
			put_rest(w, depth + 1, &rest, n_rest);
		if (path.len == 0)
			break;
		l = path.data[--path.len];
	}
	hl_vec_free(&path);
	return err;
}

static void put_head(struct writer *w, uint64_t ns, uint64_t bytes, const char *tree)
{
	fprintf(w->x->out,
		"#-----------\nsnapshot=%" PRIu32 "\n#-----------\ntime=%" PRIu64
		"\nmem_heap_B=%" PRIu64 "\nmem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree=%s\n",
		w->n++, ns / NS_PER_MS, bytes, tree);
}

static struct hl_when moment(const struct writer *w, uint64_t i)
{
	uint64_t end = hl_model_end_ns(w->x->m);

	if (i == MOMENTS)
		return (struct hl_when){.kind = HL_WHEN_END};
	return (struct hl_when){.ns = (uint64_t)((unsigned __int128)end * i / MOMENTS)};
}

static struct hl_query query_at(const struct writer *w, const struct hl_when *when)
{
	return (struct hl_query){
		.filter = w->x->query.filter, .pool = w->x->query.pool, .to = *when};
}

/* With most filters each takes all events: as many as can be at a time. */
static void expect_all(struct writer *w)
{
	for (uint64_t i = 0; i <= MOMENTS; i++) {
		struct hl_when when = moment(w, i);
		struct hl_query q = query_at(w, &when);

		if (!hl_query_sums_suffice(w->x->m, &q))
			hl_query_expect(w->x->m, &q);
	}
}

/* Where only sums are kept the heap is known at some moments: each of them once, and in order. */
static bool is_known_again(const struct writer *w, const struct hl_answer *a)
{
	return a->moved && hl_model_withholds(w->x->m) && w->n > 0 && a->to_ns <= w->last_ns;
}

/* Below each group its allocating functions. */
static int divided_tree(struct writer *w, const struct hl_query *q, const struct hl_tree_opts *opts)
{
	struct hl_divided d;
	int err = hl_model_divide(w->x->m, q, w->x->group, &d);

	if (!err)
		err = hl_tree_build_divided(&w->t, w->x->m, &d, opts);
	hl_divided_fini(&d);
	return err;
}

static int put_snapshot(struct writer *w, const struct hl_when *when, const char *tree)
{
	struct hl_query q = query_at(w, when);
	struct hl_tree_opts opts = {.inverted = true, .depth = DEPTH_MAX};
	struct hl_answer a;
	int err = hl_model_query(w->x->m, &q, &a);

	if (err || is_known_again(w, &a))
		goto out;
	put_head(w, a.to_ns, a.total.bytes, tree ? tree : "empty");
	w->last_ns = a.to_ns;
	w->x->moved |= a.moved && !hl_model_withholds(w->x->m);
	w->x->to_ns = a.to_ns;
	w->least = a.total.bytes / THRESHOLD;
	opts.least = w->least;
	if (tree && w->x->grouped)
		err = divided_tree(w, &q, &opts);
	else if (tree)
		err = hl_tree_build(&w->t, w->x->m, &a, &opts);
	if (!err && tree)
		err = put_tree(w);
out:
	hl_tree_fini(&w->t);
	hl_answer_fini(&a);
	return err;
}

int hl_export_massif(struct hl_export_job *x)
{
	struct writer w = {.x = x};
	struct hl_strbuf command = {0};
	int err = hl_export_find_peak(x);
	bool peaked = err == -ENODATA; /* there is none to be shown */

	if (err && !peaked)
		return err;
	err = 0;
	hl_export_command(&command, &hl_model_info(x->m)->meta);
	fprintf(x->out, "desc: heaplapse export --format massif\ncmd: %s\ntime_unit: ms\n",
		hl_strbuf_str(&command));
	hl_strbuf_fini(&command);
	expect_all(&w);
	hl_progress_begin("writing");
	for (uint64_t i = 0; i <= MOMENTS && !err; i++) {
		struct hl_when when = moment(&w, i);

		if (!peaked && x->peak.time_ns <= hl_when_ns(&when, x->m)) {
			err = put_snapshot(&w, &x->peak.when, "peak");
			peaked = true;
		}
		if (!err)
			err = put_snapshot(
				&w, &when, i % DETAILED == DETAILED - 1 ? "detailed" : NULL);
		hl_progress_tick(i, MOMENTS);
	}
	hl_progress_end();
	return err;
}
