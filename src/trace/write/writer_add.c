/* SPDX-License-Identifier: Apache-2.0 */
/*
 * writer_add.c - adds events to the columns of the open chunk and to the sums.
 *
 * The same code (event_inline_internal.h) is compiled twice: as a function for all events, and
 * specialized for the two common kinds. There the compiler knows the kind, and the event stays in
 * registers.
 */
#include <errno.h>

#include "base/attr.h"
#include "base/bits.h"
#include "trace/write/event_inline_internal.h"

uint64_t hl_writer_clamp_time(struct hl_writer *w, uint64_t time_ns)
{
	uint64_t time = hl_max_u64(time_ns / HL_TIME_UNIT_NS, w->last_time);

	if (w->enc.n_events + w->enc.n_extras == 0)
		w->enc.t0 = w->enc.time = w->enc.extra_time = time;
	w->last_time = time;
	return time;
}

/* Closes the chunk if the next event should begin a new one. Called about every HL_RAW_CHECK / 2
 * events and for the last two of a chunk. moved_free: one more event must fit after the next. */
static hl_cold int check_chunk(struct hl_writer *w, bool moved_free)
{
	uint32_t n = w->enc.n_events;

	if (n + moved_free >= w->max_events ||
		hl_encoder_raw(&w->enc) + w->parted.len + w->linked.len >
			HL_RAW_MAX - HL_RAW_CHECK * (HL_EVENT_RAW_MAX + HL_PARTED_RAW_MAX))
		return hl_writer_close_chunk(w);
	w->check_at = hl_min_u32(n + HL_RAW_CHECK / 2, w->max_events - 1);
	if (w->check_at <= n)
		w->check_at = n + 1;
	return 0;
}

static bool is_event_valid(const struct hl_writer *w, const struct hl_event *e)
{
	uint64_t next = w->enc.next_ordinal;

	if (w->ended || e->thread >= w->n_threads ||
		(e->node >= w->n_nodes && e->node != HL_NODE_NONE))
		return false;
	if (e->op == HL_OP_ALLOC)
		return e->ordinal == next &&
		       (!(e->flags & HL_EVENT_LINKED) || e->realloc_of < next);
	return e->op == HL_OP_FREE && e->ordinal < next && e->alloc_role < w->n_threads &&
	       (!w->enc.free_stacks || e->free_node < w->n_nodes || e->free_node == HL_NODE_NONE);
}

/* Does everything but the sums. The chunk must have space. Returns true if both the node and the
 * thread already have an event in this chunk. */
hl_inline bool fill_columns(struct hl_writer *w, const struct hl_event *e, uint64_t time)
{
	bool moved = e->flags & HL_EVENT_MOVED, alloc = e->op == HL_OP_ALLOC, known;

	known = hl_encode_event(&w->enc, e, time);
	known &= hl_summarize_event(w->summary, e);
	if (hl_unlikely(e->flags & (HL_EVENT_SPLIT | HL_EVENT_LINKED)) &&
		hl_put_rare_flags(w, e) < 0) {
		w->error = -ENOMEM;
		return false;
	}
	if (alloc && moved && w->pair_open)
		hl_encoder_moved(&w->enc);
	w->pair_open = !alloc && moved;
	w->follows_alloc = alloc;
	return known;
}

const struct hl_event *hl_writer_put_columns(
	struct hl_writer *w, const struct hl_event *e, struct hl_event *timed)
{
	bool moved = e->flags & HL_EVENT_MOVED, alloc = e->op == HL_OP_ALLOC;
	uint64_t time;

	if (hl_unlikely(w->error))
		return NULL;
	if (hl_unlikely(!is_event_valid(w, e))) {
		w->error = -EINVAL;
		return NULL;
	}
	/* both halves of a realloc must be in one chunk */
	if (hl_unlikely(w->enc.n_events >= w->check_at) && !(w->pair_open && moved && alloc) &&
		check_chunk(w, moved && !alloc) < 0)
		return NULL;
	time = hl_writer_clamp_time(w, e->time_ns);
	if (hl_unlikely(e->time_ns != time * HL_TIME_UNIT_NS || !e->blocks)) {
		*timed = *e;
		timed->time_ns = time * HL_TIME_UNIT_NS;
		hl_event_set_weight(timed);
		e = timed;
	}
	(void)fill_columns(w, e, time);
	return hl_likely(!w->error) ? e : NULL;
}

