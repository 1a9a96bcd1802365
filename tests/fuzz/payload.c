/* SPDX-License-Identifier: Apache-2.0 */
/*
 * payload.c - fuzz target: the content of chunks, behind checksum and compression.
 *
 * Input: the number of chunks and what follows them (one byte), then for each: type and options (a
 * byte each: flags 1 to 8, larger numbers, flags 16 to 64), events, rows, nodes, threads (16 bits
 * each), the other numbers of its header (a byte each), the number of columns, and each column as
 * id (8 bits), length (16 bits), bytes. The target builds a complete file from it.
 */
#include "fuzz.h"
#include "trace/format/format_internal.h"

#define CHUNKS_MAX 8

/* Types from 40 on are used as they are; most others are mapped to one of the first ten. */
static uint16_t take_type(struct fuzz_input *in)
{
	unsigned type = (unsigned)fuzz_take(in, 1);

	return (uint16_t)(type == HL_CHUNK_NAMES || type == HL_CHUNK_FILE ? type : type % 10);
}

static void add_chunk(struct fuzz_trace *t, struct fuzz_input *in)
{
	struct fuzz_column columns[HL_COLUMNS_MAX];
	struct hl_chunk_header h = {.type = take_type(in)};
	unsigned options = (unsigned)fuzz_take(in, 1);
	uint64_t words[7];
	size_t n;

	h.flags = (uint16_t)((options & 15) | (options >> 1 & 112));
	h.n_events = (uint32_t)fuzz_take(in, 2);
	h.n_rows = (uint32_t)fuzz_take(in, 2);
	h.aux = fuzz_take(in, 2);
	h.aux |= fuzz_take(in, 2) << 32;
	for (int i = 0; i < 7; i++)
		words[i] = fuzz_take(in, 1) << (options & 16 ? 40 : 4);
	h.first_event = words[0] >> 4;
	h.first_ordinal = words[1] >> 4;
	h.t0_ns = words[2];
	h.t1_ns = words[3];
	h.live_bytes = words[4];
	h.max_live_bytes = words[5];
	h.link = words[6] >> 4;
	n = fuzz_take(in, 1) % (HL_COLUMNS_MAX + 1);
	for (size_t i = 0; i < n; i++) {
		columns[i].id = (uint16_t)fuzz_take(in, 1);
		columns[i].len = fuzz_take(in, 2);
		columns[i].raw = fuzz_take_bytes(in, &columns[i].len);
	}
	fuzz_trace_chunk(t, &h, columns, n, options & 32);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct fuzz_trace t;
	struct fuzz_input in = {data, data + size};
	unsigned options = (unsigned)fuzz_take(&in, 1);
	const char *path;

	fuzz_trace_begin(&t);
	if (!(options & 8))
		fuzz_trace_tables(&t);
	for (unsigned i = 0; i <= options % CHUNKS_MAX && in.p < in.end; i++)
		add_chunk(&t, &in);
	path = fuzz_file(t.data, t.len - (options & 16 ? 8 : 0));
	fuzz_ask_reader(path);
	if (options & 32)
		fuzz_ask_model(path);
	return 0;
}
