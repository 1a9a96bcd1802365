/*
 * unwind.c - the incremental walk.
 *
 * A step is a pure function of (pc, sp, fp), the rule of pc, and the words it reads. So when the
 * walk comes by a remembered frame in the remembered state, and all words that the remembered steps
 * have read are unchanged, the rest of the stack is what it was. The words are compared inner to
 * outer: each is one that a full walk would read next, so comparing is as safe as walking. A frame
 * pointer that no outer frame uses is not compared, and for that reason never taken from the memo
 * either: after a mismatch the walk goes on from its own state.
 */
#include <errno.h>

#include "base/bits.h"
#include "record/unwind/again.h"
#include "record/unwind/memo_internal.h"

/* The frame that check c belongs to; all checks of frames above `from` have passed. */
static uint32_t owner(const struct hl_memo *m, uint32_t from, uint32_t c)
{
	while (from > 0 && m->frames[from - 1].checks_end > c)
		from--;
	return from;
}

/* The remembered state; its fp is to be trusted only if it is live. */
static struct hl_regs kept_regs(const struct hl_memo *m, uint32_t i, struct hl_walk *w)
{
	const struct hl_kept *f = &m->frames[i];

	w->exact = f->flags & HL_KEPT_EXACT;
	w->guessed = f->flags & HL_KEPT_GUESSED;
	w->careful = w->exact || w->guessed;
	return (struct hl_regs){.pc = m->pcs[i] - w->exact, .sp = f->sp, .fp = f->fp};
}

/* Does the step out of frame i, repeated, still lead to frame i - 1, or to the end for frame 0? */
static hl_noinline bool repeat(const struct hl_memo *m, uint32_t i, const struct hl_walk *from)
{
	struct hl_walk w = *from;
	struct hl_regs r = kept_regs(m, i, &w);
	struct hl_step s;
	enum hl_step_end end;

	/* A live frame's code stays: to probe it again would cost a syscall per frame of a JIT. */
	w.known_pc = i > 0 ? m->pcs[i - 1] : 0;
	end = hl_walk_step(&w, &r, &s);
	if (i == 0)
		return end == (m->cut ? HL_STEP_CUT : HL_STEP_END);
	return end == HL_STEP_ON && hl_memo_same_frame(m, i - 1, &r, w.exact);
}

/* Are the steps from frame i outwards what they were? If not, `failed` is the first changed. */
static bool verify(const struct hl_memo *m, uint32_t i, const struct hl_walk *w, uint32_t *failed)
{
	uint32_t n = m->frames[i].checks_end;

	while ((n = hl_first_to_fail(m->checks, n))) {
		n--;
		i = owner(m, i, n);
		if ((m->frames[i].flags & HL_KEPT_SPECIAL) && repeat(m, i, w))
			continue;
		*failed = i;
		return false;
	}
	return true;
}

/* After a signal frame the walk may be on another stack: match outside the remembered one. */
static hl_noinline uint32_t past_signal(const struct hl_memo *m, uint32_t n)
{
	for (uint32_t i = n; i-- > 0;) {
		if (m->frames[i].flags & HL_KEPT_EXACT)
			return i + 1;
	}
	return n;
}

/* On the alternate stack, addresses say nothing: there, and whenever we may not ask, the answer is
 * the one that does no harm. */
static hl_cold bool nested(const struct hl_unwinder *u, uintptr_t here)
{
	const volatile struct hl_token *t = (const volatile struct hl_token *)u->busy;

	if (!hl_walk_probes_allowed())
		return true;
	if (here >= u->busy)
		return hl_arch_on_altstack();
	if (!hl_arch_readable(u->busy))
		return false;
	return t->owner == u && t->self == t;
}

/* What a walk found: frames [0, keep) of the memo, and n fresh ones inside them. */
struct found {
	uint32_t keep, n;
	enum hl_step_end end;
	bool full; /* ended because there was no room for more frames */
};

