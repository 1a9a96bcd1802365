/* SPDX-License-Identifier: Apache-2.0 */
/*
 * firefox.c - a profile for profiler.firefox.com. The heap and the resident set are tracks, marks
 * are markers, and the stacks of the query are native allocations.
 *
 * The format is the processed format, version 49, which newer versions read. Tables are lists of
 * columns. Times are in milliseconds; the values of a counter are differences.
 *
 * Each of several processes is a thread of its own. The counters of all follow the threads, so
 * their text is kept until then.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "util/string_table.h"
#include "views/export/tracks.h"

struct writer {
	struct hl_export_job *x;
	struct hl_json j;
	struct hl_answer a;
	struct hl_tree t;
	struct hl_tracks tracks;
	struct hl_export_frames frames;
	struct hl_string_table strings;
	HL_VEC(uint32_t) node_frames; /* per node of the tree: its frame number here */
	struct hl_export_tail *all;   /* counters */
	uint64_t begin_ns;
	int err;
};

/* --- columns --- */

static void begin_column(struct writer *w, const char *name)
{
	hl_json_key(&w->j, name);
	hl_json_begin_array(&w->j);
}

static void end_column(struct writer *w)
{
	hl_json_end_array(&w->j);
}

/* A column with n equal values; v < 0: null. */
static void put_constant(struct writer *w, const char *name, size_t n, int64_t v)
{
	begin_column(w, name);
	for (size_t i = 0; i < n; i++) {
		if (v < 0)
			hl_json_string(&w->j, NULL);
		else
			hl_json_i64(&w->j, v);
	}
	end_column(w);
}

static void put_empty(struct writer *w, const char *name, const char *const *columns)
{
	hl_json_key(&w->j, name);
	hl_json_begin_object(&w->j);
	hl_json_key_u64(&w->j, "length", 0);
	for (; *columns; columns++)
		put_constant(w, *columns, 0, 0);
	hl_json_end_object(&w->j);
}

static void put_ms(struct writer *w, uint64_t ns)
{
	ns += w->begin_ns;
	hl_json_u64(&w->j, ns / 1000000);
	fprintf(w->j.out, ".%06" PRIu64, ns % 1000000);
}

static uint32_t intern_string(struct writer *w, const char *s)
{
	uint32_t id = 0;

	w->err = w->err ? w->err : hl_string_table_add(&w->strings, s, &id);
	return id;
}

static void put_strings(struct writer *w)
{
	begin_column(w, "stringArray");
	for (size_t i = 0; i < w->strings.len; i++)
		hl_json_string(&w->j, hl_string_table_get(&w->strings, (uint32_t)i));
	end_column(w);
}

/* --- stacks --- */

static const struct hl_frame *frame_at(const struct writer *w, size_t i)
{
	return hl_model_frame(w->x->m, w->frames.list.data[i]);
}

static void number_frames(struct writer *w)
{
	for (uint32_t i = 0; i < w->t.n_nodes && !w->err; i++) {
		uint32_t number = 0;

		if (i > 0)
			w->err = hl_export_frame_number(&w->frames, w->t.nodes[i].frame, &number);
		w->err = w->err ? w->err : hl_vec_push(&w->node_frames, number);
	}
}

static void put_frame_table(struct writer *w)
{
	size_t n = w->frames.list.len;

	hl_json_key(&w->j, "frameTable");
	hl_json_begin_object(&w->j);
	hl_json_key_u64(&w->j, "length", n);
	begin_column(w, "address");
	for (size_t i = 0; i < n; i++)
		hl_json_i64(&w->j, -1);
	end_column(w);
	put_constant(w, "inlineDepth", n, 0);
	put_constant(w, "category", n, 0);
	put_constant(w, "subcategory", n, 0);
	begin_column(w, "func");
	for (size_t i = 0; i < n; i++)
		hl_json_u64(&w->j, i);
	end_column(w);
	put_constant(w, "nativeSymbol", n, -1);
	put_constant(w, "innerWindowID", n, -1);
	put_constant(w, "implementation", n, -1);
	begin_column(w, "line");
	for (size_t i = 0; i < n; i++) {
		if (frame_at(w, i)->line)
			hl_json_u64(&w->j, frame_at(w, i)->line);
		else
			hl_json_string(&w->j, NULL);
	}
	end_column(w);
	put_constant(w, "column", n, -1);
	hl_json_end_object(&w->j);
}

