/*
 * emit.c - events into the ring; the two that nearly all are begin in usual.c.
 *
 * Everything slow (unwinding, waiting for room) comes before the stamp. A handler of the same
 * thread may emit whole events at any point in here: into the same ring, and the put notices by the
 * ring's position and starts over; or aside, into a shared ring, if it has interrupted a put
 * half-way. What the collector knows of our last stack is valid only if nobody wrote since
 * (synced_at == position); otherwise the whole stack is sent again. And the unwinder's pcs are ours
 * only while no handler has unwound since: asked before each commit, or the stack is unwound again.
 * In the same way the ring must have said which scope an event is in before the event: compared
 * after the position is read, so that whoever says another in between makes the put fail.
 */
#include <errno.h>
#include <string.h>

#include "base/bits.h"
#include "record/emit_internal.h"
#include "record/recorder.h"
#include "record/tags.h"
#include "record/timed.h"
#include "record/stamp.h"
#include "record/steer.h"

#define CUT_MARK 1u /* a pc: here frames are left out */

/* Frames on their way out: outermost first in memory, or innermost first when `reversed`. */
struct frames {
	const uintptr_t *pcs;
	uint32_t depth;
	bool reversed;
	bool cut; /* the walk ended before the stack did: a mark stands outermost */
	const struct hl_stack *stack; /* whose pcs they are; NULL: nobody else writes them */
};

/* A record before it is stamped: a few words and then pcs, innermost first. Rare paths get a copy,
 * so that on the hot one it never has to be in memory. */
struct draft {
	uint32_t type, func, n_words;
	uint64_t words[5];
};

hl_inline struct frames frames_of(const struct hl_stack *s)
{
	return (struct frames){.pcs = s->pcs, .depth = s->depth, .stack = s, .cut = s->cut};
}

hl_inline void advance_sync(struct hl_thread *t, uint64_t from, uint64_t to)
{
	if (t->synced_at == from)
		t->synced_at = to;
}

hl_cold void hl_emit_drop(struct hl_thread *t)
{
	t->synced_at = UINT64_MAX;
	if (t->out.ring)
		atomic_fetch_add_explicit(&t->out.ring->dropped, 1, memory_order_relaxed);
	else
		atomic_fetch_add_explicit(&hl_rec.region->unclaimed_drops, 1, memory_order_relaxed);
}

/* The i-th frame from the outermost, of a stack of which the middle may be left out. */
hl_inline uint64_t frame_at(const struct frames *f, uint32_t shown, uint32_t i)
{
	uint32_t at = i;

	if (hl_unlikely(f->cut)) {
		if (i == 0)
			return CUT_MARK;
		at = --i;
		shown--;
	}
	if (hl_unlikely(shown != f->depth)) {
		if (i == hl_rec.depth_outer)
			return CUT_MARK;
		if (i > hl_rec.depth_outer)
			at = f->depth - (shown - i);
	}
	return f->pcs[f->reversed ? f->depth - 1 - at : at];
}

/* How many frames of `depth` are shown. */
hl_inline uint32_t shown_depth(uint32_t depth)
{
	uint32_t limit = hl_rec.depth_inner + hl_rec.depth_outer;

	return hl_likely(depth <= limit) ? depth : limit + 1;
}

/*
 * The ring is busy. Either we are a handler inside a put of this thread, or a handler has left such
 * a put for good by siglongjmp: then our frame is not below its, and the ring is free again.
 */
hl_cold static bool interrupts_put(struct hl_thread *t, uintptr_t frame)
{
	if (frame < t->put_frame || hl_rec.no_syscalls || hl_arch_on_altstack())
		return true;
	hl_producer_cancel(&t->out, hl_producer_pos(&t->out));
	return false;
}

/* Must this event go to a shared ring? `frame`: of the hook, or of the function that it has called;
 * that of one which this calls would be below a put that was left. */
hl_inline bool stands_aside(struct hl_thread *t, uintptr_t frame)
{
	if (hl_likely(!t->shared && !(__atomic_load_n(&t->out.ring->w, __ATOMIC_RELAXED) & 1)))
		return false;
	return t->shared || interrupts_put(t, frame);
}

