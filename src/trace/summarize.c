/*
 * summarize.c - what a chunk did, by (node, thread, size class) of the blocks' births.
 */
#include <string.h>

#include "base/attr.h"
#include "base/bits.h"
#include "base/hash.h"
#include "trace/writer_internal.h"
#include "util/pages.h"

#define SLOTS HL_ARRAY_LEN(((struct hl_summarizer *)0)->slots)

struct hl_summarizer *hl_summarizer_new(void)
{
	struct hl_summarizer *s = hl_pages_new(sizeof(*s));

	if (s)
		s->rows[0].key = HL_SUMMARY_NONE; /* where all of `last` leads to */
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
		s->rows[i].key = HL_SUMMARY_NONE; /* so that `last` finds none of these */
	s->n = 0;
	s->off = false;
}

static struct hl_summary_entry *find(struct hl_summarizer *s, uint64_t key)
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
	struct hl_summary_entry *row = find(s, key);

	s->off = !row;
	if (row)
		s->last[hl_summary_last(key)] = (uint16_t)(row - s->rows);
	return row;
}

/* One field after the other, not row by row: like values stand together. */
int hl_summarizer_put(const struct hl_summarizer *s, hl_bytes *out)
{
	uint32_t prev = 0;
	int err;

	err = hl_bytes_varint(out, s->n);
	for (uint32_t i = 0; i < s->n && !err; i++) {
		uint32_t code = hl_node_code((uint32_t)(s->rows[i].key >> 32));

		err = hl_bytes_varint(out, hl_zigzag((int64_t)code - (int64_t)prev));
		prev = code;
	}
	for (uint32_t i = 0; i < s->n && !err; i++)
		err = hl_bytes_varint(out, (uint32_t)s->rows[i].key >> 7);
	for (uint32_t i = 0; i < s->n && !err; i++)
		err = hl_bytes_varint(out, s->rows[i].key & 127);
	for (uint32_t i = 0; i < s->n && !err; i++)
		err = hl_bytes_varint(out, s->rows[i].sums.alloc_blocks);
	for (uint32_t i = 0; i < s->n && !err; i++)
		err = hl_bytes_varint(out, s->rows[i].sums.alloc_bytes);
	for (uint32_t i = 0; i < s->n && !err; i++)
		err = hl_bytes_varint(out, s->rows[i].sums.free_blocks);
	for (uint32_t i = 0; i < s->n && !err; i++)
		err = hl_bytes_varint(out, s->rows[i].sums.free_bytes);
	return err;
}
