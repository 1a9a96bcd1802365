/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reader_index.c - finds all chunks: from the index at the end of the file or, if that is missing
 * or damaged, from the chunk headers.
 *
 * The rebuild goes from header to header. If there is no valid header at a position, it searches
 * for the file's sync word. Sequence numbers only rise, and a gap in them gives the number of
 * missing chunks. Memory use is proportional to the size of the file, never to a number in it.
 * While the file grows, rebuild and lists go on where they ended the last time.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/bits.h"
#include "trace/read/reader_internal.h"

/* The first read is small: a file with many short damaged ranges must not cost a large read for
 * each. */
#define SEARCH_FIRST 4096u
#define SEARCH_MAX   HL_RAW_MAX /* size of the reader's raw buffer */

/* ---- from the index ---- */

static int read_index_rows(struct hl_reader *r, struct hl_chunk *c, uint64_t index_at, uint64_t *at)
{
	struct hl_column_cursor cur[HL_INDEX_FIELDS];
	uint64_t f[HL_INDEX_FIELDS] = {0};

	for (int i = 0; i < HL_INDEX_FIELDS; i++)
		if (hl_chunk_column(r, c, (uint16_t)(HL_COL_INDEX + i), &cur[i]) < 0)
			return -EBADMSG;
	for (uint32_t n = 0; n < c->head.n_rows; n++) {
		struct hl_chunk_row row = {.at = *at};

		for (int i = 0; i < HL_INDEX_FIELDS; i++) {
			f[i] += (uint64_t)hl_unzigzag(hl_column_cursor_varint(&cur[i]));
			if (cur[i].bad)
				return -EBADMSG;
		}
		/* chunks are contiguous up to the index, so there cannot be more than fit */
		if (hl_header_from_fields(f, &row.head) < 0 || row.head.length > index_at - *at)
			return -EBADMSG;
		row.head.seq = r->rows.len;
		*at += row.head.length;
		if (hl_vec_push(&r->rows, row) < 0)
			return -ENOMEM;
	}
	for (int i = 0; i < HL_INDEX_FIELDS; i++)
		if (!hl_column_cursor_done(&cur[i]))
			return -EBADMSG;
	return 0;
}

/* Loads the INDEX chunk at `pos`. A temporary row makes it accessible to hl_load_chunk. */
static int load_index_chunk(struct hl_reader *r, uint64_t pos, uint64_t end, struct hl_chunk *c)
{
	size_t len = hl_min_u64(end - pos, HL_CHUNK_HEADERS_MAX);
	struct hl_chunk_row row = {.at = pos};
	int err;

	if (hl_pread(r, r->packed, len, pos) < 0 ||
		hl_chunk_header_decode(r->packed, len, r->sync, &row.head, NULL) < 0 ||
		row.head.type != HL_CHUNK_INDEX || row.head.length > end - pos)
		return -EBADMSG;
	if (hl_vec_push(&r->rows, row) < 0)
		return -ENOMEM;
	err = hl_load_chunk(r, r->rows.len - 1, c);
	r->rows.len--;
	return err;
}

static int read_index(struct hl_reader *r)
{
	uint8_t trailer[HL_TRAILER_LEN];
	uint64_t index_at, pos, end, at = HL_FILE_HEADER_LEN;
	struct hl_chunk c;
	int err = 0;

	if (r->file_bytes < HL_FILE_HEADER_LEN + HL_TRAILER_LEN)
		return -EBADMSG;
	end = r->file_bytes - HL_TRAILER_LEN;
	if (hl_pread(r, trailer, sizeof(trailer), end) < 0 ||
		hl_trailer_decode(trailer, r->sync, &index_at) < 0)
		return -EBADMSG;
	if (index_at < HL_FILE_HEADER_LEN || index_at >= end)
		return -EBADMSG;
	for (pos = index_at; pos < end && !err; pos += c.head.length) {
		err = load_index_chunk(r, pos, end, &c);
		if (!err && c.head.aux != r->rows.len)
			err = -EBADMSG;
		if (!err)
			err = read_index_rows(r, &c, index_at, &at);
	}
	if (!err && at != index_at)
		err = -EBADMSG;
	return err;
}

/* ---- from the chunk headers ---- */

/* Reads a valid header at `at` with a sequence number of at least `next`. Returns -ERANGE if it is
 * valid but the file ends inside its chunk. */
static int read_header_at(
	struct hl_reader *r, uint64_t at, uint64_t next, struct hl_chunk_header *head)
{
	uint8_t buf[HL_CHUNK_HEADERS_MAX];
	size_t len = hl_min_u64(r->file_bytes - at, sizeof(buf));

