/* recast.c - see recast.h. */
#include "trace/recast.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "trace/reader_internal.h"
#include "trace/writer_internal.h"
#include "util/map.h"

#define REPLACED_MAX 3

/* A column that is another than it was. */
struct replaced {
	uint16_t id;
	const void *data;
	size_t len;
};

struct hl_recast {
	struct hl_reader *r;
	struct hl_writer *w; /* of tables and names */
	const struct hl_recast_masks *masks;
	struct hl_chunk_file *file;
	struct hl_file_news news;
	struct hl_sealer sealer;
	struct hl_encoder enc; /* of events with other addresses */
	struct hl_chunk_events events;
	struct hl_map key_seqs; /* keyframes: old number -> new one, by which others name them */
	hl_bytes column;
	uint64_t seq;
	struct hl_chunk_head here; /* of the last chunk */
};

static int take_chunk(void *arg, const struct hl_sealed *chunk)
{
	struct hl_recast *x = arg;

	x->seq = chunk->head.seq + 1;
	x->here = chunk->head;
	return hl_chunk_file_put(x->file, chunk);
}

int hl_recast_begin(struct hl_recast **out, struct hl_reader *r, int fd, const struct hl_meta *meta,
	struct hl_writer **w)
{
	const struct hl_trace_info *info;
	struct hl_recast *x;
	int err;

