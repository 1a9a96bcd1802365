/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_inline_internal.h - the code that runs for each event: into columns, into the chunk's
 * summary, into sums.
 *
 * Everything is inline. A caller that knows the kind of its event gets only the instructions for
 * this kind, and the event itself stays in registers (writer_add.c).
 *
 * The predictors are simple on purpose: zstd finds most of what better ones would, and each costs a
 * nanosecond or two.
 */
#ifndef HL_TRACE_WRITE_EVENT_INLINE_INTERNAL_H
#define HL_TRACE_WRITE_EVENT_INLINE_INTERNAL_H

#include "base/attr.h"
#include "base/bits.h"
#include "base/varint.h"
#include "trace/write/writer_internal.h"

/* --- columns; decode.c is the counterpart in the reader --- */

hl_inline void hl_encode_put(struct hl_encoder *e, enum hl_event_col c, uint64_t v)
{
	if (hl_likely(v < 0x80))
		*e->at[c]++ = (uint8_t)v;
	else
		e->at[c] = hl_varint_put(e->at[c], v);
}

/* Ends the run. `at` is the index in its column of the next value. */
hl_inline void hl_encode_end_run(
	struct hl_encoder *e, enum hl_event_col c, struct hl_column_run *r, uint32_t at)
{
	if (r->value != HL_RUN_NONE) {
		hl_encode_put(e, c, r->value);
		hl_encode_put(e, c, at - r->from);
	}
	r->value = HL_RUN_NONE;
}

/* Returns true if v continues the current run. */
hl_inline bool hl_encode_put_run(
	struct hl_encoder *e, enum hl_event_col c, struct hl_column_run *r, uint64_t v, uint32_t at)
{
	if (hl_likely(r->value == v))
		return true;
	hl_encode_end_run(e, c, r, at);
	r->value = v;
	r->from = at;
	return false;
}

/* The number of allocations and of frees in the columns. */
hl_inline uint32_t hl_encoded_allocs(const struct hl_encoder *e)
{
	return (uint32_t)(e->next_ordinal - e->first_ordinal);
}

hl_inline uint32_t hl_encoded_frees(const struct hl_encoder *e)
{
	return e->n_events - hl_encoded_allocs(e);
}

/* Writes the pending bits of LATER and OP as this many bytes. */
hl_inline void hl_encode_put_bits(struct hl_encoder *e, uint32_t bytes)
{
	hl_put64(e->at[EC_LATER], e->later);
	hl_put64(e->at[EC_OP], e->frees);
	e->at[EC_LATER] += bytes;
	e->at[EC_OP] += bytes;
	e->later = e->frees = 0;
}

/*
 * No branch on whether the time has changed: it is unpredictable if events are about as frequent as
 * time units. Bits are used, not bytes or runs, because zstd finds endless short matches in those:
 * with runs, the time column of the loop in bench/ took four fifths of all packing time.
 */
hl_inline void hl_encode_put_time(struct hl_encoder *e, uint64_t time)
{
	uint64_t step = time - e->time;
	bool later = step > 0;

	e->later |= (uint64_t)later << (e->n_events % 64);
	if (hl_likely(step <= 0x80)) {
		*e->at[EC_STEP] = (uint8_t)(step - 1);
		e->at[EC_STEP] += later;
	} else {
		e->at[EC_STEP] = hl_varint_put(e->at[EC_STEP], step - 1);
	}
	e->time = time;
}

hl_inline void hl_encode_put_node(
	struct hl_encoder *e, enum hl_event_col c, uint32_t *prev, uint32_t node)
{
	uint32_t code = hl_node_code(node);
	uint64_t z = hl_zigzag((int64_t)code - (int64_t)*prev);
	bool two_bytes = z >= 0x80;

