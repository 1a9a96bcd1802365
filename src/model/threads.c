/*
 * threads.c - who allocates, and who frees whose blocks; see threads.h.
 *
 * Blocks are counted by who allocated them, and those that another freed by both; all else follows.
 */
#include "model/threads.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "model/keyed.h"
#include "model/model_internal.h"
#include "model/question.h"
#include "model/stream.h"
#include "model/tags.h"

struct asking {
	struct hl_question question; /* first */
	struct hl_filter *filter;
	struct hl_threads t;
	hl_tally *tallies; /* by who allocated, t.n */
	HL_VEC(struct hl_thread_pair) pairs;
	struct hl_map by_pair;
	struct hl_stream stream;   /* with a filter */
	struct hl_reading reading; /* without */
	struct hl_place to;
};

static void forget(void *arg)
{
	struct asking *a = arg;

	memset(a->tallies, 0, a->t.n * sizeof(*a->tallies));
	a->pairs.len = 0;
	hl_map_fini(&a->by_pair);
	memset(&a->by_pair, 0, sizeof(a->by_pair));
}

static int add_pair(struct asking *a, uint32_t from, uint32_t to, uint64_t bytes, uint64_t blocks)
{
	uint32_t at = hl_map_get(&a->by_pair, from, to);
	int err = 0;

	if (at == HL_MAP_NONE) {
		at = (uint32_t)a->pairs.len;
		err = hl_vec_push(&a->pairs, ((struct hl_thread_pair){.from = from, .to = to}));
		if (!err)
			err = hl_map_put(&a->by_pair, from, to, at);
	}
	if (!err)
		hl_tally_add(&a->pairs.data[at].value, bytes, blocks);
	return err;
}

static int take_block(void *arg, const struct hl_block *b)
{
	struct asking *a = arg;
	bool freed = b->death_ns != UINT64_MAX;

	if (b->thread >= a->t.n || (freed && b->free_thread >= a->t.n))
		return -EBADMSG;
	hl_tally_add(&a->tallies[b->thread][HL_OP_ALLOC], b->bytes, b->blocks);
	if (freed)
		hl_tally_add(&a->tallies[b->thread][HL_OP_FREE], b->bytes, b->blocks);
	return freed && b->free_thread != b->thread
		       ? add_pair(a, b->thread, b->free_thread, b->bytes, b->blocks)
		       : 0;
}

/* --- without a filter a free says all that is asked: no block need be remembered --- */

static int plan(struct hl_reading *r)
{
	struct asking *a = r->arg;

	hl_reading_up_to(r, a->question.m, &a->to);
	return 0;
}

static int begin(void *arg)
{
	forget(arg);
	return 0;
}

static int want(void *arg, size_t chunk, unsigned *want)
{
	*want = 0;
	return 0;
}

static int take_events(struct asking *a, const struct hl_event *events, size_t n)
{
	const struct hl_model *m = a->question.m;
	hl_tally *tallies = a->tallies;
	uint32_t n_threads = a->t.n;

	for (const struct hl_event *e = events; e < events + n; e++) {
		uint32_t from = hl_role_of(m, hl_event_owner(e)).thread;
		uint32_t by = hl_role_of(m, e->thread).thread;

		if (hl_unlikely(from >= n_threads))
			return -EBADMSG;
		hl_tally_add(&tallies[from][e->op], e->bytes, e->blocks);
		if (hl_unlikely(from != by)) {
			int err = by < n_threads ? add_pair(a, from, by, e->bytes, e->blocks)
						 : -EBADMSG;

			if (err)
				return err;
		}
	}
	return 0;
}

/* The place is never inside a chunk: it is the end, or a loss before it. */
static int take_chunk(void *arg, size_t chunk, const struct hl_chunk_events *c)
{
	struct asking *a = arg;
	struct hl_model *m = a->question.m;
	int err = take_events(a, c->events, c->n_events);

	if (err == -EBADMSG)
		hl_model_mark_bad(m, &m->bad_chunks[chunk]);
	return err;
}

/* --- */