	if (len < HL_CHUNK_HEADER_LEN)
		return -EBADMSG;
	if (hl_pread(r, buf, len, at) < 0)
		return -EBADMSG;
	if (hl_chunk_header_decode(buf, len, r->sync, head, NULL) < 0 || head->seq < next)
		return -EBADMSG;
	return head->length > r->file_bytes - at ? -ERANGE : 0;
}

/* The first offset from `at` on where a sync word may begin. A hole contains none, and reading a
 * large one takes minutes; but a sync word may begin in its last 7 bytes. */
static uint64_t skip_hole(const struct hl_reader *r, uint64_t at)
{
	uint64_t data = hl_byte_source_skip_hole(r->source, at);

	return data > at + 7 ? hl_min_u64(data - 7, r->file_bytes) : at;
}

/* The offset of the next valid header from `at` on; the size of the file if there is none. */
static uint64_t search_header(struct hl_reader *r, uint64_t at, uint64_t next)
{
	uint8_t sync[8];
	struct hl_chunk_header head;
	size_t block = SEARCH_FIRST;

	hl_put64(sync, r->sync);
	while (r->file_bytes - at >= HL_CHUNK_HEADER_LEN) {
		uint64_t from = skip_hole(r, at);
		uint8_t *p = r->raw, *hit;
		size_t len;

		if (from > at) {
			at = hl_min_u64(from, r->file_bytes);
			block = SEARCH_FIRST;
			continue;
		}
		len = hl_min_u64(r->file_bytes - at, block);
		if (hl_pread(r, r->raw, len, at) < 0)
			break;
		while ((hit = memmem(p, len - (size_t)(p - r->raw), sync, 8))) {
			uint64_t found = at + (uint64_t)(hit - r->raw);
			int err = read_header_at(r, found, next, &head);

			if (err == 0 || err == -ERANGE)
				return found;
			p = hit + 1;
		}
		if (len < block)
			break;
		at += len - 7; /* a sync word may cross the boundary */
		block = hl_min_u64(block * 2, SEARCH_MAX);
	}
	return r->file_bytes;
}

static bool is_trailer_at(struct hl_reader *r, uint64_t at)
{
	uint8_t buf[HL_TRAILER_LEN];
	uint64_t index_at;

	return r->file_bytes - at >= sizeof(buf) && hl_pread(r, buf, sizeof(buf), at) == 0 &&
	       hl_trailer_decode(buf, r->sync, &index_at) == 0;
}

static bool has_end_chunk(const struct hl_reader *r)
{
	for (size_t i = r->rows.len; i-- > 0;)
		if (r->rows.data[i].head.type != HL_CHUNK_INDEX)
			return r->rows.data[i].head.type == HL_CHUNK_END;
	return false;
}

/* Records that the file ends, from `at`, in bytes that are not a complete chunk. */
static void record_tail(struct hl_reader *r, uint64_t at, const struct hl_chunk_header *partial)
{
	if (has_end_chunk(r)) /* then only the index can have been there */
		return;
	r->tail_bytes = r->file_bytes - at;
	if (r->running)
		return;
	r->lost_chunks++;
	r->has_partial_head = partial != NULL;
	if (partial) {
		r->partial_head = *partial;
		r->lost_events += partial->n_events;
	} else {
		r->lost_unknown = true;
	}
}

int hl_find_more_chunks(struct hl_reader *r)
{
	r->tail_bytes = r->junk_bytes = 0;
	while (r->scan_at < r->file_bytes) {
		struct hl_chunk_row row = {.at = r->scan_at};
		int err = read_header_at(r, row.at, r->scan_next, &row.head);
		uint64_t found;

		if (err == 0) {
			if (hl_vec_push(&r->rows, row) < 0)
				return -ENOMEM;
			r->scan_next = row.head.seq + 1;
			r->scan_at += row.head.length;
			continue;
		}
		if (is_trailer_at(r, row.at)) {
			r->junk_bytes = r->file_bytes - row.at - HL_TRAILER_LEN;
			break;
		}
		found = search_header(r, row.at + 1, r->scan_next);
		if (found == r->file_bytes) {
			record_tail(r, row.at, err == -ERANGE ? &row.head : NULL);
			break;
		}
		r->skipped_bytes += found - row.at;
		r->scan_at = found;
	}
	return 0;
}

