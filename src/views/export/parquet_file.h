/*
 * parquet_file.h - one table as a Parquet file, written row by row.
 *
 * Rows are collected column by column. A page is encoded and packed when it is full, a row group
 * is written when it is, so that never more than a page of values and the packed bytes of one
 * group are in memory. Row groups are what readers share among their threads; each says what the
 * least and the greatest value of each column is, so that one that cannot matter is not read.
 *
 * Flat tables only, in the oldest form of pages, which every reader has, packed by zstd. Texts go
 * by a dictionary, and what rises by differences: a real program's times and numbers take a quarter
 * of the room.
 */
#ifndef HL_VIEWS_EXPORT_PARQUET_FILE_H
#define HL_VIEWS_EXPORT_PARQUET_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum hl_parquet_type {
	HL_PARQUET_BOOL,
	HL_PARQUET_I32,
	HL_PARQUET_I64,
	HL_PARQUET_TEXT, /* UTF-8, by way of a dictionary */
};

struct hl_parquet_column {
	const char *name;
	enum hl_parquet_type type;
	bool optional; /* it may be HL_PARQUET_NULL */
	bool rising;   /* I64 that mostly go up a little: differences are written */
};

/* In a column that is not optional it is a value like others. */
#define HL_PARQUET_NULL INT64_MIN

struct hl_parquet;

/* The columns are the caller's and must stay; so must `to`, whose errors stay in it. NULL: no
 * memory. */
struct hl_parquet *hl_parquet_new(FILE *to, const struct hl_parquet_column *columns, unsigned n);
/* What a row has for this text; what is not UTF-8 in it becomes U+FFFD. NULL is none. 0 or -ENOMEM.
 */
int hl_parquet_text(struct hl_parquet *p, const char *s, int64_t *value);
/* A value for each column. 0, -ENOMEM, or -EIO when `to` has an error. */
int hl_parquet_row(struct hl_parquet *p, const int64_t *values);
/* Something about the whole, for the end of the file. */
void hl_parquet_note(struct hl_parquet *p, const char *key, const char *value);
/* What is still there, and the end: it is a file now. As hl_parquet_row. */
int hl_parquet_finish(struct hl_parquet *p);
/* p may be NULL. */
void hl_parquet_free(struct hl_parquet *p);

#endif