/*
 * One record at `pos`: the draft's words, then frames [from, to) innermost first. False: there was
 * no room, or a handler wrote since pos was read (*again).
 */
hl_inline bool put(struct hl_thread *t, uint64_t pos, const struct draft *d, const struct frames *f,
	uint32_t shown, uint32_t from, uint32_t to, bool *again)
{
	uint32_t n = 1 + d->n_words + (to - from), at = 1;

	*again = false;
	if (hl_unlikely(!hl_producer_has_room(&t->out, pos, n))) {
		if (!hl_wait_for_room(t, pos, n))
			return false;
		*again = t->resync;
		t->resync = false;
		if (*again)
			return false;
	}
	*again = true;
	if (hl_unlikely(!hl_emit_begin(t, &t->out, pos)))
		return false;
	hl_producer_word(&t->out, pos, 0, hl_first_word(hl_stamp(t), d->type, d->func));
#pragma GCC unroll 5
	for (uint32_t i = 0; i < d->n_words; i++)
		hl_producer_word(&t->out, pos, at++, d->words[i]);
	for (uint32_t i = to; i > from; i--)
		hl_producer_word(&t->out, pos, at++, frame_at(f, shown, i - 1));
	if (f->stack && hl_unlikely(!hl_unwind_is_current(f->stack))) {
		hl_producer_cancel(&t->out, pos);
		return false;
	}
	return hl_producer_commit(&t->out, pos, n);
}

/*
 * The inner part of a stack that does not fit one record: parts of HL_RECORD_PCS frames until
 * at most that many are left above `kept`. Returns the position behind them, 0 to give up, with
 * *left = how many frames of [kept, shown) are still to be sent.
 */
hl_cold static uint64_t put_parts(struct hl_thread *t, uint64_t pos, const struct frames *f,
	uint32_t shown, uint32_t kept, uint32_t *left, bool *again)
{
	uint32_t to = shown;
	bool first = true;

	while (to - kept > HL_RECORD_PCS - 1) {
		struct draft d = {.type = HL_REC_STACK, .n_words = 1};
		uint32_t from = to - (HL_RECORD_PCS - 1);

		d.words[0] = hl_stack_word(first ? HL_STACK_FIRST : 0, to - from, 0);
		if (hl_producer_pos(&t->out) != pos) {
			*again = true;
			return 0;
		}
		t->in_parts = true;
		if (!put(t, pos, &d, f, shown, from, to, again))
			return 0;
		pos += (uint64_t)(2 + to - from) * 8;
		to = from;
		first = false;
	}
	*left = to - kept;
	return pos;
}

/*
 * An event that needs no parts, where some are in the ring that their writer has left for good (by
 * siglongjmp), or will tell again: they are not this one's. The position behind that word; 0: not
 * in the ring.
 */
hl_cold static uint64_t put_no_parts(struct hl_thread *t, uint64_t pos, bool *again)
{
	struct draft d = {.type = HL_REC_STACK, .n_words = 1};
	struct frames none = {0};

	d.words[0] = hl_stack_word(HL_STACK_FIRST, 0, 0);
	return put(t, pos, &d, &none, 0, 0, 0, again) ? pos + 16 : 0;
}

static bool put_state(struct hl_thread *t, uint32_t type, const uint64_t *words, uint32_t n,
	const void *bytes, size_t len);

/* --- the scope that events are in --- */

void hl_emit_forget_tags(struct hl_thread *t)
{
	t->told_tag = NULL;
	t->told_pool = 0;
	if (t->unwinder)
		hl_unwind_untell(t->unwinder);
	if (t->named)
		memset(t->named, 0, HL_NAMED_TAGS * sizeof(*t->named));
}

hl_inline bool tag_is_told(const struct hl_thread *t)
{
	atomic_signal_fence(memory_order_seq_cst); /* not before the position is read */
	return hl_likely(t->told_tag == hl_tags_current());
}

