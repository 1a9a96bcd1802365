/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snapshot_internal.h - when snapshots are taken, for retain.c.
 */
#ifndef HL_COLLECT_RETAIN_SNAPSHOT_INTERNAL_H
#define HL_COLLECT_RETAIN_SNAPSHOT_INTERNAL_H

#include "base/attr.h"
#include "collect/match/target_process.h"
#include "collect/retain/retain.h"

static inline bool hl_retain_is_count_mode(enum hl_mode mode)
{
	return mode == HL_MODE_COUNT;
}

/* Churn after which a snapshot is taken; 0: none. */
uint64_t hl_retain_churn_threshold(const struct hl_retain *k);
/* Sets the next thresholds. */
void hl_retain_arm_triggers(struct hl_retain *k, uint64_t now);

void hl_retain_take_snapshot(
	struct hl_target *p, const char *label, enum hl_snapshot_cause cause, uint64_t threshold);
/* Takes a snapshot that was requested, in modes whose events alone cannot reproduce the sums of
 * that moment. */
void hl_retain_take_requested_snapshot(struct hl_target *p, const struct hl_extra *x);

/* The slow paths of hl_retain_check_triggers(). */
hl_cold void hl_retain_take_due_snapshots(struct hl_target *p);
hl_cold void hl_retain_check_above_live(struct hl_target *p);

/* Live bytes are counted only where a trigger needs them (hl_retain_is_plain). Elsewhere `live` may
 * have any value, including UINT64_MAX. */
static inline bool hl_retain_is_live_due(const struct hl_retain *k)
{
	return k->live >= k->live_due && k->live_due != UINT64_MAX;
}

/* After each event except the first half of a realloc. */
static inline void hl_retain_check_triggers(struct hl_target *p)
{
	struct hl_retain *k = &p->retain;

	if (hl_unlikely(k->churn >= k->churn_due || hl_retain_is_live_due(k) ||
			hl_target_last_ns(p) >= k->time_due))
		hl_retain_take_due_snapshots(p);
	if (hl_unlikely(k->above_live))
		hl_retain_check_above_live(p);
}

#endif
