/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree_json.c - a tree as JSON, streamed: all nodes or the largest ones.
 *
 * The nodes are a flat list, callers before callees. Nested lists would be as deep as stacks, and
 * JSON parsers limit the depth (jq at 10,000, others at 1,000).
 */
#include <errno.h>
#include <stdlib.h>

#include "base/bits.h"
#include "model/stack/frame_owner.h"
#include "util/vec.h"
#include "views/json/json_internal.h"

#define NO_PARENT UINT32_MAX

/* Which nodes are written. A parent is never smaller than its child, so each written node has its
 * parent. */
struct selection {
	uint64_t least; /* smaller nodes are omitted */
	bool by_blocks;
	uint64_t equal; /* how many nodes of exactly `least` are still written */
	size_t written;
	size_t removed;       /* 1: the last one did not fit */
	struct hl_value self; /* of the nodes that are written */
};

static uint64_t size_of(const struct hl_tree_node *n, bool by_blocks)
{
	return by_blocks ? n->total.blocks : n->total.bytes;
}

static int compare_descending(const void *pa, const void *pb)
{
	uint64_t a = *(const uint64_t *)pa, b = *(const uint64_t *)pb;

	return a > b ? -1 : a < b;
}

/* The `most` largest nodes. */
static int select_largest(const struct hl_tree_result *x, size_t most, struct selection *c)
{
	const struct hl_tree *t = &x->tree;
	size_t n = t->n_nodes - 1, larger = 0;
	uint64_t *sizes;

	*c = (struct selection){.equal = UINT64_MAX, .by_blocks = x->by_blocks};
	if (n <= most)
		return 0;
	*c = (struct selection){.least = UINT64_MAX, .by_blocks = x->by_blocks};
	if (most == 0)
		return 0;
	sizes = malloc(n * sizeof(*sizes));
	if (!sizes)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		sizes[i] = size_of(&t->nodes[i + 1], x->by_blocks);
	qsort(sizes, n, sizeof(*sizes), compare_descending);
	c->least = sizes[most - 1];
	while (sizes[larger] > c->least)
		larger++;
	c->equal = most - larger;
	free(sizes);
	return 0;
}

static int select_nodes(const struct hl_tree_result *x, size_t most, struct selection *c)
{
	int err = select_largest(x, most, c);

	if (!err && c->least < x->min_size) {
		c->least = x->min_size - 1;
		c->equal = 0;
	}
	return err;
}

static bool is_selected(struct selection *c, const struct hl_tree_node *n)
{
	uint64_t size = size_of(n, c->by_blocks);

	if (size != c->least)
		return size > c->least;
	return c->equal > 0 && c->equal--;
}

/* Returns whether the node was written. */
static bool put_node(struct hl_json *j, struct hl_model *m, const struct hl_tree_node *n,
	uint32_t parent, struct hl_row_limit *rows)
{
	static const struct hl_value nothing; /* the caller counts what is left out */
	const struct hl_frame *f = hl_model_frame(m, n->frame);

	if (!hl_json_begin_row(j, rows, &nothing))
		return false;
	hl_json_key(j, "parent");
	if (parent == NO_PARENT)
		hl_json_string(j, NULL);
	else
		hl_json_u64(j, parent);
	hl_json_frame(j, f);
	hl_json_key_string(j, "owner", hl_frame_owner_name(hl_model_frame_owner(m, f)));
	hl_json_key_bool(j, "inlined", n->inlined);
	hl_json_value(j, "", &n->total);
	hl_json_value(j, "self", &n->self);
	hl_json_value(j, "site", &n->site);
	return hl_json_end_row(j, rows);
}

/* Not recursive: stacks may be a million frames deep. A node that does not fit is the last one. */
static int put_nodes(struct hl_json *j, struct hl_model *m, const struct hl_tree *t,
	struct selection *c, struct hl_row_limit *rows)
{
	struct path_entry {
		uint32_t node, next; /* next: the number of its children that were visited */
		uint32_t index;      /* its index in the output */
	};
	HL_VEC(struct path_entry) path = {0};
	int err = hl_vec_push(&path, ((struct path_entry){.index = NO_PARENT}));

	while (path.len > 0 && !err && !c->removed) {
		struct path_entry *p = &path.data[path.len - 1];
		const struct hl_tree_node *n = &t->nodes[p->node];
		uint32_t child;

		if (p->next == n->n_children) {
			path.len--;
			continue;
		}
		child = t->children[n->first_child + p->next++];
		if (!is_selected(c, &t->nodes[child]))
			continue;
		c->removed = !put_node(j, m, &t->nodes[child], p->index, rows);
		if (c->removed)
			continue;
		hl_value_add(&c->self, &t->nodes[child].self);
		err = hl_vec_push(&path,
			((struct path_entry){.node = child, .index = (uint32_t)c->written++}));
	}
	hl_vec_free(&path);
	return err;
}

/* Counts the nodes that the view would have had. */
static void note_omitted(const struct hl_tree_result *x, const struct selection *c, size_t n,
	struct hl_row_limit *rows)
{
	struct hl_value rest = x->answer.total;
	bool all = n == x->tree.n_nodes - 1;

	rest.bytes -= c->self.bytes;
	rest.blocks -= c->self.blocks;
	rest.variance = 0;
	hl_row_omit(rows, n - c->written - c->removed, all ? &rest : NULL);
}

int hl_json_put_tree(struct hl_json *j, struct hl_model *m, const struct hl_tree_result *x,
	struct hl_row_limit *rows)
{
	const struct hl_tree *t = &x->tree;
	size_t all = t->n_nodes - 1, most = x->max_nodes > 0 ? x->max_nodes : all;
	struct selection c;
	int err;

	most = most < all ? most : all;
	err = select_nodes(x, (size_t)hl_min_u64(most, hl_row_limit_left(rows)), &c);
	hl_json_answer(j, &x->answer);
	hl_json_key(j, "nodes");
	hl_json_begin_array(j);
	if (!err)
		err = put_nodes(j, m, t, &c, rows);
	hl_json_end_array(j);
	note_omitted(x, &c, most, rows);
	if (x->max_nodes > 0 || x->min_size > 0)
		hl_json_key_u64(j, "nodes_left_out", all - c.written);
	return err;
}

int hl_json_tree(struct hl_json *j, struct hl_result *r)
{
	return hl_json_put_tree(j, r->m, r->data, r->rows);
}