static void put_func_table(struct writer *w)
{
	size_t n = w->frames.list.len;

	hl_json_key(&w->j, "funcTable");
	hl_json_begin_object(&w->j);
	hl_json_key_u64(&w->j, "length", n);
	begin_column(w, "name");
	for (size_t i = 0; i < n; i++) {
		struct hl_strbuf name = {0};

		hl_export_name(&name, frame_at(w, i));
		hl_json_u64(&w->j, intern_string(w, hl_strbuf_str(&name)));
		hl_strbuf_fini(&name);
	}
	end_column(w);
	for (int i = 0; i < 2; i++) {
		begin_column(w, i ? "relevantForJS" : "isJS");
		for (size_t k = 0; k < n; k++)
			hl_json_bool(&w->j, false);
		end_column(w);
	}
	begin_column(w, "resource");
	for (size_t i = 0; i < n; i++)
		hl_json_i64(&w->j, -1);
	end_column(w);
	begin_column(w, "fileName");
	for (size_t i = 0; i < n; i++) {
		if (frame_at(w, i)->file)
			hl_json_u64(&w->j, intern_string(w, frame_at(w, i)->file));
		else
			hl_json_string(&w->j, NULL);
	}
	end_column(w);
	put_constant(w, "lineNumber", n, -1);
	put_constant(w, "columnNumber", n, -1);
	hl_json_end_object(&w->j);
}

/* A node of the tree is a stack; its caller has a lower index. */
static void put_stack_table(struct writer *w)
{
	size_t n = w->t.n_nodes > 0 ? w->t.n_nodes - 1 : 0;

	hl_json_key(&w->j, "stackTable");
	hl_json_begin_object(&w->j);
	hl_json_key_u64(&w->j, "length", n);
	begin_column(w, "prefix");
	for (size_t i = 1; i <= n; i++) {
		if (w->t.nodes[i].parent)
			hl_json_u64(&w->j, w->t.nodes[i].parent - 1);
		else
			hl_json_string(&w->j, NULL);
	}
	end_column(w);
	begin_column(w, "frame");
	for (size_t i = 1; i <= n && !w->err; i++)
		hl_json_u64(&w->j, w->node_frames.data[i]);
	end_column(w);
	put_constant(w, "category", n, 0);
	put_constant(w, "subcategory", n, 0);
	hl_json_end_object(&w->j);
}

static bool has_cost(const struct writer *w, uint32_t node)
{
	return hl_export_cost(w->x, &w->t.nodes[node].self) > 0;
}

static void put_allocations(struct writer *w)
{
	size_t n = 0;

	for (uint32_t i = 1; i < w->t.n_nodes; i++)
		n += has_cost(w, i);
	hl_json_key(&w->j, "nativeAllocations");
	hl_json_begin_object(&w->j);
	hl_json_key_u64(&w->j, "length", n);
	hl_json_key_string(&w->j, "weightType", "bytes");
	begin_column(w, "time");
	for (size_t i = 0; i < n; i++)
		put_ms(w, w->a.to_ns);
	end_column(w);
	begin_column(w, "weight");
	for (uint32_t i = 1; i < w->t.n_nodes; i++) {
		if (has_cost(w, i))
			hl_json_u64(&w->j, hl_export_cost(w->x, &w->t.nodes[i].self));
	}
	end_column(w);
	begin_column(w, "stack");
	for (uint32_t i = 1; i < w->t.n_nodes; i++) {
		if (has_cost(w, i))
			hl_json_u64(&w->j, i - 1);
	}
	end_column(w);
	hl_json_end_object(&w->j);
}

/* --- values over time --- */

static void put_markers(struct writer *w)
{
	size_t n = w->tracks.n_marks;

	hl_json_key(&w->j, "markers");
	hl_json_begin_object(&w->j);
	hl_json_key_u64(&w->j, "length", n);
	put_constant(w, "category", n, 0);
	put_constant(w, "data", n, -1);
	put_constant(w, "endTime", n, -1);
	put_constant(w, "phase", n, 0);
	begin_column(w, "name");
	for (size_t i = 0; i < n; i++) {
		const struct hl_mark *m = &w->tracks.marks[i];

		hl_json_u64(&w->j, intern_string(w, m->name[0]    ? m->name
						    : m->snapshot ? "snapshot"
								  : "mark"));
	}
	end_column(w);
	begin_column(w, "startTime");
	for (size_t i = 0; i < n; i++)
		put_ms(w, w->tracks.marks[i].time_ns);
	end_column(w);
	hl_json_end_object(&w->j);
}

