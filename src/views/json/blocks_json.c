/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blocks_json.c - single blocks, and groups of blocks with one stack, as JSON. Members are named as
 * in export -f json.
 */
#include <inttypes.h>
#include <stdio.h>

#include "model/stack/site.h"
#include "model/tags/roles.h"
#include "views/json/json_internal.h"

static void put_stack_number(struct hl_json *j, const char *key, uint32_t node)
{
	hl_json_key_u64_or_null(j, key, node == HL_NODE_NONE ? UINT64_MAX : node);
}

static int put_site(struct hl_json *j, struct hl_model *m, uint32_t node)
{
	uint32_t frame;
	int err = hl_model_find_site(m, node, &frame);

	if (!err)
		hl_json_frame(j, hl_model_frame(m, frame));
	return err;
}

static int put_frames(struct hl_json *j, struct hl_model *m, uint32_t node)
{
	hl_json_key(j, "frames");
	return hl_json_stack(j, m, node);
}

static int put_tag(struct hl_json *j, struct hl_model *m, uint32_t tag)
{
	struct hl_strbuf path = {0};
	int err;

	if (tag != HL_TAG_NONE)
		hl_model_put_tag(m, tag, &path);
	err = hl_strbuf_error(&path);
	hl_json_key_string(j, "tag", tag != HL_TAG_NONE && !err ? hl_strbuf_str(&path) : NULL);
	hl_strbuf_fini(&path);
	return err;
}

static void put_call(struct hl_json *j, const char *key, uint8_t func)
{
	hl_json_key_string(j, key, func < HL_FUNC_COUNT ? hl_called_function_name(func) : NULL);
}

static void put_chain(struct hl_json *j, const struct hl_chain *c, bool known)
{
	bool freed = c->free_ns != UINT64_MAX;

	hl_json_key_u64_or_null(j, "chain_length", known ? c->length : UINT64_MAX);
	hl_json_key_u64_or_null(j, "chain_position", known ? c->position : UINT64_MAX);
	hl_json_key_u64_or_null(j, "chain_first_size", known ? c->first_size : UINT64_MAX);
	hl_json_key_u64_or_null(j, "chain_last_size", known ? c->last_size : UINT64_MAX);
	hl_json_key_u64_or_null(j, "chain_allocated_ns", known ? c->alloc_ns : UINT64_MAX);
	hl_json_key_u64_or_null(
		j, "chain_lifetime_ns", known && freed ? c->free_ns - c->alloc_ns : UINT64_MAX);
}

static int put_freed(struct hl_json *j, struct hl_model *m, const struct hl_block *b)
{
	bool freed = b->free_ns != UINT64_MAX;
	int err = 0;

	hl_json_key_string(j, "ended_by", hl_free_kind_name(hl_free_kind_of(b)));
	hl_json_key_u64_or_null(j, "freed_by", freed ? b->free_thread : UINT64_MAX);
	hl_json_key_string(
		j, "freed_by_name", freed ? hl_model_thread_name(m, b->free_thread) : NULL);
	put_call(j, "freed_call", freed ? b->free_func : HL_FUNC_COUNT);
	put_stack_number(j, "freed_stack", freed ? b->free_node : HL_NODE_NONE);
	hl_json_key(j, "freed_site");
	if (!freed || b->free_node == HL_NODE_NONE) {
		hl_json_string(j, NULL);
		return 0;
	}
	hl_json_begin_object(j);
	err = put_site(j, m, b->free_node);
	hl_json_end_object(j);
	return err;
}

static int put_block(
	struct hl_json *j, struct hl_model *m, const struct hl_blocks_result *x, size_t i)
{
	const struct hl_block_row *row = &x->list.rows[i];
	const struct hl_block *b = &row->block;
	bool freed = b->free_ns != UINT64_MAX;
	char address[32];
	int err;

	snprintf(address, sizeof(address), "0x%" PRIx64, b->addr);
	hl_json_key_u64(j, "id", b->ordinal);
	hl_json_key_u64(j, "allocated_ns", b->alloc_ns);
	hl_json_key_u64_or_null(j, "freed_ns", b->free_ns);
	hl_json_key_u64_or_null(j, "lifetime_ns", freed ? b->free_ns - b->alloc_ns : UINT64_MAX);
	hl_json_key_string(j, "address", address);
	hl_json_key_u64(j, "size", b->size);
	hl_json_key_u64(j, "bytes", b->bytes);
	hl_json_key_u64(j, "blocks", b->blocks);
	hl_json_key_u64(j, "thread", b->thread);
	hl_json_key_string(j, "thread_name", hl_model_thread_name(m, b->thread));
	put_call(j, "call", b->func);
	err = put_tag(j, m, b->tag);
	put_stack_number(j, "stack", b->node);
	if (!err)
		err = put_site(j, m, b->node);
	put_chain(j, &row->chain, x->list.has_chains);
	if (!err)
		err = put_freed(j, m, b);
	if (!err && x->full_stacks)
		err = put_frames(j, m, b->node);
	return err;
}

