/*
 * summarize.c - what a chunk did, by (node, thread, size class) of the blocks' births.
 */
#include <string.h>

#include "base/attr.h"
#include "base/bits.h"
#include "base/hash.h"
#include "trace/writer_internal.h"

#define SLOTS HL_ARRAY_LEN(((struct hl_summarizer *)0)->slots)

void hl_summarizer_begin(struct hl_summarizer *s)
{
	memset(s->slots, 0, sizeof(s->slots));
	s->n = 0;
	s->off = false;
}

static struct hl_summary_entry *find(
	struct hl_summarizer *s, uint32_t node, uint32_t thread, uint32_t size_class)
{
	uint64_t key = (uint64_t)node << 32 | (thread << 7 ^ size_class);
	size_t i = (size_t)(key * HL_HASH_K >> 40) % SLOTS;
	struct hl_summary_entry *row;

	for (; s->slots[i]; i = (i + 1) % SLOTS) {
		row = &s->rows[s->slots[i] - 1];
		if (row->node == node && row->thread == thread && row->size_class == size_class)
			return row;
	}
	if (s->n == HL_SUMMARY_ROWS)
		return NULL;
	row = &s->rows[s->n++];
	s->slots[i] = (uint16_t)s->n;
	*row = (struct hl_summary_entry){node, thread, size_class, {0}};
	return row;
}

void hl_summarizer_add(struct hl_summarizer *s, const struct hl_event *e)
{
	bool alloc = e->op == HL_OP_ALLOC;
	uint32_t size_class = hl_size_octave(e->size);
	struct hl_summary_entry *row;
	uint32_t thread;
	uint16_t *last;

	if (s->off)
		return;
	thread = alloc ? e->thread : e->birth_thread;
	last = &s->last[e->node % HL_SUMMARY_LAST];
	row = &s->rows[*last];
	if (hl_unlikely(*last >= s->n || row->node != e->node || row->thread != thread ||
			row->size_class != size_class)) {
		row = find(s, e->node, thread, size_class);
		if (!row) {
			s->off = true;
			return;
		}
		*last = (uint16_t)(row - s->rows);
	}
	if (alloc) {
		row->sums.alloc_blocks += e->blocks;
		row->sums.alloc_bytes += e->bytes;
	} else {
		row->sums.free_blocks += e->blocks;
		row->sums.free_bytes += e->bytes;
	}
}

/* One field after the other, not row by row: like values stand together. */
int hl_summarizer_put(const struct hl_summarizer *s, hl_bytes *out)
{
	uint32_t prev = 0;
	int err;

	err = hl_bytes_varint(out, s->n);
	for (uint32_t i = 0; i < s->n && !err; i++) {
		uint32_t code = hl_node_code(s->rows[i].node);

		err = hl_bytes_varint(out, hl_zigzag((int64_t)code - (int64_t)prev));
		prev = code;
	}
	for (uint32_t i = 0; i < s->n && !err; i++)
		err = hl_bytes_varint(out, s->rows[i].thread);
	for (uint32_t i = 0; i < s->n && !err; i++)
		err = hl_bytes_varint(out, s->rows[i].size_class);
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