static void begin_counter(struct writer *w, const char *name, const char *what, size_t n)
{
	char pid[32];

	snprintf(pid, sizeof(pid), "%" PRIu64, hl_model_info(w->x->m)->meta.pid);
	hl_json_begin_object(&w->j);
	hl_json_key_string(&w->j, "category", "Memory");
	hl_json_key_string(&w->j, "name", name);
	hl_json_key_string(&w->j, "description", what);
	hl_json_key_string(&w->j, "pid", pid);
	hl_json_key_u64(&w->j, "mainThreadIndex", w->all->n);
	hl_json_key(&w->j, "samples");
	hl_json_begin_object(&w->j);
	hl_json_key_u64(&w->j, "length", n);
}

static void put_counters(struct writer *w)
{
	const struct hl_tracks *t = &w->tracks;
	uint64_t before = 0;

	begin_counter(w, "live heap", "bytes that were allocated and not yet freed", t->live.len);
	begin_column(w, "time");
	for (size_t i = 0; i < t->live.len; i++)
		put_ms(w, t->live.data[i].time_ns);
	end_column(w);
	begin_column(w, "count");
	for (size_t i = 0; i < t->live.len; i++) {
		hl_json_i64(&w->j, (int64_t)(t->live.data[i].bytes - before));
		before = t->live.data[i].bytes;
	}
	end_column(w);
	hl_json_end_object(&w->j);
	hl_json_end_object(&w->j);
	if (t->n_rss > 0) {
		begin_counter(w, "resident set", "memory of the process in RAM", t->n_rss);
		begin_column(w, "time");
		for (size_t i = 0; i < t->n_rss; i++)
			put_ms(w, t->rss[i].time_ns);
		end_column(w);
		begin_column(w, "count");
		for (size_t i = 0; i < t->n_rss; i++)
			hl_json_i64(&w->j,
				(int64_t)(t->rss[i].rss_bytes - (i ? t->rss[i - 1].rss_bytes : 0)));
		end_column(w);
		hl_json_end_object(&w->j);
		hl_json_end_object(&w->j);
	}
}

/* Adds the counters of this process to those of all. */
static void keep_counters(struct writer *w)
{
	struct hl_json main = w->j;

	w->j = (struct hl_json){.out = w->all->out, .comma = w->all->n > 0};
	put_counters(w);
	w->j = main;
	w->all->n++;
}

/* --- profile --- */

static void put_meta(struct writer *w)
{
	static const char *const none[] = {"id", "name", "baseURL", NULL};
	const struct hl_meta *meta = &hl_model_info(w->x->m)->meta;

	hl_json_key(&w->j, "meta");
	hl_json_begin_object(&w->j);
	hl_json_key_u64(&w->j, "version", 24);
	hl_json_key_u64(&w->j, "preprocessedProfileVersion", 49);
	hl_json_key_string(&w->j, "product", hl_export_basename(meta->program));
	hl_json_key_string(&w->j, "importedFrom", "heaplapse");
	hl_json_key_u64(&w->j, "interval", 1);
	hl_json_key_u64(&w->j, "processType", 0);
	hl_json_key_u64(&w->j, "startTime",
		(w->x->process ? w->x->start_unix_ns : meta->start_unix_ns) / 1000000);
	hl_json_key_u64(&w->j, "stackwalk", 1);
	hl_json_key_bool(&w->j, "debug", false);
	hl_json_key_bool(&w->j, "symbolicated", true);
	hl_json_key_bool(&w->j, "usesOnlyOneStackType", true);
	hl_json_key_bool(&w->j, "sourceCodeIsNotOnSearchfox", true);
	put_empty(w, "extensions", none);
	begin_column(w, "markerSchema");
	end_column(w);
	begin_column(w, "categories");
	hl_json_begin_object(&w->j);
	hl_json_key_string(&w->j, "name", "Other");
	hl_json_key_string(&w->j, "color", "grey");
	begin_column(w, "subcategories");
	hl_json_string(&w->j, "Other");
	end_column(w);
	hl_json_end_object(&w->j);
	end_column(w);
	hl_json_end_object(&w->j);
}