/* The cursor behind the last row that was written; null: there are no more rows. */
static void put_next(struct hl_json *j, const struct hl_block_list *l, size_t written)
{
	char text[HL_BLOCK_CURSOR_TEXT];
	bool more = written > 0 && (l->more || written < l->n);

	hl_json_key_string(
		j, "next", more ? hl_block_cursor_text(text, &l->rows[written - 1].cursor) : NULL);
}

static int put_list(struct hl_json *j, struct hl_result *r)
{
	const struct hl_blocks_result *x = r->data;
	size_t written = 0;
	int err = 0;

	hl_json_key_u64(j, "row_count", x->list.n_all);
	hl_json_key(j, "rows");
	hl_json_begin_array(j);
	for (size_t i = 0; i < x->list.n && !err; i++) {
		const struct hl_block *b = &x->list.rows[i].block;
		const struct hl_value value = {.bytes = b->bytes, .blocks = b->blocks};

		if (!hl_json_begin_row(j, r->rows, &value))
			continue;
		err = put_block(j, r->m, x, i);
		if (hl_json_end_row(j, r->rows))
			written = i + 1;
	}
	hl_json_end_array(j);
	put_next(j, &x->list, written);
	return err;
}

static void put_times(struct hl_json *j, uint64_t first_ns, uint64_t last_ns)
{
	hl_json_key_u64(j, "first_ns", first_ns);
	hl_json_key_u64(j, "last_ns", last_ns);
	hl_json_key_u64(j, "interval_ns", last_ns - first_ns);
}

static int put_group(struct hl_json *j, struct hl_model *m, const struct hl_blocks_result *x,
	const struct hl_block_group *g)
{
	int err;

	put_stack_number(j, "stack", g->node);
	err = put_site(j, m, g->node);
	hl_json_key(j, "matched");
	hl_json_begin_object(j);
	hl_json_value(j, "", &g->value);
	hl_json_key_u64(j, "leaked_blocks", g->leaked_blocks);
	put_times(j, g->first_ns, g->last_ns);
	hl_json_end_object(j);
	hl_json_key(j, "run");
	hl_json_begin_object(j);
	hl_json_key_u64(j, "bytes", g->run.bytes);
	hl_json_key_u64(j, "blocks", g->run.blocks);
	hl_json_key_u64(j, "leaked_blocks", g->run.leaked_blocks);
	hl_json_key_u64(j, "leaked_bytes", g->run.leaked_bytes);
	put_times(j, g->run.first_ns, g->run.last_ns);
	hl_json_key_u64(j, "peak_bytes", g->run.peak_bytes);
	hl_json_key_u64(j, "peak_ns", g->run.peak_ns);
	hl_json_end_object(j);
	return err || !x->full_stacks ? err : put_frames(j, m, g->node);
}

static int put_groups(struct hl_json *j, struct hl_result *r)
{
	const struct hl_blocks_result *x = r->data;
	int err = 0;

	hl_json_key_u64(j, "groups", x->groups.n);
	hl_json_key(j, "rows");
	hl_json_begin_array(j);
	for (size_t i = x->offset; i < x->groups.n && i - x->offset < x->limit && !err; i++) {
		const struct hl_block_group *g = &x->groups.rows[i];

		if (!hl_json_begin_row(j, r->rows, &g->value))
			continue;
		err = put_group(j, r->m, x, g);
		hl_json_end_row(j, r->rows);
	}
	hl_json_end_array(j);
	return err;
}

int hl_json_blocks(struct hl_json *j, struct hl_result *r)
{
	const struct hl_blocks_result *x = r->data;

	hl_json_answer(j, x->grouped ? &x->groups.answer : &x->list.answer);
	hl_json_key_string(j, "sort", x->sort);
	hl_json_key_bool(j, "reverse", x->reverse);
	hl_json_key_u64(j, "offset", x->offset);
	return x->grouped ? put_groups(j, r) : put_list(j, r);
}
