/* SPDX-License-Identifier: Apache-2.0 */
/*
 * head.c - fuzz target: the headers of files and chunks and the trailer, with valid checksums.
 *
 * Input: the kind (one byte), then its bytes. A header that is read, written and read again must be
 * the same.
 */
#include <string.h>

#include "fuzz.h"
#include "sample.h"
#include "trace/format/crc32c.h"

static void read_file_head(uint8_t *buf)
{
	uint64_t sync = 0;
	uint32_t version = 0;

	hl_file_header_decode(buf, &sync, &version); /* as it is, and with a valid checksum */
	buf[0] = 0x89;
	memcpy(buf + 1, "HLT\r\n\x1a\n", 7);
	hl_put32(buf + 60, hl_crc32c(0, buf, 60));
	if (hl_file_header_decode(buf, &sync, &version) == HL_HEADER_GOOD)
		FUZZ_MUST(version <= HL_FORMAT_VERSION && sync == hl_get64(buf + 16));
}

static void read_trailer(uint8_t *buf)
{
	uint64_t at = 0;

	hl_trailer_decode(buf, SAMPLE_SYNC, &at);
	hl_put64(buf, SAMPLE_SYNC);
	memcpy(buf + 24, "HLTe", 4);
	hl_put32(buf + 28, hl_crc32c(0, buf, 28));
	FUZZ_MUST(hl_trailer_decode(buf, SAMPLE_SYNC, &at) == 0 && at == hl_get64(buf + 8));
}

static bool equals_header(const struct hl_chunk_header *a, const struct hl_chunk_header *b)
{
	uint64_t fa[HL_INDEX_FIELDS], fb[HL_INDEX_FIELDS];

	hl_header_to_fields(a, fa);
	hl_header_to_fields(b, fb);
	return !memcmp(fa, fb, sizeof(fa));
}

static void read_chunk_head(uint8_t *buf, size_t len)
{
	struct hl_chunk_column columns[HL_COLUMNS_MAX], again[HL_COLUMNS_MAX];
	struct hl_chunk_header head, other;
	uint64_t fields[HL_INDEX_FIELDS];
	uint8_t out[HL_CHUNK_HEADERS_MAX];
	size_t n;

	if (len >= 8)
		hl_put64(buf, SAMPLE_SYNC);
	if (len >= 32)
		hl_put32(buf + 28, hl_get32(buf + 28) & 127); /* limits the number of columns:
								 otherwise few inputs have any */
	sample_forge(buf, len);
	if (hl_chunk_header_decode(buf, len, SAMPLE_SYNC, &head, columns) != 0)
		return;
	for (uint32_t i = 0; i < head.n_columns; i++)
		FUZZ_MUST(columns[i].at + columns[i].packed <= head.length);
	n = hl_chunk_header_encode(out, SAMPLE_SYNC, &head, columns);
	FUZZ_MUST(n <= len && hl_chunk_header_decode(out, n, SAMPLE_SYNC, &other, again) == 0);
	FUZZ_MUST(equals_header(&head, &other));
	hl_header_to_fields(&head, fields);
	FUZZ_MUST(hl_header_from_fields(fields, &other) == 0 && equals_header(&head, &other));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t buf[1 + HL_CHUNK_HEADERS_MAX] = {0};
	size_t len = size > sizeof(buf) ? sizeof(buf) : size;

	if (!len)
		return 0;
	memcpy(buf, data, len);
	if (buf[0] % 4 == 0)
		read_file_head(buf + 1);
	else if (buf[0] % 4 == 1)
		read_trailer(buf + 1);
	else
		read_chunk_head(buf + 1, len - 1);
	return 0;
}
