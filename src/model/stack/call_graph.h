/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_graph.h - an answer as a graph of functions and their calls.
 *
 * The value of a stack counts once for each function and each call in it, even if a recursion
 * contains them several times.
 */
#ifndef HL_MODEL_STACK_CALL_GRAPH_H
#define HL_MODEL_STACK_CALL_GRAPH_H

#include "model/stack/tree.h"

struct hl_graph_function {
	const char *name, *module; /* owned by the model; module: NULL if there is none */
	struct hl_value self, total;
};

struct hl_graph_call {
	uint32_t from, to; /* indices in functions */
	struct hl_value value;
};

struct hl_graph {
	struct hl_graph_function *functions;
	uint32_t n_functions;
	struct hl_graph_call *calls;
	size_t n_calls;
	uint32_t *node_functions; /* per tree node: its function; not set for node 0 */
};

/* Builds the graph of a tree that has the outermost frame first. Returns 0 or -ENOMEM. */
int hl_graph_build(struct hl_graph *g, struct hl_model *m, const struct hl_tree *t);
void hl_graph_fini(struct hl_graph *g);

#endif
