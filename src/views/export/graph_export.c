/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph_export.c - call graphs: `dot` for Graphviz, and `gprof2dot` for the program of that name,
 * with whole stacks in the format of memtrail.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "model/stack/call_graph.h"
#include "util/safe_text.h"
#include "views/export/export_internal.h"

/* A graph of all functions would be unreadable. Small ones are left out, as gprof2dot does by
 * default. */
#define MIN_FUNCTION_DIVISOR 200  /* as a divisor: 0.5 % */
#define MIN_CALL_DIVISOR     1000 /* 0.1 % */

struct writer {
	struct hl_export_job *x;
	struct hl_answer a;
	struct hl_tree t;
	struct hl_graph g;
	uint64_t total;
};

static int build_graph(struct writer *w)
{
	int err = hl_export_tree(w->x, true, &w->a, &w->t);

	w->total = hl_export_cost(w->x, &w->a.total);
	return err ? err : hl_graph_build(&w->g, w->x->m, &w->t);
}

static void free_writer(struct writer *w)
{
	hl_graph_fini(&w->g);
	hl_tree_fini(&w->t);
	hl_answer_fini(&w->a);
}

/* --- dot --- */

static void put_quoted(struct hl_strbuf *b, const char *s)
{
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			hl_strbuf_putc(b, '\\');
		hl_strbuf_putc(b, *s);
	}
}

static void put_escaped(struct hl_strbuf *b, const char *s)
{
	struct hl_strbuf safe = {0};

	hl_text_escape(&safe, s);
	put_quoted(b, hl_strbuf_str(&safe));
	hl_strbuf_fini(&safe);
}

static void put_cost(const struct hl_export_job *x, struct hl_strbuf *b, const struct hl_value *v)
{
	char text[HL_TEXT_SIZE_MAX];

	if (x->by_blocks)
		hl_strbuf_printf(b, "%s blocks", hl_text_count(text, v->blocks));
	else
		hl_strbuf_puts(b, hl_text_bytes(text, v->bytes));
}

static double share(const struct writer *w, const struct hl_value *v)
{
	return w->total ? (double)hl_export_cost(w->x, v) / (double)w->total : 0;
}

static bool is_shown(const struct writer *w, uint32_t function)
{
	uint64_t cost = hl_export_cost(w->x, &w->g.functions[function].total);

	return cost > 0 && cost >= w->total / MIN_FUNCTION_DIVISOR;
}

static void put_function(struct writer *w, uint32_t i)
{
	const struct hl_graph_function *f = &w->g.functions[i];
	double part = share(w, &f->total);
	struct hl_strbuf b = {0};

	hl_strbuf_printf(&b, "\tf%" PRIu32 " [label=\"", i);
	if (f->module) {
		put_escaped(&b, hl_export_basename(f->module));
		hl_strbuf_puts(&b, "\\n");
	}
	put_escaped(&b, f->name);
	hl_strbuf_printf(&b, "\\n%.2f%% ", part * 100);
	put_cost(w->x, &b, &f->total);
	hl_strbuf_printf(&b, "\\nself %.2f%% ", share(w, &f->self) * 100);
	put_cost(w->x, &b, &f->self);
	/* The color goes from pale yellow to red with the share. */
	hl_strbuf_printf(&b,
		"\", fillcolor=\"%.3f %.3f 1.0\", total=%" PRIu64 ", self=%" PRIu64 "];\n",
		0.16 * (1 - part), 0.15 + 0.65 * part, hl_export_cost(w->x, &f->total),
		hl_export_cost(w->x, &f->self));
	fputs(hl_strbuf_str(&b), w->x->out);
	hl_strbuf_fini(&b);
}