#define PATCH 12 /* frames replaced in the middle of a memo; more are walked anew from inside */
#define NONE  UINT32_MAX

/*
 * The frame pointer in frame f, when the walk came by frame i > f with this one and all between
 * still holds.
 */
static bool find_fp(const struct hl_memo *m, uint32_t i, uint32_t f, uintptr_t *fp)
{
	if (m->frames[f].flags & HL_KEPT_LIVE) {
		*fp = m->frames[f].fp;
		return true;
	}
	for (uint32_t k = f + 1; k <= i; k++) {
		if (m->frames[k].flags & HL_KEPT_SPECIAL)
			return false;
		if (m->frames[k].fp_slot) {
			*fp = hl_word(m->frames[k].fp_slot);
			return true;
		}
	}
	return true;
}

/* One step, with all that is to be remembered of it. */
hl_inline enum hl_step_end fresh_step(struct hl_fresh *f, struct hl_walk *w, struct hl_regs *r)
{
	uint32_t flags = 0;
	enum hl_step_end end;

	if (hl_unlikely(w->careful))
		flags = (w->exact ? HL_STEP_EXACT : 0) | (w->guessed ? HL_STEP_GUESSED : 0);
	f->pc = r->pc + w->exact;
	f->sp = r->sp;
	f->fp = r->fp;
	end = hl_walk_step(w, r, &f->step);
	f->step.flags |= flags;
	return end;
}

/*
 * A loop in an outer frame has moved on: its pc is another, while the frames inside and outside are
 * the same. The walk came by frame i, the step out of frame f is not what it was. Walks from f
 * until a remembered frame is met in its place, and puts what was walked where it belongs. Returns
 * the frame that was met.
 */
static hl_noinline uint32_t patch(struct hl_unwinder *u, struct hl_memo *m,
	const struct hl_walk *from, uint32_t i, uint32_t f, struct hl_fresh *fresh)
{
	struct hl_walk w = *from;
	struct hl_regs r;
	uintptr_t fp = from->r.fp;

	if (!find_fp(m, i, f, &fp))
		return NONE;
	r = kept_regs(m, f, &w);
	r.fp = fp;
	for (uint32_t n = 1, e = f; n <= PATCH && e-- > 0; n++, fresh++) {
		if (fresh_step(fresh, &w, &r) != HL_STEP_ON || w.exact || r.sp != m->frames[e].sp)
			return NONE;
		u->counts.walked++;
		if (hl_memo_same_frame(m, e, &r, w.exact))
			return hl_memo_replace(m, e, f, fresh + 1 - n, r.fp) ? e : NONE;
	}
	return NONE;
}

/* The walk stands at frame i. Is all from there outwards as remembered, or can be made so? */
static bool settle(struct hl_unwinder *u, struct hl_memo *m, struct hl_walk *w,
	const struct hl_regs *r, uint32_t i, uint32_t n, uint32_t *failed)
{
	uint32_t at = i;

	while (hl_unlikely(!verify(m, at, w, failed))) {
		if (n + PATCH > u->fresh_capacity)
			return false;
		if (m->unpatched > 0) {
			m->unpatched--;
			return false;
		}
		w->r = *r;
		at = patch(u, m, w, i, *failed, u->fresh + n);
		if (at == NONE) {
			m->unpatched = m->patch_wait;
			m->patch_wait = hl_min_u32(m->patch_wait * 2 + 1, 63);
			return false;
		}
		m->patch_wait = 0;
	}
	return true;
}

static hl_noinline void walk(struct hl_unwinder *u, struct hl_memo *m, struct hl_walk *w,
	struct hl_regs *at, struct found *out)
{
	struct hl_regs r = *at;
	struct hl_fresh *fresh = u->fresh, *f;
	uint32_t j = m->depth, n = 0, failed;
	enum hl_step_end end = HL_STEP_ON;

