/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unwind.c - the incremental walk.
 *
 * A step is a pure function of (pc, sp, fp), the rule of pc, and the words that it reads. So if the
 * walk reaches a remembered frame in the remembered state, and all words that the remembered steps
 * have read are unchanged, then the rest of the stack is unchanged. The words are compared from the
 * inside outward: each is the one that a full walk would read next, so comparing is as safe as
 * walking. A frame pointer that no outer frame uses is not compared. For that reason it is never
 * taken from the memo either: after a mismatch the walk continues from its own state.
 *
 * How unwind_stack() decides:
 *   1. The unwinder is busy with an unwind that this one has interrupted: -EBUSY.
 *   2. Code was unloaded: everything is forgotten.
 *   3. All checks of the memo hold: the result is the memo's stack.
 *   4. All checks of a cached stack hold: the result is the cached stack.
 *   5. Otherwise walk_stack() steps until it reaches a frame of the memo from which everything
 *      outward is unchanged, or can be patched. finish_walk() stores the new frames in the memo.
 * In 3 to 5 the result gets its stack id, and becomes the base result if that id is not known.
 */
#include <errno.h>

#include "base/bits.h"
#include "record/unwind/last_stack.h"
#include "record/unwind/memo_internal.h"

/* The frame that check c belongs to. All checks of frames inside frame `from` hold. */
static uint32_t frame_of_check(const struct hl_memo *m, uint32_t from, uint32_t c)
{
	while (from > 0 && m->frames[from - 1].checks_end > c)
		from--;
	return from;
}

/* The remembered registers of frame i; fp is valid only if it is live. */
static struct hl_regs memo_regs(const struct hl_memo *m, uint32_t i, struct hl_walk *w)
{
	const struct hl_memo_frame *f = &m->frames[i];

	w->exact = f->flags & HL_MEMO_INTERRUPTED;
	w->guessed = f->flags & HL_MEMO_GUESSED;
	w->careful = w->exact || w->guessed;
	return (struct hl_regs){.pc = m->pcs[i] - w->exact, .sp = f->sp, .fp = f->fp};
}

/* Repeats the step out of frame i. Does it still lead to frame i - 1, or to the end for frame 0? */
static hl_noinline bool repeat_step(const struct hl_memo *m, uint32_t i, const struct hl_walk *from)
{
	struct hl_walk w = *from;
	struct hl_regs r = memo_regs(m, i, &w);
	struct hl_step s;
	enum hl_step_end end;

	/*
	 * The code of an active frame stays: probing it again would cost a system call for each JIT
	 * frame.
	 */
	w.known_pc = i > 0 ? m->pcs[i - 1] : 0;
	end = hl_walk_step(&w, &r, &s);
	if (i == 0)
		return end == (m->cut ? HL_STEP_TRUNCATED : HL_STEP_END);
	return end == HL_STEP_CONTINUE && hl_memo_frame_equals(m, i - 1, &r, w.exact);
}

/* Are the steps from frame i outward unchanged? If not, *failed is the innermost changed frame. */
static bool verify_frames(
	const struct hl_memo *m, uint32_t i, const struct hl_walk *w, uint32_t *failed)
{
	uint32_t n = m->frames[i].checks_end;

	while ((n = hl_failed_check(m->checks, n))) {
		n--;
		i = frame_of_check(m, i, n);
		if ((m->frames[i].flags & HL_MEMO_SPECIAL) && repeat_step(m, i, w))
			continue;
		*failed = i;
		return false;
	}
	return true;
}

/*
 * After a signal frame the walk may be on another stack. Returns how many of the n frames to match
 * against: those from the remembered interrupted frame outward.
 */
static hl_noinline uint32_t count_past_signal(const struct hl_memo *m, uint32_t n)
{
	for (uint32_t i = n; i-- > 0;) {
		if (m->frames[i].flags & HL_MEMO_INTERRUPTED)
			return i + 1;
	}
	return n;
}

/*
 * Has the caller interrupted an active unwind? On the alternate signal stack a comparison of
 * addresses proves nothing. There, and if system calls are forbidden, the safe answer is yes.
 */