static void put_call(struct writer *w, const struct hl_graph_call *c)
{
	uint64_t cost = hl_export_cost(w->x, &c->value);
	double part = share(w, &c->value);
	struct hl_strbuf b = {0};

	if (!is_shown(w, c->from) || !is_shown(w, c->to) || cost < w->total / MIN_CALL_DIVISOR ||
		!cost)
		return;
	hl_strbuf_printf(&b, "\tf%" PRIu32 " -> f%" PRIu32 " [label=\"", c->from, c->to);
	put_cost(w->x, &b, &c->value);
	hl_strbuf_printf(&b, "\", penwidth=%.2f, weight=%d, cost=%" PRIu64 "];\n", 0.5 + 4 * part,
		1 + (int)(part * 100), cost);
	fputs(hl_strbuf_str(&b), w->x->out);
	hl_strbuf_fini(&b);
}

int hl_export_dot(struct hl_export_job *x)
{
	struct writer w = {.x = x};
	struct hl_strbuf title = {0};
	int err = build_graph(&w);

	if (!err) {
		put_escaped(&title, hl_export_basename(hl_model_info(x->m)->meta.program));
		hl_strbuf_printf(&title, ": %s, ", x->title);
		put_cost(x, &title, &w.a.total);
		fprintf(x->out,
			"digraph heap {\n\tgraph [label=\"%s\", labelloc=t, "
			"fontname=\"sans-serif\"];\n"
			"\tnode [shape=box, style=filled, fontname=\"sans-serif\", fontsize=10];\n"
			"\tedge [fontname=\"sans-serif\", fontsize=9];\n",
			hl_strbuf_str(&title));
	}
	for (uint32_t i = 0; i < w.g.n_functions && !err; i++) {
		if (is_shown(&w, i))
			put_function(&w, i);
	}
	for (size_t i = 0; i < w.g.n_calls && !err; i++)
		put_call(&w, &w.g.calls[i]);
	fputs("}\n", x->out);
	hl_strbuf_fini(&title);
	free_writer(&w);
	return err;
}

/* --- gprof2dot --- */

static void put_event(struct writer *w, struct hl_json *j, uint32_t node)
{
	hl_json_begin_object(j);
	hl_json_key(j, "callchain");
	hl_json_begin_array(j);
	for (uint32_t i = node; i != 0; i = w->t.nodes[i].parent)
		hl_json_u64(j, w->g.node_functions[i]);
	hl_json_end_array(j);
	hl_json_key(j, "cost");
	hl_json_begin_array(j);
	hl_json_u64(j, hl_export_cost(w->x, &w->t.nodes[node].self));
	hl_json_end_array(j);
	hl_json_end_object(j);
}

static void put_functions(struct writer *w, struct hl_json *j)
{
	hl_json_key(j, "functions");
	hl_json_begin_array(j);
	for (uint32_t i = 0; i < w->g.n_functions; i++) {
		const struct hl_graph_function *f = &w->g.functions[i];

		hl_json_begin_object(j);
		hl_json_key_string(j, "name", f->name);
		if (f->module)
			hl_json_key_string(j, "module", hl_export_basename(f->module));
		hl_json_end_object(j);
	}
	hl_json_end_array(j);
}

int hl_export_gprof2dot(struct hl_export_job *x)
{
	struct writer w = {.x = x};
	struct hl_json j;
	int err = build_graph(&w);

	hl_json_init(&j, x->out);
	hl_json_begin_object(&j);
	hl_json_key_u64(&j, "version", 0);
	hl_json_key(&j, "costs");
	hl_json_begin_array(&j);
	hl_json_begin_object(&j);
	hl_json_key_string(&j, "description", x->by_blocks ? "Blocks" : "Memory");
	hl_json_key_string(&j, "unit", x->by_blocks ? "blocks" : "bytes");
	hl_json_end_object(&j);
	hl_json_end_array(&j);
	put_functions(&w, &j);
	hl_json_key(&j, "events");
	hl_json_begin_array(&j);
	for (uint32_t i = 1; i < w.t.n_nodes && !err; i++) {
		if (hl_export_cost(x, &w.t.nodes[i].self))
			put_event(&w, &j, i);
	}
	hl_json_end_array(&j);
	hl_json_end_object(&j);
	fputs("\n", x->out);
	free_writer(&w);
	return err;
}
