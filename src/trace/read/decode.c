/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decode.c - decodes the columns of a chunk to events. encode.c is its counterpart.
 *
 * A chunk is decoded alone: a free of a block from an earlier chunk carries the data of its
 * allocation. Every value is checked against the limits of the header before it is used as an
 * index.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "trace/read/reader_internal.h"

#define N_COLS       (HL_COL_EXTRA - HL_COL_LATER + 1)
#define COL(d, name) (&(d)->cols[HL_COL_##name - HL_COL_LATER])

struct run {
	uint64_t value, left;
};

/* The type of hl_chunk_events.memory. */
struct memory {
	size_t events_cap, extras_cap, at_cap, text_cap, alloc_events_cap;
	uint32_t *alloc_events; /* for each allocation of this chunk: its event index */
	char *text;
	struct hl_class_state classes[HL_SIZE_CLASSES];
};

struct decoder {
	struct hl_column_cursor cols[N_COLS];
	struct run thread, afunc, ffunc;
	uint64_t time,
		last_time;    /* in units: time of the last event, and the limit for all events */
	uint64_t time_left;   /* only if times are runs */
	const uint8_t *later; /* bitmap; NULL: times are runs */
	uint64_t first_ordinal;
	uint32_t n_allocs;
	uint32_t node, fnode, xnode;
	uint64_t prev_ordinal, xaddr;
	uint32_t n_nodes, n_threads;
	bool free_stacks, has_later, bad;
	struct hl_event *events;
	uint32_t *alloc_events;
	struct hl_class_state *classes;
};

hl_inline uint64_t next_run(struct decoder *d, struct hl_column_cursor *c, struct run *r)
{
	if (hl_unlikely(r->left == 0)) {
		r->value = hl_column_cursor_varint(c);
		r->left = hl_column_cursor_varint(c);
		d->bad |= r->left == 0;
	}
	r->left--;
	return r->value;
}

hl_inline bool get_bit(const uint8_t *bits, uint32_t i)
{
	return bits[i / 8] >> (i % 8) & 1;
}

/* Adds a step of any size. Small steps need no check here, since they cannot overflow; they are
 * checked once after the last event. */
hl_inline void advance_time(struct decoder *d, uint64_t step)
{
	d->bad |= d->time > d->last_time || step > d->last_time - d->time;
	d->time += step;
}

/* For traces from before LATER existed. */
hl_inline uint64_t next_time_run(struct decoder *d)
{
	if (d->time_left == 0) {
		advance_time(d, hl_column_cursor_varint(COL(d, TIME)));
		d->time_left = hl_column_cursor_varint(COL(d, TIME));
		d->bad |= d->time_left == 0;
	}
	d->time_left--;
	return d->time * HL_TIME_UNIT_NS;
}

/* A one-byte step is read whether it applies or not: the branch would be unpredictable. */
hl_inline uint64_t next_time(struct decoder *d, uint32_t i)
{
	struct hl_column_cursor *c = COL(d, STEP);
	bool later;

	if (hl_unlikely(!d->later))
		return next_time_run(d);
	later = get_bit(d->later, i);
	if (hl_likely(c->p < c->end && *c->p < 0x80)) {
		d->time += later * (uint64_t)(*c->p + 1);
		c->p += later;
	} else if (later) {
		uint64_t step = hl_column_cursor_varint(c);

		advance_time(d, step == UINT64_MAX ? step : step + 1);
	}
	return d->time * HL_TIME_UNIT_NS;
}

hl_inline uint32_t next_node(struct decoder *d, struct hl_column_cursor *c, uint32_t *prev)
{
	*prev += (uint32_t)hl_unzigzag(hl_column_cursor_varint(c));
	d->bad |= *prev > d->n_nodes; /* the code is id + 1 */
	return *prev - 1;
}

