/*
 * keep.c - from frames that were walked to frames that are remembered.
 *
 * While a memo changes, its depth counts only the frames that stay as they are: a handler that
 * leaves by siglongjmp in the middle leaves a shorter memo, never a wrong one.
 */
#include "base/bits.h"
#include "record/unwind/memo_internal.h"

const uintptr_t hl_check_never = 0;

/* How many checks a step needs, when the frame it leads to has a live frame pointer or not. */
hl_inline uint32_t count_checks(const struct hl_step *s, bool live)
{
	if (hl_unlikely(s->flags & HL_STEP_SPECIAL))
		return 1;
	return (s->fp_slot && live) + !!s->pc_slot + !!(s->flags & HL_STEP_CFA);
}

/*
 * The checks of one step, last read first: they are gone through from the end. May write one
 * more than it counts, but only where the step ended the walk: nothing of worth lies behind it
 * then.
 */
hl_inline uint32_t put_checks(
	struct hl_check *checks, uint32_t n, const struct hl_step *s, bool live, uintptr_t fp)
{
	if (hl_unlikely(s->flags & HL_STEP_SPECIAL)) {
		checks[n++] = (struct hl_check){(uintptr_t)&hl_check_never, 1};
		return n;
	}
	checks[n] = (struct hl_check){s->fp_slot, fp};
	n += s->fp_slot && live;
	checks[n] = (struct hl_check){s->pc_slot, s->pc_word};
	n += !!s->pc_slot;
	if (hl_unlikely(s->flags & HL_STEP_CFA))
		checks[n++] = (struct hl_check){s->cfa_slot, s->cfa_word};
	return n;
}

hl_inline bool is_live(const struct hl_step *s, bool outer)
{
	return (s->flags & HL_STEP_USES_FP) | (!s->fp_slot & outer);
}

/* Puts a walked frame at index `at`: what leads out of it has been put below it. */
hl_inline void keep_frame(struct hl_memo *m, uint32_t at, const struct hl_fresh *f, bool *live,
	uintptr_t *fp, uint32_t *checks, uint64_t *hash)
{
	struct hl_kept *k = &m->frames[at];

	*hash = hl_path_on(*hash, f->pc);
	k->hash = *hash;

	*checks = put_checks(m->checks, *checks, &f->step, *live, *fp);
	*live = is_live(&f->step, *live);
	*fp = f->fp;
	k->sp = f->sp;
	k->fp = f->fp;
	k->fp_slot = f->step.fp_slot;
	k->checks_end = *checks;
	k->flags = (f->step.flags & (HL_STEP_EXACT | HL_STEP_SPECIAL | HL_STEP_GUESSED)) | *live;
}

uint32_t hl_memo_remember(
	struct hl_memo *m, uint32_t keep, const struct hl_fresh *fresh, uint32_t n, uintptr_t fp)
{
	uint32_t at = keep, common = hl_min_u32(keep, m->unchanged), last = m->unchanged;
	uint32_t checks = keep ? m->frames[keep - 1].checks_end : 0;
	uint64_t hash = keep ? m->frames[keep - 1].hash : HL_PATH_ROOT;
	bool live = keep && (m->frames[keep - 1].flags & HL_KEPT_LIVE);

	m->depth = keep;
	m->unchanged = common;
	atomic_signal_fence(memory_order_release);
	for (uint32_t i = n; i-- > 0; at++) {
		const struct hl_fresh *f = &fresh[i];
		uintptr_t pc = f->pc;

		keep_frame(m, at, f, &live, &fp, &checks, &hash);
		common += common == at && at < last && m->pcs[at] == pc;
		m->pcs[at] = pc;
	}
	m->last_depth = m->unchanged = at;
	atomic_signal_fence(memory_order_release);
	m->depth = at;
	return common;
}

uint32_t hl_memo_list(struct hl_memo *m, uint32_t keep, const struct hl_fresh *fresh, uint32_t n)
{
	uint32_t at = keep, common = hl_min_u32(keep, m->unchanged), last = m->unchanged;

	m->depth = keep;
	m->unchanged = common;
	atomic_signal_fence(memory_order_release);
	for (uint32_t i = n; i-- > 0; at++) {
		uintptr_t pc = fresh[i].pc;

		common += common == at && at < last && m->pcs[at] == pc;
		m->pcs[at] = pc;
	}
	m->last_depth = m->unchanged = at;
	return common;
}

bool hl_memo_replace(
	struct hl_memo *m, uint32_t e, uint32_t f, const struct hl_fresh *fresh, uintptr_t fp)
{
	uint32_t depth = m->depth, checks = m->frames[e].checks_end, end = m->frames[f].checks_end,
		 n = f - e;
	uint64_t hash = m->frames[e].hash;
	bool live = m->frames[e].flags & HL_KEPT_LIVE, was_live = m->frames[f].flags & HL_KEPT_LIVE;

	for (uint32_t i = n; i-- > 0;) {
		const struct hl_step *s = &fresh[i].step;

		checks += count_checks(s, live);
		live = is_live(s, live);
	}
	if (checks != end || live != was_live)
		return false;
	m->depth = e + 1; /* what a siglongjmp would leave */
	m->unchanged = hl_min_u32(m->unchanged, e + 1);
	atomic_signal_fence(memory_order_release);
	checks = m->frames[e].checks_end;
	live = m->frames[e].flags & HL_KEPT_LIVE;
	for (uint32_t i = n, at = e + 1; i-- > 0; at++) {
		keep_frame(m, at, &fresh[i], &live, &fp, &checks, &hash);
		m->pcs[at] = fresh[i].pc;
	}
	for (uint32_t at = f + 1; at < depth; at++)
		m->frames[at].hash = hash = hl_path_on(hash, m->pcs[at]);
	atomic_signal_fence(memory_order_release);
	m->depth = depth;
	return true;
}