int hl_find_chunks(struct hl_reader *r)
{
	int err = read_index(r);

	r->scan_at = r->file_bytes;
	if (err == -EBADMSG) {
		r->rows.len = 0;
		r->scan_at = HL_FILE_HEADER_LEN;
		r->scan_next = 0;
		err = hl_find_more_chunks(r);
		/* A running writer has yet to write the index. Everything else is there. */
		r->index_rebuilt = has_end_chunk(r) && !r->running;
	}
	return err;
}

/* ---- lists made from the rows ---- */

int hl_list_chunk(struct hl_reader *r, const struct hl_chunk_info *info, size_t row)
{
	if (row != HL_NO_ROW)
		r->rows.data[row].chunk = r->chunks.len;
	if (hl_vec_push(&r->chunks, *info) < 0 || hl_vec_push(&r->chunk_rows, row) < 0)
		return -ENOMEM;
	return 0;
}

/* In a trace that begins late, events and ordinals before the base would have negative numbers. */
static bool is_before_base(const struct hl_reader *r, const struct hl_chunk_header *h)
{
	const struct hl_base *base = &r->info.meta.base;

	return h->first_event < base->events || h->first_ordinal < base->allocs;
}

static int list_events(struct hl_reader *r, const struct hl_chunk_header *h, size_t row)
{
	struct hl_chunk_info info = {
		.lost = row == HL_NO_ROW,
		.header_lost = row == HL_NO_ROW,
		.seq = h->seq,
		.first_event = h->first_event - hl_base_event_shift(r),
		.first_ordinal = h->first_ordinal - hl_base_ordinal_shift(r),
		.n_events = h->n_events,
		.n_extras = h->n_rows,
		.t0_ns = h->t0_ns,
		.t1_ns = h->t1_ns,
		.live_bytes = h->live_bytes,
		.live_blocks = h->live_blocks,
		.max_live_bytes = h->max_live_bytes,
		.has_summary = h->flags & HL_CHUNK_HAS_SUMMARY,
		.disjoint = h->flags & HL_CHUNK_APART,
	};
	int err = 0;

	if (r->info.meta.base.is_late && !r->base_ended && h->n_events > 0)
		err = hl_list_base_part(r, HL_NO_ROW);
	if (is_before_base(r, h)) {
		info.first_event = info.first_ordinal = r->info.meta.base.blocks;
		info.lost = true;
	}
	if (!err)
		err = hl_list_chunk(r, &info, row);
	if (!err && info.lost && row != HL_NO_ROW)
		(void)hl_mark_bad(r, row);
	return err;
}

/* Chunks [seq, after->seq) are not in the file. If events are missing too, the list of event chunks
 * gets a lost entry. */
static int list_gap(struct hl_reader *r, const struct hl_chunk_header *before, uint64_t seq,
	const struct hl_chunk_header *after)
{
	const struct hl_base *base = &r->info.meta.base;
	uint64_t events = before ? before->first_event + before->n_events : base->events;
	struct hl_chunk_info info = {.lost = true,
		.header_lost = true,
		.seq = seq,
		.first_event = events - hl_base_event_shift(r),
		.first_ordinal = base->blocks};

	if (before) {
		info.first_ordinal =
			hl_max_u64(before->first_ordinal, base->allocs) - hl_base_ordinal_shift(r);
		info.t0_ns = before->t1_ns;
	}
	info.t1_ns = after->t0_ns;
	r->lost_chunks += after->seq - seq;
	if (after->first_event <= events)
		return 0;
	r->lost_events += after->first_event - events;
	info.n_events = (uint32_t)hl_min_u64(after->first_event - events, UINT32_MAX);
	return hl_list_chunk(r, &info, HL_NO_ROW);
}

/* Returns the number of consecutive parts of this keyframe or live set; sets *is_complete if none
 * is missing. */
static uint32_t count_parts(const struct hl_reader *r, size_t row, bool *is_complete)
{
	const struct hl_chunk_header *first = &r->rows.data[row].head;
	uint64_t parts = first->aux >> 32;
	uint32_t n = 0;

	for (; n < parts && row + n < r->rows.len; n++) {
		const struct hl_chunk_header *h = &r->rows.data[row + n].head;

		if (h->type != first->type || h->seq != first->seq + n ||
			h->aux != (n | (uint64_t)parts << 32))
			break;
	}
	*is_complete = parts > 0 && n == parts;
	return n ? n : 1;
}

/* The last rows are some parts of a keyframe or live set, and the writer has not written the others
 * yet. */
static bool is_unfinished(const struct hl_reader *r, size_t row)
{
	const struct hl_chunk_header *h = &r->rows.data[row].head;
	bool is_complete;

	if (!r->running || (h->type != HL_CHUNK_KEYFRAME && h->type != HL_CHUNK_LIVESET) ||
		hl_is_base_part(r, h) || (uint32_t)h->aux != 0 || h->aux >> 32 == 0)
		return false;
	return row + count_parts(r, row, &is_complete) == r->rows.len && !is_complete;
}