/* One sample at each end, so that the profile covers the whole run. */
static void put_samples(struct writer *w)
{
	hl_json_key(&w->j, "samples");
	hl_json_begin_object(&w->j);
	hl_json_key_u64(&w->j, "length", 2);
	hl_json_key_string(&w->j, "weightType", "samples");
	put_constant(w, "stack", 2, -1);
	begin_column(w, "time");
	put_ms(w, 0);
	put_ms(w, hl_model_end_ns(w->x->m));
	end_column(w);
	hl_json_key(&w->j, "weight");
	hl_json_string(&w->j, NULL);
	hl_json_end_object(&w->j);
}

static void put_thread(struct writer *w)
{
	static const char *const symbols[] = {"address", "functionSize", "libIndex", "name", NULL};
	static const char *const resources[] = {"lib", "name", "host", "type", NULL};
	char pid[32];

	snprintf(pid, sizeof(pid), "%" PRIu64, hl_model_info(w->x->m)->meta.pid);
	hl_json_begin_object(&w->j);
	hl_json_key_string(&w->j, "name", w->x->title);
	hl_json_key_bool(&w->j, "isMainThread", true);
	hl_json_key_string(&w->j, "processType", "default");
	hl_json_key_string(
		&w->j, "processName", hl_export_basename(hl_model_info(w->x->m)->meta.program));
	hl_json_key(&w->j, "processStartupTime");
	put_ms(w, 0);
	hl_json_key(&w->j, "registerTime");
	put_ms(w, 0);
	hl_json_key(&w->j, "processShutdownTime");
	hl_json_string(&w->j, NULL);
	hl_json_key(&w->j, "unregisterTime");
	hl_json_string(&w->j, NULL);
	begin_column(w, "pausedRanges");
	end_column(w);
	hl_json_key_string(&w->j, "pid", pid);
	hl_json_key_u64(&w->j, "tid", hl_model_info(w->x->m)->meta.pid);
	put_frame_table(w);
	put_func_table(w);
	put_stack_table(w);
	put_empty(w, "nativeSymbols", symbols);
	put_empty(w, "resourceTable", resources);
	put_samples(w);
	put_allocations(w);
	put_markers(w);
	put_strings(w);
	hl_json_end_object(&w->j);
}

static int run_queries(struct writer *w)
{
	int err = hl_export_tree(w->x, true, &w->a, &w->t);

	if (err)
		return err;
	number_frames(w);
	return w->err ? w->err : hl_tracks_make(&w->tracks, w->x);
}

static void put_header(struct writer *w)
{
	hl_json_begin_object(&w->j);
	put_meta(w);
	begin_column(w, "libs");
	end_column(w);
	begin_column(w, "pages");
	end_column(w);
	begin_column(w, "threads");
}

static void put_footer(struct writer *w)
{
	end_column(w);
	begin_column(w, "counters");
	if (!w->err)
		w->err = hl_export_tail_end(w->all, w->x->out);
	end_column(w);
	hl_json_end_object(&w->j);
	fputs("\n", w->x->out);
}

static void put_process(struct writer *w)
{
	hl_json_init(&w->j, w->x->out);
	if (w->x->is_first)
		put_header(w);
	else
		w->j.comma = true;
	put_thread(w);
	keep_counters(w);
	if (w->x->is_last)
		put_footer(w);
}

int hl_export_firefox(struct hl_export_job *x)
{
	struct writer w = {.x = x,
		.begin_ns = hl_export_begin_ns(x),
		.all = x->is_first ? hl_export_tail_new() : *x->kept};

	w.err = w.all ? run_queries(&w) : -ENOMEM;
	if (!w.err)
		put_process(&w);
	if (w.err || x->is_last) {
		hl_export_tail_free(w.all);
		w.all = NULL;
	}
	*x->kept = w.all;
	hl_string_table_fini(&w.strings);
	hl_export_frames_fini(&w.frames);
	hl_vec_free(&w.node_frames);
	hl_tracks_fini(&w.tracks);
	hl_tree_fini(&w.t);
	hl_answer_fini(&w.a);
	return w.err;
}