/* The names of a node and of those around it, as far as this ring has not told them. */
static bool name_tag(struct hl_thread *t, const struct hl_tag_node *node)
{
	for (; node; node = node->parent) {
		uint32_t at = node->id % HL_NAMED_TAGS;
		uint32_t len = hl_min_u32(node->name_len, HL_TAG_NAME_MAX);
		const uint64_t words[] = {
			node->id | (uint64_t)(node->parent ? node->parent->id : 0) << 32, len};

		if (t->named && t->named[at] == node)
			break;
		if (!put_state(t, HL_REC_TAG_NAME, words, 2, node->name, len))
			return false;
		if (t->named)
			t->named[at] = node;
	}
	return true;
}

/* False: there was no room. A handler may tell another scope at any point in here: then what the
 * ring said last is not known. */
hl_cold static bool tell_tag(struct hl_thread *t)
{
	const struct hl_tag_node *node = hl_tags_current();
	uint32_t telling = ++t->tellings;
	uint64_t id = node ? node->id : 0;

	t->told_tag = HL_TAG_UNKNOWN;
	if (!name_tag(t, node) || !put_state(t, HL_REC_TAG, &id, 1, NULL, 0))
		return false;
	atomic_signal_fence(memory_order_seq_cst);
	t->told_tag = node;
	atomic_signal_fence(memory_order_seq_cst);
	if (t->tellings != telling)
		t->told_tag = HL_TAG_UNKNOWN;
	return true;
}

/* --- stacks that come back --- */

_Static_assert(HL_UNWIND_NUMBERS <= HL_WAY_NUMBERS, "the collector knows as many");

/*
 * The event of a stack whose number the collector knows. What it has as our last stack stays, and
 * so does what we think of it.
 */
hl_inline bool put_way(struct hl_thread *t, uint64_t pos, struct draft *d, const struct frames *f,
	uint64_t size, bool *again)
{
	bool synced = t->synced_at == pos && t->synced_serial + 1 == f->stack->serial;

	d->words[1] = hl_way_word(size, f->stack->number - 1);
	if (!put(t, pos, d, f, 0, 0, 0, again))
		return false;
	if (synced) {
		t->synced_serial = f->stack->serial;
		t->synced_at = pos + (uint64_t)(1 + d->n_words) * 8;
	}
	return true;
}

/* The stack that has just been put, and is the last in the ring, gets its number; or another time.
 */
static hl_noinline void tell_way(struct hl_thread *t, const struct hl_stack *s)
{
	uint64_t pos = t->synced_at;

	if (t->synced != s->depth || !hl_producer_has_room(&t->out, pos, 2) ||
		!hl_emit_begin(t, &t->out, pos))
		return;
	hl_producer_word(&t->out, pos, 0, hl_first_word(hl_stamp(t), HL_REC_WAY, 0));
	hl_producer_word(&t->out, pos, 1, s->number - 1);
	if (!hl_unwind_is_current(s)) {
		hl_producer_cancel(&t->out, pos);
		return;
	}
	if (!hl_producer_commit(&t->out, pos, 2))
		return;
	advance_sync(t, pos, pos + 16);
	hl_unwind_tell(t->unwinder, s);
}

/*
 * The event itself. d->words[1] is left for the stack word. False: not in the ring; *again: because
 * a handler came between.
 */
