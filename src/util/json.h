/*
 * json.h - writes JSON to a stream, without building it first.
 *
 * The writer puts the commas; the caller keeps begin and end in pairs. Any C string may be
 * written: what is not UTF-8 becomes U+FFFD, and nothing that a terminal would act on is written
 * raw. Errors of the stream stay in the stream (ferror).
 */
#ifndef HL_UTIL_JSON_H
#define HL_UTIL_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct hl_json {
	FILE *out;  /* the caller's */
	bool comma; /* a value stands before this place */
};

void hl_json_init(struct hl_json *j, FILE *out);
void hl_json_begin_object(struct hl_json *j);
void hl_json_end_object(struct hl_json *j);
void hl_json_begin_array(struct hl_json *j);
void hl_json_end_array(struct hl_json *j);
void hl_json_key(struct hl_json *j, const char *key);
/* NULL is written as null. */
void hl_json_string(struct hl_json *j, const char *s);
void hl_json_u64(struct hl_json *j, uint64_t v);
void hl_json_i64(struct hl_json *j, int64_t v);
void hl_json_bool(struct hl_json *j, bool v);

/* "key": value */
void hl_json_key_string(struct hl_json *j, const char *key, const char *s);
void hl_json_key_u64(struct hl_json *j, const char *key, uint64_t v);
void hl_json_key_bool(struct hl_json *j, const char *key, bool v);

#endif
