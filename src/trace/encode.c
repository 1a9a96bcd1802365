/*
 * encode.c - events into the columns of a chunk. The reader's mirror image is decode.c.
 *
 * The predictors are simple on purpose: zstd finds what cleverer ones find, and each of these
 * costs a nanosecond or two.
 */
#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "base/bits.h"
#include "base/varint.h"
#include "trace/writer_internal.h"

_Static_assert(HL_COL_EXTRA - HL_COL_OP + 1 == EC_COUNT, "ids follow the order of columns");

/* A column never grows beyond the chunk's raw limit; the rest is room for the last event. */
#define COLUMN_CAP (HL_RAW_MAX + 4096)

int hl_encoder_init(struct hl_encoder *e, bool free_stacks)
{
	memset(e, 0, sizeof(*e));
	e->free_stacks = free_stacks;
	for (int i = 0; i < EC_COUNT; i++) {
		e->base[i] = malloc(COLUMN_CAP);
		if (!e->base[i]) {
			hl_encoder_fini(e);
			return -ENOMEM;
		}
	}
	hl_encoder_begin(e, 0);
	return 0;
}

void hl_encoder_fini(struct hl_encoder *e)
{
	for (int i = 0; i < EC_COUNT; i++) {
		free(e->base[i]);
		e->base[i] = NULL;
	}
}

void hl_encoder_begin(struct hl_encoder *e, uint64_t first_ordinal)
{
	bool free_stacks = e->free_stacks;

	memset(e, 0, offsetof(struct hl_encoder, base));
	memcpy(e->at, e->base, sizeof(e->at));
	e->free_stacks = free_stacks;
	e->first_ordinal = e->next_ordinal = e->prev_birth = first_ordinal;
}

hl_inline void put(struct hl_encoder *e, enum hl_event_col c, uint64_t v)
{
	if (hl_likely(v < 0x80))
		*e->at[c]++ = (uint8_t)v;
	else
		e->at[c] = hl_varint_put(e->at[c], v);
}

hl_inline void put_run(struct hl_encoder *e, enum hl_event_col c, struct hl_run *r, uint64_t v)
{
	if (hl_likely(r->value == v && r->n > 0)) {
		r->n++;
		return;
	}
	if (r->n > 0) {
		put(e, c, r->value);
		put(e, c, r->n);
	}
	r->value = v;
	r->n = 1;
}

static void end_run(struct hl_encoder *e, enum hl_event_col c, struct hl_run *r)
{
	if (r->n > 0) {
		put(e, c, r->value);
		put(e, c, r->n);
		r->n = 0;
	}
}

hl_inline void put_time(struct hl_encoder *e, uint64_t time)
{
	if (hl_likely(time == e->time && e->run_events > 0)) {
		e->run_events++;
		return;
	}
	if (e->run_events > 0) {
		put(e, EC_TIME, e->run_step);
		put(e, EC_TIME, e->run_events);
	}
	e->run_step = time - e->time;
	e->run_events = 1;
	e->time = time;
}

hl_inline void put_node(struct hl_encoder *e, enum hl_event_col c, uint32_t *prev, uint32_t node)
{
	uint32_t code = hl_node_code(node);

	put(e, c, hl_zigzag((int64_t)code - (int64_t)*prev));
	*prev = code;
}

/* Sixteenths of the way from *last; an address with low bits needs the escape. */
hl_inline void put_addr(
	struct hl_encoder *e, enum hl_event_col c, uint64_t *last, uint64_t addr, unsigned escape)
{
	uint64_t base = addr & ~UINT64_C(15);
	uint64_t z = hl_zigzag((int64_t)(base - *last) >> 4);

	*last = base;
	if (hl_likely(addr == base)) {
		put(e, c, z + escape + 1);
	} else {
		put(e, c, escape);
		put(e, c, z << 4 | (addr & 15));
	}
}

/* Samples alone are listed, and of frees those whose allocation is not in this chunk. */
hl_inline void put_weight(struct hl_encoder *e, const struct hl_event *v)
{
	if (hl_likely(v->blocks == 1 && v->bytes == v->size))
		return;
	put(e, EC_WEIGHT, e->n_events - e->weight_at);
	put(e, EC_WEIGHT, v->blocks - 1);
	put(e, EC_WEIGHT, v->bytes - v->size);
	e->weight_at = e->n_events;
}

