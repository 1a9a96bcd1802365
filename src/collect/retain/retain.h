/* SPDX-License-Identifier: Apache-2.0 */
/*
 * retain.h - retention: which events are written to the trace in each mode, and when snapshots are
 * taken.
 *
 * The matcher passes every event in its final order, and the writer's sums are updated at once:
 * totals, peak and keyframes are exact in every mode. The modes differ in the blocks that are
 * written as events. A block is written entirely, allocation and free, or not at all. So the events
 * are a trace of some of the blocks, and the sums include the others.
 *
 *  trace  all blocks
 *  count  none; but frees of blocks whose allocation was written before
 *  cull   blocks that live longer than the lifetime; candidates are queued in order
 */
#ifndef HL_COLLECT_RETAIN_RETAIN_H
#define HL_COLLECT_RETAIN_RETAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/mode.h"
#include "collect/match/live_table.h"
#include "trace/event.h"

struct hl_target;

/* The settings of `record`. 0: none. */
struct hl_retain_settings {
	uint64_t lifetime_ns;
	uint32_t pending_max; /* maximum length of the queue */
	uint64_t churn_bytes; /* a snapshot after this many bytes were allocated and freed */
	uint64_t every_ns;    /* or after this time */
	uint64_t at_live, at_rss;
	uint64_t churn_gap_ns; /* minimum time between two snapshots by churn ... */
	bool churn_gap_given;  /* ... if set by the user; else HL_SNAPSHOT_GAP_NS, which doubles */
	bool churn_given;      /* snapshots by churn also in modes other than count */
	bool zero_memory;      /* only for META */
};

#define HL_RETAIN_PENDING_DEFAULT (1u << 18)
#define HL_CHURN_DEFAULT          (UINT64_C(1) << 20)

/* Automatic snapshots are at least this far apart. The distance doubles after every
 * HL_SNAPSHOT_GAP_MANY of them, so their number grows with the logarithm of time. */
#define HL_SNAPSHOT_GAP_NS   UINT64_C(10000000)
#define HL_SNAPSHOT_GAP_MANY 1024u

struct hl_retain_item;

struct hl_retain {
	struct hl_retain_settings settings;
	enum hl_mode mode;
	bool mode_noted;       /* the trace has an event for the mode */
	uint64_t n_written;    /* blocks written */
	uint64_t early_blocks; /* of mode cull: written early, because the queue was full */

	/* Mode cull: the queue, a list in order of time. Its items are in a pool. */
	struct hl_retain_item *items;
	uint32_t n_items, n_queued;
	uint32_t first, last, free_list; /* UINT32_MAX: none */
	/* the item that was queued last, if it is the free half of a realloc */
	uint32_t moved_free;

	/* Snapshots. */
	uint64_t churn, live;                   /* bytes since the last one; live bytes */
	uint64_t churn_due, live_due, time_due; /* UINT64_MAX: never */
	uint64_t gap_ns, last_snapshot_ns, last_live_ns;
	uint32_t n_auto, n_snapshots; /* n_snapshots: all of the run */
	/* the threshold was reached, and the value has not been an eighth below it since */
	bool above_live, above_rss;
	bool live_pending; /* ... and its snapshot is still to be taken */

	bool is_followed;      /* a viewer follows the trace: control/ctl.c */
	uint64_t next_view_ns; /* the next keyframe for it */
};

/* The time between two keyframes for viewers, in modes count and cull. */
#define HL_RETAIN_VIEW_NS UINT64_C(1000000000)

int hl_retain_init(
	struct hl_retain *k, enum hl_mode mode, const struct hl_retain_settings *settings);
void hl_retain_fini(struct hl_retain *k);

/* Ordinals of blocks from this value on are of blocks that are not written. */
#define HL_ORDINAL_WITHHELD (UINT64_C(1) << 38)

/* True if the next few events only have to be written, with n_written as the next block's ordinal:
 * the queue is empty, and no snapshot depends on churn, live bytes or time. */
static inline bool hl_retain_is_plain(const struct hl_retain *k)
{
	return k->mode != HL_MODE_CULL && k->mode != HL_MODE_COUNT && k->mode_noted &&
	       !k->n_queued && k->n_written < HL_ORDINAL_WITHHELD / 2 && !k->above_live &&
	       (k->churn_due & k->live_due & k->time_due) == UINT64_MAX;
}

/* A viewer follows the trace, or none does any more. */
static inline void hl_retain_set_followed(struct hl_retain *k, bool is_followed)
{
	k->is_followed = is_followed;
}

/* The ordinal of a block that is written without this module: hl_retain_is_plain(). */
static inline uint64_t hl_retain_next_ordinal(struct hl_retain *k)
{
	return k->n_written++;
}

/* Processes one allocation, in order. `block` gets its ordinal; event->ordinal is ignored. */
void hl_retain_alloc(struct hl_target *p, struct hl_event *event, struct hl_live_entry *block);
/* event->ordinal: the block's. */
void hl_retain_free(struct hl_target *p, struct hl_event *event);
void hl_retain_extra(struct hl_target *p, const struct hl_extra *extra);

/* Call it between two events. Writes queued items that are old enough. */
void hl_retain_release(struct hl_target *p, uint64_t now_ns);
/* Call it regularly; now_ns is in the trace's time. Writes queued items that are old enough, takes
 * timed snapshots, and writes keyframes for viewers. */
void hl_retain_tick(struct hl_target *p, uint64_t now_ns);
/* The time until the next snapshot by clock. UINT64_MAX: there is none. */
static inline uint64_t hl_retain_due_ns(const struct hl_retain *k, uint64_t now_ns)
{
	if (k->time_due == UINT64_MAX)
		return UINT64_MAX;
	return k->time_due > now_ns ? k->time_due - now_ns : 0;
}
/* Writes the whole queue. */
void hl_retain_write_queue(struct hl_target *p);
/* The same, when no more events will follow. */
void hl_retain_end(struct hl_target *p);

/* Sets the mode from here on. All earlier events are processed first, and a keyframe is written in
 * between. Modes other than count and cull are treated as trace. */
void hl_target_set_mode(struct hl_target *p, enum hl_mode mode);
/* Takes a snapshot of the sums, for `heaplapse log`. The label may be NULL. */
void hl_target_snapshot(struct hl_target *p, const char *label, enum hl_snapshot_cause cause);

#endif
