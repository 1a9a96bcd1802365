/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap_sim_base.h - a simulated program whose trace begins late, for tests and the trace generator.
 *
 * The events up to the base go to a writer whose chunks are discarded. The rest goes to another
 * writer, after a base made from the simulation's list of live blocks.
 */
#ifndef HL_TRACE_HEAP_SIM_BASE_H
#define HL_TRACE_HEAP_SIM_BASE_H

#include <errno.h>

#include "trace/heap_sim.h"
#include "trace/write/writer.h"

static inline int hl_heap_sim_discard(void *arg, const struct hl_sealed *chunk)
{
	(void)arg;
	(void)chunk;
	return 0;
}

/* Opens the writer for the events before the base. *status must outlive it. */
static inline int hl_heap_sim_open_early(
	struct hl_writer **w, const struct hl_meta *meta, struct hl_file_status *status)
{
	return hl_writer_open_to(w, meta, NULL, hl_heap_sim_discard, NULL, status);
}

struct hl_heap_sim_blocks {
	const struct hl_heap_sim *sim;
	struct hl_heap_sim_block *sorted;
	size_t at;
};

static inline int hl_heap_sim_compare(const void *a, const void *b)
{
	const struct hl_heap_sim_block *x = a, *y = b;

	return (x->ordinal > y->ordinal) - (x->ordinal < y->ordinal);
}

static inline int hl_heap_sim_next_block(void *arg, struct hl_live_block *b, uint8_t *func)
{
	struct hl_heap_sim_blocks *from = arg;
	const struct hl_heap_sim_block *s = &from->sorted[from->at++];

	*b = (struct hl_live_block){
		s->addr, s->size, s->ordinal, s->alloc_ns, s->node, s->thread, 1, s->size};
	hl_heap_sim_weight(from->sim, s, &b->blocks, &b->bytes);
	*func = s->func;
	return 0;
}

/* Writes the base. The tables of w are those of `early`, which is closed. */
static inline int hl_heap_sim_write_base(
	struct hl_writer *w, struct hl_writer *early, const struct hl_heap_sim *sim)
{
	struct hl_heap_sim_blocks from = {
		.sim = sim, .sorted = malloc((sim->n_live + 1) * sizeof(*from.sorted))};
	const struct hl_base_blocks blocks = {hl_heap_sim_next_block, &from};
	struct hl_base_place place;
	int err = from.sorted ? hl_writer_begin_base(w, early, &place) : -ENOMEM;

	if (!err) {
		memcpy(from.sorted, sim->live, sim->n_live * sizeof(*from.sorted));
		qsort(from.sorted, sim->n_live, sizeof(*from.sorted), hl_heap_sim_compare);
		err = hl_writer_add_base_blocks(w, &place, &blocks);
	}
	if (!err)
		err = hl_writer_end_base(w);
	hl_writer_close(early);
	free(from.sorted);
	return err;
}

#endif
