/*
 * tree_json.c - the whole tree as JSON, streamed.
 */
#include <errno.h>

#include "util/json.h"
#include "util/vec.h"
#include "views/text/text_internal.h"

static void begin_node(struct hl_json *j, struct hl_model *m, const struct hl_tree_node *n)
{
	const struct hl_frame *f = hl_model_frame(m, n->frame);

	hl_json_begin_object(j);
	hl_json_frame(j, f);
	hl_json_key_bool(j, "inlined", n->inlined);
	hl_json_key_u64(j, "bytes", n->total.bytes);
	hl_json_key_u64(j, "blocks", n->total.blocks);
	hl_json_key_u64(j, "self_bytes", n->self.bytes);
	hl_json_key_u64(j, "self_blocks", n->self.blocks);
	hl_json_key(j, "children");
	hl_json_begin_array(j);
}

/* Not recursive: stacks may be a million frames deep. */
static int put_tree(struct hl_json *j, struct hl_model *m, const struct hl_tree *t)
{
	struct place {
		uint32_t node, next; /* next: how many of its children are written */
	};
	HL_VEC(struct place) path = {0};
	int err = hl_vec_push(&path, ((struct place){0}));

	while (path.len > 0 && !err) {
		struct place *p = &path.data[path.len - 1];
		const struct hl_tree_node *n = &t->nodes[p->node];

		if (p->next < n->n_children) {
			uint32_t child = t->children[n->first_child + p->next++];

			begin_node(j, m, &t->nodes[child]);
			err = hl_vec_push(&path, ((struct place){.node = child}));
			continue;
		}
		if (--path.len > 0) {
			hl_json_end_array(j);
			hl_json_end_object(j);
		}
	}
	hl_vec_free(&path);
	return err;
}

int hl_json_tree(
	struct hl_json *j, struct hl_model *m, const struct hl_answer *a, const struct hl_tree *t)
{
	int err;

	hl_json_answer(j, a);
	hl_json_key(j, "tree");
	hl_json_begin_array(j);
	err = put_tree(j, m, t);
	hl_json_end_array(j);
	return err;
}
