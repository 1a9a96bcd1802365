/* SPDX-License-Identifier: Apache-2.0 */
/*
 * web_query.c - parameters of a URL become a query, which runs with a model.
 *
 * A query first tries the cheap model of its trace, or of the slots for names. If it may have to
 * read events, its run() returns -EAGAIN, and it runs again with the model of another slot.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/mono_clock.h"
#include "util/work/work.h"
#include "views/web/web_internal.h"

#define GONE_EVERY_NS  UINT64_C(100000000)
#define SHOWN_EVERY_NS UINT64_C(250000000)
#define NOTES_MAX      20

/* --- parameters --- */

static int refuse(struct hl_web_query *q, unsigned status, const char *text)
{
	q->status = status;
	snprintf(q->error, sizeof(q->error), "%s", text);
	return -EINVAL;
}

static int store_pair(struct hl_web_query *q, const struct hl_web_pair *p)
{
	size_t offset = 0;
	const struct hl_opt *o = hl_web_endpoint_param(q->endpoint, p->key, &offset);
	/* "leaks=" is the same as "leaks". */
	const char *value = o && !o->arg && p->value && !p->value[0] ? NULL : p->value;
	char why[sizeof(q->error)];

	if (hl_opt_store_pair(o, p->key, value, (char *)q + offset, why, sizeof(why)))
		return 0;
	return refuse(q, 400, why);
}

static void put_note(void *arg, enum hl_note_kind kind, const char *text)
{
	struct hl_web_query *q = arg;
	char *copy = q->notes.len < NOTES_MAX ? strdup(text) : NULL;

	if (copy && hl_vec_push(&q->notes, copy))
		free(copy);
}

static void limit_budget(struct hl_budget *b)
{
	if (!b->max_bytes || b->max_bytes > HL_WEB_BYTES_MAX)
		b->max_bytes = HL_WEB_BYTES_MAX;
	if (!b->max_ns)
		b->max_ns = HL_WEB_TIME_NS;
	if (b->max_ns > HL_WEB_TIME_MAX)
		b->max_ns = HL_WEB_TIME_MAX;
}

int hl_web_query_begin(struct hl_web_query *q)
{
	bool is_report = q->endpoint->finish == hl_web_finish_report ||
			 q->endpoint->finish == hl_web_finish_source;
	int err = 0;

	/* As in JSON of `report`: trees have all frames and begin at the outermost one. */
	q->request.full_stacks = q->request.top_down = is_report;
	for (size_t i = 0; i < q->pairs.len && !err; i++)
		err = store_pair(q, &q->pairs.data[i]);
	if (!err && !q->endpoint->streams)
		limit_budget(&q->request.budget);
	if (!err && q->endpoint->finish)
		err = q->endpoint->finish(q);
	if (err && !q->status)
		q->status = 400;
	return err;
}

void hl_web_query_fini(struct hl_web_query *q)
{
	hl_request_fini(&q->request);
	for (size_t i = 0; i < q->pairs.len; i++) {
		free(q->pairs.data[i].key);
		free(q->pairs.data[i].value);
	}
	for (size_t i = 0; i < q->notes.len; i++)
		free(q->notes.data[i]);
	hl_vec_free(&q->pairs);
	hl_vec_free(&q->notes);
}

/* --- the list of running queries --- */

static void add_running(struct hl_web_query *q)
{
	struct hl_web *w = q->web;

	pthread_mutex_lock(&w->lock);
	q->id = ++w->last_id;
	q->next = w->running;
	w->running = q;
	pthread_mutex_unlock(&w->lock);
}

static void remove_running(struct hl_web_query *q)
{
	struct hl_web *w = q->web;
	struct hl_web_query **at;

	pthread_mutex_lock(&w->lock);
	for (at = &w->running; *at && *at != q;)
		at = &(*at)->next;
	if (*at)
		*at = q->next;
	pthread_mutex_unlock(&w->lock);
}

bool hl_web_query_cancel(struct hl_web *w, uint64_t id)
{
	bool found = false;

	pthread_mutex_lock(&w->lock);
	for (struct hl_web_query *q = w->running; q; q = q->next) {
		if (q->id == id) {
			atomic_store(&q->cancel, true);
			found = true;
		}
	}
	pthread_mutex_unlock(&w->lock);
	return found;
}

void hl_web_query_cancel_all(struct hl_web *w)
{
	pthread_mutex_lock(&w->lock);
	for (struct hl_web_query *q = w->running; q; q = q->next)
		atomic_store(&q->cancel, true);
	pthread_cond_broadcast(&w->freed);
	pthread_mutex_unlock(&w->lock);
}

bool hl_web_query_is_over(struct hl_web_query *q)
{
	uint64_t now = hl_mono_ns();

	if (atomic_load(&q->cancel) || atomic_load(&q->web->stopping))
		return true;
	if (!q->is_gone || now - q->gone_ns < GONE_EVERY_NS)
		return false;
	q->gone_ns = now;
	if (q->is_gone(q->gone_arg))
		atomic_store(&q->cancel, true);
	return atomic_load(&q->cancel);
}

/* --- progress --- */

static void show_progress(struct hl_web_query *q, const char *what, uint64_t done, uint64_t total)
{
	uint64_t now = hl_mono_ns();
	char text[256];

	if (!q->shows_progress || !what || now - q->progress_ns < SHOWN_EVERY_NS)
		return;
	q->progress_ns = now;
	snprintf(text, sizeof(text), "{\"what\":\"%s\",\"done\":%llu,\"total\":%llu}", what,
		(unsigned long long)done, (unsigned long long)total);
	hl_web_stream_event(q->stream, "progress", text);
}

