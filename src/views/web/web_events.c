/* SPDX-License-Identifier: Apache-2.0 */
/*
 * web_events.c - a stream of events about traces that are still being written.
 *
 * The first event has all traces. After that a trace has an event when it has grown, at most four
 * times a second, and one when its program has ended, or its file was replaced. A trace that a
 * query uses at that moment has its event later.
 */
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "model/totals/trace_totals.h"
#include "views/web/web_internal.h"

#define PERIOD_NS 250000000

/* A trace as the client knows it. */
struct known {
	uint64_t changes;
	bool running, failed, seen;
};

static void put_state(struct hl_json *j, struct hl_web_trace *t)
{
	const struct hl_trace_info *i = hl_model_info(t->cheap.m);

	hl_json_key_bool(j, "running", i->end.kind == HL_END_RUNNING);
	hl_json_key_string(j, "end", hl_end_kind_name(i->end.kind));
	hl_json_key_u64(j, "duration_ns", hl_model_end_ns(t->cheap.m));
	hl_json_key_u64(j, "live_bytes", hl_sums_live_bytes(&i->totals.sums));
	hl_json_key_u64(j, "live_blocks", hl_sums_live_blocks(&i->totals.sums));
	hl_json_key_u64(j, "peak_bytes", i->totals.peak_bytes);
	hl_json_key_u64(j, "allocations", i->totals.sums.alloc_blocks);
	hl_json_key_u64(j, "file_bytes", i->file_bytes);
}

static void put_event(struct hl_web_query *q, struct hl_web_trace *t, const char *name, bool failed)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	struct hl_json j;

	if (!out)
		return;
	hl_json_init(&j, out);
	hl_json_begin_object(&j);
	hl_json_key_u64(&j, "id", t->id);
	hl_json_key_bool(&j, "deleted", t->deleted);
	hl_json_key_string(&j, "error", failed ? t->problem : NULL);
	if (!failed)
		put_state(&j, t);
	hl_json_end_object(&j);
	if (fclose(out) == 0)
		hl_web_stream_event(q->stream, name, text);
	free(text);
}

/* The event of a trace since the last look; NULL: none. */
static const char *name_change(const struct known *k, const struct known *now)
{
	if (!k->seen)
		return "trace";
	if (now->failed != k->failed)
		return now->failed ? "failed" : "trace";
	if (k->running && !now->running)
		return "ended";
	if (now->changes != k->changes)
		return now->running ? "grown" : "replaced";
	return NULL;
}

static void look_at(struct hl_web_query *q, struct hl_web_trace *t, struct known *k)
{
	struct known now = {.seen = true};
	int err = hl_web_trace_try_enter(q->web, t);
	const char *name;

	hl_web_trace_look(q->web, t);
	if (err == -EBUSY)
		return; /* the next look has it */
	now.failed = err != 0;
	now.changes = t->changes;
	now.running = !err && hl_model_info(t->cheap.m)->end.kind == HL_END_RUNNING;
	name = name_change(k, &now);
	if (name)
		put_event(q, t, name, now.failed);
	*k = now;
	hl_web_trace_leave(t);
}

int hl_web_run_events(struct hl_web_query *q)
{
	const struct timespec pause = {.tv_nsec = PERIOD_NS};
	struct known *all = calloc(q->web->n_traces + 1, sizeof(*all));

	if (!all)
		return -ENOMEM;
	while (!hl_web_query_is_over(q)) {
		for (size_t i = 0; i < q->web->n_traces && !hl_web_query_is_over(q); i++)
			look_at(q, &q->web->traces[i], &all[i]);
		nanosleep(&pause, NULL);
	}
	free(all);
	return 0;
}