	hl_reader_verify(r); /* what cannot be read is in the info afterwards */
	err = hl_reader_info(r, &info);
	if (!err && r->running)
		err = hl_fail(r, "The trace is still being written: wait for its end.");
	else if (!err && info->damaged)
		err = hl_fail(r, "%s", info->damage);
	if (err)
		return err;
	x = calloc(1, sizeof(*x));
	if (!x)
		return -ENOMEM;
	x->r = r;
	err = hl_encoder_init(&x->enc, meta->free_stacks);
	if (!err)
		err = hl_chunk_file_open(&x->file, fd, r->sync, &x->news);
	if (!err)
		err = hl_writer_open_to(&x->w, meta, NULL, take_chunk, x, &x->news);
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

/* --- chunks --- */

/* Its number, and that of the keyframe which it builds on. */
static int renumber(struct hl_recast *x, struct hl_chunk_head *h)
{
	uint32_t link = h->link ? hl_map_get(&x->key_seqs, h->link, 0) : 0;
	int err = 0;

	if (link == HL_MAP_NONE || x->seq >= HL_MAP_NONE)
		return hl_fail(x->r, "A keyframe of the trace builds on one that is not there.");
	if (h->type == HL_CHUNK_KEYFRAME)
		err = hl_map_put(&x->key_seqs, h->seq, 0, (uint32_t)x->seq);
	h->link = link;
	h->seq = x->seq++;
	x->here = *h;
	return err;
}

static int copy_chunk(struct hl_recast *x, struct hl_chunk *c)
{
	int err = hl_check_columns(x->r, c);

	if (!err)
		err = renumber(x, &c->head);
	if (err)
		return err;
	hl_chunk_head_encode(x->r->packed, x->r->sync, &c->head, c->columns);
	return hl_chunk_file_copy(x->file, &c->head, x->r->packed);
}

/* What is made up may be longer than what was there. */
static int no_room(struct hl_recast *x)
{
	return hl_fail(x->r, "A chunk of the trace has no room for made-up texts.");
}

/* The chunk with some columns exchanged. */
static int put_chunk(struct hl_recast *x, struct hl_chunk *c, const struct replaced *by, size_t n)
{
	int err = renumber(x, &c->head);

	hl_seal_begin(&x->sealer, c->head.type, &c->head);
	x->sealer.chunk.head = c->head;
	x->sealer.chunk.summary_share = 1; /* it paid */
	for (uint32_t i = 0; i < c->head.n_columns && !err; i++) {
		struct hl_cursor cur = {0};
		size_t k = 0;

		while (k < n && by[k].id != c->columns[i].id)
			k++;
		if (k < n) {
			hl_seal_column(&x->sealer, by[k].id, by[k].data, by[k].len);
			continue;
		}
		err = hl_column(x->r, c, c->columns[i].id, &cur);
		if (!err)
			hl_seal_column(
				&x->sealer, c->columns[i].id, cur.p, (size_t)(cur.end - cur.p));
	}
	if (!err)
		err = hl_seal_end(&x->sealer);
	if (!err && x->sealer.body.len > HL_RAW_MAX)
		err = no_room(x);
	return err ? err : hl_chunk_file_put(x->file, &x->sealer.chunk);
}

/* --- what is masked --- */

static int encode_extra(struct hl_recast *x, size_t i)
{
	struct hl_extra extra = x->events.extras[i];
	size_t len;
	int err = x->masks->extra(x->masks->arg, &extra);

	if (err)
		return err;
	len = extra.text ? hl_min_u64(strlen(extra.text), HL_TEXT_MAX) : 0;
	if (hl_encoder_raw(&x->enc) + len + HL_EVENT_RAW_MAX > HL_RAW_MAX)
		return no_room(x);
	hl_encoder_extra(&x->enc, &extra, extra.time_ns / HL_TIME_UNIT_NS, len);
	return 0;
}

/* All columns are made again, of which those with addresses and texts are taken. */
static int encode_events(struct hl_recast *x, const struct hl_chunk_head *h)
{
	struct hl_encoder *e = &x->enc;
	size_t extra = 0;
	int err = 0;

	hl_encoder_begin(e, h->first_ordinal);
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

static int mask_events(struct hl_recast *x, size_t row, struct hl_chunk *c)
{
	static const struct {
		uint16_t id;
		enum hl_event_col col;
	} masked[REPLACED_MAX] = {
		{HL_COL_ADDR, EC_ADDR}, {HL_COL_XADDR, EC_XADDR}, {HL_COL_EXTRA, EC_EXTRA}};
	struct replaced by[REPLACED_MAX];
	int err = hl_reader_decode(x->r, x->r->rows.data[row].chunk, &x->events);

	if (!err)
		err = encode_events(x, &c->head);
	for (size_t i = 0; i < REPLACED_MAX; i++)
		by[i] = (struct replaced){masked[i].id, x->enc.base[masked[i].col],
			(size_t)(x->enc.at[masked[i].col] - x->enc.base[masked[i].col])};
	if (!err)
		err = hl_load(x->r, row, c); /* decoding took its place */
	return err ? err : put_chunk(x, c, by, REPLACED_MAX);
}

static int mask_label(struct hl_recast *x, struct hl_chunk *c)
{
	struct replaced by = {.id = HL_COL_SNAPSHOT};
	struct hl_cursor cur;
	const uint8_t *start;
	const char *masked;
	char *label;
	int err = hl_column(x->r, c, HL_COL_SNAPSHOT, &cur);

	if (err)
		return err == -ENOENT ? copy_chunk(x, c) : err;
	start = cur.p;
	for (int i = 0; i < 4; i++)
		hl_cursor_varint(&cur);
	if (cur.bad)
		return hl_fail(x->r, "A snapshot of the trace is damaged.");
	label = strndup((const char *)cur.p, (size_t)(cur.end - cur.p));
	masked = label;
	err = label ? 0 : -ENOMEM;
	if (!err && label[0])
		err = x->masks->label(x->masks->arg, &masked);
	x->column.len = 0;
	if (!err)
		err = hl_bytes_put(&x->column, start, (size_t)(cur.p - start));
	if (!err)
		err = hl_bytes_put(&x->column, masked, strlen(masked));
	free(label);
	by.data = x->column.data;
	by.len = x->column.len;
	return err ? err : put_chunk(x, c, &by, 1);
}

static int mask_live_set(struct hl_recast *x, struct hl_chunk *c)
{
	struct replaced by = {.id = HL_COL_LIVE_ADDR};
	uint64_t was = 0, now = 0;
	struct hl_cursor cur;
	int err = hl_column(x->r, c, HL_COL_LIVE_ADDR, &cur);

	x->column.len = 0;
	while (!err && cur.p < cur.end && !cur.bad) {
		struct hl_event e = {.addr = was + (uint64_t)hl_unzigzag(hl_cursor_varint(&cur))};

		was = e.addr;
		x->masks->event(x->masks->arg, &e);
		err = hl_bytes_varint(&x->column, hl_zigzag((int64_t)(e.addr - now)));
		now = e.addr;
	}
	if (err && err != -ENOENT)
		return err;
	by.data = x->column.data;
	by.len = x->column.len;
	return put_chunk(x, c, &by, 1);
}

/* --- the whole --- */

static int copy_row(struct hl_recast *x, size_t row)
{
	struct hl_chunk c;
	int err = hl_load(x->r, row, &c);

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

/* All else is written already, or may have a name in it. */
static bool is_copied(uint16_t type)
{
	return type == HL_CHUNK_EVENTS || type == HL_CHUNK_KEYFRAME || type == HL_CHUNK_LIVESET ||
	       type == HL_CHUNK_RSS || type == HL_CHUNK_END;
}

static int copy_rows(struct hl_recast *x)
{
	int err = 0;

	for (size_t i = 0; i < x->r->rows.len && !err; i++) {
		if (is_copied(x->r->rows.data[i].head.type))
			err = copy_row(x, i);
	}
	return err;
}

static int put_index(struct hl_recast *x)
{
	int err;

	hl_seal_begin(&x->sealer, HL_CHUNK_INDEX, &x->here);
	err = hl_seal_end(&x->sealer);
	x->sealer.chunk.head.seq = x->seq++;
	return err ? err : hl_chunk_file_put(x->file, &x->sealer.chunk);
}

int hl_recast_end(struct hl_recast *x, const struct hl_recast_masks *masks, int err)
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
	hl_map_fini(&x->key_seqs);
	hl_vec_free(&x->column);
	free(x);
	return err;
}
