/*
 * fuzz.h - what the fuzz targets share: a file in memory, traces put together from parts, and
 * readers that ask a trace everything.
 *
 * Each target is a program of its own with libFuzzer's main. Where a checksum or a compressor
 * stands between the input and the code that reads it, the target puts it there itself, so that
 * the fuzzer's bytes arrive.
 */
#ifndef HL_TESTS_FUZZ_FUZZ_H
#define HL_TESTS_FUZZ_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hl_chunk_head;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed);

/* What must hold; else the input is a finding. */
#define FUZZ_MUST(x)                      \
	do {                              \
		if (!(x))                 \
			__builtin_trap(); \
	} while (0)

/* Bytes of the input, taken from its front; zeros when there are no more. */
struct fuzz_input {
	const uint8_t *p, *end;
};
uint64_t fuzz_take(struct fuzz_input *in, unsigned bytes);
/* The next n bytes, or as many as there are; *n says how many. */
const uint8_t *fuzz_take_bytes(struct fuzz_input *in, size_t *n);

/* A file with these bytes, valid until the next call; a path to open it by. */
const char *fuzz_file(const uint8_t *data, size_t size);

/* A trace being forged. */
struct fuzz_trace {
	uint8_t *data;
	size_t len, cap;
	uint64_t seq;
};
struct fuzz_column {
	uint16_t id;
	const uint8_t *raw;
	size_t len;
};
/* Begins with a file head. */
void fuzz_trace_begin(struct fuzz_trace *t);
void fuzz_trace_append(struct fuzz_trace *t, const void *data, size_t len);
/*
 * Appends a chunk with this head (length, seq and n_columns are made here) and these columns, zstd
 * where it pays and `pack` says so. Columns beyond what a chunk may hold are cut.
 */
void fuzz_trace_chunk(struct fuzz_trace *t, const struct hl_chunk_head *head,
	const struct fuzz_column *columns, size_t n, bool pack);
/* META and a TABLE with some modules, nodes and threads. */
void fuzz_trace_tables(struct fuzz_trace *t);
void fuzz_trace_free(struct fuzz_trace *t);

/* Everything the reader can be asked about the trace at path, and everything the model can. */
void fuzz_ask_reader(const char *path);
void fuzz_ask_model(const char *path);

#endif