/* In units. Late events may be freed before they are allocated; they have the lifetime 0 in the
 * columns, too. */
hl_inline uint64_t lifetime(const struct hl_event *e, uint64_t time)
{
	uint64_t alloc_time = e->alloc_ns / HL_TIME_UNIT_NS;

	return time > alloc_time ? time - alloc_time : 0;
}

/* Adds the event to the sums. known: its thread had an event before, and its node had one since the
 * last keyframe. units: of a free, the lifetime of the block. */
hl_inline int count_event(struct hl_writer *w, const struct hl_event *e, bool known, uint64_t units)
{
	int err = hl_totals_event(&w->totals, e);

	if (hl_unlikely(!known) &&
		(w->node_state.data[hl_node_code(e->node)] != HL_SINCE_KEYFRAME ||
			w->thread_state.data[e->thread] == HL_NO_EVENT))
		err |= hl_keyframe_touch(w, e->thread, e->node);
	if (hl_unlikely(err))
		return w->error = -ENOMEM;
	if (e->op == HL_OP_ALLOC)
		w->open.max_live_bytes =
			hl_max_u64(w->open.max_live_bytes, hl_sums_live_bytes(&w->totals.sums));
	else
		hl_totals_count_lifetime(&w->totals, units, e->blocks);
	return 0;
}

int hl_writer_count(struct hl_writer *w, const struct hl_event *e)
{
	return count_event(w, e, false, lifetime(e, e->time_ns / HL_TIME_UNIT_NS));
}

int hl_writer_add_event(struct hl_writer *w, const struct hl_event *e)
{
	struct hl_event timed;

	e = hl_writer_put_columns(w, e, &timed);
	return hl_likely(e != NULL) ? hl_writer_count(w, e) : w->error;
}

/* The fast path needs no check of event or chunk beyond these. Errors of the writer are not checked
 * here: a chunk has space until the next check_chunk, which sees them. */
hl_inline bool is_fast_path(const struct hl_writer *w, const struct hl_event *e, uint64_t time)
{
	bool alloc = e->op == HL_OP_ALLOC;

	hl_assert(e->thread < w->n_threads && (alloc || e->alloc_role < w->n_threads));
	/* not for the first event of a chunk either */
	return w->enc.n_events - 1 < w->check_at - 1 && e->node < w->n_nodes &&
	       (alloc ? e->ordinal == w->enc.next_ordinal : e->ordinal < w->enc.next_ordinal) &&
	       time >= w->last_time;
}

/* time: that of the event, in units. */
hl_inline int add_fast(struct hl_writer *w, const struct hl_event *e, uint64_t time)
{
	bool known;

	if (hl_unlikely(!is_fast_path(w, e, time))) {
		struct hl_event copy = *e; /* so that only this call needs it in memory */

		return hl_writer_add_event(w, &copy);
	}
	w->last_time = time;
	known = fill_columns(w, e, time);
	return count_event(w, e, known, time - e->alloc_ns / HL_TIME_UNIT_NS);
}

hl_inline_extern int hl_writer_add_alloc(
	struct hl_writer *w, const struct hl_live_block *b, uint64_t units, uint8_t func)
{
	struct hl_event e = {
		.op = HL_OP_ALLOC,
		.func = func,
		.time_ns = units * HL_TIME_UNIT_NS,
		.addr = b->addr,
		.size = b->size,
		.ordinal = b->ordinal,
		.node = b->node,
		.free_node = HL_NODE_NONE,
		.thread = b->thread,
		.blocks = 1,
		.bytes = b->size,
	};

	return add_fast(w, &e, units);
}

hl_inline_extern int hl_writer_add_free(struct hl_writer *w, const struct hl_live_block *b,
	uint64_t units, uint32_t thread, uint8_t func)
{
	struct hl_event e = {
		.op = HL_OP_FREE,
		.func = func,
		.time_ns = units * HL_TIME_UNIT_NS,
		.addr = b->addr,
		.size = b->size,
		.ordinal = b->ordinal,
		.alloc_ns = b->alloc_ns,
		.node = b->node,
		.free_node = HL_NODE_NONE,
		.thread = thread,
		.alloc_role = b->thread,
		.blocks = 1,
		.bytes = b->size,
	};

	return add_fast(w, &e, units);
}

void hl_writer_prefetch_node(const struct hl_writer *w, uint32_t node)
{
	if (hl_likely(node < w->totals.n_nodes))
		hl_prefetch_write(hl_totals_node(&w->totals, node));
}
