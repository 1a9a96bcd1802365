/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack_record_internal.h - records of events with a stack.
 *
 * The collector's copy of our last stack is valid only if nothing was written since (synced_at ==
 * position); otherwise the whole stack is sent again. The unwinder's pcs are valid only while no
 * handler has unwound since. This is checked before each commit; if it fails, the stack is unwound
 * again.
 */
#ifndef HL_RECORD_EMIT_STACK_RECORD_INTERNAL_H
#define HL_RECORD_EMIT_STACK_RECORD_INTERNAL_H

#include "base/bits.h"
#include "record/emit/emit_internal.h"
#include "record/emit/stamp.h"
#include "record/emit/tag_record_internal.h"
#include "record/emit/backpressure.h"

#define HL_TRUNCATED_MARK 1u /* a pc that means: frames are left out here */

/* Frames to be sent: outermost first in memory, or innermost first if `reversed`. */
struct hl_sent_frames {
	const uintptr_t *pcs;
	uint32_t depth;
	bool reversed;
	bool truncated; /* the walk ended before the stack did: the outermost pc is a mark */
	const struct hl_stack *stack; /* source of the pcs; NULL: no handler can change them */
};

/* A record before it is stamped: a few words, then pcs, innermost first. Rare paths get a copy, so
 * that on the hot path a draft never has to be in memory. */
struct hl_draft {
	uint32_t type, func, n_words;
	uint64_t words[5];
};

hl_inline struct hl_sent_frames hl_sent_frames_of(const struct hl_stack *s)
{
	return (struct hl_sent_frames){
		.pcs = s->pcs, .depth = s->depth, .stack = s, .truncated = s->truncated};
}

/* The i-th pc to be sent, counted from the outermost. The middle of the stack may be left out. */
hl_inline uint64_t hl_sent_frames_at(const struct hl_sent_frames *f, uint32_t shown, uint32_t i)
{
	uint32_t at = i;

	if (hl_unlikely(f->truncated)) {
		if (i == 0)
			return HL_TRUNCATED_MARK;
		at = --i;
		shown--;
	}
	if (hl_unlikely(shown != f->depth)) {
		if (i == hl_rec.depth_outer)
			return HL_TRUNCATED_MARK;
		if (i > hl_rec.depth_outer)
			at = f->depth - (shown - i);
	}
	return f->pcs[f->reversed ? f->depth - 1 - at : at];
}

/* The number of pcs that are sent for a stack of `depth` frames. */
hl_inline uint32_t hl_sent_frames_shown_depth(uint32_t depth)
{
	uint32_t limit = hl_rec.depth_inner + hl_rec.depth_outer;

	return hl_likely(depth <= limit) ? depth : limit + 1;
}

/* Puts one record at `pos`: the draft's words, then frames [from, to), innermost first. False:
 * there was no room, or *retry is set because a handler wrote since pos was read. */
hl_inline bool hl_emit_put_record(struct hl_thread *t, uint64_t pos, const struct hl_draft *d,
	const struct hl_sent_frames *f, uint32_t shown, uint32_t from, uint32_t to, bool *retry)
{
	uint32_t n = 1 + d->n_words + (to - from), at = 1;

	*retry = false;
	if (hl_unlikely(!hl_producer_has_room(&t->out, pos, n))) {
		if (!hl_wait_for_room(t, pos, n))
			return false;
		*retry = t->resync;
		t->resync = false;
		if (*retry)
			return false;
	}
	*retry = true;
	if (hl_unlikely(!hl_emit_begin(t, &t->out, pos)))
		return false;
	hl_producer_word(&t->out, pos, 0, hl_first_word(hl_stamp(t), d->type, d->func));
#pragma GCC unroll 5
	for (uint32_t i = 0; i < d->n_words; i++)
		hl_producer_word(&t->out, pos, at++, d->words[i]);
	for (uint32_t i = to; i > from; i--)
		hl_producer_word(&t->out, pos, at++, hl_sent_frames_at(f, shown, i - 1));
	if (f->stack && hl_unlikely(!hl_unwind_is_current(f->stack))) {
		hl_producer_cancel(&t->out, pos);
		return false;
	}
	return hl_producer_commit(&t->out, pos, n);
}

/*
 * Sends the inner frames of a stack that does not fit into one record, in parts of at most
 * HL_RECORD_PCS - 1 frames, until at most that many are left above `prefix`. Returns the position
 * after the parts, with *left set to the number of frames of [prefix, shown) still to be sent; 0 on
 * failure.
 */
