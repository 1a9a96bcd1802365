/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seeds.c - writes the initial corpora, to be run after a change of the format: valid traces and
 * their parts, in the form that each target reads.
 *
 * usage: fuzz-seeds DIRECTORY; writes to DIRECTORY/head, payload, file, index. run.py minimizes
 * them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zstd.h>

#include "fuzz.h"
#include "sample.h"

static const char *directory;

static FILE *open_seed(const char *target, const char *name, size_t number)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", directory, target);
	mkdir(path, 0777);
	snprintf(path, sizeof(path), "%s/%s/%s-%zu", directory, target, name, number);
	f = fopen(path, "wb");
	if (!f) {
		perror(path);
		exit(1);
	}
	return f;
}

static void put_number(FILE *f, uint64_t v, int bytes)
{
	for (int i = 0; i < bytes; i++)
		fputc((int)(v >> 8 * i & 255), f);
}

/* Returns the decompressed bytes of a column; the caller frees them. */
static uint8_t *unpack(const uint8_t *chunk, const struct hl_chunk_column *c)
{
	uint8_t *raw = malloc(c->raw + 1);

	if (c->codec == HL_CODEC_STORED)
		memcpy(raw, chunk + c->at, c->raw);
	else if (ZSTD_decompress(raw, c->raw, chunk + c->at, c->packed) != c->raw)
		exit(1);
	return raw;
}

/* first_seq: the chunk that becomes chunk 0. */
static void put_payload(
	FILE *f, const uint8_t *chunk, const struct sample_place *p, uint64_t first_seq)
{
	struct hl_chunk_column columns[HL_COLUMNS_MAX];
	struct hl_chunk_header h;

	hl_chunk_header_decode(chunk, p->head.length, SAMPLE_SYNC, &h, columns);
	put_number(f, h.type, 1);
	put_number(f, (h.flags & 15u) | (h.flags & 112u) << 1, 1);
	put_number(f, h.n_events, 2);
	put_number(f, h.n_rows, 2);
	put_number(f, h.aux & 0xffff, 2);
	put_number(f, h.aux >> 32, 2);
	put_number(f, h.first_event, 1);
	put_number(f, h.first_ordinal, 1);
	put_number(f, h.t0_ns >> 4, 1);
	put_number(f, h.t1_ns >> 4, 1);
	put_number(f, h.live_bytes >> 4, 1);
	put_number(f, h.max_live_bytes >> 4, 1);
	if (h.type == HL_CHUNK_MAPS && h.link >= first_seq)
		h.link -= first_seq; /* samples are only read after the one that they build on */
	put_number(f, h.link, 1);
	put_number(f, h.n_columns, 1);
	for (uint32_t i = 0; i < h.n_columns; i++) {
		uint8_t *raw = unpack(chunk, &columns[i]);

		put_number(f, columns[i].id, 1);
		put_number(f, columns[i].raw, 2);
		fwrite(raw, 1, columns[i].raw, f);
		free(raw);
	}
}

static void make_index(const uint8_t *chunk, const struct sample_place *p, size_t number)
{
	struct hl_chunk_column columns[HL_COLUMNS_MAX];
	FILE *f = open_seed("index", "true", number);
	struct hl_chunk_header h;

	hl_chunk_header_decode(chunk, p->head.length, SAMPLE_SYNC, &h, columns);
	put_number(f, number ? 9 : 0, 1);
	put_number(f, 0, 1);
	put_number(f, 1, 1);
	put_number(f, h.n_rows, 2);
	put_number(f, h.aux, 2);
	for (uint32_t i = 0; i < h.n_columns; i++) {
		uint8_t *raw = unpack(chunk, &columns[i]);

		put_number(f, columns[i].raw, 2);
		fwrite(raw, 1, columns[i].raw, f);
		free(raw);
	}
	fclose(f);
}

/* Consecutive chunks of a complete file. */
static void make_rows(
	const uint8_t *file, const char *name, const struct sample_place *places, size_t n)
{
	for (size_t i = 0; i + 4 < n; i += 3) {
		FILE *f = open_seed("payload", name, i);

		put_number(f, 32 | 8 | 3, 1);
		for (size_t k = i; k < i + 4; k++)
			put_payload(f, file + places[k].at, &places[k], places[i].head.seq);
		fclose(f);
	}
}

/*
 * Parts of a trace with blocks in sums only, and of one with content that other traces do not have.
 */
static void make_other(const char *name, uint8_t *make(bool hurry, size_t *size))
{
	struct sample_place places[SAMPLE_PLACES_MAX];
	size_t size;
	uint8_t *file = make(true, &size);
	FILE *f = open_seed("file", name, 0);

	fwrite(file, 1, size, f);
	fclose(f);
	make_rows(file, name, places, sample_places(file, size, places));
	free(file);
}

static void make_parts(const uint8_t *file, size_t size)
{
	struct sample_place places[SAMPLE_PLACES_MAX];
	size_t n = sample_places(file, size, places);
	FILE *f;

	for (size_t i = 0; i < n; i++) {
		const uint8_t *chunk = file + places[i].at;

		f = open_seed("head", "chunk", i);
		put_number(f, 2, 1);
		fwrite(chunk, 1,
			HL_CHUNK_HEADER_LEN + places[i].head.n_columns * HL_COLUMN_ENTRY_LEN, f);
		fclose(f);
		if (places[i].head.type == HL_CHUNK_INDEX) {
			make_index(chunk, &places[i], 0);
			make_index(chunk, &places[i], 1);
		}
		f = open_seed("payload", "chunk", i);
		put_number(
			f, (places[i].head.type <= HL_CHUNK_TABLE ? 8 : 0) | (i & 1 ? 32 : 0), 1);
		put_payload(f, chunk, &places[i], 0);
		fclose(f);
	}
	make_rows(file, "row", places, n);
	f = open_seed("head", "file", 0);
	put_number(f, 0, 1);
	fwrite(file, 1, HL_FILE_HEADER_LEN, f);
	fclose(f);
	f = open_seed("head", "trailer", 0);
	put_number(f, 1, 1);
	fwrite(file + size - HL_TRAILER_LEN, 1, HL_TRAILER_LEN, f);
	fclose(f);
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	directory = argv[1];
	for (size_t hurry = 0; hurry < 2; hurry++) {
		size_t size;
		uint8_t *file = sample_make(hurry, &size);
		FILE *f = open_seed("file", "true", hurry);

		fwrite(file, 1, size, f);
		fclose(f);
		if (hurry)
			make_parts(file, size);
		free(file);
	}
	make_other("counted", sample_make_counted);
	make_other("carrying", sample_make_carrying);
	make_other("late", sample_make_late);
	make_other("mapped", sample_make_mapped);
	return 0;
}
