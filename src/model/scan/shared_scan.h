/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shared_scan.h - one scan over the events of a trace for all consumers that need them.
 *
 * Each chunk is decoded once, with the union of the fields that the consumers want, and passed to
 * each consumer in turn. Other threads decode ahead (trace/read/decode_ahead.h); all callbacks run
 * in the caller's thread, in the order of the chunks. A consumer that finds damage restarts in the
 * next round, with a plan that ends before the damage; the other consumers continue. So each
 * consumer gets the result that it would get in a scan of its own.
 */
#ifndef HL_MODEL_SCAN_SHARED_SCAN_H
#define HL_MODEL_SCAN_SHARED_SCAN_H

#include "model/query/sums.h"

/* The consumer needs no events of this chunk, because it used the chunk's summary or can skip the
 * chunk. */
#define HL_WANT_NO_EVENTS (1u << 31)

enum hl_scan_state { HL_SCAN_PENDING, HL_SCAN_ACTIVE, HL_SCAN_DONE, HL_SCAN_FAILED };

/*
 * One consumer of a scan. All callbacks return 0 or -errno. A scan consists of rounds; a round
 * reads the chunks once, and another round follows while a consumer is PENDING. The states, without
 * their prefix HL_SCAN_:
 *
 *               plan() == 0             end() == 0 or NULL
 *   PENDING ------------------> ACTIVE --------------------> DONE
 *    |   ^                       |
 *    |   |         retry         |  begin(), want(), chunk(), end() or the decoder fails
 *    |   +-----------------------+
 *    |                           |
 *    | plan() fails              |  any other error
 *    +--------> FAILED <---------+
 *
 * It is a retry if the error is -EAGAIN, or -EBADMSG and a part of the file was newly marked bad in
 * this round. The consumer then gets no more chunks in this round; the next round calls plan() and
 * begin() again. FAILED ends the scan with the error if the consumer is the caller's. A prefetched
 * consumer that fails is only dropped, and its query runs alone later (prefetch.h). When the scan
 * ends with an error, the other consumers keep their state, so only DONE means that a result is
 * complete.
 */
struct hl_scan_consumer {
	/* Sets the chunks that it needs: [first, last_end), none of them lost. On failure it sets
	 * hl_model_error(). */
	int (*plan)(struct hl_scan_consumer *r);
	int (*begin)(void *arg); /* discard all results: a scan begins or begins again */
	/* Which fields (HL_WANT_*) of the events of this chunk it needs. */
	int (*want)(void *arg, size_t chunk, unsigned *want);
	int (*chunk)(void *arg, size_t chunk, const struct hl_chunk_events *events);
	int (*end)(void *arg); /* may be NULL */
	void *arg;
	size_t first, last_end;
	uint64_t memory; /* most memory that it may allocate; limits what is prefetched together */
	bool is_prefetched; /* it is prefetched, and must not use more than `memory` */

	enum hl_scan_state state; /* state and wants_chunk belong to the scan */
	bool wants_chunk;         /* the events of the current chunk will be passed to it */
};

/* A plan for all chunks before a position. If some of them are lost, the position moves before the
 * first lost one. */
void hl_scan_consumer_up_to(struct hl_scan_consumer *r, struct hl_model *m, struct hl_position *p);

/* For loops over the events of a chunk: another thread has decoded them, so they come from another
 * core's cache. Nothing is read: the address may be behind the chunk. */
static inline void hl_scan_prefetch_event(const struct hl_event *e)
{
	uintptr_t ahead = (uintptr_t)e + 128 * sizeof(*e);

	__builtin_prefetch((const void *)ahead);
	__builtin_prefetch((const void *)(ahead + 64));
}

/*
 * Scans the trace for one consumer, and for another one if it is not NULL. Prefetched queries join
 * the scan (prefetch.h). Returns 0, or -errno with hl_model_error() if one of the two consumers
 * failed.
 */
int hl_scan(struct hl_model *m, struct hl_scan_consumer *one, struct hl_scan_consumer *other);

#endif
