/* SPDX-License-Identifier: Apache-2.0 */
/*
 * format.c - encodes and decodes headers and the trailer. No field is used before its checksum is
 * verified.
 */
#include <errno.h>
#include <string.h>

#include "trace/format/crc32c.h"
#include "trace/format/format_internal.h"

/* 0x89 detects 7-bit transfers, CR LF and LF detect text transfers, 0x1a stops `type` on a
 * terminal. */
static const uint8_t file_magic[8] = {0x89, 'H', 'L', 'T', '\r', '\n', 0x1a, '\n'};
static const uint8_t trailer_magic[4] = {'H', 'L', 'T', 'e'};

void hl_file_header_encode(
	uint8_t buf[HL_FILE_HEADER_LEN], uint64_t sync, const struct hl_unwritten *unwritten)
{
	memset(buf, 0, HL_FILE_HEADER_LEN);
	memcpy(buf, file_magic, 8);
	hl_put32(buf + 8, HL_FORMAT_VERSION);
	hl_put32(buf + 12, HL_FILE_HEADER_LEN);
	hl_put64(buf + 16, sync);
	hl_put64(buf + 24, unwritten->events);
	hl_put32(buf + 32, unwritten->error);
	hl_put32(buf + 60, hl_crc32c(0, buf, 60));
}

struct hl_unwritten hl_file_header_unwritten(const uint8_t buf[HL_FILE_HEADER_LEN])
{
	return (struct hl_unwritten){.error = hl_get32(buf + 32), .events = hl_get64(buf + 24)};
}

enum hl_file_header_state hl_file_header_decode(
	const uint8_t buf[HL_FILE_HEADER_LEN], uint64_t *sync, uint32_t *version)
{
	if (memcmp(buf, file_magic, 8) != 0) {
		bool has_letters = memcmp(buf + 1, "HLT", 3) == 0;

		/* bit 7 cleared, CR removed or CR doubled: signs of a text transfer */
		if (has_letters &&
			(buf[0] == 0x09 || (buf[0] == 0x89 && buf[4] == '\n') ||
				(buf[0] == 0x89 && buf[4] == '\r' && buf[5] == '\r') ||
				(buf[0] == 0x89 && memcmp(buf + 4, "\r\n\x1a\r", 4) == 0)))
			return HL_HEADER_MANGLED;
		return HL_HEADER_FOREIGN;
	}
	*version = hl_get32(buf + 8);
	*sync = hl_get64(buf + 16);
	if (hl_get32(buf + 60) != hl_crc32c(0, buf, 60) || hl_get32(buf + 12) != HL_FILE_HEADER_LEN)
		return HL_HEADER_DAMAGED;
	return *version > HL_FORMAT_VERSION ? HL_HEADER_NEWER : HL_HEADER_GOOD;
}

void hl_trailer_encode(uint8_t buf[HL_TRAILER_LEN], uint64_t sync, uint64_t index_at)
{
	memset(buf, 0, HL_TRAILER_LEN);
	hl_put64(buf, sync);
	hl_put64(buf + 8, index_at);
	memcpy(buf + 24, trailer_magic, 4);
	hl_put32(buf + 28, hl_crc32c(0, buf, 28));
}

int hl_trailer_decode(const uint8_t buf[HL_TRAILER_LEN], uint64_t sync, uint64_t *index_at)
{
	if (hl_get64(buf) != sync || memcmp(buf + 24, trailer_magic, 4) != 0 ||
		hl_get32(buf + 28) != hl_crc32c(0, buf, 28))
		return -EBADMSG;
	*index_at = hl_get64(buf + 8);
	return 0;
}

/* The checksum of header and directory; the checksum field itself counts as zero. */
static uint32_t compute_header_crc(const uint8_t *buf, size_t len)
{
	static const uint8_t zero[4];
	uint32_t crc = hl_crc32c(0, buf, 12);

	crc = hl_crc32c(crc, zero, 4);
	return hl_crc32c(crc, buf + 16, len - 16);
}

size_t hl_chunk_header_encode(uint8_t *buf, uint64_t sync, const struct hl_chunk_header *h,
	const struct hl_chunk_column *columns)
{
	const uint64_t words[] = {h->first_event, h->first_ordinal, h->t0_ns, h->t1_ns,
		h->live_bytes, h->live_blocks, h->max_live_bytes, h->aux, h->link};
	size_t len = HL_CHUNK_HEADER_LEN;

	hl_put64(buf, sync);
	hl_put16(buf + 8, h->type);
	hl_put16(buf + 10, h->flags);
	hl_put64(buf + 16, h->seq);
	hl_put32(buf + 24, h->length);
	hl_put32(buf + 28, h->n_columns);
	hl_put32(buf + 32, h->n_events);
	hl_put32(buf + 36, h->n_rows);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		hl_put64(buf + 40 + 8 * i, words[i]);
	for (uint32_t i = 0; i < h->n_columns; i++, len += HL_COLUMN_ENTRY_LEN) {
		uint8_t *p = buf + len;

		hl_put16(p, columns[i].id);
		p[2] = columns[i].codec;
		p[3] = 0;
		hl_put32(p + 4, columns[i].raw);
		hl_put32(p + 8, columns[i].packed);
		hl_put32(p + 12, columns[i].crc);
	}
	hl_put32(buf + 12, compute_header_crc(buf, len));
	return len;
}

