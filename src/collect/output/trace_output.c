/* SPDX-License-Identifier: Apache-2.0 */
/* trace_output.c - see trace_output.h. This is the part of a trace that the first thread uses. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/attr.h"
#include "base/path_join.h"
#include "collect/drain/tsc_clock.h"
#include "collect/output/map_sampler.h"
#include "collect/output/trace_output_internal.h"
#include "util/procfs.h"
#include "util/strbuf.h"
#include "util/safe_text.h"

#define TICK_NS  UINT64_C(100000000) /* interval of resident set samples */
#define FLUSH_NS UINT64_C(250000000) /* maximum time until pending events are written */
/* How long an exit may wait for the last sample of the mappings: the thread that takes it may be
 * busy with a large process. */
#define MAPS_WAIT_NS UINT64_C(1000000000)

/* Copies all strings of a meta into one allocation. */
static char *copy_meta(struct hl_meta *to, const struct hl_meta *from)
{
	const char **fields[] = {&to->program, &to->arch, &to->clock, &to->mode, &to->allocator};
	size_t total = from->command_len;
	char *block, *at;

	*to = *from;
	for (size_t i = 0; i < HL_ARRAY_LEN(fields); i++)
		total += strlen(*fields[i]) + 1;
	block = at = malloc(total + 1);
	if (!block)
		return NULL;
	for (size_t i = 0; i < HL_ARRAY_LEN(fields); i++) {
		size_t n = strlen(*fields[i]) + 1;

		memcpy(at, *fields[i], n);
		*fields[i] = at;
		at += n;
	}
	memcpy(at, from->command, from->command_len);
	to->command = at;
	return block;
}

static int post_chunk(void *arg, const struct hl_sealed *chunk)
{
	struct hl_trace_output *o = arg;
	int err = atomic_load_explicit(&o->file_status.error, memory_order_relaxed);

	return err ? err
		   : hl_write_queue_post(
			     o, HL_ITEM_CHUNK, hl_sealed_copy(chunk), hl_sealed_bytes(chunk));
}

static int open_writer(struct hl_trace_output *o)
{
	return hl_writer_open_to(&o->writer, &o->meta, NULL, post_chunk, o, &o->file_status);
}

/* ---- samples of the mappings ---- */

/* Without memory for it there are no samples. */
static void begin_maps(struct hl_trace_output *o)
{
	struct hl_write_queue *q = o->queue;

	if (!o->sample_rss || !o->meta.record_mmap || q->settings->disabled)
		return;
	if (!q->maps)
		q->maps = hl_map_sampler_start();
	if (q->maps)
		o->maps = hl_map_sampler_add(q->maps, o->meta.pid, o->start_mono_ns);
}

static void take_maps(struct hl_trace_output *o)
{
	struct hl_map_parts parts;
	int err;

	if (!o->maps)
		return;
	if (hl_map_source_take(o->maps, &parts)) {
		(void)hl_writer_put_maps(o->writer, &parts);
		hl_map_parts_fini(&parts);
	}
	err = hl_map_source_error(o->maps);
	if (!err || err == -ESRCH || o->maps_failed)
		return;
	o->maps_failed = true;
	hl_log_file_write(&o->log, HL_LEVEL_WARN,
		"the mappings of process %llu cannot be sampled: %s",
		(unsigned long long)o->meta.pid, strerror(-err));
}

bool hl_trace_output_finish_maps(struct hl_trace_output *o, uint64_t now)
{
	if (!o->maps)
		return true;
	if (!o->maps_finish_ns)
		o->maps_finish_ns = now;
	take_maps(o);
	return hl_map_source_finish(o->maps) || now - o->maps_finish_ns > MAPS_WAIT_NS;
}

static void end_maps(struct hl_trace_output *o)
{
	take_maps(o);
	hl_map_source_remove(o->maps);
	o->maps = NULL;
}

/* Makes an output without a writer. NULL: out of memory. */
static struct hl_trace_output *new_output(struct hl_write_queue *q, const struct hl_meta *meta,
	uint64_t start_mono_ns, struct hl_durable *durable, bool sample_rss,
	const struct hl_log_file *log)
{
	struct hl_trace_output *o = calloc(1, sizeof(*o));

	if (!o)
		return NULL;
	o->strings = copy_meta(&o->meta, meta);
	if (!o->strings) {
		free(o);
		return NULL;
	}
	if (log && log->level)
		o->log = *log;
	o->queue = q;
	o->start_mono_ns = start_mono_ns;
	o->last_flush_ns = o->last_tick_ns = hl_mono_ns();
	o->durable = durable;
	o->sample_rss = sample_rss;
	atomic_fetch_add(&durable->refs, 1);
	return o;
}

