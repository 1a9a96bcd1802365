/* SPDX-License-Identifier: Apache-2.0 */
/*
 * index.c - fuzz target: the index at the end of a trace, behind checksum and compression.
 *
 * Input: options (one byte), the error of the index offset in the trailer (8 bits, signed), the
 * number of chunks of the index (8 bits), and for each: rows (16 bits), first row (16 bits) and the
 * fields as columns, each a length (16 bits) and bytes. The rest of the file is a valid trace.
 */
#include "fuzz.h"
#include "sample.h"

static size_t without_index(const uint8_t *file, size_t size)
{
	uint64_t at = 0;

	FUZZ_MUST(hl_trailer_decode(file + size - HL_TRAILER_LEN, SAMPLE_SYNC, &at) == 0);
	return at;
}

static void add_index_chunk(struct fuzz_trace *t, struct fuzz_input *in, unsigned options)
{
	struct fuzz_column columns[HL_INDEX_FIELDS];
	struct hl_chunk_header h = {.type = HL_CHUNK_INDEX};

	h.n_rows = (uint32_t)fuzz_take(in, 2);
	h.aux = fuzz_take(in, 2);
	for (int i = 0; i < HL_INDEX_FIELDS; i++) {
		columns[i].id = (uint16_t)(HL_COL_INDEX + i);
		columns[i].len = fuzz_take(in, 2);
		columns[i].raw = fuzz_take_bytes(in, &columns[i].len);
	}
	fuzz_trace_chunk(t, &h, columns, HL_INDEX_FIELDS - (options >> 1 & 1), options & 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct fuzz_trace t;
	static uint8_t *sample;
	static size_t sample_len;
	struct sample_place places[SAMPLE_PLACES_MAX];
	struct fuzz_input in = {data, data + size};
	unsigned options = (unsigned)fuzz_take(&in, 1);
	int off = (int8_t)fuzz_take(&in, 1);
	unsigned chunks = (unsigned)fuzz_take(&in, 1) % 4;
	uint8_t trailer[HL_TRAILER_LEN];
	const char *path;
	uint64_t at;

	if (!sample) {
		sample = sample_make(false, &sample_len);
		sample_len = without_index(sample, sample_len);
	}
	t.len = 0;
	fuzz_trace_append(&t, sample, sample_len);
	t.seq = sample_places(sample, sample_len, places);
	at = t.len + (uint64_t)(int64_t)off * 8;
	for (unsigned i = 0; i < chunks; i++)
		add_index_chunk(&t, &in, options);
	hl_trailer_encode(trailer, SAMPLE_SYNC, at);
	fuzz_trace_append(&t, trailer, sizeof(trailer));
	if (options & 4)
		fuzz_trace_append(&t, data, size);
	path = fuzz_file(t.data, t.len);
	fuzz_ask_reader(path);
	if (options & 8)
		fuzz_ask_model(path);
	return 0;
}
