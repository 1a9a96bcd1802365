/* SPDX-License-Identifier: Apache-2.0 */
/*
 * web_metrics.c - the totals of all traces in the text format of Prometheus.
 *
 * A metric is a row. A rate is that of the last second or more before a request; Prometheus
 * computes others from the counters. Names come from traces, so that they are escaped,
 * and their number is limited.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "model/tags/roles.h"
#include "model/tags/scope_tree.h"
#include "util/mono_clock.h"
#include "util/safe_text.h"
#include "views/web/web_internal.h"

#define TAGS_MAX   500
#define TRACES_MAX 1000

static void put_label(FILE *out, const char *value)
{
	struct hl_strbuf text = {0};

	hl_text_sanitize(&text, value);
	for (const char *s = hl_strbuf_str(&text); *s; s++) {
		if (*s == '\n')
			fputs("\\n", out);
		else if (*s == '\\' || *s == '"')
			fprintf(out, "\\%c", *s);
		else
			putc(*s, out);
	}
	hl_strbuf_fini(&text);
}

static void put_labels(FILE *out, const struct hl_web_trace *t, const struct hl_trace_info *i)
{
	fprintf(out, "{trace=\"%u\",program=\"", t->id);
	put_label(out, i->meta.program);
	fprintf(out, "\",pid=\"%" PRIu64 "\"", i->meta.pid);
}

/* A value of the whole trace. */
static uint64_t live_bytes(const struct hl_trace_info *i)
{
	return hl_sums_live_bytes(&i->totals.sums);
}

static uint64_t live_blocks(const struct hl_trace_info *i)
{
	return hl_sums_live_blocks(&i->totals.sums);
}

static uint64_t peak_bytes(const struct hl_trace_info *i)
{
	return i->totals.peak_bytes;
}

static uint64_t allocations(const struct hl_trace_info *i)
{
	return i->totals.sums.alloc_blocks;
}

static uint64_t allocated_bytes(const struct hl_trace_info *i)
{
	return i->totals.sums.alloc_bytes;
}

static uint64_t frees(const struct hl_trace_info *i)
{
	return i->totals.sums.free_blocks - i->totals.implicit_frees;
}

static uint64_t freed_bytes(const struct hl_trace_info *i)
{
	return i->totals.sums.free_bytes - i->totals.implicit_bytes;
}

static uint64_t temporary(const struct hl_trace_info *i)
{
	return i->totals.temporary;
}

static uint64_t dropped(const struct hl_trace_info *i)
{
	return i->counters.dropped_events;
}

static uint64_t file_bytes(const struct hl_trace_info *i)
{
	return i->file_bytes;
}

static uint64_t is_running(const struct hl_trace_info *i)
{
	return i->end.kind == HL_END_RUNNING;
}

static uint64_t hook_ns(const struct hl_trace_info *i)
{
	return i->cost.hook_ns;
}

static uint64_t wait_ns(const struct hl_trace_info *i)
{
	return i->cost.wait_ns;
}

static uint64_t collector_ns(const struct hl_trace_info *i)
{
	return i->cost.collector_ns;
}

static const struct metric {
	const char *name, *type, *help;
	uint64_t (*value)(const struct hl_trace_info *i);
	bool is_time; /* in ns, shown in seconds */
} metrics[] = {
	{"heaplapse_live_bytes", "gauge", "Bytes that are allocated now.", live_bytes, false},
	{"heaplapse_live_blocks", "gauge", "Blocks that are allocated now.", live_blocks, false},
	{"heaplapse_peak_bytes", "gauge", "The most bytes that were live at one time.", peak_bytes,
		false},
	{"heaplapse_allocations_total", "counter", "Allocations.", allocations, false},
	{"heaplapse_allocated_bytes_total", "counter", "Bytes allocated.", allocated_bytes, false},
	{"heaplapse_frees_total", "counter", "Frees.", frees, false},
	{"heaplapse_freed_bytes_total", "counter", "Bytes freed.", freed_bytes, false},
	{"heaplapse_temporary_total", "counter", "Blocks freed by the very next event.", temporary,
		false},
	{"heaplapse_dropped_events_total", "counter", "Events that were not recorded.", dropped,
		false},
	{"heaplapse_running", "gauge", "1 while the trace is being written.", is_running, false},
	{"heaplapse_trace_file_bytes", "gauge", "The size of the trace.", file_bytes, false},
	{"heaplapse_overhead_hooks_seconds_total", "counter",
		"Time of the program in the hooks of the recorder.", hook_ns, true},
	{"heaplapse_overhead_waits_seconds_total", "counter",
		"Time that the program waited for room in its rings.", wait_ns, true},
	{"heaplapse_overhead_collector_cpu_seconds_total", "counter", "CPU time of the collector.",
		collector_ns, true},
};

