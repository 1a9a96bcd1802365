/* SPDX-License-Identifier: Apache-2.0 */
/* rename_copy.c - see rename_copy.h. */
#include "trace/edit/rename_copy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "trace/read/reader_internal.h"
#include "trace/write/writer_internal.h"
#include "util/pair_map.h"

#define REPLACED_MAX 3

/* The new content of a column. */
struct replaced {
	uint16_t id;
	const void *data;
	size_t len;
};

struct hl_rename_copy {
	struct hl_reader *r;
	struct hl_writer *w; /* writes tables and names */
	const struct hl_rename_copy_masks *masks;
	struct hl_chunk_file *file;
	struct hl_file_status status;
	struct hl_sealer sealer;
	struct hl_encoder enc; /* encodes events with masked addresses */
	struct hl_chunk_events events;
	struct hl_pair_map key_seqs; /* sequence numbers of keyframes, old to new, for links */
	hl_byte_buffer column;
	uint64_t seq;
	struct hl_chunk_header last_head; /* header of the last chunk */
};

static int on_chunk(void *arg, const struct hl_sealed *chunk)
{
	struct hl_rename_copy *x = arg;

	x->seq = chunk->head.seq + 1;
	x->last_head = chunk->head;
	return hl_chunk_file_put(x->file, chunk);
}

int hl_rename_copy_begin(struct hl_rename_copy **out, struct hl_reader *r, int fd,
	const struct hl_meta *meta, struct hl_writer **w)
{
	const struct hl_trace_info *info;
	struct hl_rename_copy *x;
	int err;

	hl_reader_verify(r, NULL); /* finds all damage; hl_reader_info reports it */
	err = hl_reader_info(r, &info);
	if (!err && r->running)
		err = hl_reader_fail(r, "The trace is still being written: wait for its end.");
	else if (!err && info->damaged)
		err = hl_reader_fail(r, "%s", info->damage);
	if (err)
		return err;
	x = calloc(1, sizeof(*x));
	if (!x)
		return -ENOMEM;
	x->r = r;
	err = hl_encoder_init(&x->enc, meta->free_stacks);
	if (!err)
		err = hl_chunk_file_open(&x->file, fd, r->sync, &x->status);
	if (!err)
		err = hl_writer_open_to(&x->w, meta, NULL, on_chunk, x, &x->status);
	if (err) {
		if (x->file)
			hl_chunk_file_disown(x->file);
		hl_chunk_file_close(x->file);
		hl_encoder_fini(&x->enc);
		free(x);
		return err;
	}
	*w = x->w;
	*out = x;
	return 0;
}

/* --- copying chunks --- */

/* Gives the chunk its new sequence number and updates its link to the keyframe that it builds
 * on. */
static int renumber(struct hl_rename_copy *x, struct hl_chunk_header *h)
{
	uint32_t link = h->link ? hl_pair_map_get(&x->key_seqs, h->link, 0) : 0;
	int err = 0;

	if (link == HL_PAIR_MAP_NONE || x->seq >= HL_PAIR_MAP_NONE)
		return hl_reader_fail(
			x->r, "A keyframe of the trace depends on one that is missing.");
	if (h->type == HL_CHUNK_KEYFRAME)
		err = hl_pair_map_put(&x->key_seqs, h->seq, 0, (uint32_t)x->seq);
	h->link = link;
	h->seq = x->seq++;
	x->last_head = *h;
	return err;
}

static int copy_chunk(struct hl_rename_copy *x, struct hl_chunk *c)
{
	int err = hl_check_columns(x->r, c);

	if (!err)
		err = renumber(x, &c->head);
	if (err)
		return err;
	hl_chunk_header_encode(x->r->packed, x->r->sync, &c->head, c->columns);
	return hl_chunk_file_copy(x->file, &c->head, x->r->packed);
}

/* Masked texts may be longer than the original ones and exceed the limit of a chunk. */
static int fail_too_long(struct hl_rename_copy *x)
{
	return hl_reader_fail(x->r, "A chunk of the trace has no room for made-up texts.");
}

/* Writes the chunk with some columns replaced. */
static int put_chunk(
	struct hl_rename_copy *x, struct hl_chunk *c, const struct replaced *by, size_t n)
{
	int err = renumber(x, &c->head);

