/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snapshot.c - snapshots that are requested, or triggered by churn, live bytes, the resident set or
 * time.
 */
#include "base/attr.h"
#include "base/bits.h"
#include "collect/match/target_process.h"
#include "collect/retain/snapshot_internal.h"

/* Snapshots by time suppress the default of churn in mode count, which would produce far more of
 * them. */
uint64_t hl_retain_churn_threshold(const struct hl_retain *k)
{
	bool by_default = hl_retain_is_count_mode(k->mode) && !k->settings.every_ns;

	return k->settings.churn_given || by_default ? k->settings.churn_bytes : 0;
}

void hl_retain_arm_triggers(struct hl_retain *k, uint64_t now)
{
	uint64_t churn = hl_retain_churn_threshold(k);

	k->churn_due = churn ? churn : UINT64_MAX;
	/* Never move it back: `now` may be the time of an old event. */
	k->time_due = k->settings.every_ns ? hl_max_u64(k->time_due, now + k->settings.every_ns)
					   : UINT64_MAX;
	k->live_due = k->settings.at_live && !k->above_live ? k->settings.at_live : UINT64_MAX;
}

void hl_retain_take_snapshot(
	struct hl_target *p, const char *label, enum hl_snapshot_cause cause, uint64_t threshold)
{
	struct hl_snapshot s = {.time_ns = hl_target_last_ns(p),
		.threshold = threshold,
		.cause = cause,
		.churn_bytes = hl_retain_churn_threshold(&p->retain),
		.label = label};

	(void)hl_writer_snapshot(p->writer, &s);
	p->retain.n_snapshots++;
	p->retain.churn = 0;
	p->retain.last_snapshot_ns = hl_target_last_ns(p);
	hl_retain_arm_triggers(&p->retain, hl_target_last_ns(p));
}

/* Limits the rate of automatic snapshots. Counts one if it returns true. */
static bool gap_elapsed(struct hl_retain *k, uint64_t last, uint64_t now)
{
	if (now < last + k->gap_ns && last > 0)
		return false;
	if (++k->n_auto % HL_SNAPSHOT_GAP_MANY == 0)
		k->gap_ns *= 2;
	return true;
}

/* --churn-gap is constant: it does not double. 0 allows every snapshot. */
static bool churn_gap_elapsed(struct hl_retain *k, uint64_t now)
{
	if (!k->settings.churn_gap_given)
		return gap_elapsed(k, k->last_snapshot_ns, now);
	return now >= k->last_snapshot_ns + k->settings.churn_gap_ns || k->last_snapshot_ns == 0;
}

/* Live bytes have reached the threshold. If this is too soon after the last time, the snapshot is
 * delayed for as long as they stay above. */
static hl_cold void take_live_snapshot(struct hl_target *p, uint64_t now)
{
	struct hl_retain *k = &p->retain;

	k->live_pending = !gap_elapsed(k, k->last_live_ns, now);
	if (k->live_pending)
		return;
	hl_retain_take_snapshot(p, NULL, HL_SNAPSHOT_LIVE, k->settings.at_live);
	k->last_live_ns = now;
}

hl_cold void hl_retain_take_due_snapshots(struct hl_target *p)
{
	struct hl_retain *k = &p->retain;
	uint64_t now = hl_target_last_ns(p);

	if (hl_retain_is_live_due(k) && !k->above_live) {
		k->above_live = true;
		k->live_due = UINT64_MAX;
		take_live_snapshot(p, now);
	}
	if (now >= k->time_due)
		hl_retain_take_snapshot(p, NULL, HL_SNAPSHOT_TIME, k->settings.every_ns);
	if (k->churn >= k->churn_due && churn_gap_elapsed(k, now))
		hl_retain_take_snapshot(p, NULL, HL_SNAPSHOT_CHURN, k->settings.churn_bytes);
}

/* While live bytes are above the threshold. The trigger is armed again when they are an eighth
 * below it. */
hl_cold void hl_retain_check_above_live(struct hl_target *p)
{
	struct hl_retain *k = &p->retain;

	if (k->live < k->settings.at_live - k->settings.at_live / 8) {
		k->above_live = k->live_pending = false;
		k->live_due = k->settings.at_live;
	} else if (k->live_pending) {
		take_live_snapshot(p, hl_target_last_ns(p));
	}
}

void hl_retain_take_requested_snapshot(struct hl_target *p, const struct hl_extra *x)
{
	if (x->kind != HL_EXTRA_SNAPSHOT)
		return;
	if (hl_retain_is_count_mode(p->retain.mode) || p->retain.mode == HL_MODE_CULL)
		hl_retain_take_snapshot(p, x->text, (enum hl_snapshot_cause)x->value, 0);
	else
		p->retain.n_snapshots++; /* its sums are computed from the events */
}

void hl_target_snapshot(struct hl_target *p, const char *label, enum hl_snapshot_cause cause)
{
	hl_target_flush(p);
	hl_retain_take_snapshot(p, label, cause, 0);
}

/* In these modes only keyframes have the sums. Without events since the last one nothing is
 * written. */
static hl_cold void show_viewers(struct hl_target *p, uint64_t now)
{
	struct hl_retain *k = &p->retain;

	if (now < k->next_view_ns || (!hl_retain_is_count_mode(k->mode) && k->mode != HL_MODE_CULL))
		return;
	k->next_view_ns = now + HL_RETAIN_VIEW_NS;
	(void)hl_writer_keyframe(p->writer, hl_target_last_ns(p));
}

void hl_retain_tick(struct hl_target *p, uint64_t now)
{
	struct hl_retain *k = &p->retain;
	uint64_t rss = hl_trace_output_rss(p->output);

	hl_retain_release(p, now);
	if (k->settings.every_ns && now >= k->time_due) {
		hl_retain_take_snapshot(p, NULL, HL_SNAPSHOT_TIME, k->settings.every_ns);
		hl_retain_arm_triggers(k, now);
	}
	if (k->live_pending)
		take_live_snapshot(p, now);
	if (hl_unlikely(k->is_followed))
		show_viewers(p, now);
	if (!k->settings.at_rss || !rss)
		return;
	if (rss >= k->settings.at_rss && !k->above_rss)
		hl_retain_take_snapshot(p, NULL, HL_SNAPSHOT_RSS, k->settings.at_rss);
	k->above_rss = rss >= k->settings.at_rss - (k->above_rss ? k->settings.at_rss / 8 : 0);
}