hl_inline uint64_t next_addr(
	struct hl_column_cursor *c, uint64_t code, unsigned escape, uint64_t *last)
{
	uint64_t low = 0, z;

	if (hl_unlikely(code == escape)) {
		code = hl_column_cursor_varint(c);
		low = code & 15;
		z = code >> 4;
	} else {
		z = code - escape - 1;
	}
	*last += (uint64_t)hl_unzigzag(z) << 4;
	return *last | low;
}

hl_inline void decode_addr(struct decoder *d, struct hl_event *e)
{
	struct hl_class_state *c = &d->classes[hl_size_class(e->size)];
	uint64_t code = hl_column_cursor_varint(COL(d, ADDR));

	if (code == 0) {
		e->addr = hl_lifo_top(c);
		d->bad |= e->addr == UINT64_MAX;
		hl_lifo_pop(c);
		c->last = e->addr & ~UINT64_C(15);
	} else {
		e->addr = next_addr(COL(d, ADDR), code, 1, &c->last);
	}
}

hl_inline void decode_alloc(struct decoder *d, struct hl_event *e, uint32_t i, unsigned want)
{
	e->op = HL_OP_ALLOC;
	if (want & HL_WANT_NODE)
		e->node = next_node(d, COL(d, NODE), &d->node);
	e->size = e->bytes = hl_column_cursor_varint(COL(d, SIZE));
	e->blocks = 1;
	if (want & HL_WANT_FUNC)
		e->func = (uint8_t)next_run(d, COL(d, AFUNC), &d->afunc);
	e->ordinal = d->first_ordinal + d->n_allocs;
	if (want & HL_WANT_ADDR)
		decode_addr(d, e);
	e->alloc_role = 0;
	e->pair_index = 0;
	if (want & HL_WANT_TIME) {
		e->alloc_ns = 0;
		e->lifetime_class = 0;
	}
	if (want & HL_WANT_OTHERS)
		e->free_node = HL_NODE_NONE;
	d->alloc_events[d->n_allocs++] = i;
}

hl_inline void decode_old_block(struct decoder *d, struct hl_event *e, unsigned want)
{
	uint64_t thread;
	const uint8_t *life;

	if (want & HL_WANT_NODE)
		e->node = next_node(d, COL(d, XNODE), &d->xnode);
	e->size = e->bytes = hl_column_cursor_varint(COL(d, XSIZE));
	e->blocks = 1;
	if (want & HL_WANT_ADDR)
		e->addr = next_addr(
			COL(d, XADDR), hl_column_cursor_varint(COL(d, XADDR)), 0, &d->xaddr);
	if (want & HL_WANT_TIME) {
		life = hl_column_cursor_bytes(COL(d, XLIFE), 1);
		e->lifetime_class = life ? *life : 0;
		d->bad |= !life;
		e->alloc_ns = UINT64_MAX;
	}
	thread = hl_column_cursor_varint(COL(d, XTHREAD));
	e->alloc_role = thread ? (uint32_t)(thread - 1) : e->thread;
	d->bad |= thread > d->n_threads;
}

/* The block was allocated in this chunk, so all its data is known. */
hl_inline void copy_alloc(struct decoder *d, struct hl_event *e, uint32_t at, unsigned want)
{
	struct hl_event *b = &d->events[at];

	d->bad |= b->pair_index != 0; /* no block is freed twice */
	e->pair_index = at + 1;
	b->pair_index = (uint32_t)(e - d->events) + 1;
	e->size = e->bytes = b->size;
	e->blocks = 1;
	e->alloc_role = b->thread;
	if (want & HL_WANT_NODE)
		e->node = b->node;
	if (want & HL_WANT_TIME) {
		e->alloc_ns = b->time_ns;
		e->lifetime_class = hl_lifetime_class(e->time_ns - b->time_ns);
	}
	if (want & HL_WANT_ADDR) {
		e->addr = b->addr;
		hl_lifo_push(&d->classes[hl_size_class(e->size)], e->addr);
	}
}

