/*
 * threads.c - who allocates, and who frees whose blocks; see threads.h.
 */
#include "model/threads.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/model_internal.h"
#include "model/stream.h"
#include "model/sweep.h"

struct count {
	struct hl_model *m;
	struct hl_threads *t;
	struct hl_place to; /* without a filter */
	struct hl_chunk_events events;
	HL_VEC(struct hl_thread_pair) pairs;
	struct hl_map by_pair;
};

static void add(struct hl_value *v, uint64_t bytes)
{
	v->bytes += bytes;
	v->blocks++;
}

static void begin(void *arg)
{
	struct count *c = arg;

	for (uint32_t i = 0; i < c->t->n; i++) {
		uint64_t tid = c->t->rows[i].tid;

		c->t->rows[i] = (struct hl_thread_row){.tid = tid};
	}
	c->pairs.len = 0;
	hl_map_fini(&c->by_pair);
	memset(&c->by_pair, 0, sizeof(c->by_pair));
}

static int add_pair(struct count *c, uint32_t from, uint32_t to, uint64_t size)
{
	uint32_t at = hl_map_get(&c->by_pair, from, to);
	int err = 0;

	if (at == HL_MAP_NONE) {
		at = (uint32_t)c->pairs.len;
		err = hl_vec_push(&c->pairs, ((struct hl_thread_pair){.from = from, .to = to}));
		if (!err)
			err = hl_map_put(&c->by_pair, from, to, at);
	}
	if (!err)
		add(&c->pairs.data[at].value, size);
	return err;
}

static int add_free(struct count *c, uint32_t from, uint32_t by, uint64_t size)
{
	struct hl_threads *t = c->t;

	add(&t->rows[by].freed, size);
	if (from == by) {
		add(&t->rows[from].own, size);
		return 0;
	}
	add(&t->rows[from].by_others, size);
	return add_pair(c, from, by, size);
}

static int take(void *arg, const struct hl_block *b)
{
	struct count *c = arg;
	struct hl_threads *t = c->t;

	if (b->thread >= t->n || (b->death_ns != UINT64_MAX && b->free_thread >= t->n))
		return -EBADMSG;
	add(&t->rows[b->thread].allocated, b->size);
	if (b->death_ns == UINT64_MAX) {
		add(&t->rows[b->thread].left, b->size);
		return 0;
	}
	return add_free(c, b->thread, b->free_thread, b->size);
}

/* Without a filter a free says all that is asked: no block need be remembered. */
static int take_chunk(void *arg, size_t chunk)
{
	struct count *c = arg;
	size_t n;
	int err = hl_sweep_decode(c->m, &c->to, chunk, 0, &c->events, &n);

	for (size_t i = 0; i < n && !err; i++) {
		const struct hl_event *e = &c->events.events[i];

		if (e->thread >= c->t->n || e->birth_thread >= c->t->n)
			return -EBADMSG;
		if (e->op == HL_OP_ALLOC)
			add(&c->t->rows[e->thread].allocated, e->size);
		else
			err = add_free(c, e->birth_thread, e->thread, e->size);
	}
	return err;
}

static int count_all(struct count *c)
{
	struct hl_sweep s = {.begin = begin, .chunk = take_chunk, .arg = c};
	int err;

	c->to = hl_place_at(c->m, UINT64_MAX);
	err = hl_sweep_chunks(c->m, &c->to, &s);
	for (uint32_t i = 0; i < c->t->n; i++) {
		struct hl_thread_row *r = &c->t->rows[i];

		r->left.bytes = r->allocated.bytes - r->own.bytes - r->by_others.bytes;
		r->left.blocks = r->allocated.blocks - r->own.blocks - r->by_others.blocks;
	}
	hl_chunk_events_free(&c->events);
	return err ? hl_model_fail(c->m, err) : 0;
}

static int by_blocks(const void *pa, const void *pb)
{
	const struct hl_thread_pair *a = pa, *b = pb;

	if (a->value.blocks != b->value.blocks)
		return a->value.blocks > b->value.blocks ? -1 : 1;
	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	return a->to < b->to ? -1 : a->to > b->to;
}

int hl_threads_build(struct hl_threads *t, struct hl_model *m, struct hl_filter *filter)
{
	struct count c = {.m = m, .t = t};
	struct hl_stream s = {.filter = filter,
		.from = {.sure = true},
		.to = hl_place_at(m, UINT64_MAX),
		.begin = begin,
		.block = take,
		.arg = &c};
	int err;

	memset(t, 0, sizeof(*t));
	err = hl_reader_n_threads(m->reader, &t->n);
	t->rows = err ? NULL : calloc((size_t)t->n + 1, sizeof(*t->rows));
	if (!t->rows)
		return hl_model_fail(m, err ? err : -ENOMEM);
	for (uint32_t i = 0; i < t->n; i++)
		hl_reader_thread(m->reader, i, &t->rows[i].tid); /* 0 if it is lost */
	if (filter && (err = hl_filter_bind(filter, m)) != 0) {
		hl_threads_fini(t);
		return err;
	}
	err = filter ? hl_stream_blocks(m, &s) : count_all(&c);
	hl_map_fini(&c.by_pair);
	t->pairs = c.pairs.data;
	t->n_pairs = c.pairs.len;
	if (t->n_pairs > 1)
		qsort(t->pairs, t->n_pairs, sizeof(*t->pairs), by_blocks);
	if (err)
		hl_threads_fini(t);
	return err;
}

void hl_threads_fini(struct hl_threads *t)
{
	free(t->rows);
	free(t->pairs);
	memset(t, 0, sizeof(*t));
}
