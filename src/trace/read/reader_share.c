/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reader_share.c - readers for the threads of decode_ahead.c, and how many there are.
 *
 * The reader of a worker uses the source, the lists of chunks and the ordinals of the base of the
 * reader it was made from.
 * They are complete when a trace is open: afterwards only the marks of damage change, which a
 * worker neither reads nor writes. All else is the worker's own.
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>

#include "base/bits.h"
#include "trace/read/reader_internal.h"

/* A smaller file is decoded in a moment. Also, a forged file of this size must not make the tool
 * allocate memory for several chunks. */
#define FILE_MIN (UINT64_C(2) << 20)

unsigned hl_default_workers(const struct hl_reader *r)
{
	cpu_set_t cpus;

	if (r->data_bytes < FILE_MIN || sched_getaffinity(0, sizeof(cpus), &cpus) < 0)
		return 0;
	return CPU_COUNT(&cpus) < 2 ? 0 : hl_min_u32((uint32_t)CPU_COUNT(&cpus), HL_WORKERS_MAX);
}

void hl_reader_set_workers(struct hl_reader *r, unsigned n)
{
	r->workers = hl_min_u32(n, HL_WORKERS_MAX);
	r->workers_given = true;
}

int hl_reader_share(struct hl_reader **out, const struct hl_reader *r)
{
	struct hl_reader *s = calloc(1, sizeof(*s));
	int err;

	*out = NULL;
	if (!s)
		return -ENOMEM;
	s->shared = r;
	s->source = r->source;
	s->file_bytes = r->file_bytes;
	s->data_bytes = r->data_bytes;
	s->sync = r->sync;
	s->rows.data = r->rows.data;
	s->rows.len = r->rows.len;
	s->chunks.data = r->chunks.data;
	s->chunks.len = r->chunks.len;
	s->chunk_rows.data = r->chunk_rows.data;
	s->chunk_rows.len = r->chunk_rows.len;
	s->info.meta.base = r->info.meta.base;
	s->n_base_chunks = r->n_base_chunks;
	s->base_key = r->base_key;
	s->base_state = r->base_state;
	s->base_has_gap = r->base_has_gap;
	s->base_ordinals.data = r->base_ordinals.data;
	s->base_ordinals.len = r->base_ordinals.len;
	err = hl_make_buffers(s);
	if (err)
		hl_reader_close(s);
	else
		*out = s;
	return err;
}

int hl_reader_adopt(struct hl_reader *r, size_t chunk, struct hl_chunk_events *c)
{
	const struct hl_chunk_row *w = &r->rows.data[r->chunk_rows.data[chunk]];

	if (w->bad) {
		c->n_events = c->n_extras = 0;
		return hl_reader_fail(r, "Chunk %llu is damaged.", (unsigned long long)w->head.seq);
	}
	r->bytes_read += w->head.length;
	r->events_decoded += c->n_events;
	return 0;
}
