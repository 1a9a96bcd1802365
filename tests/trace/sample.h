/* SPDX-License-Identifier: Apache-2.0 */
/* sample.h - a small trace with several chunks of every type, and functions to forge it. */
#ifndef HL_TESTS_TRACE_SAMPLE_H
#define HL_TESTS_TRACE_SAMPLE_H

#include "trace/format/format_internal.h"

#define SAMPLE_SYNC       UINT64_C(0x1122334455667789)
#define SAMPLE_PLACES_MAX 128

struct sample_place {
	size_t at;
	struct hl_chunk_header head;
};

/*
 * Returns the same bytes each time; the caller frees them. hurry: event columns are stored
 * uncompressed, for forging. Exits if memory is exhausted.
 */
uint8_t *sample_make(bool hurry, size_t *size);
/* The same, but most blocks are in sums only. */
uint8_t *sample_make_counted(bool hurry, size_t *size);
/* An imported and sliced trace with names, an embedded file and blocks of a pool. */
uint8_t *sample_make_carrying(bool hurry, size_t *size);
/* The same as the first one, with samples of mappings. */
uint8_t *sample_make_mapped(bool hurry, size_t *size);
/* The second half of such a trace, which begins late. */
uint8_t *sample_make_late(bool hurry, size_t *size);
/*
 * Finds the chunks of such a file, at most SAMPLE_PLACES_MAX of them; stops at the first damaged
 * header. Returns their number.
 */
size_t sample_places(const uint8_t *file, size_t size, struct sample_place *places);
/* Recomputes the checksums of a changed chunk, as a forger would. */
void sample_forge(uint8_t *chunk, size_t len);

#endif