static int start(struct hl_question *q)
{
	struct asking *a = (struct asking *)q;
	struct hl_model *m = q->m;
	int err = hl_reader_n_threads(m->reader, &a->t.n);

	if (err)
		return err;
	a->t.rows = calloc((size_t)a->t.n + 1, sizeof(*a->t.rows));
	a->tallies = calloc((size_t)a->t.n + 1, sizeof(*a->tallies));
	if (!a->t.rows || !a->tallies)
		return -ENOMEM;
	for (uint32_t i = 0; i < a->t.n; i++)
		hl_reader_thread(m->reader, i, &a->t.rows[i].tid); /* 0 if it is lost */
	a->to = hl_place_at(m, UINT64_MAX);
	a->stream = (struct hl_stream){.filter = a->filter,
		.from = {.sure = true},
		.to = a->to,
		.begin = forget,
		.block = take_block,
		.arg = a};
	a->reading = (struct hl_reading){
		.plan = plan, .begin = begin, .want = want, .chunk = take_chunk, .arg = a};
	q->reads[0] = &a->reading;
	if (!a->filter)
		return 0;
	hl_stream_init(&a->stream, m);
	q->reads[0] = &a->stream.reading;
	return hl_filter_bind(a->filter, m);
}

static bool same(const struct hl_question *a, const struct hl_question *b)
{
	return ((const struct asking *)a)->filter == ((const struct asking *)b)->filter;
}

static void drop(struct hl_question *q)
{
	struct asking *a = (struct asking *)q;

	hl_threads_fini(&a->t);
	free(a->tallies);
	hl_vec_free(&a->pairs);
	hl_map_fini(&a->by_pair);
	hl_stream_fini(&a->stream);
	free(a);
}

static struct hl_question *new_question(struct hl_model *m, struct hl_filter *filter)
{
	static const struct hl_question_kind kind = {start, same, drop};
	struct asking *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->question = (struct hl_question){.kind = &kind, .m = m};
	a->filter = filter;
	return &a->question;
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

static void add(struct hl_value *v, const struct hl_value *more)
{
	v->bytes += more->bytes;
	v->blocks += more->blocks;
}

static struct hl_value less(const struct hl_value *a, const struct hl_value *b)
{
	return (struct hl_value){.bytes = a->bytes - b->bytes, .blocks = a->blocks - b->blocks};
}

static void fill_rows(struct asking *a)
{
	struct hl_thread_row *rows = a->t.rows;

	for (size_t i = 0; i < a->pairs.len; i++) {
		const struct hl_thread_pair *p = &a->pairs.data[i];

		add(&rows[p->from].by_others, &p->value);
		add(&rows[p->to].freed, &p->value);
	}
	for (uint32_t i = 0; i < a->t.n; i++) {
		const struct hl_value *t = a->tallies[i];

		rows[i].allocated = t[HL_OP_ALLOC];
		rows[i].own = less(&t[HL_OP_FREE], &rows[i].by_others);
		rows[i].left = less(&t[HL_OP_ALLOC], &t[HL_OP_FREE]);
		add(&rows[i].freed, &rows[i].own);
	}
}

int hl_threads_build(struct hl_threads *t, struct hl_model *m, struct hl_filter *filter)
{
	struct hl_question *q = new_question(m, filter);
	struct asking *a;
	int err;

	memset(t, 0, sizeof(*t));
	if (!q)
		return hl_model_fail(m, -ENOMEM);
	if (hl_model_withholds(m)) {
		drop(q);
		return hl_model_no_events(m, "what each thread did");
	}
	err = hl_question_ask(&q);
	a = (struct asking *)q;
	if (!err) {
		for (uint32_t i = 0; i < a->t.n; i++)
			a->t.rows[i].name = hl_model_thread_name(m, i);
		fill_rows(a);
		*t = a->t;
		t->pairs = a->pairs.data;
		t->n_pairs = a->pairs.len;
		a->t = (struct hl_threads){0};
		a->pairs.data = NULL;
	}
	if (t->n_pairs > 1)
		qsort(t->pairs, t->n_pairs, sizeof(*t->pairs), by_blocks);
	drop(q);
	return err;
}

void hl_threads_expect(struct hl_model *m, struct hl_filter *filter)
{
	struct hl_question *q = new_question(m, filter);

	if (q)
		hl_question_expect(q);
}

void hl_threads_fini(struct hl_threads *t)
{
	free(t->rows);
	free(t->pairs);
	memset(t, 0, sizeof(*t));
}