void hl_trace_output_free(struct hl_trace_output *o)
{
	hl_durable_drop(o->durable);
	free(o->strings);
	free(o);
}

/* The program that was started, before its first exec. */
static void count_trace(struct hl_write_queue *q, struct hl_trace_output *o)
{
	o->begins_session =
		o->meta.pid == q->session.first_pid && !q->has_begun && !o->meta.taken_over;
	q->has_begun |= o->begins_session;
	q->n_traces++;
}

struct hl_trace_output *hl_trace_output_new(struct hl_write_queue *q, const struct hl_meta *meta,
	uint64_t start_mono_ns, struct hl_durable *durable, bool sample_rss,
	const struct hl_log_file *log)
{
	struct hl_trace_output *o = new_output(q, meta, start_mono_ns, durable, sample_rss, log);

	if (o && open_writer(o)) {
		hl_trace_output_free(o);
		return NULL;
	}
	if (o)
		count_trace(q, o);
	if (o)
		begin_maps(o);
	if (o) /* on error its first chunk opens it */
		(void)hl_write_queue_post(o, HL_ITEM_OPEN, NULL, 0);
	return o;
}

struct hl_trace_output *hl_trace_output_new_successor(
	const struct hl_trace_output *o, uint64_t room)
{
	struct hl_trace_output *next = new_output(
		o->queue, &o->meta, o->start_mono_ns, o->durable, o->sample_rss, &o->log);

	if (next) {
		next->room = room;
		next->tentative = true;
		snprintf(next->continues, sizeof(next->continues), "%s", o->name);
		next->in_session_dir = o->in_session_dir;
	}
	if (next && hl_write_queue_post(next, HL_ITEM_OPEN, NULL, 0)) {
		hl_trace_output_free(next);
		return NULL;
	}
	return next;
}

int hl_trace_output_created(const struct hl_trace_output *o)
{
	int err = atomic_load_explicit(&o->file_status.error, memory_order_relaxed);

	return err ? err : atomic_load(&o->named) ? 0 : -EAGAIN;
}

int hl_trace_output_begin(struct hl_trace_output *o, const struct hl_base *base)
{
	int err;

	o->meta.base = *base;
	err = open_writer(o);
	if (!err)
		begin_maps(o);
	return err;
}

int hl_trace_output_post_base(struct hl_trace_output *o, struct hl_base_task *task)
{
	/* No bytes: they would count as a full queue, and the rings would not be drained. */
	int err = hl_write_queue_post(o, HL_ITEM_BASE, task, 0);

	o->has_base = !err;
	return err;
}

int hl_trace_output_base_written(const struct hl_trace_output *o)
{
	if (o->has_base && !atomic_load(&o->base_done))
		return -EAGAIN;
	return atomic_load_explicit(&o->file_status.error, memory_order_relaxed);
}

void hl_trace_output_fail(struct hl_trace_output *o, int err)
{
	atomic_store(&o->file_status.error, err);
}

void hl_trace_output_discard(struct hl_trace_output *o)
{
	/* Without memory for this item the empty file stays. */
	(void)hl_write_queue_post(o, HL_ITEM_DISCARD, NULL, 0);
}

bool hl_trace_output_predecessor_closed(const struct hl_trace_output *o)
{
	return atomic_load(&o->predecessor_closed);
}

struct hl_writer *hl_trace_output_writer(struct hl_trace_output *o)
{
	return o->writer;
}

/* Returns the absolute path of a module, in buf, or the name if that is not possible. The loader
 * only has the name that it was asked for. The recorder makes it absolute where it can, because the
 * program may have ended before its records are read. */
static const char *absolute_path(
	const struct hl_trace_output *o, const char *name, char *buf, size_t size)
{
	char link[64];
	ssize_t n = 0;

	if (!name[0])
		return o->meta.program; /* the program itself */
	if (name[0] == '[')
		return name;
	if (name[0] != '/') {
		snprintf(link, sizeof(link), "/proc/%llu/cwd", (unsigned long long)o->meta.pid);
		n = readlink(link, buf, size);
		if (n <= 0 || (size_t)n == size)
			return name;
	}
	return hl_path_join(buf, size, (size_t)n, name) ? buf : name;
}

int hl_trace_output_add_module(struct hl_trace_output *o, const struct hl_module *m)
{
	char path[PATH_MAX];
	struct hl_module full = *m;

	full.path = absolute_path(o, m->path, path, sizeof(path));
	return hl_writer_add_module(o->writer, &full);
}

