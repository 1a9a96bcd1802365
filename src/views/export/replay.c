/*
 * replay.c - the calls of the malloc family as a script for heaplapse-replay, without addresses and
 * stacks: base/replay.h has the form.
 *
 * What is kept is a chunk, a slot for each block that was live at the peak of blocks, and the live
 * blocks themselves. A thread takes the slots that it emptied itself, the last one first: so most
 * steps need not wait for another thread, and the slots in use lie together. Only where it has none
 * left it takes those of another.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/bits.h"
#include "base/replay.h"
#include "model/block.h"
#include "model/sums.h"
#include "model/tags.h"
#include "util/vec.h"
#include "views/export/export_internal.h"

#define NONE      UINT32_MAX
#define NS_PER_US 1000u
/* So often a turn says what time it is. */
#define RUN_US 100u
/* The trace does not know alignments: this is what an address can tell, from malloc's own on. */
#define ALIGN_LEAST 4u
#define ALIGN_PAGE  12u
#define ALIGN_MOST  21u

struct slot {
	uint32_t next;   /* of the empty ones that a thread has */
	uint32_t thread; /* whose step was the last */
	uint32_t steps;
};

struct thread {
	HL_VEC(uint8_t) stream; /* of this chunk */
	uint64_t at, us;        /* behind its last operation; of its last RUN */
	uint32_t last_slot;
	uint32_t empty; /* its slots */
};

struct numbers {
	uint32_t *data;
	size_t len, cap;
};

struct writer {
	struct hl_export_job *x;
	struct hl_lives lives;
	struct hl_replay_end sums;
	uint64_t live_bytes;

	struct numbers roles, numbers; /* of the trace's roles and threads; NONE: not seen */
	HL_VEC(struct thread) threads;
	HL_VEC(struct slot) slots;
	size_t n_empty;
	uint32_t turn, rob;      /* whose turn it is; whose slots are taken next */
	struct hl_blocks blocks; /* the live ones; node: the slot */
	uint8_t *aligned;        /* of each node, the least alignment that was seen */

	struct hl_replay_chunk chunk;
	HL_VEC(uint32_t) members; /* threads with a stream in it */
	HL_VEC(struct hl_replay_stream) table;
	uint64_t us, run_us; /* now; of the last RUN */

	uint64_t from, to; /* events of the trace that are in the range */
	bool begun;
	/* The first half of a realloc, which the next event may complete. */
	bool half;
	struct hl_event freed;
	uint64_t freed_at;
};

/* --- chunks --- */

static int put_bytes(struct writer *w, const void *p, size_t n)
{
	fwrite_unlocked(p, 1, n, w->x->out);
	return ferror_unlocked(w->x->out) ? -EIO : 0;
}

static int put_step(struct writer *w, uint32_t thread, const struct hl_replay_step *s)
{
	struct thread *t = &w->threads.data[thread];

	if (hl_vec_reserve(&t->stream, t->stream.len + HL_REPLAY_STEP_MAX))
		return -ENOMEM;
	t->stream.len = (size_t)(hl_replay_put(t->stream.data + t->stream.len, s, t->last_slot) -
				 t->stream.data);
	return 0;
}

/* Its table of streams, their bytes and the sum of all. */
static int make_table(struct writer *w)
{
	struct hl_replay_chunk *c = &w->chunk;
	size_t bytes = w->members.len * sizeof(*w->table.data);

	if (hl_vec_reserve(&w->table, w->members.len))
		return -ENOMEM;
	c->n_streams = (uint32_t)w->members.len;
	c->bytes = (uint32_t)bytes;
	for (size_t i = 0; i < w->members.len; i++) {
		uint32_t thread = w->members.data[i],
			 n = (uint32_t)w->threads.data[thread].stream.len;

		w->table.data[i] = (struct hl_replay_stream){thread, n};
		c->bytes += n;
	}
	c->sum = hl_replay_sum(HL_REPLAY_SUM_START, (uint8_t *)w->table.data, bytes);
	for (size_t i = 0; i < w->members.len; i++) {
		const struct thread *t = &w->threads.data[w->members.data[i]];

		c->sum = hl_replay_sum(c->sum, t->stream.data, t->stream.len);
	}
	return 0;
}

static int end_chunk(struct writer *w)
{
	int err = make_table(w);

	if (!err)
		err = put_bytes(w, &w->chunk, sizeof(w->chunk));
	if (!err)
		err = put_bytes(w, w->table.data, w->members.len * sizeof(*w->table.data));
	for (size_t i = 0; i < w->members.len; i++) {
		struct thread *t = &w->threads.data[w->members.data[i]];

		if (!err)
			err = put_bytes(w, t->stream.data, t->stream.len);
		hl_vec_free(&t->stream); /* of thousands of threads few go on */
	}
	w->members.len = 0;
	w->chunk = (struct hl_replay_chunk){0};
	w->sums.n_chunks++;
	return err;
}