/* Checks limits that hold for every chunk of every writer. */
static int check_header(const struct hl_chunk_header *h)
{
	size_t headers_len = HL_CHUNK_HEADER_LEN + (size_t)h->n_columns * HL_COLUMN_ENTRY_LEN;

	if (h->n_columns > HL_COLUMNS_MAX || h->length % 8 || h->length < headers_len ||
		h->length > HL_CHUNK_LEN_MAX)
		return -EBADMSG;
	if (h->n_events > HL_CHUNK_EVENTS_MAX || h->n_rows > HL_CHUNK_EXTRAS_MAX)
		return -EBADMSG;
	if (h->type == HL_CHUNK_EVENTS &&
		((uint32_t)h->aux > HL_NODES_MAX || h->aux >> 32 > HL_THREADS_MAX))
		return -EBADMSG;
	return 0;
}

static int decode_directory(
	const uint8_t *buf, const struct hl_chunk_header *h, struct hl_chunk_column *columns)
{
	uint32_t at = HL_CHUNK_HEADER_LEN + h->n_columns * HL_COLUMN_ENTRY_LEN;
	uint64_t raw = 0;

	for (uint32_t i = 0; i < h->n_columns; i++) {
		const uint8_t *p = buf + HL_CHUNK_HEADER_LEN + i * HL_COLUMN_ENTRY_LEN;
		struct hl_chunk_column c = {
			hl_get16(p), p[2], hl_get32(p + 4), hl_get32(p + 8), hl_get32(p + 12), at};

		raw += c.raw;
		/* packing never makes a column longer, so the chunk length bounds the size of the
		 * packed data */
		if (raw > HL_RAW_MAX || c.packed > c.raw || c.packed > h->length - at)
			return -EBADMSG;
		at += c.packed;
		if (columns)
			columns[i] = c;
	}
	return h->length - at < 8 ? 0 : -EBADMSG;
}

int hl_chunk_header_decode(const uint8_t *buf, size_t len, uint64_t sync, struct hl_chunk_header *h,
	struct hl_chunk_column *columns)
{
	uint64_t *words[] = {&h->first_event, &h->first_ordinal, &h->t0_ns, &h->t1_ns,
		&h->live_bytes, &h->live_blocks, &h->max_live_bytes, &h->aux, &h->link};
	size_t headers_len;

	if (len < HL_CHUNK_HEADER_LEN || hl_get64(buf) != sync)
		return -EBADMSG;
	h->type = hl_get16(buf + 8);
	h->flags = hl_get16(buf + 10);
	h->seq = hl_get64(buf + 16);
	h->length = hl_get32(buf + 24);
	h->n_columns = hl_get32(buf + 28);
	h->n_events = hl_get32(buf + 32);
	h->n_rows = hl_get32(buf + 36);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		*words[i] = hl_get64(buf + 40 + 8 * i);
	if (check_header(h) < 0)
		return -EBADMSG;
	headers_len = HL_CHUNK_HEADER_LEN + (size_t)h->n_columns * HL_COLUMN_ENTRY_LEN;
	if (len < headers_len || hl_get32(buf + 12) != compute_header_crc(buf, headers_len))
		return -EBADMSG;
	return decode_directory(buf, h, columns);
}

void hl_header_to_fields(const struct hl_chunk_header *h, uint64_t f[HL_INDEX_FIELDS])
{
	const uint64_t v[HL_INDEX_FIELDS] = {h->type, h->flags, h->length / 8, h->n_events,
		h->n_rows, h->first_event, h->first_ordinal, h->t0_ns, h->t1_ns, h->live_bytes,
		h->live_blocks, h->max_live_bytes, h->aux, h->link};

	memcpy(f, v, sizeof(v));
}

int hl_header_from_fields(const uint64_t f[HL_INDEX_FIELDS], struct hl_chunk_header *h)
{
	if (f[0] > UINT16_MAX || f[1] > UINT16_MAX || f[2] > UINT32_MAX / 8 || f[3] > UINT32_MAX ||
		f[4] > UINT32_MAX)
		return -EBADMSG;
	*h = (struct hl_chunk_header){
		.type = (uint16_t)f[0],
		.flags = (uint16_t)f[1],
		.length = (uint32_t)f[2] * 8,
		.n_events = (uint32_t)f[3],
		.n_rows = (uint32_t)f[4],
		.first_event = f[5],
		.first_ordinal = f[6],
		.t0_ns = f[7],
		.t1_ns = f[8],
		.live_bytes = f[9],
		.live_blocks = f[10],
		.max_live_bytes = f[11],
		.aux = f[12],
		.link = f[13],
	};
	return check_header(h);
}
