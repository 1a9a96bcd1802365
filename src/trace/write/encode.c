/* SPDX-License-Identifier: Apache-2.0 */
/*
 * encode.c - encodes the columns of a chunk. event_inline_internal.h has the code that runs for
 * each event.
 */
#include <errno.h>
#include <string.h>

#include "trace/write/event_inline_internal.h"
#include "util/pages.h"

_Static_assert(HL_COL_EXTRA - HL_COL_LATER + 1 == EC_COUNT, "ids follow the order of columns");

/* A column never exceeds the raw limit of a chunk; the rest is space for the last event. */
#define COLUMN_CAP (HL_RAW_MAX + 4096 + 64) /* 64: columns begin in different cache sets */

int hl_encoder_init(struct hl_encoder *e, bool free_stacks)
{
	memset(e, 0, sizeof(*e));
	e->free_stacks = free_stacks;
	e->base[0] = hl_pages_new((size_t)EC_COUNT * COLUMN_CAP);
	if (!e->base[0])
		return -ENOMEM;
	for (int i = 1; i < EC_COUNT; i++)
		e->base[i] = e->base[i - 1] + COLUMN_CAP;
	hl_encoder_begin(e, 0);
	return 0;
}

void hl_encoder_fini(struct hl_encoder *e)
{
	hl_pages_free(e->base[0], (size_t)EC_COUNT * COLUMN_CAP);
	memset(e->base, 0, sizeof(e->base));
}

void hl_encoder_begin(struct hl_encoder *e, uint64_t first_ordinal)
{
	bool free_stacks = e->free_stacks;

	memset(e, 0, offsetof(struct hl_encoder, base));
	memcpy(e->at, e->base, sizeof(e->at));
	e->free_stacks = free_stacks;
	e->thread.value = e->afunc.value = e->ffunc.value = HL_RUN_NONE;
	e->first_ordinal = e->next_ordinal = e->prev_ordinal = first_ordinal;
}

void hl_encoder_add(struct hl_encoder *e, const struct hl_event *v, uint64_t time)
{
	hl_encode_event(e, v, time);
}

void hl_encoder_moved(struct hl_encoder *e)
{
	uint32_t at = e->n_events - 1; /* number of events up to and including the FREE */

	hl_encode_put(e, EC_MOVED, at - e->moved_at);
	e->moved_at = at;
}

void hl_encoder_extra(
	struct hl_encoder *e, const struct hl_extra *x, uint64_t time, size_t text_len)
{
	const uint64_t fields[] = {e->n_events - e->extra_at, x->kind, time - e->extra_time,
		x->thread, hl_node_code(x->node), x->addr, x->size, x->value, x->value2,
		x->text ? text_len + 1 : 0};

	for (size_t i = 0; i < HL_ARRAY_LEN(fields); i++)
		hl_encode_put(e, EC_EXTRA, fields[i]);
	if (x->text) {
		memcpy(e->at[EC_EXTRA], x->text, text_len);
		e->at[EC_EXTRA] += text_len;
	}
	e->extra_at = e->n_events;
	e->extra_time = time;
	e->n_extras++;
}

void hl_encoder_finish(struct hl_encoder *e)
{
	hl_encode_end_run(e, EC_THREAD, &e->thread, e->n_events);
	hl_encode_end_run(e, EC_AFUNC, &e->afunc, hl_encoded_allocs(e));
	hl_encode_end_run(e, EC_FFUNC, &e->ffunc, hl_encoded_frees(e));
	hl_encode_put_bits(e, (e->n_events % 64 + 7) / 8);
}

size_t hl_encoder_raw(const struct hl_encoder *e)
{
	size_t n = 0;

	for (int i = 0; i < EC_COUNT; i++)
		n += (size_t)(e->at[i] - e->base[i]);
	return n;
}
