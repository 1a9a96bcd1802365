/*
 * keep.h - how much of what happens comes into the trace: the modes, and the moments that are kept.
 *
 * The books hand every event over in the one true order, and the writer's sums hear of it at once:
 * totals, the peak, keyframes are exact in every mode. What differs is what is written as an event.
 * A block is written whole, allocation and free, or not at all: so what is written is a trace of
 * some of the blocks, and the sums say how many others there were.
 *   trace  all
 *   count  none, but the frees of blocks that are
 *   cull   those that live longer than the lifetime: what may come to be written waits in order
 */
#ifndef HL_COLLECT_KEEP_H
#define HL_COLLECT_KEEP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/mode.h"
#include "collect/live.h"
#include "trace/event.h"

struct hl_proc;

/* What `record` was told. 0: none. */
struct hl_keep_settings {
	uint64_t lifetime_ns;
	uint32_t pending_max; /* events that wait, at most */
	uint64_t churn_bytes; /* a snapshot whenever so much was allocated and freed */
	uint64_t every_ns;    /* or so much time has passed */
	uint64_t at_live, at_rss;
	uint64_t churn_gap_ns; /* least time between two snapshots by churn ... */
	bool churn_gap_given; /* ... if the user has set it; else HL_SNAPSHOT_GAP_NS and doubling */
	bool churn_given;     /* in other modes than count too */
	bool zero_memory;     /* for the record */
};

#define HL_PENDING_DEFAULT (1u << 18)
#define HL_CHURN_DEFAULT   (UINT64_C(1) << 20)

/*
 * Snapshots that nobody asked for one by one are at least this far apart, and twice as far after so
 * many of them: their number grows with the logarithm of time.
 */
#define HL_SNAPSHOT_GAP_NS   UINT64_C(10000000)
#define HL_SNAPSHOT_GAP_MANY 1024u

struct hl_keep_item;

struct hl_keep {
	struct hl_keep_settings set;
	enum hl_mode mode;
	bool noted;         /* the trace says so */
	uint64_t n_written; /* blocks */

	/* cull: what waits, a list in order of time in a pool. */
	struct hl_keep_item *items;
	uint32_t n_items, n_waiting;
	uint32_t first, last, spare; /* UINT32_MAX: none */
	uint32_t moved;              /* the free half of a realloc that was put last */

	/* snapshots */
	uint64_t churn, live;                   /* since the last one; now */
	uint64_t churn_due, live_due, time_due; /* UINT64_MAX: never */
	uint64_t gap_ns, last_ns, last_live_ns;
	uint32_t n_gap;
	bool live_over, rss_over; /* as much as was asked for, and not yet an eighth below */
	bool live_waits;          /* and the snapshot of that is to come */
};

int hl_keep_init(struct hl_keep *k, enum hl_mode mode, const struct hl_keep_settings *set);
void hl_keep_fini(struct hl_keep *k);

/* Of blocks' ordinals: this one and those above are of what is not written. */
#define HL_KEEP_HELD (UINT64_C(1) << 38)

/*
 * For the next few events all there is to do is to write them, with n_written as the next block's
 * ordinal: nothing waits, and nobody asks for churn or live bytes.
 */
static inline bool hl_keep_is_plain(const struct hl_keep *k)
{
	return k->mode != HL_MODE_CULL && k->mode != HL_MODE_COUNT && k->noted && !k->n_waiting &&
	       k->n_written < HL_KEEP_HELD / 2 && !k->live_over &&
	       (k->churn_due & k->live_due & k->time_due) == UINT64_MAX;
}

/* One event, in order. `block`: of an allocation, to be given its ordinal; event->ordinal is not
 * used. */
void hl_keep_alloc(struct hl_proc *p, struct hl_event *event, struct hl_live_entry *block);
/* event->ordinal: as the block has it. */
void hl_keep_free(struct hl_proc *p, struct hl_event *event);
void hl_keep_extra(struct hl_proc *p, const struct hl_extra *extra);

/* Between two events: what has waited for long enough is written. */
void hl_keep_release(struct hl_proc *p, uint64_t now_ns);
/* Now and then, in the trace's time: what waits, and snapshots by the clock. */
void hl_keep_tick(struct hl_proc *p, uint64_t now_ns);
/* Everything that waits is written: nothing more will come. */
void hl_keep_end(struct hl_proc *p);

/*
 * From here on this is the mode. All that came before is through the books, and a keyframe stands
 * at the border. Others than count and cull are as trace here.
 */
void hl_proc_set_mode(struct hl_proc *p, enum hl_mode mode);
/* The sums of this moment, for `heaplapse log`. The label may be NULL. */
void hl_proc_snapshot(struct hl_proc *p, const char *label, enum hl_snapshot_cause cause);

#endif
