/*
 * seal_internal.h - a chunk on its way from the writer to the file: raw columns with a head.
 */
#ifndef HL_TRACE_SEAL_INTERNAL_H
#define HL_TRACE_SEAL_INTERNAL_H

#include "trace/chunk_file.h"
#include "trace/format_internal.h"
#include "util/vec.h"

/* Bytes that grow; for everything that is not on the hot path. */
typedef HL_VEC(uint8_t) hl_bytes;
int hl_bytes_varint(hl_bytes *b, uint64_t v);
int hl_bytes_put(hl_bytes *b, const void *data, size_t len);

struct hl_sealed {
	struct hl_chunk_head head; /* length and n_columns are the file's work */
	uint32_t n_columns;
	uint64_t durable;       /* so many events more are in the file with it */
	uint32_t summary_share; /* a summary takes at most this part of the other columns */
	struct {
		uint16_t id;
		uint32_t len;
	} columns[HL_COLUMNS_MAX];
	size_t len;          /* of data */
	const uint8_t *data; /* the columns, one after the other */
};

/* Where chunks are put together, one at a time. */
struct hl_sealer {
	struct hl_sealed chunk; /* whole after hl_seal_end, until the next begin */
	hl_bytes body, scratch; /* scratch: the caller's, to make columns in */
	bool out_of_memory;
};

/* `here`: where in the run it stands. */
void hl_seal_begin(struct hl_sealer *s, uint16_t type, const struct hl_chunk_head *here);
/* Copies it. An empty column is none. */
void hl_seal_column(struct hl_sealer *s, uint16_t id, const void *raw, size_t len);
/* 0 or -ENOMEM, of any call since the begin. */
int hl_seal_end(struct hl_sealer *s);
void hl_sealer_fini(struct hl_sealer *s);

#endif