	for (;;) {
		while (j > 0 && m->frames[j - 1].sp < r.sp)
			j--;
		if (j > 0 && hl_memo_same_frame(m, j - 1, &r, w->exact)) {
			if (settle(u, m, w, &r, j - 1, n, &failed))
				break;
			j = failed;
		}
		if (hl_unlikely(n == u->fresh_capacity)) {
			out->full = !hl_fresh_grow(u);
			if (out->full) {
				j = 0;
				break;
			}
			fresh = u->fresh;
		}
		f = &fresh[n++];
		end = fresh_step(f, w, &r);
		if (hl_unlikely(end != HL_STEP_ON)) {
			j = 0;
			break;
		}
		if (hl_unlikely(w->exact))
			j = past_signal(m, j);
	}
	w->r = r;
	out->keep = j;
	out->n = n;
	out->end = end;
}

static void save_range(struct hl_memo *m, struct hl_walk *w)
{
	uintptr_t hi = w->hi;

	if (w->segment_end)
		return; /* the range is that of another stack */
	if (!w->exact)
		hi = hl_max_u64(hi, hl_align_up(w->r.sp, HL_PAGE));
	if (m->lo < m->hi && m->lo <= hi && m->hi >= w->lo) {
		m->lo = hl_min_u64(m->lo, w->lo);
		m->hi = hl_max_u64(m->hi, hi);
	} else {
		m->lo = w->lo;
		m->hi = hi;
	}
}

/*
 * More frames than the memo can hold: the outermost go, and with them what leads to them. The inner
 * half of the room is filled, so that a recursion that goes on deepening pays for this rarely.
 */
static hl_cold void make_room(struct hl_memo *m, struct found *found, struct hl_fresh *fresh)
{
	uint32_t want = m->capacity / 2, drop;

	m->cut = true;
	if (found->n >= want || found->keep == 0) {
		found->n = hl_min_u32(found->n, want);
		found->keep = 0;
		fresh[found->n - 1].step = (struct hl_step){.flags = HL_STEP_USES_FP};
		return;
	}
	drop = found->keep + found->n - want;
	hl_memo_drop(m, drop);
	found->keep -= drop;
}

/*
 * `out` is the result, found by a memo or a way. What of it stood in the last one: a memo that gave
 * both knows.
 */
hl_inline void answered(
	struct hl_unwinder *u, struct hl_memo *m, const struct hl_way *way, struct hl_stack *out)
{
	const uintptr_t *before;
	uint32_t n, common = 0;

	if (hl_likely(m && u->last == m))
		return;
	if (u->last || u->last_way) {
		before = u->last ? u->last->pcs : hl_way_pcs(u->last_way);
		n = hl_min_u32(out->depth, u->last ? u->last->unchanged : u->last_way->depth);
		while (common < n && before[common] == out->pcs[common])
			common++;
	}
	out->common = common;
	u->last = m;
	u->last_way = way;
}

/* Others know it by a number, or may be told one. */
hl_inline void find_number(struct hl_unwinder *u, uint64_t hash, struct hl_stack *out)
{
	out->number = hl_numbers_find(&u->numbers, hash);
	out->told = out->number != 0;
	if (!out->told)
		hl_numbers_offer(&u->numbers, hash, out);
}

/* Others know the memo's stack: as the last one, or by this number, + 1. */
static void note_last(struct hl_unwinder *u, const struct hl_memo *m, uint32_t number)
{
	const struct hl_kept *inner = &m->frames[m->depth - 1];

	if (inner->flags & HL_KEPT_EXACT)
		return;
	u->quick = (struct hl_quick){.pc = m->pcs[m->depth - 1],
		.sp = inner->sp,
		.fp = inner->fp,
		.checks = m->checks,
		.memo = m,
		.n_checks = inner->checks_end,
		.depth = m->depth,
		.live = inner->flags & HL_KEPT_LIVE,
		.answer = number ? HL_LAST_NUMBER | (number - 1) : m->depth};
}

