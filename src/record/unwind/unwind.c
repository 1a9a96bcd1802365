/*
 * unwind.c - the incremental walk.
 *
 * A step is a pure function of (pc, sp, fp), the rule of pc, and the words it reads. So when the walk comes by a
 * remembered frame in the remembered state, and all words that the remembered steps have
 * read are unchanged, the rest of the stack is what it was. The words are compared inner to outer: each is
 * one that a full walk would read next, so comparing is as safe as walking. A frame pointer
 * that no outer frame uses is not compared, and for that reason never taken from the memo either: after a
 * mismatch the walk goes on from its own state.
 */
#include <errno.h>

#include "base/bits.h"
#include "record/unwind/memo_internal.h"

static const uintptr_t never = 0; /* the slot of a check that always fails: its word is 1 */

static bool same_frame(const struct hl_memo *m, uint32_t i, const struct hl_walk *w)
{
	const struct hl_kept *f = &m->frames[i];

	return f->sp == w->r.sp && m->pcs[i] == hl_walk_pc(w) && !!(f->flags & HL_KEPT_EXACT) == w->exact &&
		(!(f->flags & HL_KEPT_LIVE) || f->fp == w->r.fp);
}

/* The frame that check c belongs to; all checks of frames above `from` have passed. */
static uint32_t owner(const struct hl_memo *m, uint32_t from, uint32_t c)
{
	while (from > 0 && m->frames[from - 1].checks_end > c)
		from--;
	return from;
}

/* Does the step out of frame i, repeated, still lead to frame i - 1, or to the end for frame 0? */
static hl_noinline bool repeat(const struct hl_memo *m, uint32_t i, const struct hl_walk *from)
{
	struct hl_walk w = *from;
	struct hl_step s;
	enum hl_step_end end;

	w.exact = m->frames[i].flags & HL_KEPT_EXACT;
	w.r = (struct hl_regs){.pc = m->pcs[i] - w.exact, .sp = m->frames[i].sp, .fp = m->frames[i].fp};
	end = hl_walk_step(&w, &s);
	if (i == 0)
		return end == (m->cut ? HL_STEP_CUT : HL_STEP_END);
	return end == HL_STEP_ON && same_frame(m, i - 1, &w);
}

/* Are the steps out of frame i and all outer ones what they were? If not, `failed` is the first that is not. */
static bool verify(const struct hl_memo *m, uint32_t i, const struct hl_walk *w, uint32_t *failed)
{
	const struct hl_check *checks = m->checks;
	uint32_t c = m->frames[i].checks_end;

	while (c > 0) {
		c--;
		if (hl_likely(hl_word(checks[c].slot) == checks[c].word))
			continue;
		i = owner(m, i, c);
		if ((m->frames[i].flags & HL_KEPT_SPECIAL) && repeat(m, i, w))
			continue;
		*failed = i;
		return false;
	}
	return true;
}

/* After a signal frame the walk may be on another stack: go on matching outside the remembered one. */
static hl_noinline uint32_t past_signal(const struct hl_memo *m, uint32_t n)
{
	for (uint32_t i = n; i-- > 0;) {
		if (m->frames[i].flags & HL_KEPT_EXACT)
			return i + 1;
	}
	return n;
}

/* The checks of one step, last read first: they are gone through from the end. */
static uint32_t put_checks(struct hl_check *checks, uint32_t n, const struct hl_step *s, bool live, uintptr_t fp)
{
	if (s->flags & HL_STEP_SPECIAL) {
		checks[n++] = (struct hl_check){(uintptr_t)&never, 1};
		return n;
	}
	if (s->fp_slot && live)
		checks[n++] = (struct hl_check){s->fp_slot, fp};
	if (s->pc_slot)
		checks[n++] = (struct hl_check){s->pc_slot, s->pc_word};
	if (s->cfa_slot)
		checks[n++] = (struct hl_check){s->cfa_slot, s->cfa_word};
	return n;
}

/*
 * Frames [0, keep) stay, the fresh ones go on top, outermost first. fp: of frame keep - 1. Returns how many
 * pcs are those of the last result. A handler that leaves by siglongjmp leaves a memo of `keep` frames.
 */
static uint32_t remember(struct hl_memo *m, uint32_t keep, const struct hl_fresh *fresh, uint32_t n, uintptr_t fp)
{
	uint32_t at = keep, common = keep, checks = keep ? m->frames[keep - 1].checks_end : 0;
	bool live = keep && (m->frames[keep - 1].flags & HL_KEPT_LIVE);

	m->depth = keep;
	atomic_signal_fence(memory_order_release);
	for (uint32_t i = n; i-- > 0; at++) {
		const struct hl_fresh *f = &fresh[i];
		struct hl_kept *k = &m->frames[at];
		uintptr_t pc = f->r.pc + f->exact;

		checks = put_checks(m->checks, checks, &f->step, live, fp);
		live = (f->step.flags & HL_STEP_USES_FP) || (!f->step.fp_slot && live);
		fp = f->r.fp;
		k->sp = f->r.sp;
		k->fp = fp;
		k->checks_end = checks;
		k->flags = (live ? HL_KEPT_LIVE : 0) | (f->exact ? HL_KEPT_EXACT : 0) |
			(f->step.flags & HL_STEP_SPECIAL ? HL_KEPT_SPECIAL : 0);
		common += common == at && at < m->last_depth && m->pcs[at] == pc;
		m->pcs[at] = pc;
	}
	m->last_depth = at;
	atomic_signal_fence(memory_order_release);
	m->depth = at;
	return common;
}

