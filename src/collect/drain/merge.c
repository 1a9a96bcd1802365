/* SPDX-License-Identifier: Apache-2.0 */
/*
 * merge.c - merges the records of all rings by stamp and passes them to the matcher.
 *
 * The order of the records below the watermark is final (scan.c). A record that arrives later with
 * a smaller stamp is processed at once and counted as late.
 */
#include "base/attr.h"
#include "base/bits.h"
#include "collect/drain/record_length.h"
#include "collect/drain/region_internal.h"
#include "collect/match/decode_record.h"
#include "collect/match/match.h"
#include "collect/match/match_fast.h"
#include "collect/control/steering.h"
#include "collect/output/write_queue.h"
#include "ring/ring_record.h"

#define NEW_ENDED_MAX 32u /* targets added per scan that have already ended */

/* In a shared ring, a SWITCH record says whose records follow. In an owned ring it is ignored: the
 * view's stream would be freed with another owner. */
static void switch_stream(struct hl_region_reader *r, struct hl_ring_view *v, uint64_t who)
{
	if (v < r->views + HL_RING_COUNT - HL_SHARED_RINGS)
		return;
	v->target =
		hl_region_get_target(r, (uint32_t)(who >> 32), (uint32_t)who, v->stamp, UINT32_MAX);
	v->ignored = hl_region_is_ended_serial(r, (uint32_t)(who >> 32));
	v->stream = v->target ? hl_target_shared_stream(
					v->target, (uint32_t)who, (uint32_t)(v - r->views))
			      : NULL;
}

/* A parent's report on a child that may have ended before its status could be read. */
static void on_reaped(struct hl_region_reader *r, uint64_t word)
{
	for (size_t i = 0; i < r->targets.len; i++) {
		struct hl_target *p = r->targets.data[i];

		if (p->serial != 0 && p->pid == (uint32_t)word)
			hl_target_exit_set_status(p, (int)(word >> 32));
	}
}

/* The process waits until its trace is written. If it has no trace, it is acknowledged at once. */
static void on_exit_wait(struct hl_region_reader *r, const struct hl_ring_view *v)
{
	struct hl_exit_ack ack = {(uint32_t)(v - r->views), v->claim};

	if (v->target)
		hl_target_exit_set_waiting(v->target, &ack);
	else
		(void)hl_exit_ack_send(r->memfd, &ack);
}

static void process_record(struct hl_region_reader *r, struct hl_ring_view *v)
{
	const uint64_t *words = v->words.data + v->at;
	uint32_t len = hl_record_length(words, v->words.len - v->at);

	if ((words[0] & 31) == HL_REC_SWITCH)
		switch_stream(r, v, words[1]);
	if ((words[0] & 31) == HL_REC_REAPED)
		on_reaped(r, words[1]);
	if ((words[0] & 31) == HL_REC_EXIT && words[1] & HL_EXIT_WAITS)
		on_exit_wait(r, v);
	if ((words[0] & 31) == HL_REC_MARK && (words[1] & 0xff) == HL_MARK_TOGGLE)
		hl_steering_pause(r, !r->steering.paused);
	if (v->stream) {
		struct hl_target *p = v->target;

		hl_match_note_stamp(p, v->stamp, hl_record_events(words) > 0);
		hl_target_process_record(p, v->stream, words, len, v->stamp);
	} else if (!v->ignored && r->targets.len && hl_record_events(words)) {
		r->targets.data[0]->drain.dropped_events++; /* of no target: use the first */
	}
	v->at += len;
	if (v->at < v->words.len)
		hl_region_load_stamp(r, v);
}

/* Processes records of the view that is next in order: those with stamps below `before`, or
 * fewer. */
static void process_run(struct hl_region_reader *r, struct hl_ring_view *v, uint64_t before)
{
	struct hl_record_cursor c = {.at = v->words.data + v->at,
		.end = v->words.data + v->words.len,
		.stamp = v->stamp,
		.near = r->last_scan_stamp};

	if (hl_likely(v->stream != NULL))
		hl_target_process_heap_records(v->target, v->stream, &c, before);
	if (c.at == v->words.data + v->at) {
		process_record(r, v);
		return;
	}
	v->at = (size_t)(c.at - v->words.data);
	v->stamp = c.stamp;
}

/* A binary heap of views by stamp, the smallest at the top. */
static void sift_down(struct hl_ring_view **heap, size_t n, size_t i)
{
	for (;;) {
		size_t child = 2 * i + 1;
		struct hl_ring_view *t = heap[i];

		if (child >= n)
			return;
		if (child + 1 < n && heap[child + 1]->stamp < heap[child]->stamp)
			child++;
		if (heap[child]->stamp >= t->stamp)
			return;
		heap[i] = heap[child];
		heap[child] = t;
		i = child;
	}
}

/* The top view can be processed below this stamp before another view is next. */
static uint64_t run_limit(struct hl_ring_view **heap, size_t n)
{
	uint64_t s = n > 1 ? heap[1]->stamp + 1 : UINT64_MAX;

	return n > 2 ? hl_min_u64(s, heap[2]->stamp + 1) : s;
}

/* Attaches the owner of a ring, at its first record. A burst of short-lived children is handled in
 * batches: targets that have ended are written and freed before more are added, so that memory is
 * needed for few at a time. False: the limit of this scan is reached. */
static bool attach_in_turn(struct hl_region_reader *r, struct hl_ring_view *v)
{
	size_t before = r->targets.len;

	if (r->n_new_ended >= NEW_ENDED_MAX) {
		r->crowded = true;
		return false;
	}
	hl_region_attach_owner(r, v);
	r->n_new_ended += r->targets.len > before;
	return true;
}

void hl_region_merge(struct hl_region_reader *r, uint64_t limit)
{
	size_t n = 0;

	r->n_new_ended = 0;
	r->crowded = false;
	for (uint32_t i = 0; i < HL_RING_COUNT; i++)
		if (r->views[i].at < r->views[i].words.len)
			r->heap[n++] = &r->views[i];
	for (size_t i = n / 2; i > 0; i--)
		sift_down(r->heap, n, i - 1);
	while (n && r->heap[0]->stamp < limit && !hl_write_queue_full(r->queue)) {
		struct hl_ring_view *v = r->heap[0];
		uint64_t before = hl_min_u64(run_limit(r->heap, n), limit);

		if (hl_unlikely(!v->stream) && v < r->views + HL_RING_COUNT - HL_SHARED_RINGS &&
			!attach_in_turn(r, v))
			break;
		do
			process_run(r, v, before);
		while (v->at < v->words.len && v->stamp < before && !hl_write_queue_full(r->queue));
		if (v->at == v->words.len)
			r->heap[0] = r->heap[--n];
		sift_down(r->heap, n, 0);
	}
}
