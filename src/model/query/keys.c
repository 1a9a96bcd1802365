/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keys.c - the keys of answers; see query.h.
 */
#include <errno.h>

#include "model/model_internal.h"
#include "model/query/query.h"
#include "model/tags/roles.h"

/* Bounds at 1 us, 10 us, ... 1000 s: a fine enough division for readers. */
#define FIRST_BOUND_NS 1000

void hl_lifetime_bounds(unsigned life, uint64_t *lo_ns, uint64_t *hi_ns)
{
	uint64_t bound = FIRST_BOUND_NS;

	for (unsigned i = 1; i < life; i++)
		bound *= 10;
	*lo_ns = life == 0 ? 0 : bound;
	*hi_ns = life == 0 ? bound : life + 1 == HL_LIFETIME_CLASSES ? UINT64_MAX : bound * 10;
}

static uint32_t lifetime_class(uint64_t ns)
{
	uint32_t life = 0;

	for (uint64_t bound = FIRST_BOUND_NS; ns >= bound && life + 1 < HL_LIFETIME_CLASSES;
		bound *= 10)
		life++;
	return life;
}

int hl_key_count(struct hl_model *m, enum hl_key key, uint32_t *n)
{
	const struct hl_mark *marks;
	size_t n_marks;
	int err = 0;

	switch (key) {
	case HL_KEY_STACK:
		*n = m->n_nodes;
		break;
	case HL_KEY_THREAD:
		err = hl_reader_n_threads(m->reader, n);
		break;
	case HL_KEY_CALL:
		*n = HL_FUNC_COUNT;
		break;
	case HL_KEY_SIZE:
		*n = 65;
		break;
	case HL_KEY_LIFETIME:
		*n = HL_LIFETIME_CLASSES;
		break;
	case HL_KEY_INTERVAL:
		err = hl_model_marks(m, &marks, &n_marks);
		*n = err ? 0 : (uint32_t)hl_model_n_snapshots(m) + 1;
		break;
	case HL_KEY_TAG:
		*n = m->n_tags;
		break;
	case HL_KEY_POOL:
		*n = hl_model_n_pools(m);
		break;
	}
	return err;
}

uint32_t hl_key_of(struct hl_model *m, enum hl_key key, const struct hl_block *b)
{
	switch (key) {
	case HL_KEY_STACK:
		return b->node; /* HL_NODE_NONE is larger than any node */
	case HL_KEY_THREAD:
		return b->thread;
	case HL_KEY_CALL:
		return b->func;
	case HL_KEY_SIZE:
		return hl_size_octave(b->size);
	case HL_KEY_LIFETIME:
		return b->free_ns == UINT64_MAX ? HL_LIFETIME_CLASSES
						: lifetime_class(b->free_ns - b->alloc_ns);
	case HL_KEY_INTERVAL:
		return hl_model_interval(m, b->ordinal);
	case HL_KEY_TAG:
		return b->tag; /* HL_TAG_NONE is larger than any tag */
	case HL_KEY_POOL:
		return b->pool;
	}
	return UINT32_MAX;
}
