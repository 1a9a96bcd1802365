/*
 * reader_index.c - which chunks there are: from the index at the end of the file, or, when that is
 * missing or damaged, from the chunks' own heads.
 *
 * The rebuild hops from head to head. Where no good head stands it searches the file's sync word;
 * sequence numbers only rise, and a gap in them says how many chunks are gone. What is kept in
 * memory is in proportion to the file, never to a number in it.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/bits.h"
#include "trace/reader_internal.h"

/* Small first: a file full of short damaged places must not cost a large read for each. */
#define SEARCH_FIRST 4096u
#define SEARCH_MOST  HL_RAW_MAX /* what the reader's raw buffer holds */

/* ---- from the index ---- */

static int index_rows(struct hl_reader *r, struct hl_chunk *c, uint64_t index_at, uint64_t *at)
{
	struct hl_cursor cur[HL_INDEX_FIELDS];
	uint64_t f[HL_INDEX_FIELDS] = {0};

	for (int i = 0; i < HL_INDEX_FIELDS; i++)
		if (hl_column(r, c, (uint16_t)(HL_COL_INDEX + i), &cur[i]) < 0)
			return -EBADMSG;
	for (uint32_t n = 0; n < c->head.n_rows; n++) {
		struct hl_row row = {.at = *at};

		for (int i = 0; i < HL_INDEX_FIELDS; i++) {
			f[i] += (uint64_t)hl_unzigzag(hl_cursor_varint(&cur[i]));
			if (cur[i].bad)
				return -EBADMSG;
		}
		/* rows lie back to back up to the index: so there cannot be more than fit */
		if (hl_head_from_fields(f, &row.head) < 0 || row.head.length > index_at - *at)
			return -EBADMSG;
		row.head.seq = r->rows.len;
		*at += row.head.length;
		if (hl_vec_push(&r->rows, row) < 0)
			return -ENOMEM;
	}
	for (int i = 0; i < HL_INDEX_FIELDS; i++)
		if (!hl_cursor_done(&cur[i]))
			return -EBADMSG;
	return 0;
}

/* The INDEX chunk at `pos`, made known to hl_load as a row that is taken away again. */
static int load_index_chunk(struct hl_reader *r, uint64_t pos, uint64_t end, struct hl_chunk *c)
{
	size_t len = hl_min_u64(end - pos, HL_CHUNK_HEADS_MAX);
	struct hl_row row = {.at = pos};
	int err;

	if (hl_pread(r, r->packed, len, pos) < 0 ||
		hl_chunk_head_decode(r->packed, len, r->sync, &row.head, NULL) < 0 ||
		row.head.type != HL_CHUNK_INDEX || row.head.length > end - pos)
		return -EBADMSG;
	if (hl_vec_push(&r->rows, row) < 0)
		return -ENOMEM;
	err = hl_load(r, r->rows.len - 1, c);
	r->rows.len--;
	return err;
}

static int read_index(struct hl_reader *r)
{
	uint8_t trailer[HL_TRAILER_LEN];
	uint64_t index_at, pos, end, at = HL_FILE_HEAD_LEN;
	struct hl_chunk c;
	int err = 0;

	if (r->file_bytes < HL_FILE_HEAD_LEN + HL_TRAILER_LEN)
		return -EBADMSG;
	end = r->file_bytes - HL_TRAILER_LEN;
	if (hl_pread(r, trailer, sizeof(trailer), end) < 0 ||
		hl_trailer_decode(trailer, r->sync, &index_at) < 0)
		return -EBADMSG;
	if (index_at < HL_FILE_HEAD_LEN || index_at >= end)
		return -EBADMSG;
	for (pos = index_at; pos < end && !err; pos += c.head.length) {
		err = load_index_chunk(r, pos, end, &c);
		if (!err && c.head.aux != r->rows.len)
			err = -EBADMSG;
		if (!err)
			err = index_rows(r, &c, index_at, &at);
	}
	if (!err && at != index_at)
		err = -EBADMSG;
	return err;
}

/* ---- from the heads ---- */

/* A good head at `at` that may follow sequence number `next`. -ERANGE: good, but the file ends in
 * it. */
static int head_at(struct hl_reader *r, uint64_t at, uint64_t next, struct hl_chunk_head *head)
{
	uint8_t buf[HL_CHUNK_HEADS_MAX];
	size_t len = hl_min_u64(r->file_bytes - at, sizeof(buf));

	if (len < HL_CHUNK_HEAD_LEN)
		return -EBADMSG;
	if (hl_pread(r, buf, len, at) < 0)
		return -EBADMSG;
	if (hl_chunk_head_decode(buf, len, r->sync, head, NULL) < 0 || head->seq < next)
		return -EBADMSG;
	return head->length > r->file_bytes - at ? -ERANGE : 0;
}

