/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack_record.c - records of stacks for all cases but the common one: a stack that does not fit
 * into one record, gets an id, or is sent while it is walked. See stack_record_internal.h.
 */
#include "record/emit/stack_record_internal.h"
#include "record/emit/stamp.h"
#include "record/emit/tag_record_internal.h"
#include "record/emit/emit.h"

hl_cold uint64_t hl_emit_put_stack_parts(struct hl_thread *t, uint64_t pos,
	const struct hl_sent_frames *f, uint32_t shown, uint32_t prefix, uint32_t *left,
	bool *retry)
{
	uint32_t to = shown;
	bool first = true;

	while (to - prefix > HL_RECORD_PCS - 1) {
		struct hl_draft d = {.type = HL_REC_STACK, .n_words = 1};
		uint32_t from = to - (HL_RECORD_PCS - 1);

		d.words[0] = hl_stack_word(first ? HL_STACK_FIRST_PART : 0, to - from, 0);
		if (hl_producer_pos(&t->out) != pos) {
			*retry = true;
			return 0;
		}
		t->in_parts = true;
		if (!hl_emit_put_record(t, pos, &d, f, shown, from, to, retry))
			return 0;
		pos += (uint64_t)(2 + to - from) * 8;
		to = from;
		first = false;
	}
	*left = to - prefix;
	return pos;
}

hl_cold uint64_t hl_emit_put_empty_part(struct hl_thread *t, uint64_t pos, bool *retry)
{
	struct hl_draft d = {.type = HL_REC_STACK, .n_words = 1};
	struct hl_sent_frames none = {0};

	d.words[0] = hl_stack_word(HL_STACK_FIRST_PART, 0, 0);
	return hl_emit_put_record(t, pos, &d, &none, 0, 0, 0, retry) ? pos + 16 : 0;
}

_Static_assert(HL_STACK_IDS <= HL_RING_STACK_IDS, "the collector knows as many");

hl_noinline void hl_emit_send_stack_id(struct hl_thread *t, const struct hl_stack *s)
{
	uint64_t pos = t->synced_at;

	if (t->synced_depth != s->depth || !hl_producer_has_room(&t->out, pos, 2) ||
		!hl_emit_begin(t, &t->out, pos))
		return;
	hl_producer_word(&t->out, pos, 0, hl_first_word(hl_stamp(t), HL_REC_STACK_ID, 0));
	hl_producer_word(&t->out, pos, 1, s->id_plus_1 - 1);
	if (!hl_unwind_is_current(s)) {
		hl_producer_cancel(&t->out, pos);
		return;
	}
	if (!hl_producer_commit(&t->out, pos, 2))
		return;
	hl_emit_advance_sync(t, pos, pos + 16);
	hl_unwind_mark_sent(t->unwinder, s);
}

/* A walk without a memo to store its frames in: parts are sent as frames are found. */
struct stream {
	struct hl_thread *t;
	uint64_t pos;
	uint32_t n, total;
	bool first, retry, failed;
	uintptr_t pcs[32];
};

static bool flush_stream(struct stream *s)
{
	struct hl_sent_frames f = {.pcs = s->pcs, .depth = s->n, .reversed = true};
	struct hl_draft d = {.type = HL_REC_STACK, .n_words = 1};

	d.words[0] = hl_stack_word(s->first ? HL_STACK_FIRST_PART : 0, s->n, 0);
	s->retry = hl_producer_pos(&s->t->out) != s->pos;
	s->t->in_parts = true;
	s->failed = s->retry || !hl_emit_put_record(s->t, s->pos, &d, &f, s->n, 0, s->n, &s->retry);
	s->pos += (uint64_t)(2 + s->n) * 8;
	s->first = false;
	s->n = 0;
	return !s->failed;
}

static bool add_stream_pc(void *arg, uintptr_t pc)
{
	struct stream *s = arg;

	if (s->n == HL_ARRAY_LEN(s->pcs) && !flush_stream(s))
		return false;
	s->pcs[s->n++] = pc;
	if (++s->total < hl_rec.depth_inner)
		return true;
	s->pcs[s->n - 1] = HL_TRUNCATED_MARK;
	return false;
}

hl_cold void hl_emit_put_event_streamed(
	struct hl_thread *t, struct hl_draft *d, const struct hl_regs *regs, uint64_t size)
{
	for (int tries = 0; tries < 5; tries++) {
		struct stream s = {.t = t, .pos = hl_producer_pos(&t->out), .first = true};
		struct hl_sent_frames f = {.pcs = s.pcs, .reversed = true};

		if (!hl_emit_is_tag_sent(t)) {
			if (!hl_emit_send_tag(t))
				break;
			continue;
		}
		if (hl_unwind_full(regs, add_stream_pc, &s))
			(void)add_stream_pc(&s, HL_TRUNCATED_MARK);
		/* Without parts of its own, the event must discard abandoned parts. */
		if (!s.failed && s.first && t->in_parts) {
			s.pos = hl_emit_put_empty_part(t, s.pos, &s.retry);
			s.failed = !s.pos;
		}
		if (!s.failed) {
			d->words[1] = hl_stack_word(size, s.n, 0);
			f.depth = s.n;
			s.retry = hl_producer_pos(&t->out) != s.pos;
			s.failed = s.retry ||
				   !hl_emit_put_record(t, s.pos, d, &f, s.n, 0, s.n, &s.retry);
		}
		if (!s.failed) {
			t->in_parts = false;
			t->synced_at = UINT64_MAX;
			return;
		}
		if (!s.retry)
			break;
	}
	hl_emit_drop(t);
}

#define SCRATCH_PCS 65536u

static bool add_scratch_pc(void *arg, uintptr_t pc)
{
	struct hl_sent_frames *f = arg;
	uintptr_t *pcs = (uintptr_t *)f->pcs;

	pcs[f->depth++] = pc;
	f->truncated = f->depth == SCRATCH_PCS;
	return !f->truncated;
}

hl_cold void hl_emit_put_event_full(
	struct hl_thread *t, struct hl_draft *d, const struct hl_regs *regs, uint64_t size)
{
	struct hl_sent_frames f = {.pcs = t->scratch, .reversed = true};
	bool done, retry;

	if (!t->scratch || t->scratch_busy) {
		hl_emit_put_event_streamed(t, d, regs, size);
		return;
	}
	t->scratch_busy = true;
	f.truncated |= hl_unwind_full(regs, add_scratch_pc, &f);
	do
		done = hl_emit_put_event(t, d, &f, size, 0, &retry);
	while (!done && retry);
	t->scratch_busy = false;
	if (!done)
		hl_emit_drop(t);
}