hl_inline void decode_free(struct decoder *d, struct hl_event *e, unsigned want)
{
	uint64_t end_ordinal = d->first_ordinal + d->n_allocs; /* newest + 1 */
	uint64_t ref = hl_column_cursor_varint(COL(d, REF));
	uint64_t by_delta = d->prev_ordinal + (uint64_t)hl_unzigzag(ref >> 1);
	uint64_t by_distance = end_ordinal - 1 - (ref >> 1);
	uint64_t ordinal = ref & 1 ? by_delta : by_distance; /* no branch: unpredictable */

	if (hl_unlikely(ordinal >= end_ordinal)) {
		d->bad = true;
		return;
	}
	d->prev_ordinal = ordinal;
	e->op = HL_OP_FREE;
	e->ordinal = ordinal;
	e->pair_index = 0;
	if (want & HL_WANT_FUNC)
		e->func = (uint8_t)next_run(d, COL(d, FFUNC), &d->ffunc);
	if (want & HL_WANT_OTHERS)
		e->free_node =
			d->free_stacks ? next_node(d, COL(d, FNODE), &d->fnode) : HL_NODE_NONE;
	if (ordinal >= d->first_ordinal)
		copy_alloc(d, e, d->alloc_events[ordinal - d->first_ordinal], want);
	else
		decode_old_block(d, e, want);
}

static void decode_moved(struct decoder *d, uint32_t n_events)
{
	struct hl_column_cursor *c = COL(d, MOVED);
	uint64_t at = 0;

	while (c->p < c->end) {
		at += hl_column_cursor_varint(c);
		if (c->bad || at == 0 || at >= n_events || d->events[at - 1].op != HL_OP_FREE ||
			d->events[at].op != HL_OP_ALLOC) {
			d->bad = true;
			return;
		}
		d->events[at - 1].flags = d->events[at].flags = HL_EVENT_MOVED;
	}
}

/* Sets the weights of samples. A free in the chunk of its allocation takes the weight from
 * there. */
static void decode_weights(struct decoder *d, uint32_t n_events)
{
	struct hl_column_cursor *c = COL(d, WEIGHT);
	uint64_t at = 0;

	while (c->p < c->end) {
		struct hl_event *e;

		at += hl_column_cursor_varint(c);
		if (c->bad || at >= n_events) {
			d->bad = true;
			return;
		}
		e = &d->events[at];
		e->blocks = hl_column_cursor_varint(c) + 1;
		e->bytes = e->size + hl_column_cursor_varint(c);
		if (e->op == HL_OP_ALLOC && e->pair_index) {
			d->events[e->pair_index - 1].blocks = e->blocks;
			d->events[e->pair_index - 1].bytes = e->bytes;
		}
	}
}

/* Returns a bitmap with one bit for each of n events, NULL if the column has another length. */
static const uint8_t *read_bits(struct hl_column_cursor *c, uint32_t n)
{
	const uint8_t *bits = c->p;

	if ((size_t)(c->end - bits) != (n + 7) / 8)
		return NULL;
	c->p = c->end;
	return bits;
}

/* Works on a local copy, which the compiler keeps in registers: stores to events cannot alias
 * it. */
hl_inline bool decode_fields(struct decoder *into, uint32_t n, unsigned want)
{
	struct decoder copy = *into, *d = &copy;
	const uint8_t *ops = read_bits(COL(d, OP), n);

	if (!ops || (d->has_later && !(d->later = read_bits(COL(d, LATER), n))))
		return false;
	for (uint32_t i = 0; i < n; i++) {
		struct hl_event *e = &d->events[i];
		uint64_t thread;

		if (want & HL_WANT_TIME)
			e->time_ns = next_time(d, i);
		thread = next_run(d, COL(d, THREAD), &d->thread);
		d->bad |= thread >= d->n_threads;
		e->thread = (uint32_t)thread;
		if (want & HL_WANT_OTHERS)
			e->flags = 0;
		if (get_bit(ops, i))
			decode_free(d, e, want);
		else
			decode_alloc(d, e, i, want);
		if (hl_unlikely(d->bad))
			return false;
	}
	*into = copy;
	if (want & HL_WANT_OTHERS)
		decode_moved(into, n);
	decode_weights(into, n);
	d = into;
	if (want & HL_WANT_TIME && d->time > d->last_time)
		return false;
	return !d->bad && d->time_left + d->thread.left + d->afunc.left + d->ffunc.left == 0;
}