/* Where from `at` on a sync word may begin at the earliest: a hole in the file, which takes minutes
 * to read when it is large, has none, but one may begin in its last bytes. */
static uint64_t skip_hole(const struct hl_reader *r, uint64_t at)
{
	off_t data = lseek(r->fd, (off_t)at, SEEK_DATA);

	if (data < 0)
		return errno == ENXIO ? r->file_bytes : at; /* not every file system can tell */
	return (uint64_t)data > at + 7 ? (uint64_t)data - 7 : at;
}

/* The next place from `at` on where a good head stands; the file's size when there is none. */
static uint64_t search(struct hl_reader *r, uint64_t at, uint64_t next)
{
	uint8_t sync[8];
	struct hl_chunk_head head;
	size_t block = SEARCH_FIRST;

	hl_put64(sync, r->sync);
	while (r->file_bytes - at >= HL_CHUNK_HEAD_LEN) {
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
			int err = head_at(r, found, next, &head);

			if (err == 0 || err == -ERANGE)
				return found;
			p = hit + 1;
		}
		if (len < block)
			break;
		at += len - 7; /* a sync word may lie across the edge */
		block = hl_min_u64(block * 2, SEARCH_MOST);
	}
	return r->file_bytes;
}

static bool trailer_at(struct hl_reader *r, uint64_t at)
{
	uint8_t buf[HL_TRAILER_LEN];
	uint64_t index_at;

	return r->file_bytes - at >= sizeof(buf) && hl_pread(r, buf, sizeof(buf), at) == 0 &&
	       hl_trailer_decode(buf, r->sync, &index_at) == 0;
}

static bool saw_end(const struct hl_reader *r)
{
	for (size_t i = r->rows.len; i-- > 0;)
		if (r->rows.data[i].head.type != HL_CHUNK_INDEX)
			return r->rows.data[i].head.type == HL_CHUNK_END;
	return false;
}

/* The file ends at `at` in bytes that are no whole chunk. */
static void note_tail(struct hl_reader *r, uint64_t at, const struct hl_chunk_head *cut)
{
	if (saw_end(r)) /* only the index can have stood there */
		return;
	r->tail_bytes = r->file_bytes - at;
	if (r->running)
		return;
	r->lost_chunks++;
	r->has_cut = cut != NULL;
	if (cut) {
		r->cut = *cut;
		r->lost_events += cut->n_events;
	} else {
		r->lost_unknown = true;
	}
}

static int rebuild(struct hl_reader *r)
{
	uint64_t at = HL_FILE_HEAD_LEN, next = 0, found;

	r->rows.len = 0;
	while (at < r->file_bytes) {
		struct hl_row row = {.at = at};
		int err = head_at(r, at, next, &row.head);

		if (err == 0) {
			if (hl_vec_push(&r->rows, row) < 0)
				return -ENOMEM;
			next = row.head.seq + 1;
			at += row.head.length;
			continue;
		}
		if (trailer_at(r, at)) {
			r->junk_bytes = r->file_bytes - at - HL_TRAILER_LEN;
			break;
		}
		found = search(r, at + 1, next);
		if (found == r->file_bytes) {
			note_tail(r, at, err == -ERANGE ? &row.head : NULL);
			break;
		}
		r->skipped_bytes += found - at;
		at = found;
	}
	return 0;
}

int hl_find_chunks(struct hl_reader *r)
{
	int err = read_index(r);

	if (err == -EBADMSG) {
		err = rebuild(r);
		/* A writer that lives is about to write it. All else is there. */
		r->index_rebuilt = saw_end(r) && !r->running;
	}
	return err;
}

/* ---- lists of what the rows are ---- */

static int add_chunk(struct hl_reader *r, const struct hl_chunk_info *info, size_t row)
{
	if (row != HL_NO_ROW)
		r->rows.data[row].chunk = r->chunks.len;
	if (hl_vec_push(&r->chunks, *info) < 0 || hl_vec_push(&r->chunk_rows, row) < 0)
		return -ENOMEM;
	return 0;
}

static int list_events(struct hl_reader *r, const struct hl_chunk_head *h, size_t row)
{
	const struct hl_chunk_info info = {
		.lost = row == HL_NO_ROW,
		.gone = row == HL_NO_ROW,
		.seq = h->seq,
		.first_event = h->first_event,
		.first_ordinal = h->first_ordinal,
		.n_events = h->n_events,
		.n_extras = h->n_rows,
		.t0_ns = h->t0_ns,
		.t1_ns = h->t1_ns,
		.live_bytes = h->live_bytes,
		.live_blocks = h->live_blocks,
		.max_live_bytes = h->max_live_bytes,
		.has_summary = h->flags & HL_CHUNK_HAS_SUMMARY,
		.apart = h->flags & HL_CHUNK_APART,
	};

	return add_chunk(r, &info, row);
}

