/* SPDX-License-Identifier: Apache-2.0 */
/*
 * runtime_frames.c - finds the frames before main; see runtime_frames.h.
 */
#include "model/stack/runtime_frames.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/model_internal.h"

/* No libc has more of these frames; a forged trace may have. */
#define FRAMES_MAX 6
/* Maximum depth of frames without a name. The longest run is _start, __libc_start_main,
 * __libc_start_call_main; the last may have no symbol. */
#define NAMELESS_MAX 3

static bool has_no_symbol(const struct hl_frame *f)
{
	return strncmp(f->function, "0x", 2) == 0;
}

/* Is this a runtime frame, if the `depth` frames outside of it are? */
static bool is_runtime_frame(const struct hl_frame *f, unsigned depth)
{
	return hl_frame_is_startup(f, depth == 0) ||
	       (has_no_symbol(f) && hl_frame_in_libc(f) && depth < NAMELESS_MAX);
}

static int is_runtime_node(struct hl_model *m, uint32_t node, unsigned depth, bool *holds)
{
	const struct hl_frame_ref *refs;
	size_t n = 0;
	int err = hl_model_node_frames(m, node, &refs, &n);

	*holds = !err;
	for (size_t i = 0; i < n && *holds; i++)
		*holds = is_runtime_frame(hl_model_frame(m, refs[i].frame), depth);
	return err;
}

/* A stripped program has no name for _start, but libc exports the function that it calls. */
static int find_stripped(
	struct hl_runtime_frames *s, struct hl_model *m, uint32_t outer, uint32_t node)
{
	const struct hl_frame_ref *refs;
	size_t n;
	int err = hl_model_node_frames(m, outer, &refs, &n);

	if (err || n > 1 || !has_no_symbol(hl_model_frame(m, refs[0].frame)))
		return err;
	err = hl_model_node_frames(m, node, &refs, &n);
	if (!err && hl_frame_calls_main(hl_model_frame(m, refs[0].frame))) {
		s->depth[outer] = 1;
		s->depth[node] = 2;
	}
	return err;
}

/* Classifies a node whose parent has been classified. */
static int classify_node(struct hl_runtime_frames *s, struct hl_model *m, uint32_t node)
{
	uint32_t parent = hl_model_parent(m, node);
	unsigned depth = parent == HL_NODE_NONE ? 0 : s->depth[parent];
	bool holds;
	int err;

	if (depth == 0 && parent != HL_NODE_NONE)
		return hl_model_parent(m, parent) == HL_NODE_NONE
			       ? find_stripped(s, m, parent, node)
			       : 0;
	if (depth >= FRAMES_MAX)
		return 0;
	err = is_runtime_node(m, node, depth, &holds);
	if (!err && holds)
		s->depth[node] = (uint8_t)(depth + 1);
	return err;
}

/* Parents have smaller indices than their children: one backward pass finds all nodes that are
 * needed, one forward pass classifies them. */
int hl_runtime_frames_find(
	struct hl_runtime_frames *s, struct hl_model *m, const struct hl_answer *a)
{
	bool *needed = calloc((size_t)a->n_keys + 1, sizeof(*needed));
	int err = 0;

	s->depth = calloc((size_t)a->n_keys + 1, sizeof(*s->depth));
	if (!needed || !s->depth)
		err = -ENOMEM;
	for (uint32_t i = err ? 0 : a->n_keys; i-- > 0;) {
		uint32_t parent;

		needed[i] |= a->values[i].blocks > 0;
		parent = needed[i] ? hl_model_parent(m, i) : HL_NODE_NONE;
		if (parent != HL_NODE_NONE)
			needed[parent] = true;
	}
	hl_work_begin(&m->work, HL_WORK_SHORT, HL_WORK_NAMES);
	for (uint32_t i = 0; i < a->n_keys && !err; i++) {
		err = hl_naming_tick(m, i, a->n_keys);
		if (!err && needed[i])
			err = classify_node(s, m, i);
	}
	hl_work_end(&m->work, HL_WORK_SHORT);
	free(needed);
	if (err)
		hl_runtime_frames_fini(s);
	return err;
}

int hl_runtime_frames_find_all(struct hl_runtime_frames *s, struct hl_model *m)
{
	struct hl_answer a = {.n_keys = m->n_nodes};
	int err = -ENOMEM;

	a.values = calloc((size_t)a.n_keys + 1, sizeof(*a.values));
	for (uint32_t i = 0; a.values && i < a.n_keys; i++)
		a.values[i].blocks = 1;
	if (a.values)
		err = hl_runtime_frames_find(s, m, &a);
	free(a.values);
	return err ? hl_model_fail(m, err) : 0;
}

void hl_runtime_frames_fini(struct hl_runtime_frames *s)
{
	free(s->depth);
	s->depth = NULL;
}

int hl_model_each_frame(struct hl_model *m, uint32_t node, const struct hl_runtime_frames *starts,
	hl_frame_fn *fn, void *arg)
{
	const struct hl_frame_ref *refs;
	size_t n;

	if (node != HL_NODE_NONE && starts && hl_runtime_frames_contain(starts, node))
		starts = NULL;
	do {
		int err = hl_model_node_frames(m, node, &refs, &n);

		if (err)
			return err;
		while (n-- > 0)
			fn(arg, hl_model_frame(m, refs[n].frame), refs[n].inlined);
		node = node == HL_NODE_NONE ? node : hl_model_parent(m, node);
	} while (node != HL_NODE_NONE && !(starts && hl_runtime_frames_contain(starts, node)));
	return 0;
}
