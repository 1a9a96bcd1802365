/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay_export.c - the calls of the malloc family as a script for heaplapse-replay, without
 * addresses and stacks; base/replay_format.h defines the format.
 *
 * Memory holds one chunk, as many slots as blocks were live at the same time, and the live blocks.
 * A thread reuses the slots that it freed itself, last in, first out. So most steps do not wait for
 * another thread, and the slots in use are close together. Only a thread that has no free slot
 * takes those of another thread.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/bits.h"
#include "base/replay_format.h"
#include "model/scan/block_table.h"
#include "model/query/sums.h"
#include "model/tags/roles.h"
#include "util/vec.h"
#include "views/export/export_internal.h"

#define NONE      UINT32_MAX
#define NS_PER_US 1000u
/* Interval at which a turn records the time. */
#define RUN_US 100u
/* Alignments as powers of two. The trace does not contain them, so they are estimated from
 * addresses within these bounds. The minimum is malloc's own alignment. */
#define ALIGN_MIN  4u
#define ALIGN_PAGE 12u
#define ALIGN_MAX  21u

struct slot {
	uint32_t next;   /* in a thread's list of free slots */
	uint32_t thread; /* thread of the last step */
	uint32_t steps;
};

struct thread {
	HL_VEC(uint8_t) stream; /* in the current chunk */
	uint64_t at, us;        /* position after its last operation; time of its last RUN */
	uint32_t last_slot;
	uint32_t free_slots; /* list of its free slots */
};

struct thread_numbers {
	uint32_t *data;
	size_t len, cap;
};

struct writer {
	struct hl_export_job *x;
	struct hl_lifetimes lifetimes;
	struct hl_replay_end sums;
	uint64_t live_bytes;

	struct thread_numbers roles, thread_numbers; /* by role and by thread of the trace: the
							thread number; NONE: not seen */
	HL_VEC(struct thread) threads;
	HL_VEC(struct slot) slots;
	size_t n_free_slots;
	uint32_t turn, next_victim;   /* the thread that has the turn; the thread whose slots are
					 taken next */
	struct hl_block_table blocks; /* the live blocks; their node is the slot */
	uint8_t *alignments;          /* per node, the smallest alignment seen */

	struct hl_replay_chunk chunk;
	HL_VEC(uint32_t) members; /* threads with a stream in the chunk */
	HL_VEC(struct hl_replay_stream) table;
	uint64_t us, run_us; /* current time; time of the last RUN */

	uint64_t from, to; /* range of event numbers of the trace */
	bool range_begun;
	/* The free of a realloc, which the next event may complete. */
	bool has_pending_free;
	struct hl_event pending_free;
	uint64_t pending_free_at;
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

/* Builds the table of streams, and computes the size and checksum of the chunk. */
static int build_table(struct writer *w)
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
	c->sum = hl_replay_checksum(HL_REPLAY_CHECKSUM_START, (uint8_t *)w->table.data, bytes);
	for (size_t i = 0; i < w->members.len; i++) {
		const struct thread *t = &w->threads.data[w->members.data[i]];

		c->sum = hl_replay_checksum(c->sum, t->stream.data, t->stream.len);
	}
	return 0;
}

