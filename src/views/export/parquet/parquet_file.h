/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parquet_file.h - writes one table as a Parquet file, row by row.
 *
 * Rows are collected column by column. A page is encoded and compressed when it is full, and a row
 * group is written when it is full, so that at most one page of values and the compressed bytes of
 * one group are in memory. Readers distribute row groups over their threads. Each group has the
 * minimum and maximum of each column, so that readers can skip groups.
 *
 * Only flat tables are supported, with version 1 data pages, which every reader supports,
 * compressed by zstd. Texts use a dictionary, and increasing numbers are delta-encoded: times and
 * ordinals of a real program then take a quarter of the space.
 */
#ifndef HL_VIEWS_EXPORT_PARQUET_PARQUET_FILE_H
#define HL_VIEWS_EXPORT_PARQUET_PARQUET_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum hl_parquet_type {
	HL_PARQUET_BOOL,
	HL_PARQUET_I32,
	HL_PARQUET_I64,
	HL_PARQUET_TEXT, /* UTF-8, with a dictionary */
};

struct hl_parquet_column {
	const char *name;
	enum hl_parquet_type type;
	bool optional;   /* values may be HL_PARQUET_NULL */
	bool increasing; /* I64 values that mostly increase by little: they are delta-encoded */
};

/* In a column that is not optional, this is an ordinary value. */
#define HL_PARQUET_NULL INT64_MIN

struct hl_parquet;

/* Begins a file. The columns and `to` belong to the caller and must stay valid. Write errors stay
 * in ferror(to). Returns NULL if there is no memory. */
struct hl_parquet *hl_parquet_new(FILE *to, const struct hl_parquet_column *columns, unsigned n);
/* Sets *value to the number that represents a text in a row. Bytes that are not UTF-8 become
 * U+FFFD; NULL becomes HL_PARQUET_NULL. Returns 0 or -ENOMEM. */
int hl_parquet_text(struct hl_parquet *p, const char *s, int64_t *value);
/* Adds a row, with a value for each column. Returns 0, -ENOMEM, or -EIO if `to` has an error. */
int hl_parquet_row(struct hl_parquet *p, const int64_t *values);
/* Adds key-value metadata to the footer. */
void hl_parquet_add_metadata(struct hl_parquet *p, const char *key, const char *value);
/* Writes the last row group and the footer. Returns the same as hl_parquet_row. */
int hl_parquet_finish(struct hl_parquet *p);
/* p may be NULL. */
void hl_parquet_free(struct hl_parquet *p);

#endif
