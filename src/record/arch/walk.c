/* SPDX-License-Identifier: Apache-2.0 */
/*
 * walk.c - which memory a walk may read. All probing of addresses is here.
 *
 * A probe is one system call (about 100 ns). It is made for each page that is not in the known
 * readable range. Pages are probed in order, so the range never has a hole.
 */
#include <stdatomic.h>

#include "base/bits.h"
#include "record/arch/walk.h"

#define PROBE_PAGES_MAX 64 /* a larger gap is not probed: the range moves instead of growing */
#define SAME_STACK_MAX  (32 * 1024) /* from a signal frame to the frame it interrupted */

static atomic_bool probes_forbidden;

void hl_walk_forbid_probes(bool forbidden)
{
	atomic_store_explicit(&probes_forbidden, forbidden, memory_order_relaxed);
}

bool hl_walk_probes_allowed(void)
{
	return !atomic_load_explicit(&probes_forbidden, memory_order_relaxed);
}

/*
 * The range around a stack pointer. The word below it has been read: it is the return address of
 * our callee.
 */
static void set_range(struct hl_walk *w, uintptr_t sp)
{
	w->lo = (sp - 8) & ~(HL_PAGE - 1);
	w->hi = hl_align_up(sp, HL_PAGE);
}

void hl_walk_init(struct hl_walk *w, const struct hl_regs *start)
{
	w->r = *start;
	w->start = start;
	w->memo_lo = w->memo_hi = 0;
	w->segment_end = w->known_pc = 0;
	w->misses = 0;
	w->exact = w->guessed = w->careful = w->disjoint = false;
	set_range(w, start->sp);
}

void hl_walk_switch_stack(struct hl_walk *w, uintptr_t sp)
{
	uintptr_t from = w->r.sp;

	if (sp > from && sp - from < SAME_STACK_MAX) {
		w->hi = hl_max_u64(w->hi, hl_align_up(sp, HL_PAGE));
		return;
	}
	if (!w->segment_end)
		w->segment_end = from;
	/* Nothing was read there yet: even the page of the stack pointer must be probed. */
	w->lo = w->hi = sp & ~(HL_PAGE - 1);
}

bool hl_walk_probe(uintptr_t addr)
{
	return hl_walk_probes_allowed() && hl_arch_readable(addr);
}

static void merge_memo_range(struct hl_walk *w)
{
	if (w->memo_lo >= w->memo_hi || w->memo_lo > w->hi || w->memo_hi < w->lo)
		return;
	w->lo = hl_min_u64(w->lo, w->memo_lo);
	w->hi = hl_max_u64(w->hi, w->memo_hi);
}

static bool probe_pages(uintptr_t from, uintptr_t to)
{
	for (uintptr_t page = from & ~(HL_PAGE - 1); page < to; page += HL_PAGE) {
		if (!hl_walk_probe(page))
			return false;
	}
	return true;
}

hl_cold bool hl_walk_probe_range(struct hl_walk *w, uintptr_t from, uintptr_t to)
{
	if (from >= to || to - from > PROBE_PAGES_MAX * HL_PAGE || to > UINTPTR_MAX - HL_PAGE)
		return false;
	/* Steps that trusted the unwind table have read everything up to the stack pointer. */
	if (!w->exact)
		w->hi = hl_max_u64(w->hi, hl_align_up(w->r.sp, HL_PAGE));
	merge_memo_range(w);
	if (from >= w->lo && to <= w->hi)
		return true;
	if (from >= w->lo && from <= w->hi + PROBE_PAGES_MAX * HL_PAGE) {
		if (!probe_pages(w->hi, to))
			return false;
		w->hi = hl_align_up(to, HL_PAGE);
		return true;
	}
	if (!probe_pages(from, to))
		return false;
	w->disjoint = true;
	w->lo = from & ~(HL_PAGE - 1);
	w->hi = hl_align_up(to, HL_PAGE);
	return true;
}
