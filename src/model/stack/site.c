/* SPDX-License-Identifier: Apache-2.0 */
/*
 * site.c - the frame that an allocation is attributed to; see site.h.
 *
 * The site of a node is in the node itself or is that of its caller. What was found is kept for
 * each node, so deep stacks that share callers cost no more than the number of nodes.
 */
#include "model/stack/site.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/model_internal.h"
#include "model/stack/stack_rules.h"

/* Values of site_nodes besides nodes plus 1. */
#define UNKNOWN 0
#define NO_SITE UINT32_MAX

static uint32_t encode(uint32_t node)
{
	return node == HL_NODE_NONE ? NO_SITE : node + 1;
}

static uint32_t decode(uint32_t value)
{
	return value == NO_SITE ? HL_NODE_NONE : value - 1;
}

/* The innermost frame of this node alone that is the program's own; *index is n if there is
 * none. */
static int find_own(struct hl_model *m, const struct hl_frame_ref *refs, size_t n, size_t *index)
{
	int err = 0;

	*index = n;
	for (size_t i = n; i-- > 0 && *index == n && !err;) {
		enum hl_frame_kind kind;

		err = hl_model_frame_kind(m, refs[i].frame, &kind);
		if (!err && kind == HL_FRAME_OWN)
			*index = i;
	}
	return err;
}

static int find_own_in_node(struct hl_model *m, uint32_t node, bool *has)
{
	const struct hl_frame_ref *refs;
	size_t n, index = 0;
	int err = hl_model_node_frames(m, node, &refs, &n);

	if (!err)
		err = find_own(m, refs, n, &index);
	*has = !err && index < n;
	return err;
}

static int alloc_memo(struct hl_frame_kinds *k, uint32_t n)
{
	if (!k->site_nodes)
		k->site_nodes = calloc((size_t)n + 1, sizeof(*k->site_nodes));
	if (!k->site_callees)
		k->site_callees = calloc((size_t)n + 1, sizeof(*k->site_callees));
	return k->site_nodes && k->site_callees ? 0 : -ENOMEM;
}

/* Fills site_nodes and site_callees of a node. */
static int find_site_node(struct hl_model *m, uint32_t node)
{
	struct hl_frame_kinds *k = &m->kinds;
	uint32_t site = HL_NODE_NONE, callee = HL_NODE_NONE, at = node;
	int err = alloc_memo(k, m->n_nodes);

	k->path.len = 0;
	for (bool has = false; !err && !has && at != HL_NODE_NONE && k->site_nodes[at] == UNKNOWN;
		at = has ? at : hl_model_parent(m, at)) {
		err = find_own_in_node(m, at, &has);
		if (!err && has)
			site = at;
		else if (!err)
			err = hl_vec_push(&k->path, at);
	}
	if (err)
		return err;
	if (site != HL_NODE_NONE) {
		k->site_nodes[site] = encode(site);
		k->site_callees[site] = HL_NODE_NONE;
	} else if (at != HL_NODE_NONE) {
		site = decode(k->site_nodes[at]);
		callee = k->site_callees[at];
	}
	while (k->path.len > 0) {
		uint32_t i = k->path.data[--k->path.len];

		callee = site != HL_NODE_NONE && hl_model_parent(m, i) == site ? i : callee;
		k->site_nodes[i] = encode(site);
		k->site_callees[i] = callee;
	}
	return 0;
}

/* A stack without an own frame. */
static int use_innermost(struct hl_model *m, uint32_t node, struct hl_site *site)
{
	const struct hl_frame_ref *refs;
	size_t n;
	int err = hl_model_node_frames(m, node, &refs, &n);

	if (!err)
		*site = (struct hl_site){.node = node,
			.index = (uint32_t)n - 1,
			.frame = refs[n - 1].frame,
			.inner = HL_NODE_NONE};
	return err;
}

