/*
 * ways.c - stacks that come back: more than the last one, whole.
 *
 * A program that allocates in several places by turns changes its inner frames each time. The memo
 * knows the last stack only and would have them walked again; a way is a copy of a memo's pcs and
 * checks, found by the state the walk begins in, and believed exactly as the memo itself would be:
 * if all its words still hold. Ways lie in a ring of bytes, the oldest are overwritten; a position
 * only grows, so that one looks at it to see whether a way is still there. Where they seldom help
 * few are kept. And where there are more of them than places, and each differs from the last one in
 * a frame or two, to walk those is sooner done than to look for a way: now and then one is walked
 * that had been found, to see how many frames that are.
 */
#include <string.h>

#include "base/bits.h"
#include "record/unwind/memo_internal.h"

#define CREDIT_MAX 256
#define HIT_WORTH  4
#define BROKE_KEEP 16 /* out of credit: one stack in so many */

#define TRY_EVERY 257 /* of so many that are found one is walked, to see what that takes */
#define TRIES     16  /* then it is judged. They do not pay if they took few frames, ... */
#define PAYS      28
#define MISSES    (TRIES * TRY_EVERY / 8) /* ... and in the meantime many others were not found: */
#define PASS      (1u << 16)              /* so many unwinds without, ... */
#define PASS_MAX  (1u << 20) /* ... each time twice as many if it was so the last time too */

static uint64_t *places(struct hl_ways *w, const struct hl_regs *start)
{
	uint64_t h = (start->pc ^ start->sp << 20) * UINT64_C(0x9e3779b97f4a7c15);

	return w->places[h >> 32 & (HL_WAY_SETS - 1)];
}

static bool holds(const struct hl_way *y, const struct hl_regs *start)
{
	return y->pc == start->pc && y->sp == start->sp && (!y->live || y->fp == start->fp) &&
	       hl_first_to_fail((const struct hl_check *)(y->pcs + y->depth), y->n_checks) == 0;
}

void hl_ways_judge(struct hl_ways *w, uint32_t walked)
{
	w->trying = false;
	w->walked += walked;
	if (++w->tries < TRIES)
		return;
	if (w->walked < PAYS && w->missed > MISSES)
		w->pass = w->last_pass = hl_min_u32(hl_max_u32(w->last_pass * 2, PASS), PASS_MAX);
	else
		w->last_pass = 0;
	w->tries = w->walked = w->missed = 0;
}

/* Found, unless this is one that is walked all the same. */
static const struct hl_way *found(struct hl_ways *w, const struct hl_way *y)
{
	w->credit = hl_min_u32(w->credit + HIT_WORTH, CREDIT_MAX);
	w->trying = ++w->found % TRY_EVERY == 0;
	return hl_likely(!w->trying) ? y : NULL;
}

const struct hl_way *hl_ways_find(struct hl_ways *w, const struct hl_regs *start)
{
	const uint64_t *place = places(w, start);

	if (hl_ways_pass(w))
		return NULL;
	for (unsigned i = 0; i < HL_WAY_PLACES; i++) {
		const struct hl_way *y;

		if (!place[i] || w->end - place[i] > HL_WAY_BYTES)
			continue;
		y = (const struct hl_way *)(w->bytes + place[i] % HL_WAY_BYTES);
		if (holds(y, start))
			return found(w, y);
	}
	return NULL;
}

/* The next `size` bytes in one piece; what lay there is gone from now on. */
static struct hl_way *take(struct hl_ways *w, uint32_t size, uint64_t *at)
{
	uint64_t left = HL_WAY_BYTES - w->end % HL_WAY_BYTES;

	*at = left < size ? w->end + left : w->end;
	w->end = *at + size;
	atomic_signal_fence(memory_order_release);
	return (struct hl_way *)(w->bytes + *at % HL_WAY_BYTES);
}

/* Has this stack, or one that begins alike, been walked not long ago? Most come once. */
static bool comes_back(struct hl_ways *w, const struct hl_memo *m)
{
	uint64_t h = m->frames[m->depth - 1].sp;
	uint32_t *seen;

	for (uint32_t i = m->depth, n = 0; i > 0 && n < 4; i--, n++)
		h = (h ^ m->pcs[i - 1]) * UINT64_C(0x9e3779b97f4a7c15);
	seen = w->seen[h >> 32 & (HL_WAY_SEEN - 1)];
	if (seen[0] == (uint32_t)h || seen[1] == (uint32_t)h)
		return true;
	seen[1] = seen[0];
	seen[0] = (uint32_t)h;
	return false;
}

static bool worth_it(struct hl_ways *w)
{
	if (w->credit > 0) {
		w->credit--;
		return true;
	}
	return ++w->passed % BROKE_KEEP == 0;
}

bool hl_ways_add(struct hl_ways *w, const struct hl_memo *m)
{
	const struct hl_kept *inner = &m->frames[m->depth - 1];
	uint32_t pcs = m->depth * (uint32_t)sizeof(*m->pcs);
	uint32_t checks = inner->checks_end * (uint32_t)sizeof(*m->checks);
	uint32_t size = (uint32_t)sizeof(struct hl_way) + pcs + checks;
	uint64_t at, *place;
	struct hl_way *y;

	w->missed++;
	if (w->pass || size > HL_WAY_MAX || (inner->flags & HL_KEPT_EXACT) || !comes_back(w, m) ||
		!worth_it(w))
		return false;
	y = take(w, size, &at);
	y->pc = m->pcs[m->depth - 1];
	y->sp = inner->sp;
	y->fp = inner->fp;
	y->live = inner->flags & HL_KEPT_LIVE;
	y->depth = m->depth;
	y->n_checks = inner->checks_end;
	y->hash = inner->hash;
	memcpy(y->pcs, m->pcs, pcs);
	memcpy(y->pcs + y->depth, m->checks, checks);
	atomic_signal_fence(memory_order_release);
	place = places(w, &(struct hl_regs){.pc = y->pc, .sp = y->sp});
	memmove(place + 1, place, (HL_WAY_PLACES - 1) * sizeof(*place));
	place[0] = at;
	return true;
}

void hl_ways_forget(struct hl_ways *w)
{
	memset(w->places, 0, sizeof(w->places));
	w->credit = CREDIT_MAX / 2;
	w->found = w->tries = w->walked = w->missed = w->pass = w->last_pass = 0;
	w->trying = false;
	if (!w->end)
		w->end = HL_WAY_BYTES; /* 0 is no place */
}
