/* SPDX-License-Identifier: Apache-2.0 */
/*
 * map_encoder.h - encodes samples of the mappings of a process as chunks, each as the differences
 * to the one before.
 *
 * It needs no writer, so another thread may encode while the writer is used; the result is plain
 * data (hl_writer_put_maps).
 */
#ifndef HL_TRACE_WRITE_MAP_ENCODER_H
#define HL_TRACE_WRITE_MAP_ENCODER_H

#include <stdbool.h>

#include "trace/event.h"
#include "trace/write/seal_internal.h"
#include "util/string_table.h"

/* A mapping of the last sample. `name` is the number of its text, 0 for none. */
struct hl_map_known {
	uint64_t page, pages, offset; /* in pages */
	uint64_t kib[HL_MAP_AMOUNTS];
	uint32_t name;
	uint8_t perms;
};

/* A part of a sample: its columns. */
struct hl_map_part {
	hl_byte_buffer numbers, texts, rows;
	uint32_t n_rows;
};

/* An encoded sample. A zeroed one is empty and has no memory. */
struct hl_map_parts {
	HL_VEC(struct hl_map_part) v;
	bool full;
	size_t n; /* mappings of the sample */
};
void hl_map_parts_fini(struct hl_map_parts *p);

/* A zeroed encoder is ready: its first sample is full. */
struct hl_map_encoder {
	HL_VEC(struct hl_map_known) last, next;
	struct hl_string_table texts; /* ids are numbers of texts - 1 */
	size_t text_bytes;
	uint32_t since_full; /* samples since the last full one, and that one; 0: none yet */
	size_t bytes_max; /* of the columns of a part; 0: as many as a chunk may have. For tests */
};
/* Returns 0 with *out, which the caller frees; -E2BIG: more mappings than a sample may have;
 * -EINVAL: the sample is not one (order, limits); -ENOMEM. After an error the next one is full. */
int hl_map_encode(
	struct hl_map_encoder *e, const struct hl_map_sample *sample, struct hl_map_parts *out);
/* The next sample is full. */
void hl_map_encoder_restart(struct hl_map_encoder *e);
void hl_map_encoder_fini(struct hl_map_encoder *e);

#endif