/* Common combinations of fields get specialized loops. */
static bool decode_events(struct decoder *d, uint32_t n, unsigned want)
{
	switch (want) {
	case 0:
		return decode_fields(d, n, 0);
	case HL_WANT_NODE:
		return decode_fields(d, n, HL_WANT_NODE);
	case HL_WANT_TIME | HL_WANT_NODE:
		return decode_fields(d, n, HL_WANT_TIME | HL_WANT_NODE);
	case HL_WANT_TIME | HL_WANT_NODE | HL_WANT_OTHERS:
		return decode_fields(d, n, HL_WANT_TIME | HL_WANT_NODE | HL_WANT_OTHERS);
	case HL_WANT_ALL:
		return decode_fields(d, n, HL_WANT_ALL);
	}
	return decode_fields(d, n, want);
}

/* The field groups that a column is needed for; 0: always needed. */
static unsigned get_column_fields(uint16_t column)
{
	switch (column) {
	case HL_COL_LATER:
	case HL_COL_STEP:
	case HL_COL_TIME:
	case HL_COL_XLIFE:
		return HL_WANT_TIME;
	case HL_COL_NODE:
	case HL_COL_XNODE:
		return HL_WANT_NODE;
	case HL_COL_ADDR:
	case HL_COL_XADDR:
		return HL_WANT_ADDR;
	case HL_COL_AFUNC:
	case HL_COL_FFUNC:
		return HL_WANT_FUNC;
	case HL_COL_FNODE:
	case HL_COL_MOVED:
	case HL_COL_EXTRA:
		return HL_WANT_OTHERS;
	}
	return 0;
}

static bool decode_extras(struct decoder *d, struct hl_chunk_events *into, uint64_t t0_ns,
	uint32_t n_events, char *text)
{
	struct hl_column_cursor *c = COL(d, EXTRA);
	uint64_t at = 0, time = t0_ns / HL_TIME_UNIT_NS;

	for (size_t i = 0; i < into->n_extras && !c->bad; i++) {
		struct hl_extra *x = &into->extras[i];
		uint64_t thread, node, len;
		const uint8_t *bytes;

		at += hl_column_cursor_varint(c);
		x->kind = (uint8_t)hl_column_cursor_varint(c);
		time += hl_column_cursor_varint(c);
		x->time_ns = time * HL_TIME_UNIT_NS;
		thread = hl_column_cursor_varint(c);
		node = hl_column_cursor_varint(c);
		x->addr = hl_column_cursor_varint(c);
		x->size = hl_column_cursor_varint(c);
		x->value = hl_column_cursor_varint(c);
		x->value2 = hl_column_cursor_varint(c);
		len = hl_column_cursor_varint(c);
		bytes = len ? hl_column_cursor_bytes(c, len - 1) : NULL;
		if (c->bad || at > n_events || thread >= d->n_threads || node > d->n_nodes)
			return false;
		into->extras_at[i] = (uint32_t)at;
		x->thread = (uint32_t)thread;
		x->node = (uint32_t)node - 1;
		x->text = len ? text : NULL;
		if (len) {
			memcpy(text, bytes, len - 1);
			text[len - 1] = '\0';
			text += len;
		}
	}
	return true;
}

