/* SPDX-License-Identifier: Apache-2.0 */
/*
 * massif.c - the output format of massif: the heap at moments of the run, with a tree at some of
 * them and at the peak.
 *
 * The moments are at equal distances, as many as massif itself would show, plus the exact event of
 * the peak. Trees begin with the allocating function. A line has the number of lines below it, so
 * all small nodes together are one line.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "model/query/query_plan.h"
#include "model/stack/group_tree.h"
#include "util/work/work.h"
#include "util/safe_text.h"
#include "views/export/export_internal.h"

#define MOMENTS   72
#define DETAILED  9 /* one moment of this many has a tree */
#define NS_PER_MS 1000000
#define THRESHOLD 100 /* as a divisor: nodes below 1 % are not shown */
#define DEPTH_MAX 200 /* ms_print recurses */

struct writer {
	struct hl_export_job *x;
	struct hl_tree t; /* of the current snapshot */
	uint64_t least;
	uint32_t n;       /* number of snapshots so far */
	uint64_t last_ns; /* time of the last snapshot */
};

static void put_label(struct hl_strbuf *b, const struct hl_frame *f, uint32_t frame)
{
	struct hl_strbuf raw = {0};

	hl_strbuf_printf(&raw, "0x%" PRIX32 ": %s ", frame + 1, f->function);
	if (f->file)
		hl_strbuf_printf(&raw, "(%s:%" PRIu32 ")", hl_export_basename(f->file), f->line);
	else
		hl_strbuf_printf(&raw, "(in %s)", f->module ? f->module : "???");
	hl_text_escape(b, hl_strbuf_str(&raw));
	hl_strbuf_fini(&raw);
}

/* Returns how many children are large enough; they come first. The others are one more line. */
static uint32_t count_shown(const struct writer *w, const struct hl_tree_node *n, uint32_t depth,
	struct hl_value *remaining, uint32_t *n_remaining)
{
	uint32_t k = 0;