static int pass_turn(struct writer *w, uint32_t to)
{
	struct hl_replay_step s = {.op = HL_REPLAY_PASS, .thread = to};
	int err = put_step(w, w->turn, &s);

	w->turn = NONE;
	return err;
}

/* Each begins with a RUN, from where and when the chunk does. */
static int begin_stream(struct writer *w, uint32_t thread)
{
	struct thread *t = &w->threads.data[thread];

	t->at = w->sums.n_ops - w->chunk.n_ops;
	t->us = w->chunk.time_us;
	t->last_slot = 0;
	return hl_vec_push(&w->members, thread);
}

/* From here on this thread has the turn, and it is w->us. */
static int take_turn(struct writer *w, uint32_t thread)
{
	struct hl_replay_step s = {.op = HL_REPLAY_RUN};
	struct thread *t = &w->threads.data[thread];
	int err = 0;

	if (w->turn != NONE && (w->turn != thread || w->chunk.n_ops == HL_REPLAY_CHUNK_OPS))
		err = pass_turn(w, thread);
	if (!err && w->chunk.n_ops == HL_REPLAY_CHUNK_OPS)
		err = end_chunk(w);
	if (err || (w->turn == thread && w->us < w->run_us + RUN_US))
		return err;
	if (w->chunk.n_ops == 0) {
		w->chunk.first = thread;
		w->chunk.time_us = w->us;
	}
	if (t->stream.len == 0)
		err = begin_stream(w, thread);
	s.gap = w->sums.n_ops - t->at;
	s.us = w->us - t->us;
	if (!err)
		err = put_step(w, thread, &s);
	t->at = w->sums.n_ops;
	t->us = w->run_us = w->us;
	w->turn = thread;
	return err;
}

static int put_op(struct writer *w, uint32_t thread, struct hl_replay_step *s)
{
	struct slot *slot = &w->slots.data[s->slot];
	int err = take_turn(w, thread);

	if (err)
		return err;
	s->cross = slot->steps > 0 && slot->thread != thread;
	s->before = slot->steps++;
	slot->thread = thread;
	err = put_step(w, thread, s);
	w->threads.data[thread].last_slot = s->slot;
	w->threads.data[thread].at = ++w->sums.n_ops;
	w->chunk.n_ops++;
	return err;
}

/* --- threads and slots --- */

/* In a table that grows. */
static int look_up(struct numbers *t, uint32_t at, uint32_t **number)
{
	int err = 0;

	while (!err && t->len <= at)
		err = hl_vec_push(t, NONE);
	*number = err ? NULL : &t->data[at];
	return err;
}

/* Events name roles: a thread in each of its scopes. */
static int number_of(struct writer *w, uint32_t role, uint32_t *number)
{
	struct thread fresh = {.empty = NONE};
	uint32_t *of_role, *of_thread;
	int err = look_up(&w->roles, role, &of_role);

	if (!err && *of_role == NONE) {
		err = look_up(&w->numbers, hl_model_role(w->x->m, role).thread, &of_thread);
		if (!err && *of_thread == NONE) {
			*of_thread = (uint32_t)w->threads.len;
			err = hl_vec_push(&w->threads, fresh);
		}
		if (!err)
			*of_role = *of_thread;
	}
	*number = err ? 0 : *of_role;
	return err;
}

/* There are empty slots, but none of them is this thread's: all of another's become its own. */
static void rob_another(struct writer *w, struct thread *t)
{
	struct thread *other;

	do {
		w->rob = (w->rob + 1) % (uint32_t)w->threads.len;
		other = &w->threads.data[w->rob];
	} while (other->empty == NONE);
	t->empty = other->empty;
	other->empty = NONE;
}

static int take_slot(struct writer *w, uint32_t thread, uint32_t *slot)
{
	struct thread *t = &w->threads.data[thread];

	if (w->n_empty == 0) {
		struct slot fresh = {0};

		*slot = (uint32_t)w->slots.len;
		return *slot == NONE ? -ENOMEM : hl_vec_push(&w->slots, fresh);
	}
	if (t->empty == NONE)
		rob_another(w, t);
	*slot = t->empty;
	t->empty = w->slots.data[*slot].next;
	w->n_empty--;
	return 0;
}

static void empty_slot(struct writer *w, uint32_t thread, uint32_t slot)
{
	struct thread *t = &w->threads.data[thread];

	w->slots.data[slot].next = t->empty;
	t->empty = slot;
	w->n_empty++;
}