/* Rates of the last interval between two looks at a growing trace. */
static const struct rate {
	const char *name, *help;
	size_t value; /* offset in struct hl_web_totals */
} rates[] = {
	{"heaplapse_allocations_per_second", "Allocations, in the last second or more.",
		offsetof(struct hl_web_totals, allocations)},
	{"heaplapse_frees_per_second", "Frees, in the last second or more.",
		offsetof(struct hl_web_totals, frees)},
	{"heaplapse_allocated_bytes_per_second", "Bytes allocated, in the last second or more.",
		offsetof(struct hl_web_totals, allocated_bytes)},
	{"heaplapse_freed_bytes_per_second", "Bytes freed, in the last second or more.",
		offsetof(struct hl_web_totals, freed_bytes)},
};
#define RATES (sizeof(rates) / sizeof(rates[0]))

struct hl_web_totals hl_web_totals_of(const struct hl_model *m)
{
	const struct hl_trace_info *i = hl_model_info(m);

	return (struct hl_web_totals){.at_ns = hl_mono_ns(),
		.allocations = allocations(i),
		.frees = frees(i),
		.allocated_bytes = allocated_bytes(i),
		.freed_bytes = freed_bytes(i)};
}

static double rate_of(const struct hl_web_totals *a, const struct hl_web_totals *b, size_t at)
{
	uint64_t from = *(const uint64_t *)((const char *)a + at),
		 to = *(const uint64_t *)((const char *)b + at);

	return to > from ? (double)(to - from) * 1e9 / (double)(b->at_ns - a->at_ns) : 0;
}

/* All values of a trace, so that each trace is locked once. */
struct sample {
	struct hl_web_trace *trace;
	char *labels; /* without the closing brace */
	uint64_t values[sizeof(metrics) / sizeof(metrics[0])];
	double rates[RATES];
	bool has_rates;
	uint64_t rss_bytes;
	bool has_rss;
	char *tags; /* lines of its tags */
};

static int read_rss(struct hl_model *m, struct sample *s)
{
	struct hl_rss_sample *samples = NULL;
	size_t n = 0;
	int err = hl_reader_rss(hl_model_reader(m), &samples, &n);

	s->has_rss = !err && n > 0;
	if (s->has_rss)
		s->rss_bytes = samples[n - 1].rss_bytes;
	free(samples);
	return 0;
}

static void put_tag(FILE *out, struct hl_model *m, const struct sample *s, uint32_t tag,
	const struct hl_value *live)
{
	struct hl_strbuf name = {0};

	hl_model_put_tag(m, tag, &name);
	fprintf(out, "heaplapse_tag_live_bytes%s,tag=\"", s->labels);
	put_label(out, hl_strbuf_str(&name));
	fprintf(out, "\"} %" PRIu64 "\n", live->bytes);
	hl_strbuf_fini(&name);
}

/* Live bytes of each tag alone, if summaries and keyframes have them. */
static int read_tags(struct hl_model *m, struct sample *s)
{
	struct hl_scope_tree tree = {0};
	size_t len;
	FILE *out;

	if (hl_model_n_tags(m) == 0 || hl_scopes_build(&tree, m, NULL))
		return 0;
	out = open_memstream(&s->tags, &len);
	for (uint32_t i = 0; out && i < tree.n && i < TAGS_MAX; i++)
		put_tag(out, m, s, i, &tree.rows[i].self.live);
	hl_scope_tree_fini(&tree);
	return !out || fclose(out) ? -ENOMEM : 0;
}

