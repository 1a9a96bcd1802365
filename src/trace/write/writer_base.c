/* SPDX-License-Identifier: Apache-2.0 */
/*
 * writer_base.c - the base of a trace that begins late; the order of the calls is in writer.h.
 *
 * The sums move from the old writer to the new one: nothing is computed or copied per node. The
 * live blocks do not go through the writer, since it has no list of them. Their chunks only need a
 * place in the file, so that another thread can make them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "base/bits.h"
#include "trace/write/writer_internal.h"

static uint64_t last_units(const struct hl_writer *w)
{
	return hl_max_u64(w->last_time, w->sums_time);
}

int hl_writer_describe_base(
	const struct hl_writer *old, uint64_t now_ns, uint64_t n, struct hl_base *base)
{
	uint64_t last_ns = last_units(old) * HL_TIME_UNIT_NS;

	if (old->pair_open)
		return -EAGAIN;
	*base = (struct hl_base){.is_late = true,
		.time_ns = hl_max_u64(now_ns / HL_TIME_UNIT_NS * HL_TIME_UNIT_NS, last_ns),
		.events = old->open.first_event + old->enc.n_events,
		.allocs = old->enc.next_ordinal,
		.blocks = n};
	return n <= base->allocs ? 0 : -EINVAL;
}

uint64_t hl_writer_written_live_blocks(const struct hl_writer *w)
{
	uint64_t events = w->open.first_event + w->enc.n_events, allocs = w->enc.next_ordinal;

	return allocs - (events - allocs);
}

void hl_writer_place_base(struct hl_writer *w, const struct hl_base *base)
{
	if (!base->is_late)
		return;
	w->base = *base;
	w->in_base = true;
	w->open.first_event = base->events;
	w->open.first_ordinal = base->allocs;
	w->open.t0_ns = w->open.t1_ns = base->time_ns;
	hl_encoder_begin(&w->enc, base->allocs);
}

int hl_write_base_info(struct hl_writer *w)
{
	const struct hl_base *base = &w->base;
	const uint64_t v[] = {
		base->time_ns, base->events, base->allocs, base->blocks, base->snapshots};
	hl_byte_buffer *b = &w->sealer.scratch;

	b->len = 0;
	if (hl_byte_buffer_values(b, v, HL_ARRAY_LEN(v)) < 0)
		return -ENOMEM;
	hl_seal_column(&w->sealer, HL_COL_BASE, b->data, b->len);
	return 0;
}

/* Everything that goes on counting from the start of the run. */
static void take_sums(struct hl_writer *w, struct hl_writer *old)
{
	struct hl_totals empty_totals = w->totals;
	hl_byte_buffer nodes = w->node_state, threads = w->thread_state;

	w->totals = old->totals;
	old->totals = empty_totals;
	w->node_state = old->node_state;
	old->node_state = nodes;
	w->thread_state = old->thread_state;
	old->thread_state = threads;
	w->aggregated_all = old->aggregated_all;
	w->aggregated = old->aggregated;
	w->first_funcs = old->first_funcs;
	memset(&old->aggregated, 0, sizeof(old->aggregated));
	memset(&old->first_funcs, 0, sizeof(old->first_funcs));
	w->active_threads = old->active_threads;
	w->seen = old->seen;
	w->stops = old->stops;
	w->mode_changes = old->mode_changes;
	w->pauses = old->pauses;
	w->n_snapshots = old->n_snapshots;
	w->follows_alloc = old->follows_alloc;
	w->sums_time = old->sums_time;
	w->key_epoch = old->key_epoch;
	w->key_event = w->totals.events;
	w->base_time = last_units(old);
}

static void set_position(struct hl_writer *w)
{
	struct hl_chunk_header *h = &w->open;

	h->t0_ns = h->t1_ns = w->base_time * HL_TIME_UNIT_NS;
	h->live_bytes = h->max_live_bytes = hl_sums_live_bytes(&w->totals.sums);
	h->live_blocks = hl_sums_live_blocks(&w->totals.sums);
}

static bool has_same_tables(const struct hl_writer *w, const struct hl_writer *old)
{
	return w->n_nodes == old->n_nodes && w->n_threads == old->n_threads &&
	       w->n_modules == old->n_modules && w->n_tags == old->n_tags;
}

static uint64_t count_parts(uint64_t blocks)
{
	return (blocks + HL_LIVESET_ROWS - 1) / HL_LIVESET_ROWS;
}