/* The slow half: new frames were walked. */
static hl_noinline int finish(struct hl_unwinder *u, struct hl_memo *m, struct hl_walk *w,
	struct found *found, struct hl_stack *out)
{
	const uint64_t serial = out->serial;
	uintptr_t end = w->segment_end ? w->segment_end : w->r.sp, known = u->ends[m - u->memos];
	uint32_t depth = found->keep + found->n;
	bool whole;

	/* A whole walk says which stack this is, if it came to the end of one. */
	if (found->keep == 0 &&
		(known <= w->start->sp || (end != known && found->end == HL_STEP_END)))
		m = hl_memo_settle(u, w->start->sp, end);
	/* What was found again in the meantime was not walked. */
	if (u->counts.unwinds != m->walked_at + 1)
		m->failures = 0;
	m->walked_at = u->counts.unwinds;
	m->failures = found->keep * 4 >= found->n ? 0 : m->failures + 1;
	if (found->keep == 0)
		m->cut = found->end == HL_STEP_CUT;
	if ((depth > m->capacity && !hl_memo_reserve(u, m, depth)) || found->full)
		make_room(m, found, u->fresh);
	if (u->serial != serial)
		return -EBUSY; /* another unwind ran while a handler held us up */
	if (m->failures < HL_MEMO_WALKS || m->failures % HL_MEMO_RETRY == 0)
		out->common = hl_memo_remember(m, found->keep, u->fresh, found->n, w->r.fp);
	else
		out->common = hl_memo_list(m, found->keep, u->fresh, found->n);
	save_range(m, w);
	m->used = serial;
	out->pcs = m->pcs;
	out->depth = m->last_depth;
	out->cut = m->cut;
	whole = m->depth == m->last_depth && !m->cut;
	if (whole)
		find_number(u, m->frames[m->depth - 1].hash, out);
	if (out->told)
		m->unchanged = out->common;
	else
		answered(u, m, NULL, out);
	if (whole) {
		note_last(u, m, out->told ? out->number : 0);
		/* What is added may lie where the last result did, if that was a way's. */
		if (hl_ways_add(&u->ways, m, w->start))
			u->last_way = NULL;
	}
	return 0;
}

static void start_walk(struct hl_walk *w, const struct hl_memo *m, const struct hl_regs *start,
	uint64_t generation)
{
	hl_walk_init(w, start);
	w->generation = hl_generation_bits(generation);
	w->memo_lo = m->lo;
	w->memo_hi = m->hi;
	if (start->sp >= m->lo && start->sp <= m->hi) {
		w->lo = m->lo;
		w->hi = m->hi;
	}
}

static hl_noinline int unwind(
	struct hl_unwinder *u, struct hl_memo *m, const struct hl_regs *start, struct hl_stack *out)
{
	const uint64_t serial = out->serial, walked = u->counts.walked;
	struct found found = {0};
	struct hl_regs r = *start;
	struct hl_walk w;
	int err;

	u->quick.sp = 0;
	start_walk(&w, m, start, u->generation);
	walk(u, m, &w, &r, &found);
	err = finish(u, m, &w, &found, out);
	u->counts.walked += found.n;
	if (hl_unlikely(u->ways.trying))
		hl_ways_judge(&u->ways, (uint32_t)(u->counts.walked - walked));
	u->counts.verified += found.keep;
	u->counts.misses += w.misses;
	return u->serial == serial ? err : -EBUSY;
}

/* A stack of this depth is remembered. Do others know it by this number, + 1? */
hl_inline void by_number(
	struct hl_unwinder *u, uint32_t number, uint32_t depth, struct hl_again *out)
{
	if (hl_unlikely(!number))
		return;
	out->what = HL_AGAIN_NUMBER;
	out->n = number - 1;
	u->counts.unwinds++;
	u->counts.verified += depth;
}