hl_inline bool put_event(struct hl_thread *t, struct draft *d, const struct frames *f,
	uint64_t size, uint32_t common, bool *again)
{
	uint64_t pos = hl_producer_pos(&t->out);
	uint64_t serial = f->stack ? f->stack->serial : 0;
	uint32_t shown = shown_depth(f->depth) + f->cut, kept = 0, n;

	/* A handler has told another scope since the stack was unwound. What that stack has in
	 * common with the last one is not asked again: it is sent whole. */
	if (hl_unlikely(!tag_is_told(t))) {
		*again = tell_tag(t);
		t->synced_at = UINT64_MAX;
		return false;
	}
	if (f->stack && f->stack->told)
		return put_way(t, pos, d, f, size, again);
	/* What is common is so with the unwinder's last result: has the collector that one? */
	if (t->synced_at == pos && t->synced_serial + 1 == serial && hl_likely(!f->cut))
		kept = hl_min_u32(t->synced, common);
	if (hl_unlikely(shown != f->depth))
		kept = hl_min_u32(kept, hl_rec.depth_outer);
	n = shown - kept;
	if (hl_unlikely(n > HL_RECORD_PCS - 1)) {
		pos = put_parts(t, pos, f, shown, kept, &n, again);
		if (!pos)
			return false;
	} else if (hl_unlikely(t->in_parts)) {
		pos = put_no_parts(t, pos, again);
		if (!pos)
			return false;
	}
	d->words[1] = hl_stack_word(size, n, kept);
	if (!put(t, pos, d, f, shown, kept, kept + n, again))
		return false;
	t->in_parts = false;
	t->synced = shown == f->depth ? shown : f->cut ? 0 : hl_min_u32(shown, hl_rec.depth_outer);
	t->synced_serial = serial;
	t->synced_at = pos + (uint64_t)(1 + d->n_words + n) * 8;
	return true;
}

/* A walk that has no memo to lie in: parts are sent as they are found. */
struct stream {
	struct hl_thread *t;
	uint64_t pos;
	uint32_t n, total;
	bool first, again, failed;
	uintptr_t pcs[32];
};

static bool stream_flush(struct stream *s)
{
	struct frames f = {.pcs = s->pcs, .depth = s->n, .reversed = true};
	struct draft d = {.type = HL_REC_STACK, .n_words = 1};

	d.words[0] = hl_stack_word(s->first ? HL_STACK_FIRST : 0, s->n, 0);
	s->again = hl_producer_pos(&s->t->out) != s->pos;
	s->t->in_parts = true;
	s->failed = s->again || !put(s->t, s->pos, &d, &f, s->n, 0, s->n, &s->again);
	s->pos += (uint64_t)(2 + s->n) * 8;
	s->first = false;
	s->n = 0;
	return !s->failed;
}

static bool stream_pc(void *arg, uintptr_t pc)
{
	struct stream *s = arg;

	if (s->n == HL_ARRAY_LEN(s->pcs) && !stream_flush(s))
		return false;
	s->pcs[s->n++] = pc;
	if (++s->total < hl_rec.depth_inner)
		return true;
	s->pcs[s->n - 1] = CUT_MARK;
	return false;
}

/* In a handler that interrupted an unwind of its own thread: rare, so the whole stack is sent. */
hl_cold static void put_event_streamed(
	struct hl_thread *t, struct draft *d, const struct hl_regs *regs, uint64_t size)
{
	for (int tries = 0; tries < 5; tries++) {
		struct stream s = {.t = t, .pos = hl_producer_pos(&t->out), .first = true};
		struct frames f = {.pcs = s.pcs, .reversed = true};

		if (!tag_is_told(t)) {
			if (!tell_tag(t))
				break;
			continue;
		}
		if (hl_unwind_full(regs, stream_pc, &s))
			(void)stream_pc(&s, CUT_MARK);
		/* Without parts of its own it is told that those before are not its. */
		if (!s.failed && s.first && t->in_parts) {
			s.pos = put_no_parts(t, s.pos, &s.again);
			s.failed = !s.pos;
		}
		if (!s.failed) {
			d->words[1] = hl_stack_word(size, s.n, 0);
			f.depth = s.n;
			s.again = hl_producer_pos(&t->out) != s.pos;
			s.failed = s.again || !put(t, s.pos, d, &f, s.n, 0, s.n, &s.again);
		}
		if (!s.failed) {
			t->in_parts = false;
			t->synced_at = UINT64_MAX;
			return;
		}
		if (!s.again)
			break;
	}
	hl_emit_drop(t);
}

#define HL_SCRATCH_PCS 65536u

static bool scratch_pc(void *arg, uintptr_t pc)
{
	struct frames *f = arg;
	uintptr_t *pcs = (uintptr_t *)f->pcs;

	pcs[f->depth++] = pc;
	f->cut = f->depth == HL_SCRATCH_PCS;
	return !f->cut;
}

