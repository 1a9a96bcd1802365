/* SPDX-License-Identifier: Apache-2.0 */
/* reader_summary.c - reads the summary of a chunk without decoding its events. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "trace/read/reader_internal.h"

static bool read_summary(
	struct hl_column_cursor *cur, uint32_t n_nodes, uint32_t n_threads, struct hl_summary *s)
{
	uint32_t prev = 0;

	for (size_t i = 0; i < s->n; i++) {
		prev += (uint32_t)hl_unzigzag(hl_column_cursor_varint(cur));
		if (prev > n_nodes)
			return false;
		s->rows[i].node = prev - 1;
	}
	for (size_t i = 0; i < s->n; i++) {
		uint64_t thread = hl_column_cursor_varint(cur);

		if (thread >= n_threads)
			return false;
		s->rows[i].thread = (uint32_t)thread;
	}
	for (size_t i = 0; i < s->n; i++) {
		uint64_t size_class = hl_column_cursor_varint(cur);

		if (size_class > 64)
			return false;
		s->rows[i].size_class = (uint8_t)size_class;
	}
	for (size_t i = 0; i < s->n; i++)
		s->rows[i].sums.alloc_blocks = hl_column_cursor_varint(cur);
	for (size_t i = 0; i < s->n; i++)
		s->rows[i].sums.alloc_bytes = hl_column_cursor_varint(cur);
	for (size_t i = 0; i < s->n; i++)
		s->rows[i].sums.free_blocks = hl_column_cursor_varint(cur);
	for (size_t i = 0; i < s->n; i++)
		s->rows[i].sums.free_bytes = hl_column_cursor_varint(cur);
	return hl_column_cursor_done(cur);
}

static int load_summary(struct hl_reader *r, size_t row, struct hl_summary *into)
{
	struct hl_column_cursor cur;
	struct hl_chunk c;
	uint64_t n;
	int err;

	err = hl_load_column(r, row, &c, HL_COL_SUMMARY);
	if (!err)
		err = hl_chunk_column(r, &c, HL_COL_SUMMARY, &cur);
	if (err)
		return err;
	n = hl_column_cursor_varint(&cur);
	if (n > HL_SUMMARY_ROWS)
		return -EBADMSG;
	if (hl_vec_grow((void **)&into->rows, &into->cap, n ? n : 1, sizeof(*into->rows)) < 0)
		return -ENOMEM;
	memset(into->rows, 0, n * sizeof(*into->rows)); /* padding too, for memcmp */
	into->n = n;
	return read_summary(&cur, hl_min_u32((uint32_t)c.head.aux, hl_nodes_limit(r->data_bytes)),
		       hl_min_u32((uint32_t)(c.head.aux >> 32), hl_threads_limit(r->data_bytes)),
		       into)
		       ? 0
		       : -EBADMSG;
}

int hl_reader_summary(struct hl_reader *r, size_t chunk, struct hl_summary *into)
{
	int err;

	into->n = 0;
	if (chunk >= r->chunks.len)
		return -EINVAL;
	if (r->chunk_rows.data[chunk] == HL_NO_ROW)
		return hl_reader_fail(
			r, "Chunk %llu is missing.", (unsigned long long)r->chunks.data[chunk].seq);
	if (!r->chunks.data[chunk].has_summary)
		return -ENOENT;
	err = load_summary(r, r->chunk_rows.data[chunk], into);
	if (err == -ENOENT)
		err = -EBADMSG;
	if (err < 0)
		into->n = 0;
	if (err == -EBADMSG) {
		r->summary_damaged = true;
		hl_describe_damage(r);
		return hl_reader_fail(r,
			"The summary of chunk %llu is damaged; its events may be intact.",
			(unsigned long long)r->chunks.data[chunk].seq);
	}
	return err;
}

void hl_summary_free(struct hl_summary *s)
{
	free(s->rows);
	memset(s, 0, sizeof(*s));
}
