/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work.h - work that takes long: its progress, and how it is stopped.
 *
 * Any loop over a file or over all names calls begin, tick and end, and returns the error of tick.
 * The struct belongs to the object that works, such as a model, and is used by its thread alone.
 * The caller of that object sets the first members; zeroed, the work is neither shown nor stopped.
 * NULL is a work of this kind, too.
 *
 * Once a tick has failed, all further ones fail until hl_work_resume(). So an error that is lost on
 * its way does not end in a partial result: the caller looks at `stopped`.
 */
#ifndef HL_UTIL_WORK_H
#define HL_UTIL_WORK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum hl_work_kind {
	HL_WORK_SHORT, /* it has all of the time */
	HL_WORK_PASS,  /* a pass over the events: a part of the time is reserved for other work */
};

struct hl_work {
	/* Of the caller. */
	const atomic_bool *cancel; /* any thread may set it; NULL: none */
	/* Called at the begin of the outermost work (done and total are 0), at each tick, and at
	 * its end (what is NULL). Unlike `cancel` it runs in the thread that works. */
	void (*progress)(void *arg, const char *what, uint64_t done, uint64_t total);
	void *arg;
	uint64_t (*clock)(void *arg); /* for tests; NULL: hl_mono_ns() */

	/* Of hl_work_*. */
	uint64_t max_ns; /* 0: no limit */
	uint64_t end_ns, pass_end_ns;
	unsigned depth, passes;
	const char *what;
	int stopped;              /* 0, -ECANCELED or -ETIME */
	const char *stopped_what; /* what was stopped, and at which share; NULL: not begun */
	double stopped_percent;
};

/* Starts the clock: the work must end within max_ns; 0: no limit. */
void hl_work_limit(struct hl_work *w, uint64_t max_ns);
/* Other work begins, after one that was stopped. */
void hl_work_resume(struct hl_work *w);

/* what: a text such as "reading". It belongs to the caller and must stay valid. Nested begins are
 * counted, and only the outermost work is shown. */
void hl_work_begin(struct hl_work *w, enum hl_work_kind kind, const char *what);
/* `done` and `total` are in any unit. Returns 0, -ECANCELED or -ETIME. This may read the clock:
 * call it for each chunk, not for each event. */
int hl_work_tick(struct hl_work *w, uint64_t done, uint64_t total);
void hl_work_end(struct hl_work *w, enum hl_work_kind kind);
/* The result of a tick now, without its effects: for work that may end early and still be
 * correct. */
int hl_work_check(const struct hl_work *w);

#endif