static hl_cold bool is_nested(const struct hl_unwinder *u, uintptr_t here)
{
	const volatile struct hl_busy_token *t = (const volatile struct hl_busy_token *)u->busy;

	if (!hl_walk_probes_allowed())
		return true;
	if (here >= u->busy)
		return hl_arch_on_altstack();
	if (!hl_arch_readable(u->busy))
		return false;
	return t->owner == u && t->self == t;
}

/* The result of a walk: frames [0, shared) of the memo, and n walked frames inside them. */
struct walk_result {
	uint32_t shared, n;
	enum hl_step_end end;
	bool out_of_room; /* the walk ended because there was no room for more frames */
};

#define PATCH_MAX \
	12 /* most frames to replace in the middle of a memo; more are walked from the inside */
#define NO_FRAME UINT32_MAX

/*
 * The frame pointer at frame f, if the walk reached frame i > f with this *fp and all steps between
 * still hold. False: unknown.
 */
static bool find_fp(const struct hl_memo *m, uint32_t i, uint32_t f, uintptr_t *fp)
{
	if (m->frames[f].flags & HL_MEMO_FP_LIVE) {
		*fp = m->frames[f].fp;
		return true;
	}
	for (uint32_t k = f + 1; k <= i; k++) {
		if (m->frames[k].flags & HL_MEMO_SPECIAL)
			return false;
		if (m->frames[k].fp_slot) {
			*fp = hl_word(m->frames[k].fp_slot);
			return true;
		}
	}
	return true;
}

/* Makes one step and notes in f everything that is to be remembered of it. */
hl_inline enum hl_step_end record_step(
	struct hl_walked_frame *f, struct hl_walk *w, struct hl_regs *r)
{
	uint32_t flags = 0;
	enum hl_step_end end;

	if (hl_unlikely(w->careful))
		flags = (w->exact ? HL_STEP_INTERRUPTED : 0) | (w->guessed ? HL_STEP_GUESSED : 0);
	f->pc = r->pc + w->exact;
	f->sp = r->sp;
	f->fp = r->fp;
	end = hl_walk_step(w, r, &f->step);
	f->step.flags |= flags;
	return end;
}

/*
 * A loop in an outer frame has advanced: its pc has changed, but the frames inside and outside it
 * are the same. The walk reached frame i, and the step out of frame f has changed. Walks from f
 * until it reaches a remembered frame at its remembered position, and replaces the frames between.
 * Returns the frame that was reached, or NO_FRAME.
 */
static hl_noinline uint32_t patch_frames(struct hl_unwinder *u, struct hl_memo *m,
	const struct hl_walk *from, uint32_t i, uint32_t f, struct hl_walked_frame *walked)
{
	struct hl_walk w = *from;
	struct hl_regs r;
	uintptr_t fp = from->r.fp;

	if (!find_fp(m, i, f, &fp))
		return NO_FRAME;
	r = memo_regs(m, f, &w);
	r.fp = fp;
	for (uint32_t n = 1, e = f; n <= PATCH_MAX && e-- > 0; n++, walked++) {
		if (record_step(walked, &w, &r) != HL_STEP_CONTINUE || w.exact ||
			r.sp != m->frames[e].sp)
			return NO_FRAME;
		u->counts.walked++;
		if (hl_memo_frame_equals(m, e, &r, w.exact))
			return hl_memo_replace(m, e, f, walked + 1 - n, r.fp) ? e : NO_FRAME;
	}
	return NO_FRAME;
}

/* The walk is at frame i. Is everything from there outward as remembered, or can it be patched? */
static bool verify_or_patch(struct hl_unwinder *u, struct hl_memo *m, struct hl_walk *w,
	const struct hl_regs *r, uint32_t i, uint32_t n, uint32_t *failed)
{
	uint32_t at = i;

	while (hl_unlikely(!verify_frames(m, at, w, failed))) {
		if (n + PATCH_MAX > u->walked_capacity)
			return false;
		if (m->patch_skips > 0) {
			m->patch_skips--;
			return false;
		}
		w->r = *r;
		at = patch_frames(u, m, w, i, *failed, u->walked + n);
		if (at == NO_FRAME) {
			m->patch_skips = m->patch_backoff;
			m->patch_backoff = hl_min_u32(m->patch_backoff * 2 + 1, 63);
			return false;
		}
		m->patch_backoff = 0;
	}
	return true;
}