/* --unwind=full: the reference the tests compare with, and an escape for doubt. */
hl_cold static void put_event_full(
	struct hl_thread *t, struct draft *d, const struct hl_regs *regs, uint64_t size)
{
	struct frames f = {.pcs = t->scratch, .reversed = true};
	bool done, again;

	if (!t->scratch || t->scratch_busy) {
		put_event_streamed(t, d, regs, size);
		return;
	}
	t->scratch_busy = true;
	f.cut |= hl_unwind_full(regs, scratch_pc, &f);
	do
		done = put_event(t, d, &f, size, 0, &again);
	while (!done && again);
	t->scratch_busy = false;
	if (!done)
		hl_emit_drop(t);
}

/* The event with the stack that was just unwound. */
hl_inline bool put_unwound(struct hl_thread *t, struct draft *d, const struct hl_stack *stack,
	uint64_t size, bool *again)
{
	struct frames f = frames_of(stack);

	if (hl_unlikely(!put_event(t, d, &f, size, stack->common, again)))
		return false;
	if (hl_unlikely(stack->number && !stack->told))
		tell_way(t, stack);
	return true;
}

hl_inline void emit_with_stack(
	struct hl_thread *t, struct draft *d, const struct hl_regs *regs, uint64_t size)
{
	bool again = true;

	if (hl_unlikely(hl_rec.settings & HL_SET_FULL_UNWIND)) {
		put_event_full(t, d, regs, size);
		return;
	}
	while (again) {
		struct hl_stack stack;

		if (hl_unlikely(!tag_is_told(t)) && !tell_tag(t))
			break;
		if (hl_unlikely(hl_unwind(t->unwinder, regs, &stack) < 0)) {
			put_event_streamed(t, d, regs, size);
			return;
		}
		if (hl_likely(put_unwound(t, d, &stack, size, &again)))
			return;
	}
	hl_emit_drop(t);
}

/*
 * A thread without a ring, or a handler inside a put of its thread: takes a shared ring for this
 * one event and tells whose it is. `aside` is the caller's, on its stack: a handler inside this has
 * its own.
 */
static bool step_aside(const struct hl_thread *t, struct hl_thread *aside)
{
	uint64_t who = (uint64_t)t->serial << 32 | t->tid;

	*aside = (struct hl_thread){.serial = t->serial,
		.tid = t->tid,
		.shared = true,
		.synced_at = UINT64_MAX,
		.skip = t->skip,
		.silent_beat = t->silent_beat};
	if (!hl_rec.region || !hl_thread_lock_shared(aside))
		return false;
	if (put_state(aside, HL_REC_SWITCH, &who, 1, NULL, 0))
		return true;
	hl_thread_unlock_shared(aside);
	return false;
}

hl_cold static void emit_aside(
	struct hl_thread *t, struct draft *d, const struct hl_regs *regs, uint64_t size)
{
	struct hl_thread aside;

	if (!step_aside(t, &aside)) {
		if (hl_rec.region)
			atomic_fetch_add_explicit(
				&hl_rec.region->unclaimed_drops, 1, memory_order_relaxed);
	} else {
		if (regs)
			put_event_streamed(&aside, d, regs, size);
		else if ((d->type == HL_REC_FREE && !tag_is_told(&aside) && !tell_tag(&aside)) ||
			 !put_state(&aside, d->type | d->func << 5, d->words, d->n_words, NULL, 0))
			hl_emit_drop(&aside);
		hl_thread_unlock_shared(&aside);
	}
	t->skip = aside.skip; /* who has given up does not wait again at once */
	t->silent_beat = aside.silent_beat;
}

hl_inline void emit_stack_event(struct hl_thread *t, struct draft *d, const struct hl_regs *regs,
	uint64_t size, uintptr_t frame)
{
	if (hl_likely(!stands_aside(t, frame)))
		emit_with_stack(t, d, regs, size);
	else
		emit_aside(t, d, regs, size);
}