	hl_seal_begin(&x->sealer, c->head.type, &c->head);
	x->sealer.chunk.head = c->head;
	x->sealer.chunk.summary_share = 1; /* keep the summary as it was */
	for (uint32_t i = 0; i < c->head.n_columns && !err; i++) {
		struct hl_column_cursor cur = {0};
		size_t k = 0;

		while (k < n && by[k].id != c->columns[i].id)
			k++;
		if (k < n) {
			hl_seal_column(&x->sealer, by[k].id, by[k].data, by[k].len);
			continue;
		}
		err = hl_chunk_column(x->r, c, c->columns[i].id, &cur);
		if (!err)
			hl_seal_column(
				&x->sealer, c->columns[i].id, cur.p, (size_t)(cur.end - cur.p));
	}
	if (!err)
		err = hl_seal_end(&x->sealer);
	if (!err && x->sealer.body.len > HL_RAW_MAX)
		err = fail_too_long(x);
	return err ? err : hl_chunk_file_put(x->file, &x->sealer.chunk);
}

/* --- masking --- */

static int encode_extra(struct hl_rename_copy *x, size_t i)
{
	struct hl_extra extra = x->events.extras[i];
	size_t len;
	int err = x->masks->extra(x->masks->arg, &extra);

	if (err)
		return err;
	len = extra.text ? hl_min_u64(strlen(extra.text), HL_TEXT_MAX) : 0;
	if (hl_encoder_raw(&x->enc) + len + HL_EVENT_RAW_MAX > HL_RAW_MAX)
		return fail_too_long(x);
	hl_encoder_extra(&x->enc, &extra, extra.time_ns / HL_TIME_UNIT_NS, len);
	return 0;
}

/* Encodes all columns again. Only those with addresses and texts are used. */
static int encode_events(
	struct hl_rename_copy *x, const struct hl_chunk_header *h, uint64_t first_ordinal)
{
	struct hl_encoder *e = &x->enc;
	size_t extra = 0;
	int err = 0;

	hl_encoder_begin(e, first_ordinal);
	e->t0 = e->time = e->extra_time = h->t0_ns / HL_TIME_UNIT_NS;
	for (size_t i = 0; i <= x->events.n_events && !err; i++) {
		struct hl_event event;

		while (extra < x->events.n_extras && x->events.extras_at[extra] <= i && !err)
			err = encode_extra(x, extra++);
		if (err || i == x->events.n_events)
			continue;
		event = x->events.events[i];
		x->masks->event(x->masks->arg, &event);
		hl_encoder_add(e, &event, event.time_ns / HL_TIME_UNIT_NS);
	}
	hl_encoder_finish(e);
	return err;
}

static int mask_events(struct hl_rename_copy *x, size_t row, struct hl_chunk *c)
{
	static const struct {
		uint16_t id;
		enum hl_event_col col;
	} masked[REPLACED_MAX] = {
		{HL_COL_ADDR, EC_ADDR}, {HL_COL_XADDR, EC_XADDR}, {HL_COL_EXTRA, EC_EXTRA}};
	struct replaced by[REPLACED_MAX];
	size_t chunk = x->r->rows.data[row].chunk;
	int err = hl_reader_decode(x->r, chunk, &x->events);

	if (!err) /* ordinals are those of the reader */
		err = encode_events(x, &c->head, hl_reader_chunk(x->r, chunk)->first_ordinal);
	for (size_t i = 0; i < REPLACED_MAX; i++)
		by[i] = (struct replaced){masked[i].id, x->enc.base[masked[i].col],
			(size_t)(x->enc.at[masked[i].col] - x->enc.base[masked[i].col])};
	if (!err)
		err = hl_load_chunk(x->r, row, c); /* hl_reader_decode has overwritten the buffer */
	return err ? err : put_chunk(x, c, by, REPLACED_MAX);
}

