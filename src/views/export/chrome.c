/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chrome.c - the trace event format of chrome://tracing and Perfetto. The heap and the resident set
 * are counters, marks and snapshots are instants. Times are in microseconds, of several processes
 * since the start of the first.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "views/export/tracks.h"

struct writer {
	struct hl_export_job *x;
	struct hl_json j;
	uint64_t pid, begin_ns;
};

/* Times are exact: three decimal digits for nanoseconds. */
static void put_time(struct writer *w, uint64_t ns)
{
	ns += w->begin_ns;
	hl_json_key(&w->j, "ts");
	hl_json_u64(&w->j, ns / 1000);
	fprintf(w->x->out, ".%03" PRIu64, ns % 1000);
}

static void begin_event(struct writer *w, const char *phase, const char *name, uint64_t ns)
{
	fputs("\n", w->x->out);
	hl_json_begin_object(&w->j);
	hl_json_key_string(&w->j, "ph", phase);
	hl_json_key_string(&w->j, "name", name);
	hl_json_key_u64(&w->j, "pid", w->pid);
	put_time(w, ns);
}

static void put_counter(struct writer *w, const char *name, uint64_t ns, uint64_t bytes)
{
	begin_event(w, "C", name, ns);
	hl_json_key(&w->j, "args");
	hl_json_begin_object(&w->j);
	hl_json_key_u64(&w->j, "bytes", bytes);
	hl_json_end_object(&w->j);
	hl_json_end_object(&w->j);
}

static void put_mark(struct writer *w, const struct hl_mark *m)
{
	begin_event(w, "i", m->name[0] ? m->name : m->snapshot ? "snapshot" : "mark", m->time_ns);
	hl_json_key_string(&w->j, "cat", m->snapshot ? "snapshot" : "mark");
	hl_json_key_string(&w->j, "s", "p");
	hl_json_key_u64(&w->j, "tid", w->pid);
	hl_json_end_object(&w->j);
}

static void put_name(struct writer *w)
{
	begin_event(w, "M", "process_name", 0);
	hl_json_key(&w->j, "args");
	hl_json_begin_object(&w->j);
	hl_json_key_string(&w->j, "name", hl_export_basename(hl_model_info(w->x->m)->meta.program));
	hl_json_end_object(&w->j);
	hl_json_end_object(&w->j);
}

static void put_header(struct writer *w)
{
	hl_json_begin_object(&w->j);
	hl_json_key_string(&w->j, "displayTimeUnit", "ns");
	hl_json_key(&w->j, "traceEvents");
	hl_json_begin_array(&w->j);
}

int hl_export_chrome(struct hl_export_job *x)
{
	struct writer w = {
		.x = x, .pid = hl_model_info(x->m)->meta.pid, .begin_ns = hl_export_begin_ns(x)};
	struct hl_tracks t;
	int err = hl_tracks_make(&t, x);

	hl_json_init(&w.j, x->out);
	if (x->is_first)
		put_header(&w);
	else
		w.j.comma = true;
	put_name(&w);
	for (size_t i = 0; i < t.live.len; i++)
		put_counter(&w, x->query.filter ? "live heap that matches the filter" : "live heap",
			t.live.data[i].time_ns, t.live.data[i].bytes);
	for (size_t i = 0; i < t.n_rss; i++)
		put_counter(&w, "resident set", t.rss[i].time_ns, t.rss[i].rss_bytes);
	for (size_t i = 0; i < t.n_marks; i++)
		put_mark(&w, &t.marks[i]);
	if (x->is_last) {
		hl_json_end_array(&w.j);
		hl_json_end_object(&w.j);
		fputs("\n", x->out);
	}
	hl_tracks_fini(&t);
	return err;
}