/* --- operations --- */

/* What all blocks of this stack have had so far. */
static uint8_t align_of(struct writer *w, const struct hl_block *b)
{
	uint8_t *least = &w->aligned[b->node == HL_NODE_NONE ? hl_model_n_nodes(w->x->m) : b->node];
	uint8_t has = b->addr ? (uint8_t)__builtin_ctzll(b->addr) : ALIGN_MOST;

	if (b->func == HL_FUNC_VALLOC || b->func == HL_FUNC_PVALLOC)
		return ALIGN_PAGE;
	if (!*least || has < *least)
		*least = has;
	*least = *least < ALIGN_LEAST ? ALIGN_LEAST : *least > ALIGN_MOST ? ALIGN_MOST : *least;
	return *least;
}

static enum hl_replay_op op_of(uint8_t func)
{
	switch (func) {
	case HL_FUNC_CALLOC:
		return HL_REPLAY_CALLOC;
	case HL_FUNC_REALLOC:
	case HL_FUNC_REALLOCARRAY:
		return HL_REPLAY_NEW;
	case HL_FUNC_POSIX_MEMALIGN:
	case HL_FUNC_ALIGNED_ALLOC:
	case HL_FUNC_MEMALIGN:
	case HL_FUNC_VALLOC:
	case HL_FUNC_PVALLOC:
		return HL_REPLAY_ALIGNED;
	}
	return HL_REPLAY_MALLOC;
}

static void count_alloc(struct writer *w, uint64_t size)
{
	w->sums.allocations++;
	w->sums.bytes += size;
	w->live_bytes += size;
	w->sums.peak_bytes = hl_max_u64(w->sums.peak_bytes, w->live_bytes);
}

static void count_free(struct writer *w, uint64_t size)
{
	w->sums.frees++;
	w->live_bytes -= size;
}

/* *b is in no table; its node is a stack before and a slot after. */
static int put_alloc(struct writer *w, struct hl_block *b)
{
	struct hl_replay_step s = {.op = op_of(b->func), .size = b->size};
	uint32_t thread;
	int err = number_of(w, b->thread, &thread);

	if (!err)
		err = take_slot(w, thread, &s.slot);
	if (err)
		return err;
	if (s.op == HL_REPLAY_ALIGNED)
		s.align = align_of(w, b);
	count_alloc(w, b->size);
	b->node = s.slot;
	return put_op(w, thread, &s);
}

static int put_free(struct writer *w, const struct hl_event *e)
{
	struct hl_replay_step s = {.op = HL_REPLAY_FREE};
	struct hl_block b;
	uint32_t thread;
	int err;

	if (!hl_blocks_take(&w->blocks, e->ordinal, &b))
		return 0; /* its birth is before what is read */
	err = number_of(w, e->thread, &thread);
	if (err)
		return err;
	s.slot = b.node;
	count_free(w, b.size);
	err = put_op(w, thread, &s);
	empty_slot(w, thread, s.slot);
	return err;
}

static struct hl_block block_of(const struct hl_event *e)
{
	return (struct hl_block){.ordinal = e->ordinal,
		.addr = e->addr,
		.size = e->size,
		.blocks = 1,
		.bytes = e->size,
		.node = e->node,
		.thread = e->thread,
		.pool = UINT32_MAX,
		.func = e->func};
}

/* The block that w->freed ended goes on as that of e. */
static int put_realloc(struct writer *w, const struct hl_event *e)
{
	struct hl_replay_step s = {.op = HL_REPLAY_REALLOC, .size = e->size};
	struct hl_block old, b = block_of(e);
	uint32_t thread;
	int err;

	if (!hl_blocks_take(&w->blocks, w->freed.ordinal, &old))
		return -ENOENT;
	err = number_of(w, e->thread, &thread);
	if (err)
		return err;
	s.slot = b.node = old.node;
	count_free(w, old.size);
	count_alloc(w, e->size);
	err = put_op(w, thread, &s);
	return err ? err : hl_blocks_put(&w->blocks, &b);
}

/* --- events --- */

static int put_half(struct writer *w)
{
	if (!w->half)
		return 0;
	w->half = false;
	return put_free(w, &w->freed);
}

static bool completes(const struct writer *w, const struct hl_event *e)
{
	return w->half && e->op == HL_OP_ALLOC && e->flags & HL_EVENT_MOVED &&
	       w->lives.number == w->freed_at + 1;
}