struct hl_again hl_unwind_way_again(struct hl_unwinder *u, const struct hl_regs *start)
{
	volatile struct hl_token token;
	struct hl_again out = {.what = HL_AGAIN_ASK};
	const struct hl_memo *m;
	struct hl_way *way;

	if (hl_unlikely(u->busy))
		return out;
	/* No way is looked for, and whether it is the last one has just been asked. */
	if (u->quick.sp && u->quick.memo == u->current && hl_ways_pass(&u->ways)) {
		out.what = HL_AGAIN_NEW;
		out.serial = u->serial;
		return out;
	}
	hl_unwind_enter(u, &token);
	out.serial = u->serial;
	m = hl_memo_ready(u, start);
	if (hl_likely(m != NULL)) {
		/* Else it has just been asked. */
		if (!(u->quick.sp && u->quick.memo == m) && !m->cut && hl_memo_unchanged(m, start))
			by_number(u, hl_numbers_find(&u->numbers, m->frames[m->depth - 1].hash),
				m->depth, &out);
		else if ((way = hl_ways_find(&u->ways, start)))
			by_number(u, hl_numbers_find_again(&u->numbers, way->hash, &way->number),
				way->depth, &out);
		else
			out.what = HL_AGAIN_NEW;
	}
	hl_unwind_leave(u, &token);
	return out;
}

/* The last result of this memo once more, or a stack that comes back. */
static hl_noinline bool remembered(
	struct hl_unwinder *u, struct hl_memo *m, const struct hl_regs *start, struct hl_stack *out)
{
	const struct hl_way *way;

	if (hl_likely(hl_memo_unchanged(m, start))) {
		u->quick.sp = 0;
		/* The last result may have been longer than what is remembered of it. */
		out->pcs = m->pcs;
		out->depth = m->depth;
		out->common = hl_min_u32(m->unchanged, m->depth);
		out->cut = m->cut;
		if ((u->last != m || m->unchanged != m->depth) && !m->cut)
			find_number(u, m->frames[m->depth - 1].hash, out);
		m->failures = 0;
		if (!out->told) {
			m->unchanged = m->depth;
			answered(u, m, NULL, out);
		}
		if (!m->cut)
			note_last(u, m, out->told ? out->number : 0);
	} else if ((way = hl_ways_find(&u->ways, start))) {
		out->pcs = hl_way_pcs(way);
		out->depth = way->depth;
		find_number(u, way->hash, out);
		if (!out->told) {
			u->quick.sp = 0;
			answered(u, NULL, way, out);
		}
	} else {
		return false;
	}
	u->counts.verified += out->depth;
	return true;
}

/* tried: nothing that is remembered holds whole. */
hl_inline int unwind_any(
	struct hl_unwinder *u, const struct hl_regs *start, struct hl_stack *out, bool tried)
{
	volatile struct hl_token token;
	struct hl_memo *m;
	int err = 0;

	if (hl_unlikely(u->busy) && nested(u, (uintptr_t)&token))
		return -EBUSY;
	hl_unwind_enter(u, &token);
	/* Only now: a handler before this line has run to its end and counted for itself. */
	*out = (struct hl_stack){.serial = ++u->serial, .now = &u->serial};
	u->counts.unwinds++;
	if (hl_unlikely(hl_generation() != u->generation))
		hl_memo_forget_all(u);
	m = u->current;
	if (hl_unlikely(start->sp - u->range_lo >= u->range_hi - u->range_lo))
		m = hl_memo_pick(u, start->sp);
	if (tried || !remembered(u, m, start, out))
		err = unwind(u, m, start, out);
	hl_unwind_leave(u, &token);
	return err;
}

int hl_unwind(struct hl_unwinder *u, const struct hl_regs *start, struct hl_stack *out)
{
	return unwind_any(u, start, out, false);
}

int hl_unwind_new(struct hl_unwinder *u, const struct hl_regs *start, struct hl_stack *out)
{
	return unwind_any(u, start, out, true);
}
