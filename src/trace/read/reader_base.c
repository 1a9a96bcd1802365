/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reader_base.c - the base of a trace that begins late.
 *
 * The file has ordinals and numbers of events of the whole run. The reader's own are dense: block i
 * of the base has ordinal i, and the allocations after the base follow. So tables by ordinal do not
 * grow with the length of the run before the base. base_ordinals has the ordinal in the run of each
 * block of the base, in ascending order.
 *
 * If a part of the base is lost, its blocks keep their places in the numbers. Frees of these blocks
 * then get any ordinal of the lost part: no query uses it, because its allocation is lost.
 */
#include <errno.h>
#include <string.h>

#include "base/bits.h"
#include "trace/read/reader_internal.h"

static bool is_base_valid(const struct hl_base *b)
{
	return b->blocks <= b->allocs && b->allocs <= b->events && b->snapshots <= UINT32_MAX;
}

int hl_read_base_info(struct hl_reader *r, struct hl_chunk *c)
{
	struct hl_base b = {.is_late = true};
	struct hl_column_cursor cur;
	int err = hl_chunk_column(r, c, HL_COL_BASE, &cur);

	if (err)
		return err == -ENOENT ? 0 : err;
	b.time_ns = hl_column_cursor_varint(&cur);
	b.events = hl_column_cursor_varint(&cur);
	b.allocs = hl_column_cursor_varint(&cur);
	b.blocks = hl_column_cursor_varint(&cur);
	if (!hl_column_cursor_done(&cur)) /* missing in older traces */
		b.snapshots = hl_column_cursor_varint(&cur);
	if (cur.bad || !is_base_valid(&b))
		return hl_reader_fail(r, "The base of the trace contradicts itself.");
	r->info.meta.base = b;
	return 0;
}

bool hl_is_base_part(const struct hl_reader *r, const struct hl_chunk_header *h)
{
	return h->type == HL_CHUNK_LIVESET && h->flags & HL_CHUNK_BASE &&
	       r->info.meta.base.is_late && !r->base_ended;
}

static bool is_readable_meta(const struct hl_reader *r)
{
	return r->rows.len > 0 && r->rows.data[0].head.type == HL_CHUNK_META &&
	       !r->rows.data[0].bad;
}

static uint64_t count_parts(const struct hl_base *b)
{
	return (b->blocks + HL_LIVESET_ROWS - 1) / HL_LIVESET_ROWS;
}

/* META is damaged: the chunks of the base have the same numbers, except the moment of the base,
 * which is at or after the last event before it. */
void hl_find_base(struct hl_reader *r)
{
	struct hl_base b = {0};

	if (r->info.meta.base.is_late || is_readable_meta(r))
		return;
	for (size_t i = 0; i < r->rows.len; i++) {
		const struct hl_chunk_header *h = &r->rows.data[i].head;

		if (!(h->flags & HL_CHUNK_BASE) ||
			(h->type != HL_CHUNK_LIVESET && h->type != HL_CHUNK_KEYFRAME))
			continue;
		b.is_late = true;
		b.time_ns = h->t1_ns;
		b.events = h->first_event;
		b.allocs = h->first_ordinal;
		if (h->type == HL_CHUNK_LIVESET)
			b.blocks = hl_max_u64(
				b.blocks, (uint64_t)(uint32_t)h->aux * HL_LIVESET_ROWS + h->n_rows);
	}
	if (is_base_valid(&b))
		r->info.meta.base = b;
}

/* ---- the list of chunks ---- */

/* Blocks [from, to) of the base are lost. */
static int list_lost_blocks(struct hl_reader *r, uint64_t from, uint64_t to)
{
	const struct hl_base *b = &r->info.meta.base;
	const struct hl_chunk_info info = {.lost = true,
		.header_lost = true,
		.first_event = from,
		.first_ordinal = from,
		.n_events = (uint32_t)hl_min_u64(to - from, UINT32_MAX),
		.t0_ns = b->time_ns,
		.t1_ns = b->time_ns};

	r->base_has_gap = true;
	return from < to ? hl_list_chunk(r, &info, HL_NO_ROW) : 0;
}

