/*
 * timed.h - what a hook costs: one in HL_TIMED_EVERY is timed, for all of them.
 */
#ifndef HL_RECORD_TIMED_H
#define HL_RECORD_TIMED_H

#include "record/recorder.h"

struct hl_timed {
	uint64_t from, waited; /* from == 0: this one is not timed */
};

struct hl_timed hl_timed_start(struct hl_thread *t);
void hl_timed_stop(struct hl_thread *t, struct hl_timed w);

/* True: this one is not timed. */
hl_inline bool hl_timed_passes(struct hl_thread *t)
{
	return hl_likely(--t->until_timed != 0);
}

hl_inline struct hl_timed hl_timed_begin(struct hl_thread *t)
{
	struct hl_timed none = {0};

	return hl_likely(hl_timed_passes(t)) ? none : hl_timed_start(t);
}

hl_inline void hl_timed_end(struct hl_thread *t, struct hl_timed w)
{
	if (hl_unlikely(w.from))
		hl_timed_stop(t, w);
}

#endif
