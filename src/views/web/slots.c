/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slots.c - models for queries that may read every event: a few, shared by all traces.
 *
 * A slot keeps its model, because it remembers names and keyframes. A query of another trace
 * replaces the model that was not used for longest.
 */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "views/web/web_internal.h"

static bool fits(const struct hl_web_slot *s, const struct hl_web_query *q, bool for_people)
{
	return s->model.m && s->trace == q->trace && s->generation == q->trace->generation &&
	       s->for_people == for_people;
}

/* Returns a slot that is not busy, if possible with a model of this trace. */
static struct hl_web_slot *choose_slot(
	struct hl_web_slot *slots, const struct hl_web_query *q, bool for_people)
{
	struct hl_web_slot *best = NULL;

	for (size_t i = 0; i < HL_WEB_SLOTS; i++) {
		struct hl_web_slot *s = &slots[i];

		if (s->busy)
			continue;
		if (fits(s, q, for_people))
			return s;
		if (!best || s->used < best->used)
			best = s;
	}
	return best;
}

static void wait_for_slot(struct hl_web *w)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += 100000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_cond_timedwait(&w->freed, &w->lock, &until);
}

static int refuse(struct hl_web_query *q, unsigned status, int err, const char *text)
{
	q->status = status;
	snprintf(q->error, sizeof(q->error), "%s", text);
	return err;
}

/* Returns 0 with a busy slot. */
static int reserve_slot(
	struct hl_web_query *q, enum hl_web_lane lane, bool for_people, struct hl_web_slot **slot)
{
	struct hl_web *w = q->web;
	int err = 0;

	*slot = NULL;
	pthread_mutex_lock(&w->lock);
	/* A cheap query waits for others that are cheap. */
	if (w->waiting >= HL_WEB_WAITING_MAX && lane != HL_WEB_LANE_NAMES)
		err = refuse(q, 503, -EBUSY, "too many queries wait for one another; try again");
	w->waiting += !err;
	while (!err && !(*slot = choose_slot(w->slots[lane], q, for_people))) {
		wait_for_slot(w);
		pthread_mutex_unlock(&w->lock);
		if (hl_web_query_is_over(q))
			err = refuse(q, 409, -ECANCELED, "the request was cancelled");
		pthread_mutex_lock(&w->lock);
	}
	w->waiting -= err != -EBUSY;
	if (!err) {
		(*slot)->busy = true;
		(*slot)->used = ++w->uses;
	}
	pthread_mutex_unlock(&w->lock);
	return err;
}

/* Opens a model of the trace in a busy slot. */
static int fill_slot(struct hl_web_query *q, struct hl_web_slot *s, bool for_people)
{
	struct hl_web_trace *t = q->trace;
	struct hl_reader_refusal why = {0};
	bool changed;
	int err = hl_web_trace_enter(q->web, t);

	if (err)
		snprintf(why.text, sizeof(why.text), "%s", t->problem);
	if (!err && fits(s, q, for_people))
		hl_web_model_refresh(&s->model, &changed);
	if (!err && !fits(s, q, for_people)) {
		hl_model_close(s->model.m);
		s->model = (struct hl_web_model){0};
		err = hl_web_trace_open(q->web, t, for_people, &s->model.m, &why);
		if (err)
			s->model.m = NULL;
		s->trace = t;
		s->generation = t->generation;
		s->for_people = for_people;
	}
	hl_web_trace_leave(t);
	return err ? refuse(q, 422, err, why.text) : 0;
}

int hl_web_slot_acquire(struct hl_web_query *q, enum hl_web_lane lane, struct hl_web_slot **slot)
{
	bool for_people = q->format && q->format->for_people;
	int err = reserve_slot(q, lane, for_people, slot);

	if (err)
		return err;
	err = fill_slot(q, *slot, for_people);
	if (err) {
		hl_web_slot_release(q->web, *slot);
		return err;
	}
	q->model = &(*slot)->model;
	return 0;
}

void hl_web_slot_release(struct hl_web *w, struct hl_web_slot *slot)
{
	pthread_mutex_lock(&w->lock);
	slot->busy = false;
	pthread_cond_broadcast(&w->freed);
	pthread_mutex_unlock(&w->lock);
}
