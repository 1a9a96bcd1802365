/* SPDX-License-Identifier: Apache-2.0 */
/*
 * packed_sink.h - a receiver of the bytes of a trace, as its chunks are packed.
 *
 * A chunk file has a list of sinks; the file itself is the first one. The bytes of a trace are its
 * header, its chunks in order, then its trailer. Every sink gets the same bytes as the file.
 * An error of the file is an error of the trace, and no other sink gets these bytes. Any other sink
 * is dropped at its first error, and the trace continues.
 */
#ifndef HL_TRACE_WRITE_PACKED_SINK_H
#define HL_TRACE_WRITE_PACKED_SINK_H

#include <stddef.h>
#include <stdint.h>

#include "util/vec.h"

/* The functions return 0 or -errno. They must not block for long: the thread that calls them packs
 * and writes all traces. `bytes` is valid only during the call. */
struct hl_packed_sink {
	/* The file header: before everything else, and again each time that it is rewritten, as
	 * when the disk is full. The last one counts. */
	int (*header)(void *arg, const void *bytes, size_t len);
	/* A whole chunk. n: the number of chunks before it. The chunks of the index are the last
	 * ones. */
	int (*chunk)(void *arg, uint64_t n, const void *bytes, size_t len);
	/* The trailer: the trace is complete. A trace without an end has none. */
	int (*trailer)(void *arg, const void *bytes, size_t len);
	/* The sink gets nothing more: one of the functions returned err, or the trace is closed
	 * (0). Called once. May be NULL. */
	void (*closed)(void *arg, int err);
	void *arg;
};

struct hl_packed_sinks {
	HL_VEC(struct hl_packed_sink) list;
	uint64_t n_chunks; /* sent so far */
};

/* Adds a sink, which is copied. The file is added first. 0 or -ENOMEM. */
int hl_packed_sinks_add(struct hl_packed_sinks *s, const struct hl_packed_sink *sink);
/* Sends bytes to all sinks. Returns the error of the first sink. */
int hl_packed_sinks_header(struct hl_packed_sinks *s, const void *bytes, size_t len);
int hl_packed_sinks_chunk(struct hl_packed_sinks *s, const void *bytes, size_t len);
int hl_packed_sinks_trailer(struct hl_packed_sinks *s, const void *bytes, size_t len);
/* Drops all sinks. */
void hl_packed_sinks_fini(struct hl_packed_sinks *s);

#endif
