/*
 * threads.c - who allocates, and who frees whose blocks; see threads.h.
 */
#include "model/threads.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/model_internal.h"
#include "model/stream.h"

struct count {
	struct hl_threads *t;
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

static int add_pair(struct count *c, const struct hl_block *b)
{
	uint32_t at = hl_map_get(&c->by_pair, b->thread, b->free_thread);
	int err = 0;

	if (at == HL_MAP_NONE) {
		struct hl_thread_pair p = {.from = b->thread, .to = b->free_thread};

		at = (uint32_t)c->pairs.len;
		err = hl_vec_push(&c->pairs, p);
		if (!err)
			err = hl_map_put(&c->by_pair, b->thread, b->free_thread, at);
	}
	if (!err)
		add(&c->pairs.data[at].value, b->size);
	return err;
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
	add(&t->rows[b->free_thread].freed, b->size);
	if (b->thread == b->free_thread) {
		add(&t->rows[b->thread].own, b->size);
		return 0;
	}
	add(&t->rows[b->thread].by_others, b->size);
	return add_pair(c, b);
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
	struct count c = {.t = t};
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
	err = hl_stream_blocks(m, &s);
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