static void add_alloc(struct hl_encoder *e, const struct hl_event *v)
{
	struct hl_class_state *c = &e->classes[hl_size_class(v->size)];

	put_node(e, EC_NODE, &e->node, v->node);
	put(e, EC_SIZE, v->size);
	put_weight(e, v);
	put_run(e, EC_AFUNC, &e->afunc, v->func);
	if (c->depth > 0 && hl_lifo_top(c) == v->addr) {
		put(e, EC_ADDR, 0);
		hl_lifo_pop(c);
		c->last = v->addr & ~UINT64_C(15);
	} else {
		put_addr(e, EC_ADDR, &c->last, v->addr, 1);
	}
	e->next_ordinal++;
}

/* The block was born in an earlier chunk: its birth comes along, so that no reader needs a table.
 */
static void add_old_free(struct hl_encoder *e, const struct hl_event *v, uint64_t time)
{
	uint64_t birth = v->birth_ns / HL_TIME_UNIT_NS;

	put_node(e, EC_XNODE, &e->xnode, v->node);
	put(e, EC_XSIZE, v->size);
	put_weight(e, v);
	put_addr(e, EC_XADDR, &e->xaddr, v->addr, 0);
	*e->at[EC_XLIFE]++ = hl_life_class(time > birth ? (time - birth) * HL_TIME_UNIT_NS : 0);
	put(e, EC_XTHREAD, v->birth_thread == v->thread ? 0 : (uint64_t)v->birth_thread + 1);
}

static void add_free(struct hl_encoder *e, const struct hl_event *v, uint64_t time)
{
	uint64_t d = e->next_ordinal - 1 - v->ordinal;
	uint64_t z = hl_zigzag((int64_t)(v->ordinal - e->prev_birth));

	put(e, EC_REF, z < d ? z << 1 | 1 : d << 1);
	e->prev_birth = v->ordinal;
	put_run(e, EC_FFUNC, &e->ffunc, v->func);
	if (e->free_stacks)
		put_node(e, EC_FNODE, &e->fnode, v->free_node);
	if (v->ordinal >= e->first_ordinal)
		hl_lifo_push(&e->classes[hl_size_class(v->size)], v->addr);
	else
		add_old_free(e, v, time);
}

void hl_encoder_add(struct hl_encoder *e, const struct hl_event *v, uint64_t time)
{
	if ((e->n_events & 7) == 0)
		*e->at[EC_OP]++ = 0;
	put_time(e, time);
	put_run(e, EC_THREAD, &e->thread, v->thread);
	if (v->op == HL_OP_ALLOC) {
		add_alloc(e, v);
	} else {
		e->at[EC_OP][-1] |= (uint8_t)(1u << (e->n_events & 7));
		add_free(e, v, time);
	}
	e->n_events++;
}

void hl_encoder_moved(struct hl_encoder *e)
{
	uint32_t at = e->n_events - 1; /* events up to and with the FREE */

	put(e, EC_MOVED, at - e->moved_at);
	e->moved_at = at;
}

void hl_encoder_extra(
	struct hl_encoder *e, const struct hl_extra *x, uint64_t time, size_t text_len)
{
	const uint64_t fields[] = {e->n_events - e->extra_at, x->kind, time - e->extra_time,
		x->thread, hl_node_code(x->node), x->addr, x->size, x->value, x->value2,
		x->text ? text_len + 1 : 0};

	for (size_t i = 0; i < HL_ARRAY_LEN(fields); i++)
		put(e, EC_EXTRA, fields[i]);
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
	if (e->run_events > 0) {
		put(e, EC_TIME, e->run_step);
		put(e, EC_TIME, e->run_events);
		e->run_events = 0;
	}
	end_run(e, EC_THREAD, &e->thread);
	end_run(e, EC_AFUNC, &e->afunc);
	end_run(e, EC_FFUNC, &e->ffunc);
}

size_t hl_encoder_raw(const struct hl_encoder *e)
{
	size_t n = 0;

	for (int i = 0; i < EC_COUNT; i++)
		n += (size_t)(e->at[i] - e->base[i]);
	return n;
}