static int grow_array(void *array, size_t *cap, size_t n, size_t size)
{
	return hl_vec_grow((void **)array, cap, n ? n : 1, size);
}

/* The limits of the format bound this to about 10 MiB, for any file. */
static int reserve_events(
	struct hl_chunk_events *into, const struct hl_chunk_header *h, size_t text)
{
	struct memory *m = into->memory;

	if (!m)
		into->memory = m = calloc(1, sizeof(*m));
	if (!m ||
		grow_array(&into->events, &m->events_cap, h->n_events, sizeof(struct hl_event)) <
			0 ||
		grow_array(&m->alloc_events, &m->alloc_events_cap, h->n_events, sizeof(uint32_t)) <
			0 ||
		grow_array(&into->extras, &m->extras_cap, h->n_rows, sizeof(struct hl_extra)) < 0 ||
		grow_array(&into->extras_at, &m->at_cap, h->n_rows, sizeof(uint32_t)) < 0 ||
		grow_array(&m->text, &m->text_cap, text + h->n_rows, 1) < 0)
		return -ENOMEM;
	return 0;
}

static int unpack_columns(struct hl_reader *r, struct hl_chunk *c, struct decoder *d, unsigned want)
{
	static const uint8_t empty[1];

	for (int i = 0; i < N_COLS; i++) {
		uint16_t id = (uint16_t)(HL_COL_LATER + i);
		unsigned fields = get_column_fields(id);
		int err;

		d->cols[i] = (struct hl_column_cursor){empty, empty, false};
		if (fields && !(want & fields))
			continue;
		err = hl_chunk_column(r, c, id, &d->cols[i]);
		if (err == -EBADMSG)
			return err;
		if (id == HL_COL_FNODE)
			d->free_stacks = err == 0;
		if (id == HL_COL_LATER)
			d->has_later = err == 0;
	}
	return 0;
}

static int decode_chunk(struct hl_reader *r, struct hl_chunk *c, struct decoder *d, unsigned want,
	struct hl_chunk_events *into)
{
	const struct hl_chunk_header *h = &c->head;
	struct memory *m = into->memory;
	bool good;

	d->events = into->events;
	d->alloc_events = m->alloc_events;
	d->classes = m->classes;
	if (want & HL_WANT_ADDR)
		memset(m->classes, 0, sizeof(m->classes));
	d->time = h->t0_ns / HL_TIME_UNIT_NS;
	d->last_time = h->t1_ns / HL_TIME_UNIT_NS;
	d->first_ordinal = d->prev_ordinal = h->first_ordinal;
	d->n_nodes = hl_min_u32((uint32_t)h->aux, hl_nodes_limit(r->data_bytes));
	d->n_threads = hl_min_u32((uint32_t)(h->aux >> 32), hl_threads_limit(r->data_bytes));
	into->n_events = h->n_events;
	into->n_extras = want & HL_WANT_OTHERS ? h->n_rows : 0;
	into->follows_alloc = h->flags & HL_CHUNK_FOLLOWS_ALLOC;
	good = decode_events(d, h->n_events, want) &&
	       decode_extras(d, into, h->t0_ns, h->n_events, m->text);
	for (int i = 0; i < N_COLS && good; i++)
		good = hl_column_cursor_done(&d->cols[i]);
	return good ? 0
		    : hl_reader_fail(r, "Chunk %llu does not match its header.",
			      (unsigned long long)h->seq);
}

/* ---- the base of a trace that begins late ---- */

/* The allocation of a block that was live at the base. False if there cannot be such a block. */
static bool set_base_event(const struct hl_reader *r, const struct hl_chunk *c,
	const struct hl_live_block *b, struct hl_event *e)
{
	*e = (struct hl_event){.time_ns = b->alloc_ns,
		.addr = b->addr,
		.size = b->size,
		.ordinal = b->ordinal,
		.node = b->node,
		.free_node = HL_NODE_NONE,
		.thread = b->thread,
		.op = HL_OP_ALLOC,
		.blocks = b->blocks,
		.bytes = b->bytes};
	return b->alloc_ns <= c->head.t1_ns && b->blocks > 0 && b->bytes >= b->size &&
	       b->addr + b->size >= b->addr && b->thread < r->tables.n_threads &&
	       (b->node < r->tables.n_nodes || b->node == HL_NODE_NONE);
}