static int read_sample(struct hl_web_query *q, struct hl_web_trace *t, struct sample *s)
{
	const struct hl_trace_info *i;
	size_t len;
	FILE *out;
	int err;

	*s = (struct sample){.trace = t};
	if (hl_web_trace_enter(q->web, t)) {
		hl_web_trace_leave(t);
		return 0;
	}
	i = hl_model_info(t->cheap.m);
	out = open_memstream(&s->labels, &len);
	if (out)
		put_labels(out, t, i);
	err = !out || fclose(out) ? -ENOMEM : 0;
	for (size_t k = 0; k < sizeof(metrics) / sizeof(metrics[0]); k++)
		s->values[k] = metrics[k].value(i);
	hl_web_trace_note_totals(t);
	s->has_rates = t->rate_from.at_ns < t->rate_to.at_ns && is_running(i);
	for (size_t k = 0; k < RATES && s->has_rates; k++)
		s->rates[k] = rate_of(&t->rate_from, &t->rate_to, rates[k].value);
	if (!err)
		err = read_rss(t->cheap.m, s);
	if (!err)
		err = read_tags(t->cheap.m, s);
	hl_web_trace_leave(t);
	return err;
}

static void put_head(FILE *out, const char *name, const char *type, const char *help)
{
	fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void put_metric(FILE *out, size_t k, const struct sample *all, size_t n)
{
	const struct metric *m = &metrics[k];

	put_head(out, m->name, m->type, m->help);
	for (size_t i = 0; i < n; i++) {
		if (!all[i].labels)
			continue;
		if (m->is_time)
			fprintf(out, "%s%s} %.9f\n", m->name, all[i].labels,
				(double)all[i].values[k] / 1e9);
		else
			fprintf(out, "%s%s} %" PRIu64 "\n", m->name, all[i].labels,
				all[i].values[k]);
	}
}

static void put_samples(FILE *out, const struct sample *all, size_t n)
{
	put_head(out, "heaplapse_up", "gauge", "1 if the trace can be read.");
	for (size_t i = 0; i < n; i++)
		fprintf(out, "heaplapse_up{trace=\"%u\"} %d\n", all[i].trace->id,
			all[i].labels != NULL);
	for (size_t k = 0; k < sizeof(metrics) / sizeof(metrics[0]); k++)
		put_metric(out, k, all, n);
	for (size_t k = 0; k < RATES; k++) {
		put_head(out, rates[k].name, "gauge", rates[k].help);
		for (size_t i = 0; i < n; i++) {
			if (all[i].has_rates)
				fprintf(out, "%s%s} %.3f\n", rates[k].name, all[i].labels,
					all[i].rates[k]);
		}
	}
	put_head(out, "heaplapse_rss_bytes", "gauge", "The newest resident set size.");
	for (size_t i = 0; i < n; i++) {
		if (all[i].has_rss)
			fprintf(out, "heaplapse_rss_bytes%s} %" PRIu64 "\n", all[i].labels,
				all[i].rss_bytes);
	}
	put_head(out, "heaplapse_tag_live_bytes", "gauge",
		"Live bytes of a tag, without nested ones.");
	for (size_t i = 0; i < n; i++) {
		if (all[i].tags)
			fputs(all[i].tags, out);
	}
}

int hl_web_run_metrics(struct hl_web_query *q)
{
	size_t n = q->web->n_traces < TRACES_MAX ? q->web->n_traces : TRACES_MAX;
	struct sample *all = calloc(n + 1, sizeof(*all));
	int err = all ? 0 : -ENOMEM;

	for (size_t i = 0; i < n && !err; i++)
		err = read_sample(q, &q->web->traces[i], &all[i]);
	if (!err)
		put_samples(q->out, all, n);
	for (size_t i = 0; i < n && all; i++) {
		free(all[i].labels);
		free(all[i].tags);
	}
	free(all);
	return err;
}
