/*
 * cut.c - what a trace says of having been cut from another: what, in META, so that even a copy
 * that broke off says it; and how much, in END.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "base/bits.h"
#include "trace/reader_internal.h"
#include "trace/writer_internal.h"

static int put_all(hl_bytes *b, const uint64_t *v, size_t n)
{
	int err = 0;

	b->len = 0;
	for (size_t i = 0; i < n && !err; i++)
		err = hl_bytes_varint(b, v[i]);
	return err;
}

/* ---- writing ---- */

int hl_write_cut(struct hl_writer *w, const struct hl_cut_note *cut)
{
	const uint64_t v[] = {cut->flags, cut->from_ns, cut->to_ns, cut->min_life_ns};
	size_t len = cut->filter ? hl_min_u64(strlen(cut->filter), HL_TEXT_MAX) : 0;
	hl_bytes *b = &w->sealer.scratch;

	if (put_all(b, v, HL_ARRAY_LEN(v)) < 0 || hl_bytes_varint(b, len) < 0 ||
		hl_bytes_put(b, cut->filter, len) < 0)
		return -ENOMEM;
	w->cut = true;
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
	hl_bytes *b = &w->sealer.scratch;

	if (put_all(b, v, HL_ARRAY_LEN(v)) < 0)
		return -ENOMEM;
	hl_seal_column(&w->sealer, HL_COL_LEFT_OUT, b->data, b->len);
	return 0;
}

static int note_parted(struct hl_writer *w, uint32_t at)
{
	uint32_t step = at - w->parted_at;

	w->parted_at = at;
	return hl_bytes_varint(&w->parted, step);
}

static int note_linked(struct hl_writer *w, const struct hl_event *e, uint32_t at)
{
	uint32_t step = at - w->linked_at;
	int err;

	w->linked_at = at;
	w->look_at = hl_min_u32(w->look_at, at + 1);
	err = hl_bytes_varint(&w->linked, step);
	if (!err && e->op == HL_OP_ALLOC)
		err = hl_bytes_varint(&w->linked, e->ordinal - e->made_of);
	return err;
}

int hl_note_rare(struct hl_writer *w, const struct hl_event *e)
{
	uint32_t at = w->enc.n_events - 1;
	int err = e->flags & HL_EVENT_PARTED ? note_parted(w, at) : 0;

	return !err && e->flags & HL_EVENT_LINKED ? note_linked(w, e, at) : err;
}

/* ---- reading: 0, also when there is none, -EBADMSG or -ENOMEM ---- */

int hl_read_cut(struct hl_reader *r, struct hl_chunk *c)
{
	struct hl_cut_note *cut = &r->info.meta.cut;
	const uint8_t *text;
	struct hl_cursor cur;
	uint64_t flags, len;
	int err = hl_column(r, c, HL_COL_CUT, &cur);

	if (err)
		return err == -ENOENT ? 0 : err;
	flags = hl_cursor_varint(&cur);
	cut->from_ns = hl_cursor_varint(&cur);
	cut->to_ns = hl_cursor_varint(&cur);
	cut->min_life_ns = hl_cursor_varint(&cur);
	len = hl_cursor_varint(&cur);
	text = hl_cursor_bytes(&cur, len);
	if (cur.bad || !text || len > HL_TEXT_MAX)
		return -EBADMSG;
	free(r->cut_filter);
	r->cut_filter = strndup((const char *)text, len);
	if (!r->cut_filter)
		return -ENOMEM;
	cut->flags = (uint32_t)flags;
	cut->filter = r->cut_filter;
	return 0;
}

int hl_read_left_out(struct hl_reader *r, struct hl_chunk *c)
{
	struct hl_left_out *l = &r->info.left_out;
	struct hl_cursor cur;
	int err = hl_column(r, c, HL_COL_LEFT_OUT, &cur);

	if (err)
		return err == -ENOENT ? 0 : err;
	l->blocks = hl_cursor_varint(&cur);
	l->bytes = hl_cursor_varint(&cur);
	l->older_blocks = hl_cursor_varint(&cur);
	l->older_bytes = hl_cursor_varint(&cur);
	return cur.bad ? -EBADMSG : 0;
}

static int contradicts(struct hl_reader *r, const struct hl_chunk *c)
{
	return hl_fail(
		r, "Chunk %llu does not hold what its head says.", (unsigned long long)c->head.seq);
}

int hl_read_parted(struct hl_reader *r, struct hl_chunk *c, struct hl_chunk_events *into)
{
	struct hl_cursor cur;
	uint64_t at = 0;
	int err = hl_column(r, c, HL_COL_PARTED, &cur);

	if (err)
		return err == -ENOENT ? 0 : err;
	while (cur.p < cur.end) {
		at += hl_cursor_varint(&cur);
		if (cur.bad || at >= into->n_events || into->events[at].op != HL_OP_FREE)
			return contradicts(r, c);
		into->events[at].flags |= HL_EVENT_PARTED;
	}
	return 0;
}

/* False: this event cannot be half of such a realloc. */
static bool link_event(struct hl_event *e, struct hl_cursor *cur)
{
	uint64_t back = e->op == HL_OP_ALLOC ? hl_cursor_varint(cur) : 0;

	if (e->flags & (HL_EVENT_MOVED | HL_EVENT_LINKED))
		return false;
	e->flags |= HL_EVENT_LINKED;
	if (e->op == HL_OP_FREE)
		return true;
	e->made_of = e->ordinal - back;
	return back > 0 && back <= e->ordinal;
}

int hl_read_linked(struct hl_reader *r, struct hl_chunk *c, struct hl_chunk_events *into)
{
	struct hl_cursor cur;
	uint64_t at = 0;
	int err = hl_column(r, c, HL_COL_LINKED, &cur);

	if (err)
		return err == -ENOENT ? 0 : err;
	while (cur.p < cur.end) {
		at += hl_cursor_varint(&cur);
		if (cur.bad || at >= into->n_events || !link_event(&into->events[at], &cur) ||
			cur.bad)
			return contradicts(r, c);
	}
	return 0;
}