/* Only pcs: for stacks of which nothing ever stays the same. */
static uint32_t list(struct hl_memo *m, const struct hl_fresh *fresh, uint32_t n)
{
	uint32_t common = 0;

	m->depth = 0;
	for (uint32_t at = 0; at < n; at++) {
		const struct hl_fresh *f = &fresh[n - 1 - at];
		uintptr_t pc = f->r.pc + f->exact;

		common += common == at && at < m->last_depth && m->pcs[at] == pc;
		m->pcs[at] = pc;
	}
	m->last_depth = n;
	return common;
}

/*
 * Left on the stack of a running hl_unwind(), so that a later one can tell whether it still runs: its frame
 * must lie above ours and still hold these words. One that was left by siglongjmp is overwritten
 * sooner or later, or lies below. On the alternate stack, addresses say nothing: there, and whenever
 * we may not ask, the answer is the one that does no harm.
 */
struct token {
	const struct hl_unwinder *owner;
	uint64_t serial;
};

static hl_cold bool nested(const struct hl_unwinder *u, uintptr_t here)
{
	const volatile struct token *t = (const volatile struct token *)u->busy;

	if (!hl_walk_probes_allowed())
		return true;
	if (here >= u->busy)
		return hl_arch_on_altstack();
	if (!hl_arch_readable(u->busy))
		return false;
	return t->owner == u && t->serial == u->serial;
}

/* What a walk found: frames [0, keep) of the memo, and n fresh ones inside them. */
struct found {
	uint32_t keep, n;
	enum hl_step_end end;
	bool full; /* no room for more frames */
};

static void walk(struct hl_unwinder *u, const struct hl_memo *m, struct hl_walk *w, uint32_t candidates,
	struct found *out)
{
	struct hl_fresh *fresh = u->fresh, *f;
	uint32_t j = candidates, n = 0, failed;
	enum hl_step_end end = HL_STEP_ON;

	for (;;) {
		while (j > 0 && m->frames[j - 1].sp < w->r.sp)
			j--;
		if (j > 0 && same_frame(m, j - 1, w)) {
			if (verify(m, j - 1, w, &failed))
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
		f->r = w->r;
		f->exact = w->exact;
		end = hl_walk_step(w, &f->step);
		if (hl_unlikely(end != HL_STEP_ON)) {
			j = 0;
			break;
		}
		if (hl_unlikely(w->exact))
			j = past_signal(m, j);
	}
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

/* The slow half: new frames were walked. */
static hl_noinline int finish(struct hl_unwinder *u, struct hl_memo *m, struct hl_walk *w, struct found *found,
	uint64_t serial, struct hl_stack *out)
{
	uintptr_t end = w->segment_end ? w->segment_end : w->r.sp;
	uintptr_t known = u->ends[m - u->memos];
	uint32_t depth;
	bool keep_frames;

	/* A whole walk says which stack this is, if it came to the end of one. */
	if (found->keep == 0 && (!known || (end != known && found->end == HL_STEP_END)))
		m = hl_memo_settle(u, w->start->sp, end);
	m->failures = found->keep ? 0 : m->failures + 1;
	keep_frames = !found->full && (m->failures < HL_MEMO_WALKS || m->failures % HL_MEMO_RETRY == 0);
	depth = found->keep + found->n;
	if (depth > m->capacity && !hl_memo_reserve(m, depth)) {
		/* Too deep to hold: the innermost frames, as many as fit. */
		depth = (uint32_t)hl_min_u64(found->n, m->capacity);
		found->n = depth;
		found->full = true;
		keep_frames = false;
	}
	if (u->serial != serial)
		return -EBUSY; /* another unwind ran while a handler held us up */
	out->common = keep_frames ? remember(m, found->keep, u->fresh, found->n, w->r.fp)
				  : list(m, u->fresh, found->n);
	if (found->keep == 0)
		m->cut = found->full || found->end == HL_STEP_CUT;
	save_range(m, w);
	m->used = serial;
	out->pcs = m->pcs;
	out->depth = depth;
	out->cut = m->cut || found->full;
	out->memo = (uint32_t)(m - u->memos);
	return 0;
}

static void start_walk(struct hl_walk *w, const struct hl_memo *m, const struct hl_regs *start, uint64_t generation)
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

static int unwind(struct hl_unwinder *u, const struct hl_regs *start, struct hl_stack *out)
{
	uint64_t serial = ++u->serial, generation = hl_generation();
	struct hl_memo *m = u->current;
	struct found found = {0};
	struct hl_walk w;
	int err = 0;

	if (hl_unlikely(generation != u->generation))
		hl_memo_forget_all(u);
	if (hl_unlikely(start->sp - u->range_lo >= u->range_hi - u->range_lo))
		m = hl_memo_pick(u, start->sp);
	start_walk(&w, m, start, generation);
	walk(u, m, &w, m->depth, &found);
	if (found.n == 0 && found.keep == m->depth) {
		*out = (struct hl_stack){.pcs = m->pcs, .depth = m->depth, .common = m->depth,
			.memo = (uint32_t)(m - u->memos), .cut = m->cut};
		m->failures = 0;
	} else {
		err = finish(u, m, &w, &found, serial, out);
	}
	u->counts.unwinds++;
	u->counts.walked += found.n;
	u->counts.verified += found.keep;
	u->counts.misses += w.misses;
	return u->serial == serial ? err : -EBUSY;
}

int hl_unwind(struct hl_unwinder *u, const struct hl_regs *start, struct hl_stack *out)
{
	volatile struct token token = {.owner = u, .serial = u->serial + 1};
	int err;

	if (hl_unlikely(u->busy) && nested(u, (uintptr_t)&token))
		return -EBUSY;
	u->busy = (uintptr_t)&token;
	atomic_signal_fence(memory_order_seq_cst);
	err = unwind(u, start, out);
	atomic_signal_fence(memory_order_seq_cst);
	u->busy = 0;
	token.owner = NULL;
	return err;
}
