/*
 * walk.c - which memory a walk may read. The only place that probes.
 *
 * A probe is one syscall (about 100 ns) per page that no earlier read has vouched for. Pages are
 * asked for one after the other, so that the range never spans a hole.
 */
#include <stdatomic.h>

#include "base/bits.h"
#include "record/arch/walk.h"

#define PROBE_PAGES 64 /* a longer way than this is not probed: only its end, as a stray range */
#define SAME_STACK  (32 * 1024) /* a signal frame lies this close below what it interrupted */

static atomic_bool probes_forbidden;

void hl_walk_forbid_probes(bool forbidden)
{
	atomic_store_explicit(&probes_forbidden, forbidden, memory_order_relaxed);
}

bool hl_walk_probes_allowed(void)
{
	return !atomic_load_explicit(&probes_forbidden, memory_order_relaxed);
}

/* Around a stack pointer: the word below it has been read, it is the return address of our callee.
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
	w->exact = w->guessed = w->careful = w->strayed = false;
	set_range(w, start->sp);
}

void hl_walk_hop(struct hl_walk *w, uintptr_t sp)
{
	uintptr_t from = w->r.sp;

	if (sp > from && sp - from < SAME_STACK) {
		w->hi = hl_max_u64(w->hi, hl_align_up(sp, HL_PAGE));
		return;
	}
	if (!w->segment_end)
		w->segment_end = from;
	/* Nobody has read anything there: even the page of the pointer must be asked for. */
	w->lo = w->hi = sp & ~(HL_PAGE - 1);
}

bool hl_walk_probe(uintptr_t addr)
{
	return hl_walk_probes_allowed() && hl_arch_readable(addr);
}

static void join_memo(struct hl_walk *w)
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

hl_cold bool hl_walk_vouch(struct hl_walk *w, uintptr_t from, uintptr_t to)
{
	if (from >= to || to - from > PROBE_PAGES * HL_PAGE || to > UINTPTR_MAX - HL_PAGE)
		return false;
	/* Steps that trusted the table have read up to the stack pointer. */
	if (!w->exact)
		w->hi = hl_max_u64(w->hi, hl_align_up(w->r.sp, HL_PAGE));
	join_memo(w);
	if (from >= w->lo && to <= w->hi)
		return true;
	if (from >= w->lo && from <= w->hi + PROBE_PAGES * HL_PAGE) {
		if (!probe_pages(w->hi, to))
			return false;
		w->hi = hl_align_up(to, HL_PAGE);
		return true;
	}
	if (!probe_pages(from, to))
		return false;
	w->strayed = true;
	w->lo = from & ~(HL_PAGE - 1);
	w->hi = hl_align_up(to, HL_PAGE);
	return true;
}