/* Chunks [seq, to) are not in the file. If events are missing too, that place is shown as lost. */
static int list_gap(struct hl_reader *r, const struct hl_chunk_head *before, uint64_t seq,
	const struct hl_chunk_head *after)
{
	uint64_t events = before ? before->first_event + before->n_events : 0;
	struct hl_chunk_info info = {.lost = true, .gone = true, .seq = seq, .first_event = events};

	if (before) {
		info.first_ordinal = before->first_ordinal;
		info.t0_ns = before->t1_ns;
	}
	info.t1_ns = after->t0_ns;
	r->lost_chunks += after->seq - seq;
	if (after->first_event <= events)
		return 0;
	r->lost_events += after->first_event - events;
	info.n_events = (uint32_t)hl_min_u64(after->first_event - events, UINT32_MAX);
	return add_chunk(r, &info, HL_NO_ROW);
}

/* Are all parts of this keyframe or live set there? They follow each other. */
static uint32_t count_parts(const struct hl_reader *r, size_t row, bool *whole)
{
	const struct hl_chunk_head *first = &r->rows.data[row].head;
	uint64_t parts = first->aux >> 32;
	uint32_t n = 0;

	for (; n < parts && row + n < r->rows.len; n++) {
		const struct hl_chunk_head *h = &r->rows.data[row + n].head;

		if (h->type != first->type || h->seq != first->seq + n ||
			h->aux != (n | (uint64_t)parts << 32))
			break;
	}
	*whole = parts > 0 && n == parts;
	return n ? n : 1;
}

static int list_keyframe(struct hl_reader *r, size_t row, uint32_t *parts)
{
	const struct hl_chunk_head *h = &r->rows.data[row].head;
	struct hl_key_place place = {.row = row, .before = HL_NO_ROW};
	struct hl_keyframe_info info = {.first_event = h->first_event,
		.time_ns = h->t1_ns,
		.chunk = r->chunks.len,
		.apart = h->flags & HL_CHUNK_APART,
		.snapshot = h->flags & HL_CHUNK_SNAPSHOT,
		.live_bytes = h->live_bytes,
		.live_blocks = h->live_blocks,
		.max_live_bytes = h->max_live_bytes};
	bool whole;

	*parts = place.parts = count_parts(r, row, &whole);
	info.lost = !whole;
	if (!(h->flags & HL_CHUNK_FULL)) {
		const struct hl_key_place *before = NULL;

		if (r->keys.len > 0)
			before = &r->key_places.data[r->keys.len - 1];
		/* one link gone, and all that hang on it are */
		if (!before || r->rows.data[before->row].head.seq != h->link ||
			r->keys.data[r->keys.len - 1].lost)
			info.lost = true;
		else
			place.before = r->keys.len - 1;
	}
	if (hl_vec_push(&r->keys, info) < 0 || hl_vec_push(&r->key_places, place) < 0)
		return -ENOMEM;
	return 0;
}

static int list_set(struct hl_reader *r, size_t row, uint32_t *parts)
{
	const struct hl_chunk_head *h = &r->rows.data[row].head;
	struct hl_set_place place = {.row = row};
	struct hl_live_set_info info = {.first_event = h->first_event, .time_ns = h->t1_ns};
	bool whole;

	*parts = place.parts = count_parts(r, row, &whole);
	if (!whole)
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
	const struct hl_chunk_head *before = NULL;
	uint64_t next = 0;
	int err = 0;

	r->end_row = HL_NO_ROW;
	for (size_t i = 0; i < r->rows.len && !err;) {
		const struct hl_chunk_head *h = &r->rows.data[i].head;
		uint32_t parts = 1;

		if (h->seq != next && r->end_row == HL_NO_ROW)
			err = list_gap(r, before, next, h);
		if (!err && h->type == HL_CHUNK_EVENTS)
			err = list_events(r, h, i);
		else if (!err && h->type == HL_CHUNK_KEYFRAME)
			err = list_keyframe(r, i, &parts);
		else if (!err && h->type == HL_CHUNK_LIVESET)
			err = list_set(r, i, &parts);
		else if (h->type == HL_CHUNK_END)
			r->end_row = i;
		i += parts;
		before = &r->rows.data[i - 1].head;
		next = before->seq + 1;
	}
	if (!err && r->has_cut && r->cut.seq != next)
		err = list_gap(r, before, next, &r->cut);
	if (!err && r->has_cut && r->cut.type == HL_CHUNK_EVENTS)
		err = list_events(r, &r->cut, HL_NO_ROW);
	return err;
}
