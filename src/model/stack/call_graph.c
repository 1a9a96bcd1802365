/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_graph.c - see call_graph.h.
 */
#include "model/stack/call_graph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/model_internal.h"

struct builder {
	const struct hl_tree *t;
	HL_VEC(struct hl_graph_function) functions;
	HL_VEC(struct hl_graph_call) calls;
	HL_VEC(uint32_t) depth;      /* per function: how often it is on the current path */
	HL_VEC(uint32_t) call_depth; /* the same per call */
	struct hl_string_table names, modules;
	struct hl_pair_map by_name;  /* (name, module) -> function */
	struct hl_pair_map by_call;  /* (function, function) -> call */
	uint32_t *of_node, *call_of; /* per tree node: its function, and the call from its parent */
};

static void add_value(struct hl_value *to, const struct hl_value *v)
{
	to->bytes += v->bytes;
	to->blocks += v->blocks;
}

/* Lines are ignored: frames of one function on different lines are one function here. */
static int find_function(struct builder *b, const struct hl_frame *f, uint32_t *out)
{
	struct hl_graph_function new = {.name = f->function, .module = f->module};
	uint32_t name, module;
	int err = hl_string_table_add(&b->names, f->function, &name);

	if (!err)
		err = hl_string_table_add(&b->modules, f->module ? f->module : "", &module);
	if (err)
		return err;
	*out = hl_pair_map_get(&b->by_name, name, module);
	if (*out != HL_PAIR_MAP_NONE)
		return 0;
	*out = (uint32_t)b->functions.len;
	if (hl_vec_push(&b->functions, new) || hl_vec_push(&b->depth, 0))
		return -ENOMEM;
	return hl_pair_map_put(&b->by_name, name, module, *out);
}

static int find_call(struct builder *b, uint32_t from, uint32_t to, uint32_t *out)
{
	struct hl_graph_call new = {.from = from, .to = to};

	*out = hl_pair_map_get(&b->by_call, from, to);
	if (*out != HL_PAIR_MAP_NONE)
		return 0;
	*out = (uint32_t)b->calls.len;
	if (hl_vec_push(&b->calls, new) || hl_vec_push(&b->call_depth, 0))
		return -ENOMEM;
	return hl_pair_map_put(&b->by_call, from, to, *out);
}

/* Parents have smaller indices than their children. */
static int map_nodes(struct builder *b, struct hl_model *m)
{
	int err = 0;

	for (uint32_t i = 1; i < b->t->n_nodes && !err; i++) {
		const struct hl_tree_node *n = &b->t->nodes[i];

		err = find_function(b, hl_model_frame(m, n->frame), &b->of_node[i]);
		if (!err)
			add_value(&b->functions.data[b->of_node[i]].self, &n->self);
		if (!err && n->parent != 0)
			err = find_call(b, b->of_node[n->parent], b->of_node[i], &b->call_of[i]);
	}
	return err;
}

static void enter_node(struct builder *b, uint32_t node)
{
	const struct hl_tree_node *n = &b->t->nodes[node];
	uint32_t f = b->of_node[node], c = b->call_of[node];

	if (b->depth.data[f]++ == 0)
		add_value(&b->functions.data[f].total, &n->total);
	if (n->parent != 0 && b->call_depth.data[c]++ == 0)
		add_value(&b->calls.data[c].value, &n->total);
}

static void leave_node(struct builder *b, uint32_t node)
{
	b->depth.data[b->of_node[node]]--;
	if (b->t->nodes[node].parent != 0)
		b->call_depth.data[b->call_of[node]]--;
}

/* Depth-first and not recursive: stacks may be a million frames deep. */
static int walk_tree(struct builder *b)
{
	uint32_t *next = calloc(b->t->n_nodes, sizeof(*next)), at = 0;

	if (!next)
		return -ENOMEM;
	for (;;) {
		const struct hl_tree_node *n = &b->t->nodes[at];

		if (next[at] < n->n_children) {
			at = b->t->children[n->first_child + next[at]++];
			enter_node(b, at);
			continue;
		}
		if (at == 0)
			break;
		leave_node(b, at);
		at = n->parent;
	}
	free(next);
	return 0;
}

int hl_graph_build(struct hl_graph *g, struct hl_model *m, const struct hl_tree *t)
{
	struct builder b = {.t = t};
	int err;

	b.of_node = calloc((size_t)t->n_nodes + 1, sizeof(*b.of_node));
	b.call_of = calloc((size_t)t->n_nodes + 1, sizeof(*b.call_of));
	err = b.of_node && b.call_of ? map_nodes(&b, m) : -ENOMEM;
	if (!err)
		err = walk_tree(&b);
	*g = (struct hl_graph){.functions = b.functions.data,
		.n_functions = (uint32_t)b.functions.len,
		.calls = b.calls.data,
		.n_calls = b.calls.len,
		.node_functions = b.of_node};
	free(b.call_of);
	hl_vec_free(&b.depth);
	hl_vec_free(&b.call_depth);
	hl_string_table_fini(&b.names);
	hl_string_table_fini(&b.modules);
	hl_pair_map_fini(&b.by_name);
	hl_pair_map_fini(&b.by_call);
	if (err)
		hl_graph_fini(g);
	return err;
}

void hl_graph_fini(struct hl_graph *g)
{
	free(g->functions);
	free(g->calls);
	free(g->node_functions);
	memset(g, 0, sizeof(*g));
}
