/*
 * head.c - fuzz target: the heads of files and chunks and the trailer, with their checksums right.
 *
 * Input: what to read (one byte), then its bytes. What was read, written and read again is the
 * same.
 */
#include <string.h>

#include "fuzz.h"
#include "sample.h"
#include "trace/crc32c.h"

static void read_file_head(uint8_t *buf)
{
	uint64_t sync = 0;
	uint32_t version = 0;

	hl_file_head_decode(buf, &sync, &version); /* as it came, and as somebody would forge it */
	buf[0] = 0x89;
	memcpy(buf + 1, "HLT\r\n\x1a\n", 7);
	hl_put32(buf + 60, hl_crc32c(0, buf, 60));
	if (hl_file_head_decode(buf, &sync, &version) == HL_HEAD_GOOD)
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

static bool same(const struct hl_chunk_head *a, const struct hl_chunk_head *b)
{
	uint64_t fa[HL_INDEX_FIELDS], fb[HL_INDEX_FIELDS];

	hl_head_to_fields(a, fa);
	hl_head_to_fields(b, fb);
	return !memcmp(fa, fb, sizeof(fa));
}

static void read_chunk_head(uint8_t *buf, size_t len)
{
	struct hl_column columns[HL_COLUMNS_MAX], again[HL_COLUMNS_MAX];
	struct hl_chunk_head head, other;
	uint64_t fields[HL_INDEX_FIELDS];
	uint8_t out[HL_CHUNK_HEADS_MAX];
	size_t n;

	if (len >= 8)
		hl_put64(buf, SAMPLE_SYNC);
	if (len >= 32)
		hl_put32(
			buf + 28, hl_get32(buf + 28) & 127); /* columns: else few inputs have any */
	sample_forge(buf, len);
	if (hl_chunk_head_decode(buf, len, SAMPLE_SYNC, &head, columns) != 0)
		return;
	for (uint32_t i = 0; i < head.n_columns; i++)
		FUZZ_MUST(columns[i].at + columns[i].packed <= head.length);
	n = hl_chunk_head_encode(out, SAMPLE_SYNC, &head, columns);
	FUZZ_MUST(n <= len && hl_chunk_head_decode(out, n, SAMPLE_SYNC, &other, again) == 0);
	FUZZ_MUST(same(&head, &other));
	hl_head_to_fields(&head, fields);
	FUZZ_MUST(hl_head_from_fields(fields, &other) == 0 && same(&head, &other));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t buf[1 + HL_CHUNK_HEADS_MAX] = {0};
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
