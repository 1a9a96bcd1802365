/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file.c - fuzz target: a complete trace, as bytes. The mutator knows the structure: it changes one
 * column, one header or the order of chunks and recomputes the checksums; sometimes it leaves the
 * mutation to libFuzzer.
 */
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/bits.h"
#include "fuzz.h"
#include "sample.h"

/* Writes a valid trailer, so that the index is read. */
static size_t write_trailer(uint8_t *data, size_t size, uint64_t index_at, size_t max)
{
	if (size + HL_TRAILER_LEN > max)
		return size;
	hl_trailer_encode(data + size, hl_get64(data + 16), index_at);
	return size + HL_TRAILER_LEN;
}

/* Moves chunk i in front of chunk k, duplicates it or removes it. */
static size_t move_chunk(uint8_t *data, size_t size, size_t max, const struct sample_place *from,
	const struct sample_place *to, unsigned how)
{
	size_t len = from->head.length, at = from->at, end = at + len;
	static uint8_t chunk[HL_CHUNK_LEN_MAX];

	memcpy(chunk, data + at, len);
	if (how == 0 || size + len > max) { /* remove */
		memmove(data + at, data + end, size - end);
		return size - len;
	}
	memmove(data + to->at + len, data + to->at, size - to->at);
	memcpy(data + to->at, chunk, len);
	return size + len;
}

/*
 * Decompresses column i of a chunk, mutates it, and rebuilds the chunk with the column stored
 * uncompressed.
 */
static size_t change_column(
	uint8_t *data, size_t size, size_t max, const struct sample_place *p, uint32_t i)
{
	static uint8_t raw[HL_RAW_MAX];
	struct hl_chunk_column c[HL_COLUMNS_MAX];
	struct hl_chunk_header h;
	uint8_t *chunk = data + p->at, *entry;
	size_t len, old_end, new_length, used;

	if (hl_chunk_header_decode(chunk, p->head.length, hl_get64(data + 16), &h, c) != 0 ||
		i >= h.n_columns)
		return size;
	len = c[i].codec == HL_CODEC_ZSTD
		      ? ZSTD_decompress(raw, sizeof(raw), chunk + c[i].at, c[i].packed)
		      : c[i].packed;
	if (ZSTD_isError(len) || len > sizeof(raw))
		return size;
	if (c[i].codec != HL_CODEC_ZSTD)
		memcpy(raw, chunk + c[i].at, len);
	len = LLVMFuzzerMutate(raw, len, hl_min_u64(sizeof(raw), len + 64));
	used = c[h.n_columns - 1].at + c[h.n_columns - 1].packed;
	old_end = c[i].at + c[i].packed;
	new_length = hl_align_up(used - c[i].packed + len, 8);
	if (size - h.length + new_length > max || new_length > HL_CHUNK_LEN_MAX)
		return size;
	memmove(chunk + new_length, chunk + h.length, size - p->at - h.length);
	if (old_end > c[i].at + len) {
		memmove(chunk + c[i].at + len, chunk + old_end, used - old_end);
	} else {
		uint8_t *rest = malloc(used - old_end + 1);

		memcpy(rest, chunk + old_end, used - old_end);
		memcpy(chunk + c[i].at + len, rest, used - old_end);
		free(rest);
	}
	memcpy(chunk + c[i].at, raw, len);
	used += len - c[i].packed;
	memset(chunk + used, 0, new_length - used);
	entry = chunk + HL_CHUNK_HEADER_LEN + i * HL_COLUMN_ENTRY_LEN;
	entry[2] = HL_CODEC_STORED;
	hl_put32(entry + 4, (uint32_t)len);
	hl_put32(entry + 8, (uint32_t)len);
	hl_put32(chunk + 24, (uint32_t)new_length);
	sample_forge(chunk, new_length);
	return size - h.length + new_length;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	struct sample_place places[SAMPLE_PLACES_MAX];
	const struct sample_place *p;
	size_t n;
	unsigned r;

	srand(seed);
	r = (unsigned)rand();
	if (size < HL_FILE_HEADER_LEN + HL_CHUNK_HEADER_LEN || r % 16 == 0)
		return LLVMFuzzerMutate(data, size, max);
	n = sample_places(data, size, places);
	if (!n)
		return LLVMFuzzerMutate(data, size, max);
	p = &places[(r >> 8) % n];
	if (r & 16 && size > places[n - 1].at + places[n - 1].head.length)
		size = places[n - 1].at + places[n - 1].head.length; /* without its trailer */
	switch (r >> 5 & 7) {
	case 0:
		size = move_chunk(data, size, max, p, &places[rand() % n], (unsigned)rand() % 3);
		break;
	case 1: /* the header, as bytes or with its fields as lengths and counts */
		LLVMFuzzerMutate(
			data + p->at + 8, HL_CHUNK_HEADER_LEN - 8, HL_CHUNK_HEADER_LEN - 8);
		sample_forge(data + p->at, p->head.length);
		break;
	case 2: /* header, directory and compressed bytes */
		LLVMFuzzerMutate(data + p->at + 8, p->head.length - 8, p->head.length - 8);
		sample_forge(data + p->at, p->head.length);
		break;
	default:
		if (p->head.n_columns)
			size = change_column(
				data, size, max, p, (uint32_t)rand() % p->head.n_columns);
	}
	if (r & 16 && r & 32)
		size = write_trailer(data, size, places[n - 1].at, max);
	return size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *path = fuzz_file(data, size);

	fuzz_ask_reader(path);
	fuzz_ask_model(path);
	fuzz_ask_growing(data, size);
	return 0;
}