static int use_own(struct hl_model *m, uint32_t node, uint32_t callee, struct hl_site *site)
{
	const struct hl_frame_ref *refs;
	size_t n, index = 0;
	int err = hl_model_node_frames(m, node, &refs, &n);

	if (!err)
		err = find_own(m, refs, n, &index);
	if (err)
		return err;
	*site = (struct hl_site){.node = node,
		.index = (uint32_t)index,
		.frame = refs[index].frame,
		.inner = index + 1 < n ? refs[index + 1].frame : HL_NODE_NONE,
		.own = true};
	if (site->inner == HL_NODE_NONE && callee != HL_NODE_NONE) {
		err = hl_model_node_frames(m, callee, &refs, &n);
		if (!err)
			site->inner = refs[0].frame;
	}
	return err;
}

int hl_model_locate_site(struct hl_model *m, uint32_t node, struct hl_site *site)
{
	const struct hl_frame_kinds *k = &m->kinds;
	bool has = false;
	int err = hl_model_find_wrappers(m); /* it looks up frames, which invalidates refs */

	if (err)
		return err;
	if (node >= m->n_nodes) {
		err = find_own_in_node(m, node, &has);
		if (err)
			return err;
		return has ? use_own(m, node, HL_NODE_NONE, site) : use_innermost(m, node, site);
	}
	if (!k->site_nodes || k->site_nodes[node] == UNKNOWN)
		err = find_site_node(m, node);
	if (err)
		return hl_model_fail(m, err);
	if (k->site_nodes[node] == NO_SITE)
		return use_innermost(m, node, site);
	return use_own(m, decode(k->site_nodes[node]), k->site_callees[node], site);
}

int hl_model_find_site(struct hl_model *m, uint32_t node, uint32_t *frame)
{
	struct hl_site site;
	int err = hl_model_locate_site(m, node, &site);

	if (!err)
		*frame = site.frame;
	return err;
}

static bool is_same_function(struct hl_model *m, uint32_t a, uint32_t b)
{
	const struct hl_frame *x = hl_model_frame(m, a), *y = hl_model_frame(m, b);

	return hl_frame_function_name(x) == hl_frame_function_name(y) && x->module == y->module;
}

/* The next own frame outside of s, which it replaces; s->own is false if there is none. */
static int step_out(struct hl_model *m, struct hl_site *s)
{
	const struct hl_frame_ref *refs;
	size_t n, index, inner = s->index;
	uint32_t outer = hl_model_parent(m, s->node);
	int err = hl_model_node_frames(m, s->node, &refs, &n);

	if (!err)
		err = find_own(m, refs, inner, &index);
	if (err)
		return err;
	if (index < inner) {
		s->index = (uint32_t)index;
		s->frame = refs[index].frame;
		return 0;
	}
	s->own = false;
	return outer == HL_NODE_NONE ? 0 : hl_model_locate_site(m, outer, s);
}

static bool has_source(struct hl_model *m, uint32_t frame)
{
	return hl_model_frame(m, frame)->file != NULL;
}

static bool is_main(struct hl_model *m, uint32_t frame)
{
	return strcmp(hl_model_frame(m, frame)->function, "main") == 0;
}

int hl_model_find_site_caller(struct hl_model *m, uint32_t node, uint32_t *frame)
{
	struct hl_site s;
	int err = hl_model_locate_site(m, node, &s);
	uint32_t site = err ? HL_NODE_NONE : s.frame;

	*frame = HL_NODE_NONE;
	while (!err && s.own && node < m->n_nodes && is_same_function(m, s.frame, site))
		err = step_out(m, &s);
	if (!err && s.own && !is_main(m, s.frame))
		*frame = s.frame;
	if (err || !s.own || has_source(m, site))
		return err;
	while (!err && s.own && !has_source(m, s.frame))
		err = step_out(m, &s);
	if (!err && s.own)
		*frame = s.frame;
	return err;
}