/* A size that does not fit its bits stands in a word more, before the pcs. */
hl_inline uint64_t size_field(struct draft *d, uint64_t size)
{
	if (hl_likely(size < HL_SIZE_BIG))
		return size;
	d->words[d->n_words++] = size;
	return HL_SIZE_BIG;
}

static hl_noinline void emit_big(struct hl_thread *t, struct draft d, const struct hl_regs *regs,
	size_t size, uintptr_t frame)
{
	emit_stack_event(t, &d, regs, size_field(&d, size), frame);
}

/* While samples are taken, or recording is paused. */
static hl_noinline void emit_alloc_asked(
	struct hl_thread *t, const struct hl_regs *regs, struct draft d, size_t size)
{
	enum hl_take take =
		hl_steer_ask_alloc(t, (const void *)d.words[0], size, &d.words[d.n_words]);
	struct hl_timed w;

	if (hl_likely(take == HL_TAKE_NOT))
		return;
	if (take == HL_TAKE_SAMPLE) {
		d.type = HL_REC_SAMPLE;
		d.n_words++;
	}
	w = hl_timed_begin(t);
	emit_big(t, d, regs, size, HL_THIS_FRAME);
	hl_timed_end(t, w);
	if (take == HL_TAKE_ALL)
		hl_steer_recorded((const void *)d.words[0]);
}

static struct draft alloc_draft(uint32_t func, const void *addr)
{
	return (struct draft){
		.type = HL_REC_ALLOC, .func = func, .n_words = 2, .words = {(uintptr_t)addr}};
}

void hl_emit_alloc_any(struct hl_thread *t, const struct hl_regs *regs, uint32_t func,
	const void *addr, size_t size, uintptr_t frame)
{
	emit_big(t, alloc_draft(func, addr), regs, size, frame);
}

void hl_emit_alloc_unwound(const struct hl_unwound *e, const struct hl_stack *stack)
{
	struct draft d = alloc_draft(e->func, e->addr);
	struct frames f = frames_of(stack);
	bool again = true;

	if (stack->number && !stack->told) {
		d.type = HL_REC_ALLOC_WAY;
		d.words[d.n_words++] = stack->number - 1;
	}
	if (hl_likely(!stands_aside(e->t, e->frame)) &&
		hl_likely(put_event(e->t, &d, &f, e->size, stack->common, &again))) {
		if (d.type == HL_REC_ALLOC_WAY)
			hl_unwind_tell(e->t->unwinder, stack);
		return;
	}
	d = alloc_draft(e->func, e->addr);
	if (again)
		emit_big(e->t, d, e->regs, e->size, e->frame);
	else
		hl_emit_drop(e->t);
}

void *hl_emit_alloc(const struct hl_regs *regs, uint32_t func, void *addr, size_t size)
{
	struct hl_thread *t = hl_thread_enter();
	struct hl_timed w;

	hl_emit_zero(func, addr, size);
	if (hl_unlikely(!t))
		return addr;
	if (hl_steer_asks_alloc()) {
		emit_alloc_asked(t, regs, alloc_draft(func, addr), size);
		return addr;
	}
	w = hl_timed_begin(t);
	hl_emit_alloc_any(t, regs, func, addr, size, HL_THIS_FRAME);
	hl_timed_end(t, w);
	hl_steer_recorded(addr);
	return addr;
}

/* A record of words alone; the hot half of free. */
hl_inline bool emit_words(
	struct hl_thread *t, uint32_t type, uint32_t func, const uint64_t *words, uint32_t n)
{
	for (;;) {
		uint64_t pos = hl_producer_pos(&t->out);

		if (type == HL_REC_FREE && hl_unlikely(!tag_is_told(t))) {
			if (!tell_tag(t))
				return false;
			continue;
		}
		if (hl_unlikely(!hl_producer_has_room(&t->out, pos, n + 1)) &&
			!hl_wait_for_room(t, pos, n + 1))
			return false;
		if (hl_unlikely(!hl_emit_begin(t, &t->out, pos)))
			continue;
		hl_producer_word(&t->out, pos, 0, hl_first_word(hl_stamp(t), type, func));
		for (uint32_t i = 0; i < n; i++)
			hl_producer_word(&t->out, pos, i + 1, words[i]);
		if (!hl_producer_commit(&t->out, pos, n + 1))
			continue;
		advance_sync(t, pos, pos + (n + 1) * 8);
		return true;
	}
}

