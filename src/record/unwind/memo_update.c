/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memo_update.c - stores walked frames in a memo.
 *
 * While a memo changes, its depth counts only the frames that do not change. A handler that leaves
 * by siglongjmp in between leaves a shorter memo, never a wrong one.
 */
#include "base/bits.h"
#include "record/unwind/memo_internal.h"

const uintptr_t hl_slot_never = 0;

/*
 * The number of checks of a step. fp_live: the frame pointer of the frame that it leads to is live.
 */
hl_inline uint32_t count_checks(const struct hl_step *s, bool fp_live)
{
	if (hl_unlikely(s->flags & HL_STEP_SPECIAL))
		return 1;
	return (s->fp_slot && fp_live) + !!s->pc_slot + !!(s->flags & HL_STEP_CFA);
}

/*
 * Stores the checks of one step in reverse order of reading, because checks are compared from the
 * end. May store one more than it counts, but only if the step ended the walk; then no valid data
 * follows.
 */
hl_inline uint32_t put_checks(
	struct hl_check *checks, uint32_t n, const struct hl_step *s, bool fp_live, uintptr_t fp)
{
	if (hl_unlikely(s->flags & HL_STEP_SPECIAL)) {
		checks[n++] = (struct hl_check){(uintptr_t)&hl_slot_never, 1};
		return n;
	}
	checks[n] = (struct hl_check){s->fp_slot, fp};
	n += s->fp_slot && fp_live;
	checks[n] = (struct hl_check){s->pc_slot, s->pc_word};
	n += !!s->pc_slot;
	if (hl_unlikely(s->flags & HL_STEP_CFA))
		checks[n++] = (struct hl_check){s->cfa_slot, s->cfa_word};
	return n;
}

hl_inline bool is_fp_live(const struct hl_step *s, bool outer)
{
	return (s->flags & HL_STEP_USES_FP) | (!s->fp_slot & outer);
}

/* Stores a walked frame at index `at`. The frames outside it have been stored. */
hl_inline void put_frame(struct hl_memo *m, uint32_t at, const struct hl_walked_frame *f,
	bool *fp_live, uintptr_t *fp, uint32_t *checks, uint64_t *hash)
{
	struct hl_memo_frame *k = &m->frames[at];

	*hash = hl_path_hash_extend(*hash, f->pc);
	k->hash = *hash;

	*checks = put_checks(m->checks, *checks, &f->step, *fp_live, *fp);
	*fp_live = is_fp_live(&f->step, *fp_live);
	*fp = f->fp;
	k->sp = f->sp;
	k->fp = f->fp;
	k->fp_slot = f->step.fp_slot;
	k->checks_end = *checks;
	k->flags = (f->step.flags & (HL_STEP_INTERRUPTED | HL_STEP_SPECIAL | HL_STEP_GUESSED)) |
		   *fp_live;
}

uint32_t hl_memo_remember(struct hl_memo *m, uint32_t shared, const struct hl_walked_frame *walked,
	uint32_t n, uintptr_t fp)
{
	uint32_t at = shared, common = hl_min_u32(shared, m->base_prefix), last = m->base_prefix;
	uint32_t checks = shared ? m->frames[shared - 1].checks_end : 0;
	uint64_t hash = shared ? m->frames[shared - 1].hash : HL_PATH_ROOT;
	bool fp_live = shared && (m->frames[shared - 1].flags & HL_MEMO_FP_LIVE);

	m->depth = shared;
	m->base_prefix = common;
	atomic_signal_fence(memory_order_release);
	for (uint32_t i = n; i-- > 0; at++) {
		const struct hl_walked_frame *f = &walked[i];
		uintptr_t pc = f->pc;

		put_frame(m, at, f, &fp_live, &fp, &checks, &hash);
		common += common == at && at < last && m->pcs[at] == pc;
		m->pcs[at] = pc;
	}
	m->last_depth = m->base_prefix = at;
	atomic_signal_fence(memory_order_release);
	m->depth = at;
	return common;
}

uint32_t hl_memo_store_pcs(
	struct hl_memo *m, uint32_t shared, const struct hl_walked_frame *walked, uint32_t n)
{
	uint32_t at = shared, common = hl_min_u32(shared, m->base_prefix), last = m->base_prefix;

	m->depth = shared;
	m->base_prefix = common;
	atomic_signal_fence(memory_order_release);
	for (uint32_t i = n; i-- > 0; at++) {
		uintptr_t pc = walked[i].pc;

		common += common == at && at < last && m->pcs[at] == pc;
		m->pcs[at] = pc;
	}
	m->last_depth = m->base_prefix = at;
	return common;
}

bool hl_memo_replace(struct hl_memo *m, uint32_t e, uint32_t f,
	const struct hl_walked_frame *walked, uintptr_t fp)
{
	uint32_t depth = m->depth, checks = m->frames[e].checks_end, end = m->frames[f].checks_end,
		 n = f - e;
	uint64_t hash = m->frames[e].hash;
	bool fp_live = m->frames[e].flags & HL_MEMO_FP_LIVE,
	     was_fp_live = m->frames[f].flags & HL_MEMO_FP_LIVE;

	for (uint32_t i = n; i-- > 0;) {
		const struct hl_step *s = &walked[i].step;

		checks += count_checks(s, fp_live);
		fp_live = is_fp_live(s, fp_live);
	}
	if (checks != end || fp_live != was_fp_live)
		return false;
	m->depth = e + 1; /* the frames that a siglongjmp would leave */
	m->base_prefix = hl_min_u32(m->base_prefix, e + 1);
	atomic_signal_fence(memory_order_release);
	checks = m->frames[e].checks_end;
	fp_live = m->frames[e].flags & HL_MEMO_FP_LIVE;
	for (uint32_t i = n, at = e + 1; i-- > 0; at++) {
		put_frame(m, at, &walked[i], &fp_live, &fp, &checks, &hash);
		m->pcs[at] = walked[i].pc;
	}
	for (uint32_t at = f + 1; at < depth; at++)
		m->frames[at].hash = hash = hl_path_hash_extend(hash, m->pcs[at]);
	atomic_signal_fence(memory_order_release);
	m->depth = depth;
	return true;
}
