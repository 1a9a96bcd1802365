/* SPDX-License-Identifier: Apache-2.0 */
/* reader_chunk.c - reads one chunk and unpacks its columns. All returned data is checked. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "trace/format/crc32c.h"
#include "trace/read/reader_internal.h"
#include "util/work/work.h"

#define COLUMN_PAD 16u

int hl_reader_fail(struct hl_reader *r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(r->error, sizeof(r->error), fmt, ap);
	va_end(ap);
	return -EBADMSG;
}

int hl_pread(struct hl_reader *r, void *buf, size_t len, uint64_t at)
{
	int err = hl_byte_source_read(r->source, buf, len, at);

	if (err == -ENODATA)
		return hl_reader_fail(r, "The file became shorter while it was read.");
	if (err)
		return hl_reader_fail(r, "Reading at byte %llu failed: %s.", (unsigned long long)at,
			strerror(-err));
	r->bytes_read += len;
	return 0;
}

int hl_mark_bad(struct hl_reader *r, size_t row)
{
	struct hl_chunk_row *w = &r->rows.data[row];

	if (r->shared || w->bad)
		return -EBADMSG;
	w->bad = true;
	r->lost_chunks++;
	r->lost_events += w->head.n_events;
	if ((w->head.type == HL_CHUNK_EVENTS || w->is_base) && w->chunk < r->chunks.len)
		r->chunks.data[w->chunk].lost = true;
	hl_describe_damage(r);
	return -EBADMSG;
}

static bool equals_header(const struct hl_chunk_header *a, const struct hl_chunk_header *b)
{
	uint64_t fa[HL_INDEX_FIELDS], fb[HL_INDEX_FIELDS];

	hl_header_to_fields(a, fa);
	hl_header_to_fields(b, fb);
	return a->seq == b->seq && memcmp(fa, fb, sizeof(fa)) == 0;
}

static int check_headers(
	struct hl_reader *r, const struct hl_chunk_row *w, struct hl_chunk *c, size_t len)
{
	uint32_t at = 0;

	if (hl_chunk_header_decode(r->packed, len, r->sync, &c->head, c->columns) < 0 ||
		!equals_header(&c->head, &w->head))
		return hl_reader_fail(r, "The header of chunk %llu (at byte %llu) is damaged.",
			(unsigned long long)w->head.seq, (unsigned long long)w->at);
	for (uint32_t i = 0; i < c->head.n_columns; i++) {
		c->raw_at[i] = at;
		at += c->columns[i].raw + COLUMN_PAD;
	}
	return 0;
}

static int check_padding(struct hl_reader *r, const struct hl_chunk *c)
{
	uint32_t at = HL_CHUNK_HEADER_LEN + c->head.n_columns * HL_COLUMN_ENTRY_LEN;

	if (c->head.n_columns > 0) {
		const struct hl_chunk_column *last = &c->columns[c->head.n_columns - 1];
		at = last->at + last->packed;
	}
	for (; at < c->head.length; at++)
		if (r->packed[at] != 0)
			return hl_reader_fail(r, "The end of chunk %llu is damaged.",
				(unsigned long long)c->head.seq);
	return 0;
}

int hl_load_chunk(struct hl_reader *r, size_t row, struct hl_chunk *c)
{
	const struct hl_chunk_row *w = &r->rows.data[row];

	if (!r->shared && w->bad)
		return hl_reader_fail(r, "Chunk %llu is damaged.", (unsigned long long)w->head.seq);
	if (hl_pread(r, r->packed, w->head.length, w->at) < 0 ||
		check_headers(r, w, c, w->head.length) < 0 || check_padding(r, c) < 0)
		return hl_mark_bad(r, row);
	return 0;
}

int hl_load_column(struct hl_reader *r, size_t row, struct hl_chunk *c, uint16_t id)
{
	const struct hl_chunk_row *w = &r->rows.data[row];
	size_t headers_len =
		w->head.length < HL_CHUNK_HEADERS_MAX ? w->head.length : HL_CHUNK_HEADERS_MAX;

	if (hl_pread(r, r->packed, headers_len, w->at) < 0 ||
		check_headers(r, w, c, headers_len) < 0)
		return -EBADMSG;
	for (uint32_t i = 0; i < c->head.n_columns; i++)
		if (c->columns[i].id == id)
			return hl_pread(r, r->packed + c->columns[i].at, c->columns[i].packed,
				w->at + c->columns[i].at);
	return 0;
}

static int unpack_column(struct hl_reader *r, const struct hl_chunk_column *col, uint8_t *to)
{
	const uint8_t *from = r->packed + col->at;
	size_t n;

	if (hl_crc32c(0, from, col->packed) != col->crc)
		return -EBADMSG;
	switch (col->codec) {
	case HL_CODEC_STORED:
		if (col->packed != col->raw)
			return -EBADMSG;
		memcpy(to, from, col->raw);
		return 0;
	case HL_CODEC_ZSTD:
		n = ZSTD_decompressDCtx(r->zstd, to, col->raw, from, col->packed);
		return n == col->raw ? 0 : -EBADMSG;
	default:
		return -EBADMSG;
	}
}

int hl_check_columns(struct hl_reader *r, const struct hl_chunk *c)
{
	for (uint32_t i = 0; i < c->head.n_columns; i++) {
		const struct hl_chunk_column *col = &c->columns[i];

		if (hl_crc32c(0, r->packed + col->at, col->packed) != col->crc)
			return hl_reader_fail(r, "Column %u of chunk %llu is damaged.", col->id,
				(unsigned long long)c->head.seq);
	}
	return 0;
}

int hl_reader_verify(struct hl_reader *r, struct hl_work *work)
{
	int err = 0;

	hl_work_begin(work, HL_WORK_PASS, "checking the trace");
	for (size_t row = 0; row < r->rows.len && (!err || err == -EBADMSG); row++) {
		struct hl_chunk c;

		err = hl_work_tick(work, row, r->rows.len);
		if (!err)
			err = hl_load_chunk(r, row, &c);
		if (!err && hl_check_columns(r, &c) < 0)
			err = hl_mark_bad(r, row);
	}
	hl_work_end(work, HL_WORK_PASS);
	return err == -EBADMSG ? 0 : err;
}

int hl_chunk_column(
	struct hl_reader *r, struct hl_chunk *c, uint16_t id, struct hl_column_cursor *cur)
{
	static const uint8_t empty[1];

	*cur = (struct hl_column_cursor){empty, empty, false};
	for (uint32_t i = 0; i < c->head.n_columns; i++) {
		uint8_t *to = r->raw + c->raw_at[i];

		if (c->columns[i].id != id)
			continue;
		if (unpack_column(r, &c->columns[i], to) < 0)
			return hl_reader_fail(r, "Column %u of chunk %llu is damaged.", id,
				(unsigned long long)c->head.seq);
		*cur = (struct hl_column_cursor){to, to + c->columns[i].raw, false};
		return 0;
	}
	return -ENOENT;
}