static int list_keyframe(struct hl_reader *r, size_t row, uint32_t *parts)
{
	const struct hl_chunk_header *h = &r->rows.data[row].head;
	struct hl_keyframe_rows place = {.row = row, .before = HL_NO_ROW};
	struct hl_keyframe_info info = {.first_event = h->first_event - hl_base_event_shift(r),
		.time_ns = h->t1_ns,
		.chunk = r->chunks.len,
		.disjoint = h->flags & HL_CHUNK_APART,
		.snapshot = h->flags & HL_CHUNK_SNAPSHOT,
		.live_bytes = h->live_bytes,
		.live_blocks = h->live_blocks,
		.max_live_bytes = h->max_live_bytes};
	bool is_complete;

	*parts = place.parts = count_parts(r, row, &is_complete);
	info.lost = !is_complete;
	if (!(h->flags & HL_CHUNK_FULL)) {
		const struct hl_keyframe_rows *before = NULL;

		if (r->keys.len > 0)
			before = &r->key_places.data[r->keys.len - 1];
		/* if one keyframe is lost, so are all that build on it */
		if (!before || r->rows.data[before->row].head.seq != h->link ||
			r->keys.data[r->keys.len - 1].lost)
			info.lost = true;
		else
			place.before = r->keys.len - 1;
	}
	if (h->flags & HL_CHUNK_BASE && r->info.meta.base.is_late && !r->base_ended) {
		int err = hl_list_base_part(r, HL_NO_ROW);

		if (err)
			return err;
		info.chunk = r->chunks.len;
		r->base_key = r->keys.len;
	}
	if (hl_vec_push(&r->keys, info) < 0 || hl_vec_push(&r->key_places, place) < 0)
		return -ENOMEM;
	return 0;
}

static int list_live_set(struct hl_reader *r, size_t row, uint32_t *parts)
{
	const struct hl_chunk_header *h = &r->rows.data[row].head;
	struct hl_live_set_rows place = {.row = row};
	struct hl_live_set_info info = {
		.first_event = h->first_event - hl_base_event_shift(r), .time_ns = h->t1_ns};
	bool is_complete;

	*parts = place.parts = count_parts(r, row, &is_complete);
	if (!is_complete)
		return 0;
	for (uint32_t i = 0; i < place.parts; i++)
		info.n_blocks += r->rows.data[row + i].head.n_rows;
	if (info.n_blocks > hl_live_set_limit(r->data_bytes))
		return 0;
	if (hl_vec_push(&r->sets, info) < 0 || hl_vec_push(&r->set_places, place) < 0)
		return -ENOMEM;
	return 0;
}

int hl_list_chunks(struct hl_reader *r)
{
	const struct hl_chunk_header *before = NULL;
	uint64_t next;
	int err = 0;

	if (r->list_row == 0)
		r->end_row = r->base_key = HL_NO_ROW;
	else
		before = &r->rows.data[r->list_row - 1].head;
	next = before ? before->seq + 1 : 0;
	for (size_t i = r->list_row; i < r->rows.len && !err && !is_unfinished(r, i);) {
		const struct hl_chunk_header *h = &r->rows.data[i].head;
		uint32_t parts = 1;

		if (h->seq != next && r->end_row == HL_NO_ROW)
			err = list_gap(r, before, next, h);
		if (!err && h->type == HL_CHUNK_EVENTS)
			err = list_events(r, h, i);
		else if (!err && h->type == HL_CHUNK_KEYFRAME)
			err = list_keyframe(r, i, &parts);
		else if (!err && hl_is_base_part(r, h))
			err = hl_list_base_part(r, i);
		else if (!err && h->type == HL_CHUNK_LIVESET)
			err = list_live_set(r, i, &parts);
		else if (h->type == HL_CHUNK_END)
			r->end_row = i;
		r->list_row = i += parts;
		before = &r->rows.data[i - 1].head;
		next = before->seq + 1;
	}
	if (!err && r->has_partial_head && r->partial_head.seq != next)
		err = list_gap(r, before, next, &r->partial_head);
	if (!err && r->has_partial_head && r->partial_head.type == HL_CHUNK_EVENTS)
		err = list_events(r, &r->partial_head, HL_NO_ROW);
	if (!err && r->info.meta.base.is_late && !r->base_ended)
		err = hl_list_base_part(r, HL_NO_ROW);
	return err;
}