/* Apart: the draft would take stack in each caller. */
hl_cold static void emit_plain_aside(
	struct hl_thread *t, uint32_t type, uint32_t func, uint64_t word)
{
	struct draft d = {.type = type, .func = func, .n_words = 1, .words = {word}};

	emit_aside(t, &d, NULL, 0);
}

hl_inline void put_plain(
	struct hl_thread *t, uint32_t type, uint32_t func, uint64_t word, uintptr_t frame)
{
	if (hl_unlikely(stands_aside(t, frame)))
		emit_plain_aside(t, type, func, word);
	else if (hl_unlikely(!emit_words(t, type, func, &word, 1)))
		hl_emit_drop(t);
}

hl_inline void emit_plain(uint32_t type, uint32_t func, uint64_t word)
{
	struct hl_thread *t = hl_thread_enter();
	struct hl_timed w;

	if (hl_unlikely(!t))
		return;
	w = hl_timed_begin(t);
	put_plain(t, type, func, word, HL_THIS_FRAME);
	hl_timed_end(t, w);
}

void hl_emit_free_any(struct hl_thread *t, uint32_t func, const void *addr, uintptr_t frame)
{
	put_plain(t, HL_REC_FREE, func, (uintptr_t)addr, frame);
}

static hl_noinline void emit_free_stack(const struct hl_regs *regs, uint32_t func, const void *addr)
{
	struct hl_thread *t = hl_thread_enter();
	struct draft d = {
		.type = HL_REC_FREE_STACK, .func = func, .n_words = 2, .words = {(uintptr_t)addr}};

	if (t)
		emit_stack_event(t, &d, regs, 0, HL_THIS_FRAME);
}

void hl_emit_free(const struct hl_regs *regs, uint32_t func, const void *addr)
{
	uint32_t steer = hl_steer();

	if (hl_unlikely(steer & HL_STEER_ASK_FREE) && !hl_steer_ask_free(addr))
		return;
	if (hl_likely(!(hl_rec.settings & HL_SET_FREE_STACKS)))
		emit_plain(HL_REC_FREE, func, (uintptr_t)addr);
	else
		emit_free_stack(regs, func, addr);
	hl_steer_tell(steer, (uintptr_t)addr);
}

bool hl_emit_move_begin(const void *old)
{
	if (hl_unlikely(hl_steer() & HL_STEER_ASK_FREE) && !hl_steer_ask_free(old))
		return false;
	emit_plain(HL_REC_MOVE_BEGIN, HL_FUNC_REALLOC, (uintptr_t)old);
	return true;
}

void hl_emit_move_failed(const void *old)
{
	emit_plain(HL_REC_MOVE_FAILED, HL_FUNC_REALLOC, (uintptr_t)old);
}

/* A realloc of which only the end that was begun, or that is a sample, is told. */
static hl_noinline void emit_move_asked(struct hl_thread *t, const struct hl_regs *regs,
	uint32_t func, const void *old, const void *addr, size_t size, bool begun)
{
	struct draft d = {.type = HL_REC_MOVE_END,
		.func = func,
		.n_words = 3,
		.words = {(uintptr_t)addr, 0, (uintptr_t)old}};
	enum hl_take take = HL_TAKE_NOT;

	if (!begun) {
		d.type = HL_REC_ALLOC; /* the old block is nobody's */
		d.n_words = 2;
		if (addr)
			emit_alloc_asked(t, regs, d, size);
		return;
	}
	if (addr)
		take = hl_steer_ask_alloc(t, addr, size, &d.words[3]);
	if (take == HL_TAKE_SAMPLE) {
		d.type = HL_REC_SAMPLE_MOVE;
		d.n_words++;
	} else if (take == HL_TAKE_NOT) {
		d.words[0] = 0; /* freed */
		size = 0;
	}
	emit_big(t, d, regs, size, HL_THIS_FRAME);
	if (take == HL_TAKE_ALL)
		hl_steer_recorded(addr);
}