/* Part `part` of the base must have this many rows. */
static uint64_t rows_of_part(const struct hl_base *b, uint64_t part)
{
	return hl_min_u64(b->blocks - part * HL_LIVESET_ROWS, HL_LIVESET_ROWS);
}

static bool is_part_valid(const struct hl_reader *r, const struct hl_chunk_header *h)
{
	const struct hl_base *b = &r->info.meta.base;
	uint64_t part = (uint32_t)h->aux;

	return h->aux >> 32 == count_parts(b) && part < count_parts(b) &&
	       part >= r->base_next_part && h->n_rows == rows_of_part(b, part) &&
	       h->first_event == b->events && h->first_ordinal == b->allocs &&
	       h->t1_ns <= b->time_ns;
}

static int end_base(struct hl_reader *r)
{
	const struct hl_base *b = &r->info.meta.base;
	uint64_t from = r->base_next_part * HL_LIVESET_ROWS;
	int err = from < b->blocks ? list_lost_blocks(r, from, b->blocks) : 0;

	if (from < b->blocks && r->lost_chunks == 0 && !r->running) { /* not even a gap shows it */
		r->lost_chunks = count_parts(b) - r->base_next_part;
		r->lost_unknown = true;
	}
	r->base_ended = true;
	r->n_base_chunks = r->chunks.len;
	return err;
}

int hl_list_base_part(struct hl_reader *r, size_t row)
{
	const struct hl_base *b = &r->info.meta.base;
	struct hl_chunk_info info = {.t0_ns = b->time_ns, .t1_ns = b->time_ns};
	const struct hl_chunk_header *h;
	uint64_t part;
	int err = 0;

	if (row == HL_NO_ROW)
		return end_base(r);
	h = &r->rows.data[row].head;
	if (!is_part_valid(r, h)) {
		(void)hl_mark_bad(r, row);
		return 0;
	}
	part = (uint32_t)h->aux;
	if (part > r->base_next_part)
		err = list_lost_blocks(
			r, r->base_next_part * HL_LIVESET_ROWS, part * HL_LIVESET_ROWS);
	if (err)
		return err;
	r->base_next_part = part + 1;
	info.seq = h->seq;
	info.first_event = info.first_ordinal = info.live_blocks = part * HL_LIVESET_ROWS;
	info.n_events = h->n_rows;
	info.live_bytes = info.max_live_bytes = h->live_bytes;
	r->rows.data[row].is_base = true;
	return hl_list_chunk(r, &info, row);
}

size_t hl_reader_n_base_chunks(const struct hl_reader *r)
{
	return r->n_base_chunks;
}

size_t hl_reader_base_keyframe(const struct hl_reader *r)
{
	return r->info.meta.base.is_late ? r->base_key : SIZE_MAX;
}

/* ---- ordinals ---- */

/* Reads the ordinals of one part. They must ascend, also from part to part. */
static int load_part(struct hl_reader *r, size_t chunk)
{
	const struct hl_chunk_info *info = &r->chunks.data[chunk];
	uint64_t *to = r->base_ordinals.data + info->first_ordinal, ordinal = 0;
	uint64_t limit = r->info.meta.base.allocs;
	size_t row = r->chunk_rows.data[chunk];
	struct hl_column_cursor cur;
	struct hl_chunk c;
	bool bad;

	bad = row == HL_NO_ROW || r->rows.data[row].bad ||
	      hl_load_column(r, row, &c, HL_COL_LIVE_ORDINAL) < 0 ||
	      hl_chunk_column(r, &c, HL_COL_LIVE_ORDINAL, &cur) < 0;
	for (uint32_t i = 0; i < info->n_events && !bad; i++) {
		uint64_t last = ordinal;

		ordinal += (uint64_t)hl_unzigzag(hl_column_cursor_varint(&cur));
		bad = cur.bad || ordinal >= limit || (i > 0 && ordinal <= last) ||
		      (i == 0 && info->first_ordinal > 0 && ordinal <= to[-1] && !r->base_has_gap);
		to[i] = ordinal;
	}
	if (!bad && hl_column_cursor_done(&cur))
		return 0;
	if (row != HL_NO_ROW)
		(void)hl_mark_bad(r, row);
	return -EBADMSG;
}