static hl_noinline void walk_stack(struct hl_unwinder *u, struct hl_memo *m, struct hl_walk *w,
	struct hl_regs *at, struct walk_result *out)
{
	struct hl_regs r = *at;
	struct hl_walked_frame *walked = u->walked, *f;
	uint32_t j = m->depth, n = 0, failed;
	enum hl_step_end end = HL_STEP_CONTINUE;

	for (;;) {
		while (j > 0 && m->frames[j - 1].sp < r.sp)
			j--;
		if (j > 0 && hl_memo_frame_equals(m, j - 1, &r, w->exact)) {
			if (verify_or_patch(u, m, w, &r, j - 1, n, &failed))
				break;
			j = failed;
		}
		if (hl_unlikely(n == u->walked_capacity)) {
			out->out_of_room = !hl_walked_frames_grow(u);
			if (out->out_of_room) {
				j = 0;
				break;
			}
			walked = u->walked;
		}
		f = &walked[n++];
		end = record_step(f, w, &r);
		if (hl_unlikely(end != HL_STEP_CONTINUE)) {
			j = 0;
			break;
		}
		if (hl_unlikely(w->exact))
			j = count_past_signal(m, j);
	}
	w->r = r;
	out->shared = j;
	out->n = n;
	out->end = end;
}

