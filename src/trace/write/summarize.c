/* SPDX-License-Identifier: Apache-2.0 */
/*
 * summarize.c - builds the summary of a chunk: sums by (node, role, size class) of the allocations
 * of its blocks.
 */
#include <string.h>

#include "base/attr.h"
#include "base/bits.h"
#include "base/hash.h"
#include "trace/write/writer_internal.h"
#include "util/pages.h"

#define SLOTS HL_ARRAY_LEN(((struct hl_summarizer *)0)->slots)

struct hl_summarizer *hl_summarizer_new(void)
{
	struct hl_summarizer *s = hl_pages_new(sizeof(*s));

	if (s)
		s->rows[0].key = HL_SUMMARY_NONE; /* `cache` is all 0 at first */
	return s;
}

void hl_summarizer_free(struct hl_summarizer *s)
{
	hl_pages_free(s, sizeof(*s));
}

void hl_summarizer_begin(struct hl_summarizer *s)
{
	if (s->n)
		memset(s->slots, 0, sizeof(s->slots));
	for (uint32_t i = 0; i < s->n; i++)
		s->rows[i].key = HL_SUMMARY_NONE; /* so that `cache` matches none of these */
	s->n = 0;
	s->off = false;
}

static struct hl_summary_entry *find_row(struct hl_summarizer *s, uint64_t key)
{
	size_t i = (size_t)(key * HL_HASH_K >> 40) % SLOTS;
	struct hl_summary_entry *row;

	for (; s->slots[i]; i = (i + 1) % SLOTS) {
		row = &s->rows[s->slots[i] - 1];
		if (row->key == key)
			return row;
	}
	if (s->n == HL_SUMMARY_ROWS)
		return NULL;
	row = &s->rows[s->n++];
	s->slots[i] = (uint16_t)s->n;
	*row = (struct hl_summary_entry){.key = key};
	return row;
}

struct hl_summary_entry *hl_summarizer_row(struct hl_summarizer *s, uint64_t key)
{
	struct hl_summary_entry *row = find_row(s, key);

	s->off = !row;
	if (row)
		s->cache[hl_summary_cache_slot(key)] = (uint16_t)(row - s->rows);
	return row;
}

/* Writes field by field, not row by row: similar values are then adjacent. */
int hl_summarizer_put(const struct hl_summarizer *s, hl_byte_buffer *out)
{
	uint32_t prev = 0;
	int err;

	err = hl_byte_buffer_varint(out, s->n);
	for (uint32_t i = 0; i < s->n && !err; i++) {
		uint32_t code = hl_node_code((uint32_t)(s->rows[i].key >> 32));

		err = hl_byte_buffer_varint(out, hl_zigzag((int64_t)code - (int64_t)prev));
		prev = code;
	}
	for (uint32_t i = 0; i < s->n && !err; i++)
		err = hl_byte_buffer_varint(out, (uint32_t)s->rows[i].key >> 7);
	for (uint32_t i = 0; i < s->n && !err; i++)
		err = hl_byte_buffer_varint(out, s->rows[i].key & 127);
	for (uint32_t i = 0; i < s->n && !err; i++)
		err = hl_byte_buffer_varint(out, s->rows[i].sums.alloc_blocks);
	for (uint32_t i = 0; i < s->n && !err; i++)
		err = hl_byte_buffer_varint(out, s->rows[i].sums.alloc_bytes);
	for (uint32_t i = 0; i < s->n && !err; i++)
		err = hl_byte_buffer_varint(out, s->rows[i].sums.free_blocks);
	for (uint32_t i = 0; i < s->n && !err; i++)
		err = hl_byte_buffer_varint(out, s->rows[i].sums.free_bytes);
	return err;
}