static void note_progress(void *arg, const char *what, uint64_t done, uint64_t total)
{
	struct hl_web_query *q = arg;

	pthread_mutex_lock(&q->web->lock);
	q->what = what;
	q->done = done;
	q->total = total;
	pthread_mutex_unlock(&q->web->lock);
	hl_web_query_is_over(q); /* sets cancel, which the work looks at */
	show_progress(q, what, done, total);
}

/* The first event: the number by which the query can be cancelled. */
static void show_begin(struct hl_web_query *q)
{
	char text[64];

	if (!q->shows_progress)
		return;
	snprintf(text, sizeof(text), "{\"query\":%llu}", (unsigned long long)q->id);
	hl_web_stream_event(q->stream, "query", text);
}

/* --- running --- */

/* The status for an error of the model. */
static unsigned status_of(int err)
{
	switch (err) {
	case -ECANCELED:
		return 409;
	case -ETIME:
		return 503;
	case -EINVAL:
	case -ENOENT: /* a mark that the trace does not have */
		return 400;
	case -ENODATA:
	case -EBADMSG:
	case -EOVERFLOW:
		return 422;
	default:
		return 500;
	}
}

static void explain_error(struct hl_web_query *q, int err)
{
	const char *text = q->model && q->model->m ? hl_model_error(q->model->m) : "";

	if (!err || err == -EAGAIN)
		return;
	if (!q->status)
		q->status = status_of(err);
	if (!q->error[0])
		snprintf(q->error, sizeof(q->error), "%s",
			err == -ECANCELED ? "the request was cancelled"
			: text[0]         ? text
					  : strerror(-err));
}

static int run_with_model(struct hl_web_query *q)
{
	struct hl_work *work = hl_model_work(q->model->m);
	int err;

	work->cancel = &q->cancel;
	work->progress = note_progress;
	work->arg = q;
	err = q->endpoint->run(q);
	explain_error(q, err);
	hl_work_resume(work);
	work->cancel = NULL;
	work->progress = NULL;
	work->arg = NULL;
	q->model = NULL;
	return err;
}

static int run_cheap(struct hl_web_query *q)
{
	struct hl_web_trace *t = q->trace;
	int err = hl_web_trace_enter(q->web, t);

	if (err) {
		q->status = 422;
		snprintf(q->error, sizeof(q->error), "%s", t->problem);
	} else {
		q->model = &t->cheap;
		q->only_cheap = true;
		err = run_with_model(q);
		q->only_cheap = false;
	}
	hl_web_trace_leave(t);
	return err == -EAGAIN || !err || q->status ? err : -EIO;
}

/* With cheap, run() may return -EAGAIN. */
static int run_in_slot(struct hl_web_query *q, enum hl_web_lane lane, bool cheap)
{
	struct hl_web_slot *slot;
	int err = hl_web_slot_acquire(q, lane, &slot);

	if (err)
		return err;
	q->only_cheap = cheap;
	err = run_with_model(q);
	q->only_cheap = false;
	hl_web_slot_release(q->web, slot);
	return err;
}

static bool part_shows_names(const struct hl_request_part *p)
{
	bool by_group = p->view == &hl_view_table || p->view == &hl_view_curves || p->grouped;

	return p->view->flags & HL_VIEW_NAMES && (!by_group || p->group <= HL_GROUP_MODULE);
}

/* Filters and suppressions compare names. */
static bool shows_names(const struct hl_web_query *q)
{
	const struct hl_request *r = &q->request;
	bool names = r->parts.len == 0 || r->filters.len > 0 || r->include_function.len > 0 ||
		     r->exclude_function.len > 0 || r->include_module.len > 0 ||
		     r->exclude_module.len > 0 || r->quantity == HL_REQUEST_LEAKS;

	for (size_t i = 0; i < r->parts.len; i++)
		names |= part_shows_names(&r->parts.data[i]);
	return q->endpoint->finish == hl_web_finish_report && names;
}

static int run_with_trace(struct hl_web_query *q)
{
	int err;

	hl_web_trace_look(q->web, q->trace);
	if (q->format)
		return run_in_slot(q, HL_WEB_LANE_EXPORT, false);
	err = shows_names(q) ? run_in_slot(q, HL_WEB_LANE_NAMES, true) : run_cheap(q);
	return err == -EAGAIN ? run_in_slot(q, HL_WEB_LANE_QUERY, false) : err;
}

int hl_web_query_run(struct hl_web_query *q)
{
	int err;

	add_running(q);
	show_begin(q);
	if (!q->trace || q->endpoint->without_model) {
		err = q->endpoint->run(q);
		explain_error(q, err);
	} else {
		err = run_with_trace(q);
	}
	remove_running(q);
	return err;
}

int hl_web_query_verify(struct hl_web_query *q, uint64_t limit)
{
	struct hl_model *m = q->model->m;
	int err;

	if (q->model->verified || hl_model_info(m)->file_bytes > limit)
		return 0;
	err = hl_reader_verify(hl_model_reader(m), hl_model_work(m));
	q->model->verified = err >= 0;
	return err == -ECANCELED ? err : 0;
}

struct hl_notes hl_web_notes(struct hl_web_query *q)
{
	return (struct hl_notes){.put = put_note, .arg = q};
}

void hl_web_query_put_error(const struct hl_web_query *q, FILE *out)
{
	struct hl_json j;

	hl_json_init(&j, out);
	hl_json_begin_object(&j);
	hl_json_key_u64(&j, "schema", 1);
	hl_json_key_string(&j, "error", q->error);
	hl_json_end_object(&j);
	putc('\n', out);
}