static int end_chunk(struct writer *w)
{
	int err = build_table(w);

	if (!err)
		err = put_bytes(w, &w->chunk, sizeof(w->chunk));
	if (!err)
		err = put_bytes(w, w->table.data, w->members.len * sizeof(*w->table.data));
	for (size_t i = 0; i < w->members.len; i++) {
		struct thread *t = &w->threads.data[w->members.data[i]];

		if (!err)
			err = put_bytes(w, t->stream.data, t->stream.len);
		hl_vec_free(&t->stream); /* of thousands of threads only few continue */
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

/* Each stream begins with a RUN, relative to the position and time of the chunk. */
static int begin_stream(struct writer *w, uint32_t thread)
{
	struct thread *t = &w->threads.data[thread];

	t->at = w->sums.n_ops - w->chunk.n_ops;
	t->us = w->chunk.time_us;
	t->last_slot = 0;
	return hl_vec_push(&w->members, thread);
}

/* Gives the turn to this thread, at time w->us. */
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
	s->other_thread = slot->steps > 0 && slot->thread != thread;
	s->slot_steps = slot->steps++;
	slot->thread = thread;
	err = put_step(w, thread, s);
	w->threads.data[thread].last_slot = s->slot;
	w->threads.data[thread].at = ++w->sums.n_ops;
	w->chunk.n_ops++;
	return err;
}

/* --- threads and slots --- */

/* Finds an entry in a growing table. */
static int find_entry(struct thread_numbers *t, uint32_t at, uint32_t **number)
{
	int err = 0;

	while (!err && t->len <= at)
		err = hl_vec_push(t, NONE);
	*number = err ? NULL : &t->data[at];
	return err;
}

/* Finds the number of a thread. Events have roles: a thread together with its tag. */
static int find_thread_number(struct writer *w, uint32_t role, uint32_t *number)
{
	struct thread fresh = {.free_slots = NONE};
	uint32_t *of_role, *of_thread;
	int err = find_entry(&w->roles, role, &of_role);

	if (!err && *of_role == NONE) {
		err = find_entry(
			&w->thread_numbers, hl_model_role(w->x->m, role).thread, &of_thread);
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

/* This thread has no free slot, but others have: takes all slots of another thread. */
static void take_slots_of_other(struct writer *w, struct thread *t)
{
	struct thread *other;

	do {
		w->next_victim = (w->next_victim + 1) % (uint32_t)w->threads.len;
		other = &w->threads.data[w->next_victim];
	} while (other->free_slots == NONE);
	t->free_slots = other->free_slots;
	other->free_slots = NONE;
}

static int take_slot(struct writer *w, uint32_t thread, uint32_t *slot)
{
	struct thread *t = &w->threads.data[thread];

	if (w->n_free_slots == 0) {
		struct slot fresh = {0};

		*slot = (uint32_t)w->slots.len;
		return *slot == NONE ? -ENOMEM : hl_vec_push(&w->slots, fresh);
	}
	if (t->free_slots == NONE)
		take_slots_of_other(w, t);
	*slot = t->free_slots;
	t->free_slots = w->slots.data[*slot].next;
	w->n_free_slots--;
	return 0;
}

static void release_slot(struct writer *w, uint32_t thread, uint32_t slot)
{
	struct thread *t = &w->threads.data[thread];

	w->slots.data[slot].next = t->free_slots;
	t->free_slots = slot;
	w->n_free_slots++;
}

/* --- operations --- */

/* The smallest alignment of all blocks of this stack so far. */
static uint8_t estimate_alignment(struct writer *w, const struct hl_block *b)
{
	uint8_t *min_align =
		&w->alignments[b->node == HL_NODE_NONE ? hl_model_n_nodes(w->x->m) : b->node];
	uint8_t align = b->addr ? (uint8_t)__builtin_ctzll(b->addr) : ALIGN_MAX;

	if (b->func == HL_FUNC_VALLOC || b->func == HL_FUNC_PVALLOC)
		return ALIGN_PAGE;
	if (!*min_align || align < *min_align)
		*min_align = align;
	*min_align = *min_align < ALIGN_MIN   ? ALIGN_MIN
		     : *min_align > ALIGN_MAX ? ALIGN_MAX
					      : *min_align;
	return *min_align;
}

static enum hl_replay_op get_replay_op(uint8_t func)
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

/* *b is not in the table; its node is a stack before and a slot after the call. */
static int put_alloc(struct writer *w, struct hl_block *b)
{
	struct hl_replay_step s = {.op = get_replay_op(b->func), .size = b->size};
	uint32_t thread;
	int err = find_thread_number(w, b->thread, &thread);

	if (!err)
		err = take_slot(w, thread, &s.slot);
	if (err)
		return err;
	if (s.op == HL_REPLAY_ALIGNED)
		s.align = estimate_alignment(w, b);
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

	if (!hl_block_table_take(&w->blocks, e->ordinal, &b))
		return 0; /* its allocation is before the events that are read */
	err = find_thread_number(w, e->thread, &thread);
	if (err)
		return err;
	s.slot = b.node;
	count_free(w, b.size);
	err = put_op(w, thread, &s);
	release_slot(w, thread, s.slot);
	return err;
}

static struct hl_block make_block(const struct hl_event *e)
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

/* The block of w->pending_free continues as the block of e. */
static int put_realloc(struct writer *w, const struct hl_event *e)
{
	struct hl_replay_step s = {.op = HL_REPLAY_REALLOC, .size = e->size};
	struct hl_block old, b = make_block(e);
	uint32_t thread;
	int err;

	if (!hl_block_table_take(&w->blocks, w->pending_free.ordinal, &old))
		return -ENOENT;
	err = find_thread_number(w, e->thread, &thread);
	if (err)
		return err;
	s.slot = b.node = old.node;
	count_free(w, old.size);
	count_alloc(w, e->size);
	err = put_op(w, thread, &s);
	return err ? err : hl_block_table_put(&w->blocks, &b);
}

/* --- events --- */

static int put_pending_free(struct writer *w)
{
	if (!w->has_pending_free)
		return 0;
	w->has_pending_free = false;
	return put_free(w, &w->pending_free);
}

static bool completes_realloc(const struct writer *w, const struct hl_event *e)
{
	return w->has_pending_free && e->op == HL_OP_ALLOC && e->flags & HL_EVENT_MOVED &&
	       w->lifetimes.event_index == w->pending_free_at + 1;
}

static int handle_event(struct writer *w, const struct hl_event *e)
{
	struct hl_block b = make_block(e);
	int err;

	if (completes_realloc(w, e)) {
		w->has_pending_free = false;
		err = put_realloc(w, e);
		if (err != -ENOENT)
			return err;
	}
	err = put_pending_free(w);
	w->us = e->time_ns / NS_PER_US;
	if (err)
		return err;
	if (e->op == HL_OP_FREE && e->flags & HL_EVENT_MOVED) {
		w->has_pending_free = true;
		w->pending_free = *e;
		w->pending_free_at = w->lifetimes.event_index;
		return 0;
	}
	if (e->op == HL_OP_FREE)
		return put_free(w, e);
	err = put_alloc(w, &b);
	return err ? err : hl_block_table_put(&w->blocks, &b);
}

/* --- events before the range --- */

static int handle_older_event(struct writer *w, const struct hl_event *e)
{
	struct hl_block b = make_block(e);

	if (e->op == HL_OP_ALLOC)
		return hl_block_table_put(&w->blocks, &b);
	hl_block_table_take(&w->blocks, e->ordinal, &b);
	return 0;
}

static int begin_block(void *arg, const struct hl_block *old)
{
	struct writer *w = arg;
	struct hl_block b = *old;
	int err = put_alloc(w, &b);

	return err ? err : hl_block_table_put(&w->blocks, &b);
}

/* Blocks that are live at the begin of the range are allocated first. */
static int begin_range(struct writer *w)
{
	struct hl_block_table live = w->blocks;
	int err;

	w->range_begun = true;
	w->blocks = (struct hl_block_table){0};
	err = hl_block_table_in_order(&live, begin_block, w);
	hl_block_table_fini(&live);
	return err;
}

static int put_event(void *arg, const struct hl_event *e)
{
	struct writer *w = arg;
	int err = 0;

	if (w->lifetimes.event_index >= w->to)
		return 0; /* blocks that are live at the end stay allocated */
	if (w->lifetimes.event_index < w->from)
		return handle_older_event(w, e);
	if (!w->range_begun) {
		w->us = e->time_ns / NS_PER_US;
		err = begin_range(w);
	}
	return err ? err : handle_event(w, e);
}

/* If a lost part hides the position, all events count as before it: nothing is read beyond the
 * loss. */
static int count_before(struct writer *w, struct hl_position p, uint64_t *events)
{
	uint64_t allocs;
	int err = hl_position_count(w->x->m, &p, events, &allocs);

	if (err == -ENODATA)
		*events = UINT64_MAX;
	return err == -ENODATA ? 0 : err;
}

/* Converts the range to event numbers. The query then reads from the start, to find the blocks that
 * are live before the range. */
static int find_range(struct writer *w)
{
	struct hl_query *q = &w->x->query;
	int err = 0;

	w->to = UINT64_MAX;
	if (q->quantity != HL_QUANTITY_ALLOCATED)
		return 0;
	if (q->from.kind != HL_TIME_SPEC_NS || q->from.ns != 0)
		err = count_before(w, hl_query_from(w->x->m, &q->from), &w->from);
	if (!err && q->to.kind != HL_TIME_SPEC_END)
		err = count_before(w, hl_query_to(w->x->m, &q->to), &w->to);
	q->from = (struct hl_time_spec){0};
	q->with_base = true;
	return err;
}

static int put_end(struct writer *w)
{
	int err = w->range_begun ? 0 : begin_range(w);

	if (!err)
		err = put_pending_free(w);
	if (!err && w->turn != NONE)
		err = pass_turn(w, w->turn);
	if (!err && w->chunk.n_ops > 0)
		err = end_chunk(w);
	w->sums.n_threads = w->threads.len;
	w->sums.n_slots = w->slots.len;
	memcpy(w->sums.magic, HL_REPLAY_END_MAGIC, sizeof(w->sums.magic));
	return err ? err : put_bytes(w, &w->sums, sizeof(w->sums));
}

static void free_writer(struct writer *w)
{
	for (size_t i = 0; i < w->threads.len; i++)
		hl_vec_free(&w->threads.data[i].stream);
	hl_vec_free(&w->threads);
	hl_vec_free(&w->roles);
	hl_vec_free(&w->thread_numbers);
	hl_vec_free(&w->slots);
	hl_vec_free(&w->members);
	hl_vec_free(&w->table);
	hl_block_table_fini(&w->blocks);
	free(w->alignments);
}

int hl_export_replay(struct hl_export_job *x)
{
	struct hl_replay_head head = {.version = HL_REPLAY_VERSION};
	struct writer w = {.x = x, .turn = NONE};
	int err;

	memcpy(head.magic, HL_REPLAY_MAGIC, sizeof(head.magic));
	w.lifetimes = (struct hl_lifetimes){.want = HL_WANT_ALL, .event = put_event, .arg = &w};
	w.alignments = calloc((size_t)hl_model_n_nodes(x->m) + 1, 1);
	err = w.alignments ? find_range(&w) : -ENOMEM;
	if (!err)
		err = put_bytes(&w, &head, sizeof(head));
	if (!err)
		err = hl_export_lifetimes(x, &w.lifetimes);
	if (!err)
		err = put_end(&w);
	free_writer(&w);
	return err;
}
