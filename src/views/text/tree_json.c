/*
 * tree_json.c - the whole tree as JSON, streamed.
 *
 * A flat list, callers before those they call: readers of JSON refuse lists in lists that are as
 * deep as stacks can be (jq at 10,000, others at 1,000).
 */
#include <errno.h>

#include "util/json.h"
#include "util/vec.h"
#include "views/text/text_internal.h"

#define NO_PARENT UINT32_MAX

static void put_node(
	struct hl_json *j, struct hl_model *m, const struct hl_tree_node *n, uint32_t parent)
{
	hl_json_begin_object(j);
	hl_json_key(j, "parent");
	if (parent == NO_PARENT)
		hl_json_string(j, NULL);
	else
		hl_json_u64(j, parent);
	hl_json_frame(j, hl_model_frame(m, n->frame));
	hl_json_key_bool(j, "inlined", n->inlined);
	hl_json_value(j, "", &n->total);
	hl_json_value(j, "self", &n->self);
	hl_json_end_object(j);
}

/* Not recursive: stacks may be a million frames deep. */
static int put_nodes(struct hl_json *j, struct hl_model *m, const struct hl_tree *t)
{
	struct place {
		uint32_t node, next; /* next: how many of its children are written */
		uint32_t at;         /* which of the written nodes it is */
	};
	HL_VEC(struct place) path = {0};
	uint32_t written = 0;
	int err = hl_vec_push(&path, ((struct place){.at = NO_PARENT}));

	while (path.len > 0 && !err) {
		struct place *p = &path.data[path.len - 1];
		const struct hl_tree_node *n = &t->nodes[p->node];
		uint32_t child;

		if (p->next == n->n_children) {
			path.len--;
			continue;
		}
		child = t->children[n->first_child + p->next++];
		put_node(j, m, &t->nodes[child], p->at);
		err = hl_vec_push(&path, ((struct place){.node = child, .at = written++}));
	}
	hl_vec_free(&path);
	return err;
}

int hl_json_tree(
	struct hl_json *j, struct hl_model *m, const struct hl_answer *a, const struct hl_tree *t)
{
	int err;

	hl_json_answer(j, a);
	hl_json_key(j, "nodes");
	hl_json_begin_array(j);
	err = put_nodes(j, m, t);
	hl_json_end_array(j);
	return err;
}
