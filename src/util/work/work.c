/* SPDX-License-Identifier: Apache-2.0 */
/* work.c - see work.h. */
#include "util/work/work.h"

#include <errno.h>
#include <stddef.h>

#include "util/mono_clock.h"

/* The rest of the time is for work that needs few events: sums, and the names of frames. */
#define PASS_SHARE(ns) ((ns) / 4 * 3)

static uint64_t now_ns(const struct hl_work *w)
{
	return w->clock ? w->clock(w->arg) : hl_mono_ns();
}

static uint64_t add_saturated(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

void hl_work_limit(struct hl_work *w, uint64_t max_ns)
{
	uint64_t now = max_ns ? now_ns(w) : 0;

	w->max_ns = max_ns;
	w->end_ns = add_saturated(now, max_ns);
	w->pass_end_ns = add_saturated(now, PASS_SHARE(max_ns));
}

void hl_work_resume(struct hl_work *w)
{
	w->stopped = 0;
	w->stopped_what = NULL;
	w->stopped_percent = 0;
}

void hl_work_begin(struct hl_work *w, enum hl_work_kind kind, const char *what)
{
	if (!w)
		return;
	w->passes += kind == HL_WORK_PASS;
	if (w->depth++ > 0)
		return;
	w->what = what;
	if (w->progress)
		w->progress(w->arg, what, 0, 0);
}

int hl_work_check(const struct hl_work *w)
{
	if (!w)
		return 0;
	if (w->stopped)
		return w->stopped;
	if (w->cancel && atomic_load_explicit(w->cancel, memory_order_relaxed))
		return -ECANCELED;
	if (!w->max_ns)
		return 0;
	return now_ns(w) >= (w->passes ? w->pass_end_ns : w->end_ns) ? -ETIME : 0;
}

int hl_work_tick(struct hl_work *w, uint64_t done, uint64_t total)
{
	int err;

	if (!w)
		return 0;
	if (w->depth == 1 && w->progress && total)
		w->progress(w->arg, w->what, done, total);
	err = hl_work_check(w);
	if (err && !w->stopped) {
		w->stopped = err;
		w->stopped_what = w->what;
		w->stopped_percent = total ? (double)done * 100 / (double)total : 0;
	}
	return err;
}

void hl_work_end(struct hl_work *w, enum hl_work_kind kind)
{
	if (!w)
		return;
	w->passes -= kind == HL_WORK_PASS;
	if (--w->depth > 0)
		return;
	w->what = NULL;
	if (w->progress)
		w->progress(w->arg, NULL, 0, 0);
}
