/*
 * graph.h - an answer as a graph: functions, and who calls whom.
 *
 * Whatever a stack costs counts once for each function and each call in it, however often a
 * recursion has them.
 */
#ifndef HL_MODEL_GRAPH_H
#define HL_MODEL_GRAPH_H

#include "model/tree.h"

struct hl_graph_function {
	const char *name, *module; /* the model's; module: NULL when there is none */
	struct hl_value self, total;
};

struct hl_graph_call {
	uint32_t from, to; /* functions */
	struct hl_value value;
};

struct hl_graph {
	struct hl_graph_function *functions;
	uint32_t n_functions;
	struct hl_graph_call *calls;
	size_t n_calls;
	uint32_t *of_node; /* per node of the tree: its function; not for node 0 */
};

/* Of a tree with the outermost frame first. 0 or -ENOMEM. */
int hl_graph_build(struct hl_graph *g, struct hl_model *m, const struct hl_tree *t);
void hl_graph_fini(struct hl_graph *g);

#endif