	*remaining = (struct hl_value){0};
	*n_remaining = 0;
	for (uint32_t i = 0; i < n->n_children; i++) {
		const struct hl_tree_node *c = &w->t.nodes[w->t.children[n->first_child + i]];

		if (c->total.bytes >= w->least && c->total.bytes > 0 && depth < DEPTH_MAX) {
			k++;
		} else {
			remaining->bytes += c->total.bytes;
			++*n_remaining;
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

static void put_remaining(
	struct writer *w, uint32_t depth, const struct hl_value *remaining, uint32_t n)
{
	char text[96];

	snprintf(text, sizeof(text),
		"in %" PRIu32 " place%s, all below massif's threshold (1.00%%)", n,
		n == 1 ? "" : "s");
	put_line(w, depth, 0, remaining->bytes, text);
}

static int put_tree(struct writer *w)
{
	struct level {
		uint32_t node, next, k;
	};
	HL_VEC(struct level) path = {0};
	struct level l = {0};
	struct hl_value remaining;
	uint32_t n_remaining;
	int err = 0;

	for (;;) {
		const struct hl_tree_node *n = &w->t.nodes[l.node];
		uint32_t depth = (uint32_t)path.len;

		/* On the first visit, the node's own line; after the last shown child, the line of
		 * the others. */
		l.k = count_shown(w, n, depth, &remaining, &n_remaining);
		if (l.next == 0)
			put_node(w, l.node, depth, l.k + (n_remaining > 0));
		if (l.next < l.k) {
			uint32_t child = w->t.children[n->first_child + l.next++];

			err = hl_vec_push(&path, l);
			if (err)
				break;
			l = (struct level){.node = child};
			continue;
		}
		if (n_remaining > 0)
			put_remaining(w, depth + 1, &remaining, n_remaining);
		if (path.len == 0)
			break;
		l = path.data[--path.len];
	}
	hl_vec_free(&path);
	return err;
}

static void put_header(struct writer *w, uint64_t ns, uint64_t bytes, const char *tree)
{
	fprintf(w->x->out,
		"#-----------\nsnapshot=%" PRIu32 "\n#-----------\ntime=%" PRIu64
		"\nmem_heap_B=%" PRIu64 "\nmem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree=%s\n",
		w->n++, ns / NS_PER_MS, bytes, tree);
}

static struct hl_time_spec moment_at(const struct writer *w, uint64_t i)
{
	uint64_t begin = hl_model_base(w->x->m)->time_ns, end = hl_model_end_ns(w->x->m);

	if (i == MOMENTS || begin > end)
		return (struct hl_time_spec){.kind = HL_TIME_SPEC_END};
	return (struct hl_time_spec){
		.ns = begin + (uint64_t)((unsigned __int128)(end - begin) * i / MOMENTS)};
}

static struct hl_query query_at(const struct writer *w, const struct hl_time_spec *when)
{
	return (struct hl_query){
		.filter = w->x->query.filter, .pool = w->x->query.pool, .to = *when};
}

/* With most filters each query needs all events, so as many as possible share a scan. */
static void prefetch_all(struct writer *w)
{
	for (uint64_t i = 0; i <= MOMENTS; i++) {
		struct hl_time_spec when = moment_at(w, i);
		struct hl_query q = query_at(w, &when);

		if (!hl_query_sums_suffice(w->x->m, &q))
			hl_query_prefetch(w->x->m, &q);
	}
}

/* With aggregated blocks the heap is known only at some moments. Each is written once, in order. */
static bool is_repeated(const struct writer *w, const struct hl_answer *a)
{
	return a->before_damage && hl_model_has_aggregated(w->x->m) && w->n > 0 &&
	       a->to_ns <= w->last_ns;
}

/* The allocating functions are below their group. */
static int build_grouped_tree(
	struct writer *w, const struct hl_query *q, const struct hl_tree_opts *opts)
{
	struct hl_grouped_stacks d;
	int err = hl_model_group_stacks(w->x->m, q, w->x->group, &d);

	if (!err)
		err = hl_tree_build_grouped(&w->t, w->x->m, &d, opts);
	hl_grouped_stacks_fini(&d);
	return err;
}

static int put_snapshot(struct writer *w, const struct hl_time_spec *when, const char *tree)
{
	struct hl_query q = query_at(w, when);
	struct hl_tree_opts opts = {.inverted = true, .depth = DEPTH_MAX};
	struct hl_answer a;
	int err = hl_model_query(w->x->m, &q, &a);

	if (err || is_repeated(w, &a))
		goto out;
	put_header(w, a.to_ns, a.total.bytes, tree ? tree : "empty");
	w->last_ns = a.to_ns;
	w->x->before_damage |= a.before_damage && !hl_model_has_aggregated(w->x->m);
	w->x->to_ns = a.to_ns;
	w->least = a.total.bytes / THRESHOLD;
	opts.min_value = w->least;
	if (tree && w->x->grouped)
		err = build_grouped_tree(w, &q, &opts);
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
	bool peak_done = err == -ENODATA; /* there is no peak to show */

	if (err && !peak_done)
		return err;
	err = 0;
	hl_export_command(&command, &hl_model_info(x->m)->meta);
	fprintf(x->out, "desc: heaplapse export --format massif\ncmd: %s\ntime_unit: ms\n",
		hl_strbuf_str(&command));
	hl_strbuf_fini(&command);
	prefetch_all(&w);
	hl_work_begin(hl_model_work(x->m), HL_WORK_SHORT, "writing");
	for (uint64_t i = 0; i <= MOMENTS && !err; i++) {
		struct hl_time_spec when = moment_at(&w, i);

		if (!peak_done && x->peak.time_ns <= hl_time_spec_ns(&when, x->m)) {
			err = put_snapshot(&w, &x->peak.when, "peak");
			peak_done = true;
		}
		if (!err)
			err = put_snapshot(
				&w, &when, i % DETAILED == DETAILED - 1 ? "detailed" : NULL);
		if (!err)
			err = hl_work_tick(hl_model_work(x->m), i, MOMENTS);
	}
	hl_work_end(hl_model_work(x->m), HL_WORK_SHORT);
	return err;
}