int hl_writer_begin_base(struct hl_writer *w, struct hl_writer *old, struct hl_base_place *place)
{
	if (w->error)
		return w->error;
	if (!w->in_base || w->enc.n_events + w->enc.n_extras > 0 || old->pair_open ||
		!has_same_tables(w, old) ||
		w->base.events != old->open.first_event + old->enc.n_events ||
		w->base.allocs != old->enc.next_ordinal || count_parts(w->base.blocks) > UINT32_MAX)
		return w->error = -EINVAL;
	w->error = hl_write_tables(w);
	if (w->error)
		return w->error;
	take_sums(w, old);
	set_position(w);
	*place = (struct hl_base_place){.seq = w->seq,
		.blocks = w->base.blocks,
		.events = w->base.events,
		.allocs = w->base.allocs,
		.time_ns = w->open.t1_ns,
		.live_bytes = w->open.live_bytes,
		.live_blocks = w->open.live_blocks,
		.n_nodes = w->n_nodes,
		.n_threads = w->n_threads};
	w->seq += count_parts(w->base.blocks);
	return 0;
}

int hl_writer_end_base(struct hl_writer *w)
{
	if (w->error)
		return w->error;
	if (!w->in_base)
		return w->error = -EINVAL;
	if (hl_writer_close_chunk(w) < 0)
		return w->error;
	w->last_time = hl_max_u64(w->last_time, w->base_time);
	set_position(w);
	w->error = hl_write_keyframe(w, true, NULL);
	w->in_base = false;
	w->open.flags = w->follows_alloc ? HL_CHUNK_FOLLOWS_ALLOC : 0;
	return w->error;
}

/* ---- live blocks ---- */

/* The blocks of one chunk. */
struct base_part {
	struct hl_sealer sealer;
	struct hl_live_block blocks[HL_LIVESET_ROWS];
	uint8_t funcs[HL_LIVESET_ROWS];
	uint64_t next_ordinal; /* 1 + the ordinal of the last block */
};

static bool is_block_valid(
	const struct hl_base_place *p, const struct hl_live_block *b, uint64_t next_ordinal)
{
	return b->ordinal >= next_ordinal && b->ordinal < p->allocs && b->thread < p->n_threads &&
	       (b->node < p->n_nodes || b->node == HL_NODE_NONE) && b->alloc_ns <= p->time_ns;
}

static int read_blocks(struct base_part *part, const struct hl_base_place *p,
	const struct hl_base_blocks *from, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		int err = from->next(from->arg, &part->blocks[i], &part->funcs[i]);

		if (err)
			return err;
		if (!is_block_valid(p, &part->blocks[i], part->next_ordinal))
			return -EINVAL;
		part->next_ordinal = part->blocks[i].ordinal + 1;
	}
	return 0;
}

static int write_part(struct base_part *part, const struct hl_base_place *p, uint64_t number,
	size_t n, hl_chunk_sink *sink, void *arg)
{
	const struct hl_chunk_header position = {.first_event = p->events,
		.first_ordinal = p->allocs,
		.t0_ns = p->time_ns,
		.t1_ns = p->time_ns,
		.live_bytes = p->live_bytes,
		.live_blocks = p->live_blocks};
	struct hl_chunk_header *h = &part->sealer.chunk.head;
	int err;

	hl_seal_begin(&part->sealer, HL_CHUNK_LIVESET, &position);
	h->flags = HL_CHUNK_BASE;
	h->seq = p->seq + number;
	h->aux = number | count_parts(p->blocks) << 32;
	h->n_rows = (uint32_t)n;
	err = hl_live_columns(
		&part->sealer, part->blocks, part->funcs, n, p->time_ns / HL_TIME_UNIT_NS);
	if (!err)
		err = hl_seal_end(&part->sealer);
	return err ? err : sink(arg, &part->sealer.chunk);
}

int hl_base_blocks_write(const struct hl_base_place *p, const struct hl_base_blocks *blocks,
	hl_chunk_sink *sink, void *arg)
{
	struct base_part *part = calloc(1, sizeof(*part));
	int err = part ? 0 : -ENOMEM;

	for (uint64_t i = 0; i < count_parts(p->blocks) && !err; i++) {
		size_t n = hl_min_u64(p->blocks - i * HL_LIVESET_ROWS, HL_LIVESET_ROWS);

		err = read_blocks(part, p, blocks, n);
		if (!err)
			err = write_part(part, p, i, n, sink, arg);
	}
	if (part)
		hl_sealer_fini(&part->sealer);
	free(part);
	return err;
}

int hl_writer_add_base_blocks(
	struct hl_writer *w, const struct hl_base_place *place, const struct hl_base_blocks *blocks)
{
	if (!w->error)
		w->error = hl_base_blocks_write(place, blocks, w->sink, w->sink_arg);
	return w->error;
}