	/* One or two bytes, without a branch: with some hundred nodes it is unpredictable. */
	if (hl_likely(z < 0x4000)) {
		e->at[c][0] = (uint8_t)(z | two_bytes << 7);
		e->at[c][1] = (uint8_t)(z >> 7);
		e->at[c] += 1 + two_bytes;
	} else {
		e->at[c] = hl_varint_put(e->at[c], z);
	}
	*prev = code;
}

/* Puts the distance from *last in units of 16 bytes. An address with low bits needs the escape
 * code. */
hl_inline void hl_encode_put_addr(
	struct hl_encoder *e, enum hl_event_col c, uint64_t *last, uint64_t addr, unsigned escape)
{
	uint64_t base = addr & ~UINT64_C(15);
	uint64_t z = hl_zigzag((int64_t)(base - *last) >> 4);

	*last = base;
	if (hl_likely(addr == base)) {
		hl_encode_put(e, c, z + escape + 1);
	} else {
		hl_encode_put(e, c, escape);
		hl_encode_put(e, c, z << 4 | (addr & 15));
	}
}

/* Only samples are listed, and of their frees only those whose allocation is not in this chunk. */
hl_inline void hl_encode_put_weight(struct hl_encoder *e, const struct hl_event *v)
{
	if (hl_likely(v->blocks == 1 && v->bytes == v->size))
		return;
	hl_encode_put(e, EC_WEIGHT, e->n_events - e->weight_at);
	hl_encode_put(e, EC_WEIGHT, v->blocks - 1);
	hl_encode_put(e, EC_WEIGHT, v->bytes - v->size);
	e->weight_at = e->n_events;
}

hl_inline void hl_encode_alloc(struct hl_encoder *e, const struct hl_event *v)
{
	struct hl_class_state *c = &e->classes[hl_size_class(v->size)];

	hl_encode_put_node(e, EC_NODE, &e->node, v->node);
	hl_encode_put(e, EC_SIZE, v->size);
	hl_encode_put_weight(e, v);
	hl_encode_put_run(e, EC_AFUNC, &e->afunc, v->func, hl_encoded_allocs(e));
	if (hl_lifo_top(c) == v->addr) {
		hl_encode_put(e, EC_ADDR, 0);
		hl_lifo_pop(c);
		c->last = v->addr & ~UINT64_C(15);
	} else {
		hl_encode_put_addr(e, EC_ADDR, &c->last, v->addr, 1);
	}
	e->next_ordinal++;
}

/* The block was allocated in an earlier chunk. The data of its allocation is repeated, so that
 * readers need no table. */
hl_inline void hl_encode_old_free(struct hl_encoder *e, const struct hl_event *v, uint64_t time)
{
	uint64_t alloc_time = v->alloc_ns / HL_TIME_UNIT_NS;

	hl_encode_put_node(e, EC_XNODE, &e->xnode, v->node);
	hl_encode_put(e, EC_XSIZE, v->size);
	hl_encode_put_weight(e, v);
	hl_encode_put_addr(e, EC_XADDR, &e->xaddr, v->addr, 0);
	*e->at[EC_XLIFE]++ =
		hl_lifetime_class(time > alloc_time ? (time - alloc_time) * HL_TIME_UNIT_NS : 0);
	hl_encode_put(e, EC_XTHREAD, v->alloc_role == v->thread ? 0 : (uint64_t)v->alloc_role + 1);
}

hl_inline void hl_encode_free(struct hl_encoder *e, const struct hl_event *v, uint64_t time)
{
	uint64_t d = e->next_ordinal - 1 - v->ordinal;
	uint64_t z = hl_zigzag((int64_t)(v->ordinal - e->prev_ordinal));

	hl_encode_put(e, EC_REF, z < d ? z << 1 | 1 : d << 1);
	e->prev_ordinal = v->ordinal;
	hl_encode_put_run(e, EC_FFUNC, &e->ffunc, v->func, hl_encoded_frees(e));
	if (e->free_stacks)
		hl_encode_put_node(e, EC_FNODE, &e->fnode, v->free_node);
	if (v->ordinal >= e->first_ordinal)
		hl_lifo_push(&e->classes[hl_size_class(v->size)], v->addr);
	else
		hl_encode_old_free(e, v, time);
}

