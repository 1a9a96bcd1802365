/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pprof_import_internal.h - a pprof profile in memory: its tables (pprof_import_tables.c) and its
 * samples (pprof_import.c).
 */
#ifndef HL_IMPORT_PPROF_IMPORT_INTERNAL_H
#define HL_IMPORT_PPROF_IMPORT_INTERNAL_H

#include "import/import_internal.h"
#include "import/protobuf_read.h"
#include "util/vec.h"

/* Field numbers of Profile. */
enum {
	PPROF_SAMPLE_TYPE = 1,
	PPROF_SAMPLE,
	PPROF_MAPPING,
	PPROF_LOCATION,
	PPROF_FUNCTION,
	PPROF_STRING_TABLE,
	PPROF_TIME_NANOS = 9,
	PPROF_DURATION_NANOS,
	PPROF_PERIOD_TYPE,
	PPROF_PERIOD,
};

struct pprof_text {
	const char *p; /* not terminated by NUL */
	size_t len;
};

struct pprof_function {
	uint64_t name, file;
};

struct pprof_location {
	uint32_t module;
	uint64_t offset;
};

/* The meaning of a sample's values; value_at has their indices, UINT32_MAX: none. */
enum pprof_value {
	PPROF_ALLOC_BLOCKS,
	PPROF_ALLOC_BYTES,
	PPROF_LIVE_BLOCKS,
	PPROF_LIVE_BYTES,
	PPROF_VALUES
};

struct pprof {
	struct hl_import *im;
	HL_VEC(uint8_t) data;
	HL_VEC(struct pprof_text) strings;
	HL_VEC(uint64_t) types, units; /* of the values: string indices */
	HL_VEC(struct pprof_function) functions;
	HL_VEC(struct pprof_location) locations;
	HL_VEC(uint64_t) biases; /* per mapping: address in memory minus address in the file */
	HL_VEC(char) text;       /* strings of frames, terminated by NUL */
	struct hl_pair_map function_ids, location_ids, mapping_ids;
	uint32_t n_mappings;
	uint64_t time_ns, duration_ns, period;
	uint32_t value_at[PPROF_VALUES];
};

/* Fails with the position `at` in p->data. Returns -EBADMSG. */
int hl_pprof_fail(struct pprof *p, const uint8_t *at, const char *what);
/* Reads strings, types and functions; the second, with a writer, writes mappings and locations.
 * Return 0 or -errno. */
int hl_pprof_read_tables(struct pprof *p);
int hl_pprof_write_tables(struct pprof *p);
struct pprof_text hl_pprof_string(const struct pprof *p, uint64_t number);
/* The file of the first mapping. */
struct pprof_text hl_pprof_program(struct pprof *p);
void hl_pprof_tables_fini(struct pprof *p);

static inline struct hl_pb hl_pprof_message(const struct pprof *p)
{
	return (struct hl_pb){.p = p->data.data, .end = p->data.data + p->data.len};
}

#endif
