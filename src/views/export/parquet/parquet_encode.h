/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parquet_encode.h - encodes the values of a Parquet page into memory.
 */
#ifndef HL_VIEWS_EXPORT_PARQUET_PARQUET_ENCODE_H
#define HL_VIEWS_EXPORT_PARQUET_PARQUET_ENCODE_H

#include <stdbool.h>
#include <stdint.h>

#include "util/strbuf.h"

/* Returns how many bits values below n need. */
unsigned hl_parquet_width(uint64_t n);

/* RLE: runs of equal values, and packed others. For definition levels and dictionary indices. */
void hl_parquet_put_runs(struct hl_strbuf *b, const uint32_t *v, size_t n, unsigned width);
/* DELTA_BINARY_PACKED: packed differences from the previous value. For values that mostly
 * increase. */
void hl_parquet_put_deltas(struct hl_strbuf *b, const int64_t *v, size_t n);
/* PLAIN: 4 or 8 bytes each. */
void hl_parquet_put_i32(struct hl_strbuf *b, const int64_t *v, size_t n);
void hl_parquet_put_i64(struct hl_strbuf *b, const int64_t *v, size_t n);
/* PLAIN: one bit each. */
void hl_parquet_put_bools(struct hl_strbuf *b, const int64_t *v, size_t n);
void hl_parquet_put_u32(struct hl_strbuf *b, uint32_t v);

#endif