static int mask_label(struct hl_rename_copy *x, struct hl_chunk *c)
{
	struct replaced by = {.id = HL_COL_SNAPSHOT};
	struct hl_column_cursor cur;
	const uint8_t *start;
	const char *masked;
	char *label;
	int err = hl_chunk_column(x->r, c, HL_COL_SNAPSHOT, &cur);

	if (err)
		return err == -ENOENT ? copy_chunk(x, c) : err;
	start = cur.p;
	for (int i = 0; i < 4; i++)
		hl_column_cursor_varint(&cur);
	if (cur.bad)
		return hl_reader_fail(x->r, "A snapshot of the trace is damaged.");
	label = strndup((const char *)cur.p, (size_t)(cur.end - cur.p));
	masked = label;
	err = label ? 0 : -ENOMEM;
	if (!err && label[0])
		err = x->masks->label(x->masks->arg, &masked);
	x->column.len = 0;
	if (!err)
		err = hl_byte_buffer_put(&x->column, start, (size_t)(cur.p - start));
	if (!err)
		err = hl_byte_buffer_put(&x->column, masked, strlen(masked));
	free(label);
	by.data = x->column.data;
	by.len = x->column.len;
	return err ? err : put_chunk(x, c, &by, 1);
}

static int mask_live_set(struct hl_rename_copy *x, struct hl_chunk *c)
{
	struct replaced by = {.id = HL_COL_LIVE_ADDR};
	uint64_t was = 0, now = 0;
	struct hl_column_cursor cur;
	int err = hl_chunk_column(x->r, c, HL_COL_LIVE_ADDR, &cur);

	x->column.len = 0;
	while (!err && cur.p < cur.end && !cur.bad) {
		struct hl_event e = {
			.addr = was + (uint64_t)hl_unzigzag(hl_column_cursor_varint(&cur))};

		was = e.addr;
		x->masks->event(x->masks->arg, &e);
		err = hl_byte_buffer_varint(&x->column, hl_zigzag((int64_t)(e.addr - now)));
		now = e.addr;
	}
	if (err && err != -ENOENT)
		return err;
	by.data = x->column.data;
	by.len = x->column.len;
	return put_chunk(x, c, &by, 1);
}

/* --- the whole trace --- */

static int copy_row(struct hl_rename_copy *x, size_t row)
{
	struct hl_chunk c;
	int err = hl_load_chunk(x->r, row, &c);

	if (err)
		return err;
	if (x->masks && c.head.type == HL_CHUNK_EVENTS)
		return mask_events(x, row, &c);
	if (x->masks && c.head.type == HL_CHUNK_KEYFRAME)
		return mask_label(x, &c);
	if (x->masks && c.head.type == HL_CHUNK_LIVESET)
		return mask_live_set(x, &c);
	return copy_chunk(x, &c);
}

/* Other chunks are already written by x->w, or may contain names. */
static bool is_copied(uint16_t type)
{
	return type == HL_CHUNK_EVENTS || type == HL_CHUNK_KEYFRAME || type == HL_CHUNK_LIVESET ||
	       type == HL_CHUNK_RSS || type == HL_CHUNK_END;
}

static int copy_rows(struct hl_rename_copy *x)
{
	int err = 0;

	for (size_t i = 0; i < x->r->rows.len && !err; i++) {
		if (is_copied(x->r->rows.data[i].head.type))
			err = copy_row(x, i);
	}
	return err;
}

static int put_index(struct hl_rename_copy *x)
{
	int err;

	hl_seal_begin(&x->sealer, HL_CHUNK_INDEX, &x->last_head);
	err = hl_seal_end(&x->sealer);
	x->sealer.chunk.head.seq = x->seq++;
	return err ? err : hl_chunk_file_put(x->file, &x->sealer.chunk);
}

int hl_rename_copy_end(struct hl_rename_copy *x, const struct hl_rename_copy_masks *masks, int err)
{
	x->masks = masks;
	if (!err)
		err = hl_writer_flush(x->w);
	if (!err)
		err = hl_write_names(x->w);
	if (!err)
		err = copy_rows(x);
	if (!err)
		err = put_index(x);
	hl_writer_close(x->w);
	hl_chunk_file_close(x->file);
	hl_encoder_fini(&x->enc);
	hl_chunk_events_free(&x->events);
	hl_sealer_fini(&x->sealer);
	hl_pair_map_fini(&x->key_seqs);
	hl_vec_free(&x->column);
	free(x);
	return err;
}
