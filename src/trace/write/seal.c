/* SPDX-License-Identifier: Apache-2.0 */
/* seal.c - see seal_internal.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/varint.h"
#include "trace/write/seal_internal.h"

int hl_byte_buffer_put(hl_byte_buffer *b, const void *data, size_t len)
{
	if (hl_vec_reserve(b, b->len + len) < 0)
		return -ENOMEM;
	if (len > 0)
		memcpy(b->data + b->len, data, len);
	b->len += len;
	return 0;
}

int hl_byte_buffer_varint(hl_byte_buffer *b, uint64_t v)
{
	if (hl_vec_reserve(b, b->len + HL_VARINT_MAX) < 0)
		return -ENOMEM;
	b->len = (size_t)(hl_varint_put(b->data + b->len, v) - b->data);
	return 0;
}

void hl_seal_begin(struct hl_sealer *s, uint16_t type, const struct hl_chunk_header *position)
{
	struct hl_sealed *c = &s->chunk;

	c->head = *position;
	c->head.type = type;
	if (type != HL_CHUNK_EVENTS) {
		c->head.flags = 0;
		c->head.max_live_bytes = c->head.live_bytes;
	}
	c->n_columns = 0;
	c->durable = 0;
	c->is_stored = false;
	s->body.len = 0;
	s->out_of_memory = false;
}

void hl_seal_column(struct hl_sealer *s, uint16_t id, const void *raw, size_t len)
{
	struct hl_sealed *c = &s->chunk;

	if (len == 0)
		return;
	if (hl_byte_buffer_put(&s->body, raw, len) < 0) {
		s->out_of_memory = true;
		return;
	}
	c->columns[c->n_columns].id = id;
	c->columns[c->n_columns++].len = (uint32_t)len;
}

int hl_seal_end(struct hl_sealer *s)
{
	s->chunk.data = s->body.data;
	s->chunk.len = s->body.len;
	return s->out_of_memory ? -ENOMEM : 0;
}

void hl_sealer_fini(struct hl_sealer *s)
{
	hl_vec_free(&s->body);
	hl_vec_free(&s->scratch);
}

size_t hl_sealed_bytes(const struct hl_sealed *chunk)
{
	return sizeof(*chunk) + chunk->len;
}

struct hl_sealed *hl_sealed_copy(const struct hl_sealed *chunk)
{
	struct hl_sealed *copy = malloc(hl_sealed_bytes(chunk));

	if (!copy)
		return NULL;
	*copy = *chunk;
	copy->data = (const uint8_t *)(copy + 1);
	if (chunk->len > 0)
		memcpy(copy + 1, chunk->data, chunk->len);
	return copy;
}
