/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slice_tables.c - modules, stacks, threads and scopes of a slice. Stacks and modules are written
 * when the first event needs them. Threads and scopes are all written and keep their numbers.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "model/slice/slice_internal.h"
#include "model/tags/roles.h"

static int add_module(struct hl_slice_writer *c, uint32_t module, uint32_t *number)
{
	struct hl_module def = {.path = "[lost]"};
	int err = 0;

	if (c->modules[module] == 0) {
		err = hl_reader_module(c->m->reader, module, &def);
		if (err == -EBADMSG)
			err = 0;
		if (!err && c->anonymizer)
			err = hl_anonymize_module(c->anonymizer, &def);
		if (err)
			return err;
		err = hl_slice_writer_note_error(c, hl_writer_add_module(c->w, &def));
		c->modules[module] = ++c->n_new_modules;
	}
	*number = c->modules[module] - 1;
	return err;
}

/* Copies names that the trace itself has for this offset. `module` is the old number. */
static int copy_names(struct hl_slice_writer *c, uint32_t module, const struct hl_node *node)
{
	struct hl_named_site site = {.module = node->module, .offset = node->offset};
	uint64_t key = (uint32_t)(module + 1);
	int err = hl_reader_names(c->m->reader, module, node->offset, &site.frames, &site.n_frames);

	if (err == -ENOENT || hl_pair_map_get(&c->named, key, node->offset) != HL_PAIR_MAP_NONE)
		return 0;
	if (err)
		return err;
	err = hl_pair_map_put(&c->named, key, node->offset, 0);
	return err ? err : hl_slice_writer_note_error(c, hl_writer_add_names(c->w, &site));
}

/* Its parent, if it has one, is already written. */
static int add_node(struct hl_slice_writer *c, uint32_t id, struct hl_node *node)
{
	uint32_t module = node->module;
	int err = 0;

	node->parent = node->parent == HL_NODE_NONE ? HL_NODE_NONE : c->nodes[node->parent] - 1;
	if (module != HL_MODULE_NONE && module >= c->m->n_modules)
		node->module = HL_MODULE_NONE;
	else if (module != HL_MODULE_NONE)
		err = add_module(c, module, &node->module);
	if (!err && c->anonymizer)
		err = hl_anonymize_node(c->anonymizer, c->w, id, node);
	else if (!err)
		err = copy_names(c, module, node);
	if (!err)
		err = hl_slice_writer_note_error(c, hl_writer_add_node(c->w, node));
	c->nodes[id] = ++c->n_new_nodes;
	return err;
}

int hl_slice_writer_map_node(struct hl_slice_writer *c, uint32_t id, uint32_t *number)
{
	struct hl_node node;
	int err = 0;

	*number = HL_NODE_NONE;
	if (id == HL_NODE_NONE || id >= c->m->n_nodes)
		return 0;
	c->path.len = 0;
	for (uint32_t at = id; at != HL_NODE_NONE && c->nodes[at] == 0; at = node.parent) {
		err = hl_reader_node(c->m->reader, at, &node);
		if (err == -EBADMSG) /* treated as an outermost frame without data */
			node = (struct hl_node){
				HL_NODE_NONE, HL_MODULE_NONE, HL_OFFSET_REMOVED_FRAMES};
		else if (err)
			return err;
		err = hl_vec_push(&c->path, at);
		if (err)
			return err;
	}
	while (c->path.len > 0 && !err) {
		uint32_t at = c->path.data[--c->path.len];

		if (hl_reader_node(c->m->reader, at, &node) < 0)
			node = (struct hl_node){
				HL_NODE_NONE, HL_MODULE_NONE, HL_OFFSET_REMOVED_FRAMES};
		err = add_node(c, at, &node);
	}
	*number = c->nodes[id] - 1;
	return err;
}

int hl_slice_writer_add_code(struct hl_slice_writer *c)
{
	uint32_t number;
	int err = 0;

	for (uint32_t i = 0; i < c->m->n_modules && !err; i++)
		err = add_module(c, i, &number);
	for (uint32_t i = 0; i < c->m->n_nodes && !err; i++)
		err = hl_slice_writer_map_node(c, i, &number); /* callers have lower numbers */
	return err;
}

static int add_tags(struct hl_slice_writer *c)
{
	int err = 0;

	for (uint32_t i = 0; i < c->m->n_tags && !err; i++) {
		const char *name = hl_model_tag_name(c->m, i);

		if (c->anonymizer)
			err = hl_anonymize_tag(c->anonymizer, &name);
		if (!err)
			err = hl_slice_writer_note_error(
				c, hl_writer_add_tag(
					   c->w, hl_model_tag_parent(c->m, i), name, strlen(name)));
	}
	return err;
}

static int add_thread(struct hl_slice_writer *c, uint32_t number)
{
	uint64_t tid = 0;

	if (hl_reader_thread(c->m->reader, number, &tid) < 0)
		tid = 0; /* its definition is lost */
	if (c->s->anonymity == HL_ANONYMIZE_ALL)
		tid = (uint64_t)number + 1;
	return hl_slice_writer_note_error(c, hl_writer_add_thread(c->w, tid));
}

/* Without scopes a role is a thread. */
int hl_slice_writer_add_roles(struct hl_slice_writer *c)
{
	uint32_t n_threads, *first;
	int err = hl_reader_n_threads(c->m->reader, &n_threads);

	c->n_roles = c->m->n_roles ? c->m->n_roles : n_threads;
	first = calloc((size_t)n_threads + 1, sizeof(*first)); /* by thread: first role + 1 */
	if (!err && !first)
		err = -ENOMEM;
	if (!err)
		err = add_tags(c);
	for (uint32_t i = 0; i < c->n_roles && !err; i++) {
		struct hl_role role = hl_role_at(c->m, i);
		uint32_t *its = &first[hl_min_u32(role.thread, n_threads)];

		if (*its && role.tag < c->m->n_tags) {
			err = hl_slice_writer_note_error(
				c, hl_writer_add_role(c->w, *its - 1, role.tag));
		} else {
			err = add_thread(c, role.thread);
			*its = *its ? *its : i + 1;
		}
	}
	free(first);
	return err;
}