static int take_event(struct writer *w, const struct hl_event *e)
{
	struct hl_block b = block_of(e);
	int err;

	if (completes(w, e)) {
		w->half = false;
		err = put_realloc(w, e);
		if (err != -ENOENT)
			return err;
	}
	err = put_half(w);
	w->us = e->time_ns / NS_PER_US;
	if (err)
		return err;
	if (e->op == HL_OP_FREE && e->flags & HL_EVENT_MOVED) {
		w->half = true;
		w->freed = *e;
		w->freed_at = w->lives.number;
		return 0;
	}
	if (e->op == HL_OP_FREE)
		return put_free(w, e);
	err = put_alloc(w, &b);
	return err ? err : hl_blocks_put(&w->blocks, &b);
}

/* --- before the range --- */

static int take_older(struct writer *w, const struct hl_event *e)
{
	struct hl_block b = block_of(e);

	if (e->op == HL_OP_ALLOC)
		return hl_blocks_put(&w->blocks, &b);
	hl_blocks_take(&w->blocks, e->ordinal, &b);
	return 0;
}

static int begin_block(void *arg, const struct hl_block *old)
{
	struct writer *w = arg;
	struct hl_block b = *old;
	int err = put_alloc(w, &b);

	return err ? err : hl_blocks_put(&w->blocks, &b);
}

/* What is alive where the range begins is allocated first. */
static int begin_range(struct writer *w)
{
	struct hl_blocks alive = w->blocks;
	int err;

	w->begun = true;
	w->blocks = (struct hl_blocks){0};
	err = hl_blocks_in_order(&alive, begin_block, w);
	hl_blocks_fini(&alive);
	return err;
}

static int put_event(void *arg, const struct hl_event *e)
{
	struct writer *w = arg;
	int err = 0;

	if (w->lives.number >= w->to)
		return 0; /* what is alive there stays alive */
	if (w->lives.number < w->from)
		return take_older(w, e);
	if (!w->begun) {
		w->us = e->time_ns / NS_PER_US;
		err = begin_range(w);
	}
	return err ? err : take_event(w, e);
}

/* -ENODATA: a loss hides it, and nothing is read beyond that. */
static int count_before(struct writer *w, struct hl_place p, uint64_t *events)
{
	uint64_t allocs;
	int err = hl_place_count(w->x->m, &p, events, &allocs);

	if (err == -ENODATA)
		*events = UINT64_MAX;
	return err == -ENODATA ? 0 : err;
}

/* A range is asked for as its events, and what is alive before them. */
static int find_range(struct writer *w)
{
	struct hl_query *q = &w->x->query;
	int err = 0;

	w->to = UINT64_MAX;
	if (q->quantity != HL_QUANTITY_ALLOCATED)
		return 0;
	if (q->from.kind != HL_WHEN_NS || q->from.ns != 0)
		err = count_before(w, hl_query_from(w->x->m, &q->from), &w->from);
	if (!err && q->to.kind != HL_WHEN_END)
		err = count_before(w, hl_query_to(w->x->m, &q->to), &w->to);
	q->from = (struct hl_when){0};
	return err;
}

static int put_end(struct writer *w)
{
	int err = w->begun ? 0 : begin_range(w);

	if (!err)
		err = put_half(w);
	if (!err && w->turn != NONE)
		err = pass_turn(w, w->turn);
	if (!err && w->chunk.n_ops > 0)
		err = end_chunk(w);
	w->sums.n_threads = w->threads.len;
	w->sums.n_slots = w->slots.len;
	memcpy(w->sums.magic, HL_REPLAY_END_MAGIC, sizeof(w->sums.magic));
	return err ? err : put_bytes(w, &w->sums, sizeof(w->sums));
}

static void fini(struct writer *w)
{
	for (size_t i = 0; i < w->threads.len; i++)
		hl_vec_free(&w->threads.data[i].stream);
	hl_vec_free(&w->threads);
	hl_vec_free(&w->roles);
	hl_vec_free(&w->numbers);
	hl_vec_free(&w->slots);
	hl_vec_free(&w->members);
	hl_vec_free(&w->table);
	hl_blocks_fini(&w->blocks);
	free(w->aligned);
}

int hl_export_replay(struct hl_export_job *x)
{
	struct hl_replay_head head = {.version = HL_REPLAY_VERSION};
	struct writer w = {.x = x, .turn = NONE};
	int err;

	memcpy(head.magic, HL_REPLAY_MAGIC, sizeof(head.magic));
	w.lives = (struct hl_lives){.want = HL_WANT_ALL, .event = put_event, .arg = &w};
	w.aligned = calloc((size_t)hl_model_n_nodes(x->m) + 1, 1);
	err = w.aligned ? find_range(&w) : -ENOMEM;
	if (!err)
		err = put_bytes(&w, &head, sizeof(head));
	if (!err)
		err = hl_export_lives(x, &w.lives);
	if (!err)
		err = put_end(&w);
	fini(&w);
	return err;
}
