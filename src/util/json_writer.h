/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_writer.h - writes JSON to a stream without building it in memory first.
 *
 * The writer adds the commas. The caller pairs each begin with an end. Any C string may be written:
 * bytes that are not UTF-8 become U+FFFD, and characters that a terminal would act on are escaped.
 * Errors of the stream stay in the stream (ferror).
 */
#ifndef HL_UTIL_JSON_WRITER_H
#define HL_UTIL_JSON_WRITER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct hl_json {
	FILE *out;  /* belongs to the caller */
	bool comma; /* the next key or value needs a comma before it */
};

void hl_json_init(struct hl_json *j, FILE *out);
void hl_json_begin_object(struct hl_json *j);
void hl_json_end_object(struct hl_json *j);
void hl_json_begin_array(struct hl_json *j);
void hl_json_end_array(struct hl_json *j);
void hl_json_key(struct hl_json *j, const char *key);
/* NULL is written as null. s is copied to the stream at once. */
void hl_json_string(struct hl_json *j, const char *s);
void hl_json_u64(struct hl_json *j, uint64_t v);
void hl_json_i64(struct hl_json *j, int64_t v);
void hl_json_bool(struct hl_json *j, bool v);

/* Write "key": value. */
void hl_json_key_string(struct hl_json *j, const char *key, const char *s);
void hl_json_key_u64(struct hl_json *j, const char *key, uint64_t v);
/* UINT64_MAX is written as null: the number is not known, or there is none. */
void hl_json_key_u64_or_null(struct hl_json *j, const char *key, uint64_t v);
/* A percentage, rounded to one decimal as in text. */
void hl_json_key_percent(struct hl_json *j, const char *key, double percent);
void hl_json_key_bool(struct hl_json *j, const char *key, bool v);

#endif
