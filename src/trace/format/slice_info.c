/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slice_info.c - data about a slice. META says how it was made, so even an incomplete slice has
 * this. END says how much was left out.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "base/bits.h"
#include "trace/read/reader_internal.h"
#include "trace/write/writer_internal.h"

static int put_varints(hl_byte_buffer *b, const uint64_t *v, size_t n)
{
	int err = 0;

	b->len = 0;
	for (size_t i = 0; i < n && !err; i++)
		err = hl_byte_buffer_varint(b, v[i]);
	return err;
}

/* ---- writing ---- */

int hl_write_slice_info(struct hl_writer *w, const struct hl_slice_info *info)
{
	const uint64_t v[] = {info->flags, info->from_ns, info->to_ns, info->min_life_ns};
	size_t len = info->filter ? hl_min_u64(strlen(info->filter), HL_TEXT_MAX) : 0;
	hl_byte_buffer *b = &w->sealer.scratch;

	if (put_varints(b, v, HL_ARRAY_LEN(v)) < 0 || hl_byte_buffer_varint(b, len) < 0 ||
		hl_byte_buffer_put(b, info->filter, len) < 0)
		return -ENOMEM;
	w->is_slice = true;
	hl_seal_column(&w->sealer, HL_COL_CUT, b->data, b->len);
	return 0;
}

void hl_writer_set_left_out(struct hl_writer *w, const struct hl_left_out *left_out)
{
	w->left_out = *left_out;
}

int hl_write_left_out(struct hl_writer *w)
{
	const uint64_t v[] = {w->left_out.blocks, w->left_out.bytes, w->left_out.older_blocks,
		w->left_out.older_bytes};
	hl_byte_buffer *b = &w->sealer.scratch;

	if (put_varints(b, v, HL_ARRAY_LEN(v)) < 0)
		return -ENOMEM;
	hl_seal_column(&w->sealer, HL_COL_LEFT_OUT, b->data, b->len);
	return 0;
}

static int put_split_pair(struct hl_writer *w, uint32_t at)
{
	uint32_t step = at - w->parted_at;

	w->parted_at = at;
	return hl_byte_buffer_varint(&w->parted, step);
}

static int put_link(struct hl_writer *w, const struct hl_event *e, uint32_t at)
{
	uint32_t step = at - w->linked_at;
	int err;

	w->linked_at = at;
	w->check_at = hl_min_u32(w->check_at, at + 1);
	err = hl_byte_buffer_varint(&w->linked, step);
	if (!err && e->op == HL_OP_ALLOC)
		err = hl_byte_buffer_varint(&w->linked, e->ordinal - e->realloc_of);
	return err;
}

int hl_put_rare_flags(struct hl_writer *w, const struct hl_event *e)
{
	uint32_t at = w->enc.n_events - 1;
	int err = e->flags & HL_EVENT_SPLIT ? put_split_pair(w, at) : 0;

	return !err && e->flags & HL_EVENT_LINKED ? put_link(w, e, at) : err;
}

/* ---- reading: return 0, even if the column does not exist, -EBADMSG or -ENOMEM ---- */

int hl_read_slice_info(struct hl_reader *r, struct hl_chunk *c)
{
	struct hl_slice_info *info = &r->info.meta.slice;
	const uint8_t *text;
	struct hl_column_cursor cur;
	uint64_t flags, len;
	int err = hl_chunk_column(r, c, HL_COL_CUT, &cur);

	if (err)
		return err == -ENOENT ? 0 : err;
	flags = hl_column_cursor_varint(&cur);
	info->from_ns = hl_column_cursor_varint(&cur);
	info->to_ns = hl_column_cursor_varint(&cur);
	info->min_life_ns = hl_column_cursor_varint(&cur);
	len = hl_column_cursor_varint(&cur);
	text = hl_column_cursor_bytes(&cur, len);
	if (cur.bad || !text || len > HL_TEXT_MAX)
		return -EBADMSG;
	free(r->slice_filter);
	r->slice_filter = strndup((const char *)text, len);
	if (!r->slice_filter)
		return -ENOMEM;
	info->flags = (uint32_t)flags;
	info->filter = r->slice_filter;
	return 0;
}

int hl_read_left_out(struct hl_reader *r, struct hl_chunk *c)
{
	struct hl_left_out *l = &r->info.left_out;
	struct hl_column_cursor cur;
	int err = hl_chunk_column(r, c, HL_COL_LEFT_OUT, &cur);

	if (err)
		return err == -ENOENT ? 0 : err;
	l->blocks = hl_column_cursor_varint(&cur);
	l->bytes = hl_column_cursor_varint(&cur);
	l->older_blocks = hl_column_cursor_varint(&cur);
	l->older_bytes = hl_column_cursor_varint(&cur);
	return cur.bad ? -EBADMSG : 0;
}

static int fail_contradiction(struct hl_reader *r, const struct hl_chunk *c)
{
	return hl_reader_fail(
		r, "Chunk %llu does not match its header.", (unsigned long long)c->head.seq);
}

int hl_read_parted(struct hl_reader *r, struct hl_chunk *c, struct hl_chunk_events *into)
{
	struct hl_column_cursor cur;
	uint64_t at = 0;
	int err = hl_chunk_column(r, c, HL_COL_PARTED, &cur);

	if (err)
		return err == -ENOENT ? 0 : err;
	while (cur.p < cur.end) {
		at += hl_column_cursor_varint(&cur);
		if (cur.bad || at >= into->n_events || into->events[at].op != HL_OP_FREE)
			return fail_contradiction(r, c);
		into->events[at].flags |= HL_EVENT_SPLIT;
	}
	return 0;
}

/* Returns false if this event cannot be one half of a realloc with separate halves. */
static bool read_link(struct hl_event *e, struct hl_column_cursor *cur)
{
	uint64_t back = e->op == HL_OP_ALLOC ? hl_column_cursor_varint(cur) : 0;

	if (e->flags & (HL_EVENT_MOVED | HL_EVENT_LINKED))
		return false;
	e->flags |= HL_EVENT_LINKED;
	if (e->op == HL_OP_FREE)
		return true;
	e->realloc_of = e->ordinal - back;
	return back > 0 && back <= e->ordinal;
}

int hl_read_linked(struct hl_reader *r, struct hl_chunk *c, struct hl_chunk_events *into)
{
	struct hl_column_cursor cur;
	uint64_t at = 0;
	int err = hl_chunk_column(r, c, HL_COL_LINKED, &cur);

	if (err)
		return err == -ENOENT ? 0 : err;
	while (cur.p < cur.end) {
		at += hl_column_cursor_varint(&cur);
		if (cur.bad || at >= into->n_events || !read_link(&into->events[at], &cur) ||
			cur.bad)
			return fail_contradiction(r, c);
	}
	return 0;
}
