/*
 * sample.h - a small trace with several of every kind of chunk, and the means to forge it.
 */
#ifndef HL_TESTS_TRACE_SAMPLE_H
#define HL_TESTS_TRACE_SAMPLE_H

#include "trace/format_internal.h"

#define SAMPLE_SYNC       UINT64_C(0x1122334455667789)
#define SAMPLE_PLACES_MAX 128

struct sample_place {
	size_t at;
	struct hl_chunk_head head;
};

/* The same bytes each time; the caller frees them. hurry: columns of events as they are, for
 * forgers. Exits when there is no memory. */
uint8_t *sample_make(bool hurry, size_t *size);
/* The same where most blocks are in sums only. */
uint8_t *sample_make_counted(bool hurry, size_t *size);
/* Where the chunks of such a file lie, at most SAMPLE_PLACES_MAX of them; stops at the first
 * damaged head. */
size_t sample_places(const uint8_t *file, size_t size, struct sample_place *places);
/* Puts the checksums of a changed chunk right, as somebody would who wants to be believed. */
void sample_forge(uint8_t *chunk, size_t len);

#endif