void hl_emit_move_end(const struct hl_regs *regs, uint32_t func, const void *old, const void *addr,
	size_t size, bool begun)
{
	struct hl_thread *t = hl_thread_enter();
	struct draft d = {.type = HL_REC_MOVE_END,
		.func = func,
		.n_words = 3,
		.words = {(uintptr_t)addr, 0, (uintptr_t)old}};
	struct hl_timed w;

	if (hl_unlikely(!t))
		return;
	if (hl_steer_asks_alloc() || hl_unlikely(!begun)) {
		emit_move_asked(t, regs, func, old, addr, size, begun);
		return;
	}
	w = hl_timed_begin(t);
	emit_stack_event(t, &d, regs, size_field(&d, size), HL_THIS_FRAME);
	hl_timed_end(t, w);
	hl_steer_recorded(addr);
}

void hl_emit_map(const struct hl_regs *regs, uint32_t type, uint64_t start, uint64_t size,
	uint64_t a, uint64_t b)
{
	struct hl_thread *t = hl_thread_enter();
	struct draft d = {
		.type = type, .func = HL_FUNC_MMAP, .n_words = 5, .words = {start, 0, size, a, b}};

	if (t)
		emit_stack_event(t, &d, regs, 0, HL_THIS_FRAME);
}

static bool put_state(struct hl_thread *t, uint32_t type, const uint64_t *words, uint32_t n,
	const void *bytes, size_t len)
{
	uint32_t tail = (uint32_t)(len + 7) / 8, total = 1 + n + tail;

	for (;;) {
		uint64_t pos = hl_producer_pos(&t->out);

		if (!hl_producer_has_room(&t->out, pos, total) && !hl_wait_for_room(t, pos, total))
			return false;
		if (!hl_emit_begin(t, &t->out, pos))
			continue;
		hl_producer_word(&t->out, pos, 0, hl_first_word(hl_stamp(t), type, 0));
		for (uint32_t i = 0; i < n; i++)
			hl_producer_word(&t->out, pos, 1 + i, words[i]);
		for (uint32_t i = 0; i < tail; i++) {
			uint64_t word = 0;
			memcpy(&word, (const char *)bytes + i * 8, hl_min_u64(8, len - i * 8));
			hl_producer_word(&t->out, pos, 1 + n + i, word);
		}
		if (!hl_producer_commit(&t->out, pos, total))
			continue;
		advance_sync(t, pos, pos + (uint64_t)total * 8);
		return true;
	}
}

bool hl_emit_state(struct hl_thread *t, uint32_t type, const uint64_t *words, uint32_t n,
	const void *bytes, size_t len)
{
	struct hl_thread aside;
	bool done;

	if (hl_likely(!stands_aside(t, HL_THIS_FRAME)))
		return put_state(t, type, words, n, bytes, len);
	if (!step_aside(t, &aside))
		return false;
	done = put_state(&aside, type, words, n, bytes, len);
	hl_thread_unlock_shared(&aside);
	return done;
}

void hl_emit_mark(uint32_t kind, const char *text)
{
	struct hl_thread *t = hl_thread_enter();
	size_t len = text ? strnlen(text, 1023) : 0;
	uint64_t word = kind | (uint64_t)len << 8;

	if (t)
		hl_emit_state(t, HL_REC_MARK, &word, 1, text, len);
}

void hl_emit_pool_alloc(struct hl_thread *t, const struct hl_regs *regs, uint64_t pool,
	const void *addr, size_t size)
{
	struct draft d = {
		.type = HL_REC_POOL_ALLOC, .n_words = 3, .words = {(uintptr_t)addr, 0, pool}};

	emit_stack_event(t, &d, regs, size_field(&d, size), HL_THIS_FRAME);
}