static int decode_base_part(struct hl_reader *r, size_t chunk, struct hl_chunk_events *into)
{
	const struct hl_chunk_info *info = &r->chunks.data[chunk];
	const struct hl_chunk_header h = {.n_events = info->n_events};
	size_t n = info->n_events, row = r->chunk_rows.data[chunk];
	struct hl_live_block *blocks = malloc((n + 1) * sizeof(*blocks));
	uint8_t *funcs = malloc(n + 1);
	struct hl_chunk c;
	int err = blocks && funcs ? reserve_events(into, &h, 0) : -ENOMEM;

	if (!err)
		err = hl_read_live_part(r, row, &c, blocks, funcs);
	for (size_t i = 0; i < n && !err; i++) {
		blocks[i].ordinal = info->first_ordinal + i; /* hl_base_load has checked its own */
		if (!set_base_event(r, &c, &blocks[i], &into->events[i]))
			err = hl_mark_bad(r, row);
		into->events[i].func = funcs[i];
	}
	into->n_events = err ? 0 : n;
	into->follows_alloc = false;
	free(blocks);
	free(funcs);
	return err;
}

int hl_reader_decode(struct hl_reader *r, size_t chunk, struct hl_chunk_events *into)
{
	return hl_reader_decode_some(r, chunk, HL_WANT_ALL, into);
}

int hl_reader_decode_some(
	struct hl_reader *r, size_t chunk, unsigned want, struct hl_chunk_events *into)
{
	struct hl_chunk c;
	struct decoder d = {0};
	size_t row;
	int err;

	into->n_events = into->n_extras = 0;
	if (chunk >= r->chunks.len)
		return -EINVAL;
	row = r->chunk_rows.data[chunk];
	if (row == HL_NO_ROW)
		return hl_reader_fail(
			r, "Chunk %llu is missing.", (unsigned long long)r->chunks.data[chunk].seq);
	err = r->info.meta.base.is_late ? hl_tables_read(r) : 0;
	if (!err && r->rows.data[row].is_base)
		return decode_base_part(r, chunk, into);
	if (!err)
		err = hl_load_chunk(r, row, &c);
	if (err)
		return err;
	if (want != HL_WANT_ALL && hl_check_columns(r, &c) < 0)
		return hl_mark_bad(r, row);
	err = unpack_columns(r, &c, &d, want);
	if (!err)
		err = reserve_events(
			into, &c.head, (size_t)(COL(&d, EXTRA)->end - COL(&d, EXTRA)->p));
	if (!err)
		err = decode_chunk(r, &c, &d, want, into);
	if (!err && want & HL_WANT_OTHERS)
		err = hl_read_parted(r, &c, into);
	if (!err && want & HL_WANT_OTHERS)
		err = hl_read_linked(r, &c, into);
	if (!err && r->info.meta.base.is_late)
		err = hl_base_map_events(r, into->events, into->n_events, want & HL_WANT_OTHERS);
	if (err) {
		into->n_events = into->n_extras = 0;
		return err == -EBADMSG ? hl_mark_bad(r, row) : err;
	}
	r->events_decoded += into->n_events;
	return 0;
}

void hl_chunk_events_free(struct hl_chunk_events *c)
{
	struct memory *m = c->memory;

	free(c->events);
	free(c->extras);
	free(c->extras_at);
	if (m) {
		free(m->alloc_events);
		free(m->text);
		free(m);
	}
	memset(c, 0, sizeof(*c));
}