hl_cold uint64_t hl_emit_put_stack_parts(struct hl_thread *t, uint64_t pos,
	const struct hl_sent_frames *f, uint32_t shown, uint32_t prefix, uint32_t *left,
	bool *retry);
/*
 * Sends an empty first part, which discards the parts before it. Needed by an event without parts
 * of its own if the ring has parts whose writer abandoned them (by siglongjmp) or will send them
 * again. Returns the position after the record; 0: it is not in the ring.
 */
hl_cold uint64_t hl_emit_put_empty_part(struct hl_thread *t, uint64_t pos, bool *retry);

/* Assigns its id to the stack that was just put and is the last one in the ring. If that fails, a
 * later event tries again. */
hl_noinline void hl_emit_send_stack_id(struct hl_thread *t, const struct hl_stack *s);

/* Puts an event whose stack has an id that the collector knows. The last stack that the collector
 * has for this ring does not change, and neither does our record of it. */
hl_inline bool hl_emit_put_by_stack_id(struct hl_thread *t, uint64_t pos, struct hl_draft *d,
	const struct hl_sent_frames *f, uint64_t size, bool *retry)
{
	bool synced = t->synced_at == pos && t->synced_serial + 1 == f->stack->serial;

	d->words[1] = hl_stack_id_word(size, f->stack->id_plus_1 - 1);
	if (!hl_emit_put_record(t, pos, d, f, 0, 0, 0, retry))
		return false;
	if (synced) {
		t->synced_serial = f->stack->serial;
		t->synced_at = pos + (uint64_t)(1 + d->n_words) * 8;
	}
	return true;
}

/* Puts the event itself. d->words[1] is reserved for the stack word. False: it is not in the ring;
 * *retry is set if a handler interfered. */
hl_inline bool hl_emit_put_event(struct hl_thread *t, struct hl_draft *d,
	const struct hl_sent_frames *f, uint64_t size, uint32_t common, bool *retry)
{
	uint64_t pos = hl_producer_pos(&t->out);
	uint64_t serial = f->stack ? f->stack->serial : 0;
	uint32_t shown = hl_sent_frames_shown_depth(f->depth) + f->truncated, prefix = 0, n;

	/* A handler has sent another tag since the stack was unwound. The shared prefix is not
	 * computed again: the stack is sent whole. */
	if (hl_unlikely(!hl_emit_is_tag_sent(t))) {
		*retry = hl_emit_send_tag(t);
		t->synced_at = UINT64_MAX;
		return false;
	}
	if (f->stack && f->stack->id_sent)
		return hl_emit_put_by_stack_id(t, pos, d, f, size, retry);
	/* The shared prefix refers to the unwinder's previous result. Use it only if the collector
	 * has that one. */
	if (t->synced_at == pos && t->synced_serial + 1 == serial && hl_likely(!f->truncated))
		prefix = hl_min_u32(t->synced_depth, common);
	if (hl_unlikely(shown != f->depth))
		prefix = hl_min_u32(prefix, hl_rec.depth_outer);
	n = shown - prefix;
	if (hl_unlikely(n > HL_RECORD_PCS - 1)) {
		pos = hl_emit_put_stack_parts(t, pos, f, shown, prefix, &n, retry);
		if (!pos)
			return false;
	} else if (hl_unlikely(t->in_parts)) {
		pos = hl_emit_put_empty_part(t, pos, retry);
		if (!pos)
			return false;
	}
	d->words[1] = hl_stack_word(size, n, prefix);
	if (!hl_emit_put_record(t, pos, d, f, shown, prefix, prefix + n, retry))
		return false;
	t->in_parts = false;
	t->synced_depth = shown == f->depth ? shown
			  : f->truncated    ? 0
					    : hl_min_u32(shown, hl_rec.depth_outer);
	t->synced_serial = serial;
	t->synced_at = pos + (uint64_t)(1 + d->n_words + n) * 8;
	return true;
}

/* For a handler that interrupted an unwind of its own thread. It is rare, so the whole stack is
 * sent. */
hl_cold void hl_emit_put_event_streamed(
	struct hl_thread *t, struct hl_draft *d, const struct hl_regs *regs, uint64_t size);
/* --unwind=full: the reference that tests compare with, and a fallback for users. */
hl_cold void hl_emit_put_event_full(
	struct hl_thread *t, struct hl_draft *d, const struct hl_regs *regs, uint64_t size);

#endif
