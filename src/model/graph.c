/*
 * graph.c - see graph.h.
 */
#include "model/graph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/model_internal.h"

struct build {
	const struct hl_tree *t;
	HL_VEC(struct hl_graph_function) functions;
	HL_VEC(struct hl_graph_call) calls;
	HL_VEC(uint32_t) depth;      /* per function: how often it is on the way to where we are */
	HL_VEC(uint32_t) call_depth; /* per call */
	struct hl_strings names, modules;
	struct hl_map by_name;       /* (name, module) -> function */
	struct hl_map by_call;       /* (function, function) -> call */
	uint32_t *of_node, *call_of; /* per node of the tree */
};

static void add(struct hl_value *to, const struct hl_value *v)
{
	to->bytes += v->bytes;
	to->blocks += v->blocks;
}

/* Lines do not matter: they are all in one function. */
static int function_of(struct build *b, const struct hl_frame *f, uint32_t *out)
{
	struct hl_graph_function new = {.name = f->function, .module = f->module};
	uint32_t name, module;
	int err = hl_strings_add(&b->names, f->function, &name);

	if (!err)
		err = hl_strings_add(&b->modules, f->module ? f->module : "", &module);
	if (err)
		return err;
	*out = hl_map_get(&b->by_name, name, module);
	if (*out != HL_MAP_NONE)
		return 0;
	*out = (uint32_t)b->functions.len;
	if (hl_vec_push(&b->functions, new) || hl_vec_push(&b->depth, 0))
		return -ENOMEM;
	return hl_map_put(&b->by_name, name, module, *out);
}

static int call_of(struct build *b, uint32_t from, uint32_t to, uint32_t *out)
{
	struct hl_graph_call new = {.from = from, .to = to};

	*out = hl_map_get(&b->by_call, from, to);
	if (*out != HL_MAP_NONE)
		return 0;
	*out = (uint32_t)b->calls.len;
	if (hl_vec_push(&b->calls, new) || hl_vec_push(&b->call_depth, 0))
		return -ENOMEM;
	return hl_map_put(&b->by_call, from, to, *out);
}

/* Parents come before their children. */
static int name_nodes(struct build *b, struct hl_model *m)
{
	int err = 0;

	for (uint32_t i = 1; i < b->t->n_nodes && !err; i++) {
		const struct hl_tree_node *n = &b->t->nodes[i];

		err = function_of(b, hl_model_frame(m, n->frame), &b->of_node[i]);
		if (!err)
			add(&b->functions.data[b->of_node[i]].self, &n->self);
		if (!err && n->parent != 0)
			err = call_of(b, b->of_node[n->parent], b->of_node[i], &b->call_of[i]);
	}
	return err;
}

static void enter(struct build *b, uint32_t node)
{
	const struct hl_tree_node *n = &b->t->nodes[node];
	uint32_t f = b->of_node[node], c = b->call_of[node];

	if (b->depth.data[f]++ == 0)
		add(&b->functions.data[f].total, &n->total);
	if (n->parent != 0 && b->call_depth.data[c]++ == 0)
		add(&b->calls.data[c].value, &n->total);
}

static void leave(struct build *b, uint32_t node)
{
	b->depth.data[b->of_node[node]]--;
	if (b->t->nodes[node].parent != 0)
		b->call_depth.data[b->call_of[node]]--;
}

/* Not recursive: stacks may be a million frames deep. */
static int walk(struct build *b)
{
	uint32_t *next = calloc(b->t->n_nodes, sizeof(*next)), at = 0;

	if (!next)
		return -ENOMEM;
	for (;;) {
		const struct hl_tree_node *n = &b->t->nodes[at];

		if (next[at] < n->n_children) {
			at = b->t->children[n->first_child + next[at]++];
			enter(b, at);
			continue;
		}
		if (at == 0)
			break;
		leave(b, at);
		at = n->parent;
	}
	free(next);
	return 0;
}

int hl_graph_build(struct hl_graph *g, struct hl_model *m, const struct hl_tree *t)
{
	struct build b = {.t = t};
	int err;

	b.of_node = calloc((size_t)t->n_nodes + 1, sizeof(*b.of_node));
	b.call_of = calloc((size_t)t->n_nodes + 1, sizeof(*b.call_of));
	err = b.of_node && b.call_of ? name_nodes(&b, m) : -ENOMEM;
	if (!err)
		err = walk(&b);
	*g = (struct hl_graph){.functions = b.functions.data,
		.n_functions = (uint32_t)b.functions.len,
		.calls = b.calls.data,
		.n_calls = b.calls.len,
		.of_node = b.of_node};
	free(b.call_of);
	hl_vec_free(&b.depth);
	hl_vec_free(&b.call_depth);
	hl_strings_fini(&b.names);
	hl_strings_fini(&b.modules);
	hl_map_fini(&b.by_name);
	hl_map_fini(&b.by_call);
	if (err)
		hl_graph_fini(g);
	return err;
}

void hl_graph_fini(struct hl_graph *g)
{
	free(g->functions);
	free(g->calls);
	free(g->of_node);
	memset(g, 0, sizeof(*g));
}