/* "app: snapshot 2 "after login": 12.4 MiB in 310 blocks live (+1.2 MiB)" */
static void post_snapshot_text(struct hl_trace_output *o, const char *label)
{
	char live[HL_TEXT_SIZE_MAX], change[HL_TEXT_SIZE_MAX], count[HL_TEXT_SIZE_MAX];
	const char *slash = strrchr(o->meta.program, '/');
	uint64_t bytes, blocks, was = o->snapshot_bytes;
	struct hl_strbuf s = {0};

	hl_writer_live(o->writer, &bytes, &blocks);
	o->snapshot_bytes = bytes;
	o->snapshots++;
	hl_strbuf_printf(
		&s, "%s: snapshot %" PRIu64, slash ? slash + 1 : o->meta.program, o->snapshots);
	if (label && *label)
		hl_strbuf_printf(&s, " \"%s\"", label);
	hl_strbuf_printf(&s, ": %s in %s block%s live (%s%s)", hl_text_bytes(live, bytes),
		hl_text_count(count, blocks), blocks == 1 ? "" : "s", bytes < was ? "-" : "+",
		hl_text_bytes(change, bytes < was ? was - bytes : bytes - was));
	(void)hl_write_queue_post(o, HL_ITEM_SAY, strdup(hl_strbuf_str(&s)), 0);
	hl_strbuf_fini(&s);
}

int hl_trace_output_add_extra(struct hl_trace_output *o, const struct hl_extra *extra)
{
	if (extra->kind == HL_EXTRA_SNAPSHOT && o->queue->on_snapshot)
		post_snapshot_text(o, extra->text);
	return hl_writer_add_extra(o->writer, extra);
}

void hl_trace_output_status(const struct hl_trace_output *o, char *path, size_t n, uint64_t *bytes,
	uint64_t *start_unix_ns)
{
	snprintf(path, n, "%s", atomic_load(&o->named) ? o->path : "");
	*bytes = atomic_load_explicit(&o->file_status.bytes, memory_order_relaxed);
	*start_unix_ns = o->meta.start_unix_ns;
}

/* Reads the resident set of the program from /proc. */
static int read_rss(uint64_t pid, uint64_t *bytes)
{
	unsigned long long size, resident;
	char text[128];

	if (!hl_procfs_read(pid, "statm", text, sizeof(text)))
		return -ESRCH;
	if (sscanf(text, "%llu %llu", &size, &resident) != 2 || !size)
		return -ESRCH;
	*bytes = resident * (uint64_t)sysconf(_SC_PAGESIZE);
	return 0;
}

void hl_trace_output_tick(struct hl_trace_output *o, uint64_t now)
{
	struct hl_rss_sample s = {
		.time_ns = (now - o->start_mono_ns) & ~(uint64_t)(HL_TIME_UNIT_NS - 1)};

	/* The scan that added the target began before its output was created. */
	if (now < o->last_tick_ns + TICK_NS)
		return;
	o->last_tick_ns = now;
	if (o->sample_rss && now > o->start_mono_ns && read_rss(o->meta.pid, &s.rss_bytes) == 0)
		(void)hl_writer_add_rss(o->writer, &s);
	o->rss = s.rss_bytes;
	take_maps(o);
	if (now - o->last_flush_ns > FLUSH_NS) {
		(void)hl_writer_flush(o->writer);
		o->last_flush_ns = now;
	}
}

uint64_t hl_trace_output_rss(const struct hl_trace_output *o)
{
	return o->rss;
}

void hl_trace_output_set_reported_lost(struct hl_trace_output *o, uint64_t lost)
{
	o->reported_lost = lost;
}

void hl_trace_output_set_successor(struct hl_trace_output *o, struct hl_trace_output *next)
{
	o->successor = next;
}

void hl_trace_output_set_ack(struct hl_trace_output *o, const struct hl_exit_ack *ack)
{
	o->ack = *ack;
}

/* Without `record` the first trace of the session may be another collector's. */
static uint64_t count_other_traces(const struct hl_trace_output *o)
{
	const struct hl_write_queue *q = o->queue;

	return o->begins_session ? q->n_traces - 1 : 0;
}

void hl_trace_output_end(struct hl_trace_output *o, const struct hl_end *end,
	const struct hl_counters *counters, const struct hl_cost *cost, uint64_t events)
{
	struct hl_cost full = *cost;
	struct hl_end last = *end;
	struct timespec ts;

	last.other_traces = count_other_traces(o);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	end_maps(o);
	full.collector_ns = (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
	hl_writer_set_cost(o->writer, &full);
	o->n_events = events;
	o->early_blocks = counters->early_blocks;
	o->writer_err = hl_writer_end(o->writer, &last, counters);
	o->writer = NULL;
	/* Without memory for this item the file stays open to the end: truncated, but still a
	 * trace. `o` may be freed from here on. */
	(void)hl_write_queue_post(o, HL_ITEM_CLOSE, NULL, sizeof(*o));
}