static void save_readable_range(struct hl_memo *m, struct hl_walk *w)
{
	uintptr_t hi = w->hi;

	if (w->segment_end)
		return; /* the range is of another stack */
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
 * More frames than the memo can hold: drops the outermost ones, and the step that leads to them.
 * Only the inner half of the capacity is filled, so that a deepening recursion needs this rarely.
 */
static hl_cold void drop_outer_frames(
	struct hl_memo *m, struct walk_result *found, struct hl_walked_frame *walked)
{
	uint32_t want = m->capacity / 2, drop;

	m->cut = true;
	if (found->n >= want || found->shared == 0) {
		found->n = hl_min_u32(found->n, want);
		found->shared = 0;
		walked[found->n - 1].step = (struct hl_step){.flags = HL_STEP_USES_FP};
		return;
	}
	drop = found->shared + found->n - want;
	hl_memo_drop(m, drop);
	found->shared -= drop;
}

/*
 * `out` becomes the base result, found by a memo or in the cache. Computes how many frames it
 * shares with the previous base result; if the same memo gave both, out->shared is already set.
 */
hl_inline void set_base_result(struct hl_unwinder *u, struct hl_memo *m,
	const struct hl_cached_stack *cached, struct hl_stack *out)
{
	const uintptr_t *base_pcs;
	uint32_t n, common = 0;

	if (hl_likely(m && u->base_memo == m))
		return;
	if (u->base_memo || u->base_cached) {
		base_pcs = u->base_memo ? u->base_memo->pcs : hl_cached_stack_pcs(u->base_cached);
		n = hl_min_u32(out->depth,
			u->base_memo ? u->base_memo->base_prefix : u->base_cached->depth);
		while (common < n && base_pcs[common] == out->pcs[common])
			common++;
	}
	out->shared = common;
	u->base_memo = m;
	u->base_cached = cached;
}

/* Sets the stack id: the one that the collector knows, or else a new one. */
hl_inline void set_stack_id(struct hl_unwinder *u, uint64_t hash, struct hl_stack *out)
{
	out->id_plus_1 = hl_stack_ids_find(&u->ids, hash);
	out->id_sent = out->id_plus_1 != 0;
	if (!out->id_sent)
		hl_stack_ids_offer(&u->ids, hash, out);
}

/*
 * Fills the last-stack memo: the collector knows the memo's stack as the base result, or by this
 * id.
 */
static void set_last_stack(struct hl_unwinder *u, const struct hl_memo *m, uint32_t id_plus_1)
{
	const struct hl_memo_frame *inner = &m->frames[m->depth - 1];

	if (inner->flags & HL_MEMO_INTERRUPTED)
		return;
	u->last_stack = (struct hl_last_stack){.pc = m->pcs[m->depth - 1],
		.sp = inner->sp,
		.fp = inner->fp,
		.checks = m->checks,
		.memo = m,
		.n_checks = inner->checks_end,
		.depth = m->depth,
		.fp_live = inner->flags & HL_MEMO_FP_LIVE,
		.result = id_plus_1 ? HL_LAST_STACK_ID | (id_plus_1 - 1) : m->depth};
}

/* The second half of a walk: stores the walked frames and makes the result. */
static hl_noinline int finish_walk(struct hl_unwinder *u, struct hl_memo *m, struct hl_walk *w,
	struct walk_result *found, struct hl_stack *out)
{
	const uint64_t serial = out->serial;
	uintptr_t end = w->segment_end ? w->segment_end : w->r.sp, known = u->ends[m - u->memos];
	uint32_t depth = found->shared + found->n;
	bool whole;

	/*
	 * A walk that matched no frame determines which stack this is, if it reached the end of
	 * one.
	 */
	if (found->shared == 0 &&
		(known <= w->start->sp || (end != known && found->end == HL_STEP_END)))
		m = hl_memo_assign(u, w->start->sp, end);
	/* Unwinds since the last walk needed no walk: the failures are not in a row. */
	if (u->counts.unwinds != m->walked_at + 1)
		m->failures = 0;
	m->walked_at = u->counts.unwinds;
	m->failures = found->shared * 4 >= found->n ? 0 : m->failures + 1;
	if (found->shared == 0)
		m->cut = found->end == HL_STEP_TRUNCATED;
	if ((depth > m->capacity && !hl_memo_reserve(u, m, depth)) || found->out_of_room)
		drop_outer_frames(m, found, u->walked);
	if (u->serial != serial)
		return -EBUSY; /* a signal handler interrupted this and has unwound */
	if (m->failures < HL_MEMO_WALKS || m->failures % HL_MEMO_RETRY == 0)
		out->shared = hl_memo_remember(m, found->shared, u->walked, found->n, w->r.fp);
	else
		out->shared = hl_memo_store_pcs(m, found->shared, u->walked, found->n);
	save_readable_range(m, w);
	m->last_used = serial;
	out->pcs = m->pcs;
	out->depth = m->last_depth;
	out->truncated = m->cut;
	whole = m->depth == m->last_depth && !m->cut;
	if (whole)
		set_stack_id(u, m->frames[m->depth - 1].hash, out);
	if (out->id_sent)
		m->base_prefix = out->shared;
	else
		set_base_result(u, m, NULL, out);
	if (whole) {
		set_last_stack(u, m, out->id_sent ? out->id_plus_1 : 0);
		/* The new entry may overwrite the base result, if that is a cached stack. */
		if (hl_stack_cache_add(&u->cache, m, w->start))
			u->base_cached = NULL;
	}
	return 0;
}

static void init_walk(struct hl_walk *w, const struct hl_memo *m, const struct hl_regs *start,
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

static hl_noinline int unwind_by_walk(
	struct hl_unwinder *u, struct hl_memo *m, const struct hl_regs *start, struct hl_stack *out)
{
	const uint64_t serial = out->serial, walked_before = u->counts.walked;
	struct walk_result found = {0};
	struct hl_regs r = *start;
	struct hl_walk w;
	int err;

	u->last_stack.sp = 0;
	init_walk(&w, m, start, u->generation);
	walk_stack(u, m, &w, &r, &found);
	err = finish_walk(u, m, &w, &found, out);
	u->counts.walked += found.n;
	if (hl_unlikely(u->cache.in_trial))
		hl_stack_cache_note_walk(&u->cache, (uint32_t)(u->counts.walked - walked_before));
	u->counts.verified += found.shared;
	u->counts.misses += w.misses;
	return u->serial == serial ? err : -EBUSY;
}

/* A remembered stack of this depth matches. Does the collector know it by an id? */
hl_inline void set_lookup_id(
	struct hl_unwinder *u, uint32_t id_plus_1, uint32_t depth, struct hl_stack_lookup *out)
{
	if (hl_unlikely(!id_plus_1))
		return;
	out->result = HL_LOOKUP_ID;
	out->id = id_plus_1 - 1;
	u->counts.unwinds++;
	u->counts.verified += depth;
}

struct hl_stack_lookup hl_unwind_lookup(struct hl_unwinder *u, const struct hl_regs *start)
{
	volatile struct hl_busy_token token;
	struct hl_stack_lookup out = {.result = HL_LOOKUP_UNWIND};
	const struct hl_memo *m;
	struct hl_cached_stack *cached;

	if (hl_unlikely(u->busy))
		return out;
	/* The cache is skipped, and the last-stack memo was checked by the caller. */
	if (u->last_stack.sp && u->last_stack.memo == u->current &&
		hl_stack_cache_is_skipped(&u->cache)) {
		out.result = HL_LOOKUP_MISS;
		out.serial = u->serial;
		return out;
	}
	hl_unwind_enter(u, &token);
	out.serial = u->serial;
	m = hl_memo_ready(u, start);
	if (hl_likely(m != NULL)) {
		/* Otherwise the caller has just checked this memo, as the last-stack memo. */
		if (!(u->last_stack.sp && u->last_stack.memo == m) && !m->cut &&
			hl_memo_unchanged(m, start))
			set_lookup_id(u, hl_stack_ids_find(&u->ids, m->frames[m->depth - 1].hash),
				m->depth, &out);
		else if ((cached = hl_stack_cache_find(&u->cache, start)))
			set_lookup_id(u,
				hl_stack_ids_find_hinted(&u->ids, cached->hash, &cached->id_hint),
				cached->depth, &out);
		else
			out.result = HL_LOOKUP_MISS;
	}
	hl_unwind_leave(u, &token);
	return out;
}

/* Tries to find the stack in the memo or in the cache. */
static hl_noinline bool find_remembered(
	struct hl_unwinder *u, struct hl_memo *m, const struct hl_regs *start, struct hl_stack *out)
{
	const struct hl_cached_stack *cached;

	if (hl_likely(hl_memo_unchanged(m, start))) {
		u->last_stack.sp = 0;
		/* The last result may have been deeper than the frames that are remembered. */
		out->pcs = m->pcs;
		out->depth = m->depth;
		out->shared = hl_min_u32(m->base_prefix, m->depth);
		out->truncated = m->cut;
		if ((u->base_memo != m || m->base_prefix != m->depth) && !m->cut)
			set_stack_id(u, m->frames[m->depth - 1].hash, out);
		m->failures = 0;
		if (!out->id_sent) {
			m->base_prefix = m->depth;
			set_base_result(u, m, NULL, out);
		}
		if (!m->cut)
			set_last_stack(u, m, out->id_sent ? out->id_plus_1 : 0);
	} else if ((cached = hl_stack_cache_find(&u->cache, start))) {
		out->pcs = hl_cached_stack_pcs(cached);
		out->depth = cached->depth;
		set_stack_id(u, cached->hash, out);
		if (!out->id_sent) {
			u->last_stack.sp = 0;
			set_base_result(u, NULL, cached, out);
		}
	} else {
		return false;
	}
	u->counts.verified += out->depth;
	return true;
}

/* missed: hl_unwind_lookup() found no remembered stack. */
hl_inline int unwind_stack(
	struct hl_unwinder *u, const struct hl_regs *start, struct hl_stack *out, bool missed)
{
	volatile struct hl_busy_token token;
	struct hl_memo *m;
	int err = 0;

	if (hl_unlikely(u->busy) && is_nested(u, (uintptr_t)&token))
		return -EBUSY;
	hl_unwind_enter(u, &token);
	/* Not earlier: a handler that ran before this line is complete and had its own serial. */
	*out = (struct hl_stack){.serial = ++u->serial, .current_serial = &u->serial};
	u->counts.unwinds++;
	if (hl_unlikely(hl_generation() != u->generation))
		hl_memo_forget_all(u);
	m = u->current;
	if (hl_unlikely(start->sp - u->range_lo >= u->range_hi - u->range_lo))
		m = hl_memo_pick(u, start->sp);
	if (missed || !find_remembered(u, m, start, out))
		err = unwind_by_walk(u, m, start, out);
	hl_unwind_leave(u, &token);
	return err;
}

int hl_unwind(struct hl_unwinder *u, const struct hl_regs *start, struct hl_stack *out)
{
	return unwind_stack(u, start, out, false);
}

int hl_unwind_after_miss(struct hl_unwinder *u, const struct hl_regs *start, struct hl_stack *out)
{
	return unwind_stack(u, start, out, true);
}
