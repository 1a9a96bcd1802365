/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shared_scan.c - one scan for several consumers; see shared_scan.h.
 */
#include "model/scan/shared_scan.h"

#include <errno.h>

#include "model/model_internal.h"
#include "model/scan/prefetch.h"

#define CONSUMERS_MAX 48

struct scan {
	struct hl_model *m;
	struct hl_scan_consumer *consumers[CONSUMERS_MAX];
	size_t n,
		n_own; /* the first n_own consumers are the caller's; the others were prefetched */
	size_t bad_before; /* parts of the file that were known to be bad when this round began */
	int err;           /* error of one of the caller's consumers; it ends the scan */
	struct hl_chunk_cache decoded;
	struct hl_decode_ahead ahead;
};

void hl_scan_consumer_up_to(struct hl_scan_consumer *r, struct hl_model *m, struct hl_position *p)
{
	size_t n = hl_reader_n_chunks(m->reader);

	while (!p->is_exact || !hl_chunks_are_readable(m, 0, hl_position_end(p)))
		*p = hl_position_before_loss(m, p);
	r->first = 0;
	r->last_end = hl_position_end(p) < n ? hl_position_end(p) : n;
}

/* Newly found damage, or -EAGAIN, makes the consumer retry in the next round. Any other error is
 * final. */
static void stop_consumer(struct scan *p, size_t i, int err)
{
	bool again = err == -EAGAIN || (err == -EBADMSG && p->m->n_bad != p->bad_before);

	p->consumers[i]->state = again ? HL_SCAN_PENDING : HL_SCAN_FAILED;
	if (!again && i < p->n_own)
		p->err = hl_model_fail(p->m, err);
}

/* Plans and begins all pending consumers. [*from, *to) is the range of chunks that they need
 * together. */
static void begin_consumers(struct scan *p, size_t *from, size_t *to)
{
	*from = SIZE_MAX;
	*to = 0;
	for (size_t i = 0; i < p->n && !p->err; i++) {
		struct hl_scan_consumer *r = p->consumers[i];
		int err;

		if (r->state != HL_SCAN_PENDING)
			continue;
		err = r->plan(r);
		if (!err && r->first < p->m->n_base_chunks && hl_model_base_is_lost(p->m))
			err = hl_model_lost_base(p->m);
		if (err) {
			r->state = HL_SCAN_FAILED;
			p->err = i < p->n_own ? err : 0;
			continue;
		}
		r->state = HL_SCAN_ACTIVE;
		err = r->begin(r->arg);
		if (err)
			stop_consumer(p, i, err);
		else if (r->first < r->last_end) {
			*from = r->first < *from ? r->first : *from;
			*to = r->last_end > *to ? r->last_end : *to;
		}
	}
}

/* The fields that the consumers want of this chunk, ORed. HL_WANT_NO_EVENTS if no consumer wants
 * its events. */
static unsigned collect_wanted(struct scan *p, size_t chunk)
{
	unsigned all = HL_WANT_NO_EVENTS;

	for (size_t i = 0; i < p->n; i++) {
		struct hl_scan_consumer *r = p->consumers[i];
		unsigned want = 0;
		int err;

		r->wants_chunk = false;
		if (r->state != HL_SCAN_ACTIVE || chunk < r->first || chunk >= r->last_end)
			continue;
		err = r->want(r->arg, chunk, &want);
		if (err)
			stop_consumer(p, i, err);
		else if (want != HL_WANT_NO_EVENTS) {
			r->wants_chunk = true;
			all = (all & ~HL_WANT_NO_EVENTS) | want;
		}
	}
	return all;
}

static void deliver_chunk(struct scan *p, size_t chunk, size_t end)
{
	unsigned want = collect_wanted(p, chunk);
	int err;

	if (p->err || want == HL_WANT_NO_EVENTS)
		return;
	err = hl_chunk_cache_read_ahead(p->m, &p->decoded, &p->ahead, chunk, end, want);
	if (err == -EBADMSG)
		hl_model_mark_bad(p->m, &p->m->bad_chunks[chunk]);
	for (size_t i = 0; i < p->n && !p->err; i++) {
		struct hl_scan_consumer *r = p->consumers[i];
		int one = err;

		if (!r->wants_chunk)
			continue;
		if (!err)
			one = r->chunk(r->arg, chunk, &p->decoded.events);
		if (one)
			stop_consumer(p, i, one);
	}
}

static void end_consumers(struct scan *p)
{
	for (size_t i = 0; i < p->n && !p->err; i++) {
		struct hl_scan_consumer *r = p->consumers[i];
		int err;

		if (r->state != HL_SCAN_ACTIVE)
			continue;
		err = r->end ? r->end(r->arg) : 0;
		r->state = HL_SCAN_DONE;
		if (err)
			stop_consumer(p, i, err);
	}
}

/* If the work is stopped, its consumers stay ACTIVE: none of them has a result. */
static void read_chunks(struct scan *p, size_t from, size_t to)
{
	struct hl_work *work = &p->m->work;

	hl_work_begin(work, HL_WORK_PASS, HL_WORK_READING);
	for (size_t i = from; i < to && !p->err; i++) {
		int err = hl_work_tick(work, i - from, to - from);

		if (err)
			p->err = hl_model_fail(p->m, err);
		else
			deliver_chunk(p, i, to);
	}
	hl_work_end(work, HL_WORK_PASS);
}

/* Returns whether every consumer is done or has failed. */
static bool all_finished(const struct scan *p)
{
	for (size_t i = 0; i < p->n; i++) {
		if (p->consumers[i]->state == HL_SCAN_PENDING)
			return false;
	}
	return true;
}

int hl_scan(struct hl_model *m, struct hl_scan_consumer *one, struct hl_scan_consumer *other)
{
	struct scan p = {.m = m,
		.consumers = {one, other},
		.n = other ? 2 : 1,
		.decoded = hl_chunk_cache_borrow(m)};
	size_t from, to;

	hl_decode_ahead_init(&p.ahead, m->reader);
	p.n_own = p.n;
	for (size_t i = 0; i < p.n; i++)
		p.consumers[i]->state = HL_SCAN_PENDING;
	hl_prefetch_join(m, p.consumers, &p.n, CONSUMERS_MAX);
	/* This ends: a retry after damage follows a new bad mark, and plan() then moves before the
	 * damage; -EAGAIN is returned for a bounded number of shares or slices (block_stream.c). */
	do {
		p.bad_before = m->n_bad;
		begin_consumers(&p, &from, &to);
		read_chunks(&p, from, to);
		end_consumers(&p);
	} while (!p.err && !all_finished(&p));
	hl_decode_ahead_fini(&p.ahead);
	hl_chunk_cache_return(m, &p.decoded);
	return p.err;
}
