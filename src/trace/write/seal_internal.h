/* SPDX-License-Identifier: Apache-2.0 */
/* seal_internal.h - a chunk between writer and file: a header and raw columns. */
#ifndef HL_TRACE_WRITE_SEAL_INTERNAL_H
#define HL_TRACE_WRITE_SEAL_INTERNAL_H

#include "trace/write/chunk_file.h"
#include "trace/format/format_internal.h"
#include "util/vec.h"

/* A growing byte buffer, for everything that is not on the hot path. */
typedef HL_VEC(uint8_t) hl_byte_buffer;
int hl_byte_buffer_varint(hl_byte_buffer *b, uint64_t v);
int hl_byte_buffer_put(hl_byte_buffer *b, const void *data, size_t len);

struct hl_sealed {
	struct hl_chunk_header head; /* the file half sets length and n_columns */
	uint32_t n_columns;
	uint64_t durable;       /* number of events that become durable with this chunk */
	uint32_t summary_share; /* a summary may take at most 1/share of the other columns */
	bool is_stored;         /* columns are not compressed */
	struct {
		uint16_t id;
		uint32_t len;
	} columns[HL_COLUMNS_MAX];
	size_t len;          /* length of data */
	const uint8_t *data; /* the columns, one after the other */
};

/* Assembles chunks, one at a time. */
struct hl_sealer {
	struct hl_sealed chunk;       /* valid from hl_seal_end until the next hl_seal_begin */
	hl_byte_buffer body, scratch; /* scratch: for callers, to build columns in */
	bool out_of_memory;
};

/* Begins a chunk. `position`: a header with the position in the trace (events, times, live
 * sums). */
void hl_seal_begin(struct hl_sealer *s, uint16_t type, const struct hl_chunk_header *position);
/* Adds a copy of a column. Empty columns are left out. */
void hl_seal_column(struct hl_sealer *s, uint16_t id, const void *raw, size_t len);
/* Ends the chunk. Returns 0, or -ENOMEM if any call since the begin failed. */
int hl_seal_end(struct hl_sealer *s);
void hl_sealer_fini(struct hl_sealer *s);

#endif