/* Returns true if the previous event in this chunk was of the same thread. */
hl_inline bool hl_encode_event(struct hl_encoder *e, const struct hl_event *v, uint64_t time)
{
	bool same_thread;

	hl_encode_put_time(e, time);
	same_thread = hl_encode_put_run(e, EC_THREAD, &e->thread, v->thread, e->n_events);
	if (v->op == HL_OP_ALLOC) {
		hl_encode_alloc(e, v);
	} else {
		e->frees |= UINT64_C(1) << (e->n_events % 64);
		hl_encode_free(e, v, time);
	}
	if (++e->n_events % 64 == 0)
		hl_encode_put_bits(e, 8);
	return same_thread;
}

/* --- the summary of the chunk --- */

/* Returns true if this chunk already has an event of this node. */
hl_inline bool hl_summarize_event(struct hl_summarizer *s, const struct hl_event *e)
{
	uint32_t thread = e->op == HL_OP_ALLOC ? e->thread : e->alloc_role;
	uint64_t key = hl_summary_key(e->node, thread, hl_size_octave(e->size));
	struct hl_summary_entry *row;
	bool known;

	if (s->off)
		return false;
	row = &s->rows[s->cache[hl_summary_cache_slot(key)]];
	known = row->key == key;
	if (hl_unlikely(!known)) {
		row = hl_summarizer_row(s, key);
		if (!row)
			return false;
	}
	hl_sums_add(&row->sums, e->op, e->blocks, e->bytes);
	return known;
}

/* --- sums of the process and of its nodes; totals.h explains the peak per node --- */

/* Saves the live sums of the node at the peak before its first change after the peak. */
hl_inline void hl_totals_save_peak(const struct hl_totals *t, struct hl_node_totals *n)
{
	if (n->epoch == t->epoch)
		return;
	n->peak_bytes = hl_sums_live_bytes(&n->sums);
	n->peak_blocks = hl_sums_live_blocks(&n->sums);
	n->epoch = t->epoch;
}

hl_inline void hl_totals_process_event(struct hl_totals *t, const struct hl_event *e)
{
	hl_sums_add(&t->sums, e->op, e->blocks, e->bytes);
	if (e->op == HL_OP_ALLOC) {
		uint64_t live = hl_sums_live_bytes(&t->sums);

		t->samples += e->blocks != 1 || e->bytes != e->size;
		t->last_alloc_event = t->events + 1;
		t->last_alloc_ordinal = e->ordinal;
		if (live > t->peak_bytes) {
			t->peak_bytes = live;
			t->peak_blocks = hl_sums_live_blocks(&t->sums);
			t->peak_time_ns = e->time_ns;
			t->epoch++;
		}
	} else {
		if (e->ordinal == t->last_alloc_ordinal && t->events == t->last_alloc_event &&
			t->events > 0 && !(e->flags & HL_EVENT_SPLIT))
			t->temporary += e->blocks;
		if (hl_unlikely(e->func == HL_FUNC_IMPLICIT)) {
			t->implicit_frees += e->blocks;
			t->implicit_bytes += e->bytes;
		}
	}
	t->events++;
}

hl_inline int hl_totals_event(struct hl_totals *t, const struct hl_event *e)
{
	struct hl_node_totals *n;

	if (hl_likely(e->node != HL_NODE_NONE)) {
		if (hl_unlikely(e->node >= t->n_nodes) && hl_totals_reserve_node(t, e->node) < 0)
			return -ENOMEM;
		n = hl_totals_node(t, e->node);
		hl_totals_save_peak(t, n);
		if (e->op == HL_OP_ALLOC)
			t->stacks += n->sums.alloc_blocks == 0;
		hl_sums_add(&n->sums, e->op, e->blocks, e->bytes);
	}
	hl_totals_process_event(t, e);
	return 0;
}

#endif