/* A lost part repeats the last ordinal before it, so that the list ascends. */
static void fill_lost_part(struct hl_reader *r, const struct hl_chunk_info *info)
{
	uint64_t *to = r->base_ordinals.data + info->first_ordinal;
	uint64_t last = info->first_ordinal > 0 ? to[-1] : 0;

	for (uint64_t i = 0; i < info->n_events; i++)
		to[i] = last;
	r->base_has_gap = true;
}

int hl_base_load(struct hl_reader *r)
{
	const struct hl_base *b = &r->info.meta.base;

	if (r->base_state || !b->is_late)
		return r->base_state < 0 ? r->base_state : 0;
	r->base_state = 1;
	if (b->blocks > hl_base_blocks_limit(r->data_bytes)) { /* most of it is lost */
		r->base_has_gap = true;
		return 0;
	}
	if (hl_vec_reserve(&r->base_ordinals, b->blocks + 1) < 0)
		return r->base_state = -ENOMEM;
	memset(r->base_ordinals.data, 0, (b->blocks + 1) * sizeof(*r->base_ordinals.data));
	r->base_ordinals.len = b->blocks;
	/* A gap in the sequence numbers may have put other lost chunks between the parts. */
	for (size_t i = 0; i < r->n_base_chunks; i++) {
		const struct hl_chunk_info *c = &r->chunks.data[i];

		if (c->n_events > 0 && c->first_ordinal < b->blocks &&
			c->n_events <= b->blocks - c->first_ordinal && load_part(r, i) < 0)
			fill_lost_part(r, c);
	}
	return 0;
}

int hl_base_map_ordinal(const struct hl_reader *r, uint64_t *ordinal)
{
	const struct hl_base *b = &r->info.meta.base;
	size_t lo = 0, hi = r->base_ordinals.len;

	if (!b->is_late)
		return 0;
	if (*ordinal >= b->allocs) {
		*ordinal -= hl_base_ordinal_shift(r);
		return 0;
	}
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (r->base_ordinals.data[mid] < *ordinal)
			lo = mid + 1;
		else
			hi = mid;
	}
	if ((lo == r->base_ordinals.len || r->base_ordinals.data[lo] != *ordinal) &&
		!r->base_has_gap)
		return -EBADMSG;
	*ordinal = hl_min_u64(lo, b->blocks ? b->blocks - 1 : 0);
	return 0;
}

int hl_base_map_events(struct hl_reader *r, struct hl_event *events, size_t n, bool has_flags)
{
	for (size_t i = 0; i < n; i++) {
		struct hl_event *e = &events[i];

		if (hl_base_map_ordinal(r, &e->ordinal) < 0)
			return hl_reader_fail(r, "A block was freed that the base does not have.");
		/* The old block of this realloc was freed before the base. */
		if (has_flags && e->flags & HL_EVENT_LINKED && e->op == HL_OP_ALLOC &&
			hl_base_map_ordinal(r, &e->realloc_of) < 0)
			e->flags &= (uint8_t)~HL_EVENT_LINKED;
	}
	return 0;
}

uint64_t hl_reader_run_event(const struct hl_reader *r, uint64_t event)
{
	return event + hl_base_event_shift(r);
}

uint64_t hl_reader_run_ordinal(const struct hl_reader *r, uint64_t ordinal)
{
	return ordinal < r->base_ordinals.len ? r->base_ordinals.data[ordinal]
					      : ordinal + hl_base_ordinal_shift(r);
}
