/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz.h - shared code of the fuzz targets: a file in memory, traces built from parts, and
 * functions that run every query on a trace.
 *
 * Each target is a separate program with libFuzzer's main. Where a checksum or compression is
 * between the input and the code that reads it, the target adds it itself, so that the fuzzer's
 * bytes reach that code.
 */
#ifndef HL_TESTS_FUZZ_FUZZ_H
#define HL_TESTS_FUZZ_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hl_chunk_header;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed);

/* A condition that must hold; otherwise the input is a finding. */
#define FUZZ_MUST(x)                      \
	do {                              \
		if (!(x))                 \
			__builtin_trap(); \
	} while (0)

/* Reads the input from its front; yields zeros when it is used up. */
struct fuzz_input {
	const uint8_t *p, *end;
};
uint64_t fuzz_take(struct fuzz_input *in, unsigned bytes);
/* Returns the next n bytes, or fewer at the end of the input; sets *n to their number. */
const uint8_t *fuzz_take_bytes(struct fuzz_input *in, size_t *n);

/* Returns the path of a file with these bytes, valid until the next call. */
const char *fuzz_file(const uint8_t *data, size_t size);

/* A trace under construction. */
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
/* Begins with a file header. */
void fuzz_trace_begin(struct fuzz_trace *t);
void fuzz_trace_append(struct fuzz_trace *t, const void *data, size_t len);
/*
 * Appends a chunk with this header (length, seq and n_columns are computed here) and these columns,
 * compressed by zstd if `pack` is set and it makes them smaller. Columns beyond the maximum of a
 * chunk are dropped.
 */
void fuzz_trace_chunk(struct fuzz_trace *t, const struct hl_chunk_header *head,
	const struct fuzz_column *columns, size_t n, bool pack);
/* META and a TABLE with some modules, nodes and threads. */
void fuzz_trace_tables(struct fuzz_trace *t);
void fuzz_trace_free(struct fuzz_trace *t);

/* Run every query of the reader, and every query of the model, on the trace at path. */
void fuzz_ask_reader(const char *path);
void fuzz_ask_model(const char *path);
/* Open the first bytes of a file that grows, and refresh the reader as it gets the rest in steps.
 */
void fuzz_ask_growing(const uint8_t *data, size_t size);

#endif
