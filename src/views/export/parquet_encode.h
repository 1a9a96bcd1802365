/*
 * parquet_encode.h - how Parquet lays out the values of a page, into memory.
 */
#ifndef HL_VIEWS_EXPORT_PARQUET_ENCODE_H
#define HL_VIEWS_EXPORT_PARQUET_ENCODE_H

#include <stdbool.h>
#include <stdint.h>

#include "util/strbuf.h"

/* How many bits numbers below n need. */
unsigned hl_parquet_width(uint64_t n);

/* Runs of equal numbers and packed others (RLE): definition levels and places in a dictionary. */
void hl_parquet_put_runs(struct hl_strbuf *b, const uint32_t *v, size_t n, unsigned width);
/* Differences to the value before, packed (DELTA_BINARY_PACKED): what goes up, by and large. */
void hl_parquet_put_deltas(struct hl_strbuf *b, const int64_t *v, size_t n);
/* PLAIN: 4 or 8 bytes each. */
void hl_parquet_put_i32(struct hl_strbuf *b, const int64_t *v, size_t n);
void hl_parquet_put_i64(struct hl_strbuf *b, const int64_t *v, size_t n);
/* A bit each. */
void hl_parquet_put_bools(struct hl_strbuf *b, const int64_t *v, size_t n);
void hl_parquet_put_u32(struct hl_strbuf *b, uint32_t v);

#endif
