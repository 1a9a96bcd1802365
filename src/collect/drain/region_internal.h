/* SPDX-License-Identifier: Apache-2.0 */
/*
 * region_internal.h - what region.c, scan.c and merge.c share.
 */
#ifndef HL_COLLECT_DRAIN_REGION_INTERNAL_H
#define HL_COLLECT_DRAIN_REGION_INTERNAL_H

#include "collect/drain/region.h"

/* Also called between steps that are short but may be many: hundreds of children that start
 * or end. */
static inline void hl_region_bump_heartbeat(struct hl_region_reader *r)
{
	atomic_fetch_add_explicit(&r->region->heartbeat, 1, memory_order_relaxed);
}

/* Loads the stamp of the next record to be merged. */
static inline void hl_region_load_stamp(struct hl_region_reader *r, struct hl_ring_view *v)
{
	v->stamp = hl_tsc_clock_stamp(
		v->words.data[v->at], v->stamp, r->last_scan_stamp, r->clock.counter);
}

/* The ring's owner holds it while it lives; the kernel marks it when the owner has ended. */
void hl_region_init_owner_mutex(struct hl_ring *ring);

/* NULL: not known, or its trace has ended. */
struct hl_target *hl_region_find_target(struct hl_region_reader *r, uint32_t serial);
/* Finds or adds a target. The first thread of a fork child is its only one: its tid is the child's
 * pid. NULL: its trace has ended, there are too many, or out of memory. */
struct hl_target *hl_region_get_target(struct hl_region_reader *r, uint32_t serial, uint32_t tid,
	uint64_t stamp, uint32_t parent_serial);
/* True if the trace of this process has ended, but the process still waits at its exit. */
bool hl_region_is_ended_serial(const struct hl_region_reader *r, uint32_t serial);
/* Finds or creates the target and the stream of a ring's owner, at its first record. */
void hl_region_attach_owner(struct hl_region_reader *r, struct hl_ring_view *v);

/* Frees the ring of an ended thread, once all its records are processed. */
void hl_region_recycle_ring(struct hl_region_reader *r, uint32_t i);
/* Counts the events of a ring that were dropped since the last call. */
void hl_region_count_drops(
	struct hl_region_reader *r, struct hl_ring_view *v, struct hl_ring *ring);
/* Drops for lack of a ring may be of any process: they are counted in the first one. */
void hl_region_count_unclaimed(struct hl_region_reader *r);

/* Processes the records with stamps below `limit`, in order. Stops early when the write queue is
 * full or too many targets have ended (r->crowded). */
void hl_region_merge(struct hl_region_reader *r, uint64_t limit);

#endif
