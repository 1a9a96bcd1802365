/* output.c - see output.h. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/attr.h"
#include "collect/clock.h"
#include "collect/output.h"
#include "util/strbuf.h"
#include "util/text.h"

#define TICK_NS  UINT64_C(100000000) /* resident set sampled this often */
#define FLUSH_NS UINT64_C(250000000) /* and what is pending written at least this often */

struct hl_output {
	struct hl_output *next;
	struct hl_queue *queue;
	struct hl_writer *writer; /* NULL until opened, and after an error */
	struct hl_meta meta;
	char *strings;
	uint64_t start_mono_ns, last_flush_ns, counted;
	uint64_t snapshots, snapshot_bytes; /* how many so far; live at the last one */
	struct hl_durable *durable;
	bool opened, dirty, ended, sample_rss;
	int err;
	char path[PATH_MAX];
};

struct hl_durable *hl_durable_new(void)
{
	struct hl_durable *d = calloc(1, sizeof(*d));

	if (d)
		atomic_store(&d->holders, 1);
	return d;
}

void hl_durable_drop(struct hl_durable *d)
{
	if (d && atomic_fetch_sub(&d->holders, 1) == 1)
		free(d);
}

/* All strings of a meta in one block. */
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

struct hl_output *hl_output_new(struct hl_queue *q, const struct hl_meta *meta,
	uint64_t start_mono_ns, struct hl_durable *durable, bool sample_rss)
{
	struct hl_output *o = calloc(1, sizeof(*o));

	if (!o)
		return NULL;
	o->strings = copy_meta(&o->meta, meta);
	if (!o->strings) {
		free(o);
		return NULL;
	}
	o->queue = q;
	o->start_mono_ns = start_mono_ns;
	o->durable = durable;
	o->sample_rss = sample_rss;
	atomic_fetch_add(&durable->holders, 1);
	return o;
}

/* NAME, then NAME.2, NAME.3 ... before the suffix: an exec'ed image has the same pid. */
static int numbered(char *buf, size_t n, const char *name, unsigned number)
{
	size_t len = strlen(name), stem = len;
	int w;

	if (len > 4 && !strcmp(name + len - 4, ".hlt"))
		stem = len - 4;
	if (number == 1)
		w = snprintf(buf, n, "%s", name);
	else
		w = snprintf(buf, n, "%.*s.%u%s", (int)stem, name, number, name + stem);
	return w < 0 || (size_t)w >= n ? -ENAMETOOLONG : 0;
}

/* Was this name made by us in this run? */
static bool is_ours(const struct hl_queue *q, const char *path)
{
	for (size_t i = 0; i < q->made.len; i++)
		if (!strcmp(q->made.data[i], path))
			return true;
	return false;
}

/* The file as it will be, but without a name yet; -errno where the file system cannot do that. */
static int open_nameless(const struct hl_output_settings *s, const char *name)
{
	char dir[PATH_MAX];
	char *slash;
	int fd;

	snprintf(dir, sizeof(dir), "%s", name);
	slash = strrchr(dir, '/');
	if (slash)
		slash[slash == dir ? 1 : 0] = '\0';
	fd = openat(s->dir_fd, slash ? dir : ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	return fd < 0 ? -errno : fd;
}

/* Gives the nameless file `fd` its name, or makes a new one (fd < 0). A descriptor or -errno. */
static int take_name(const struct hl_output_settings *s, const char *path, int fd)
{
	char self[64];

	if (fd < 0) {
		fd = openat(
			s->dir_fd, path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		return fd < 0 ? -errno : fd;
	}
	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	return linkat(AT_FDCWD, self, s->dir_fd, path, AT_SYMLINK_FOLLOW) < 0 ? -errno : fd;
}

/* A new file of ours alone: never through a link, never over somebody's file. */
static int name_file(struct hl_output *o, const char *name, int fd)
{
	struct hl_queue *q = o->queue;
	const struct hl_output_settings *s = q->settings;

	for (unsigned i = 1; i < 10000; i++) {
		int got = numbered(o->path, sizeof(o->path), name, i);

		if (got < 0)
			return got;
		/* --overwrite replaces what was there before us, not another trace of this run. */
		if (s->overwrite && !is_ours(q, o->path) &&
			hl_output_may_replace(s->dir_fd, o->path))
			unlinkat(s->dir_fd, o->path, 0);
		got = take_name(s, o->path, fd);
		if (got == -EEXIST)
			continue;
		if (got >= 0) {
			char *copy = strdup(o->path);

			if (!copy || hl_vec_push(&q->made, copy))
				free(copy);
		}
		return got;
	}
	return -EEXIST;
}

/*
 * The file gets its name only when it is locked and has a head: a reader that sees the name knows
 * whether it is still being written. Where that cannot be done it is made under its name.
 */
static int open_trace(struct hl_output *o)
{
	char name[PATH_MAX];
	int fd, got,
		err = hl_output_name(name, sizeof(name), o->queue->settings->pattern,
			o->meta.program, o->meta.pid, o->meta.start_unix_ns,
			(uint32_t)o->queue->made.len + 1);

	if (err)
		return err;
	fd = open_nameless(o->queue->settings, name);
	if (fd >= 0) {
		err = hl_writer_open(&o->writer, fd, &o->meta);
		if (err) {
			close(fd);
			return err;
		}
	}
	got = name_file(o, name, fd);
	if (fd >= 0 && got < 0) {
		hl_writer_close(o->writer);
		o->writer = NULL;
		got = got == -EEXIST ? got : name_file(o, name, fd = -1);
	}
	if (got < 0 || fd >= 0)
		return got < 0 ? got : 0;
	err = hl_writer_open(&o->writer, got, &o->meta);
	if (err)
		close(got);
	return err;
}

static void open_output(struct hl_output *o)
{
	o->opened = true;
	o->last_flush_ns = hl_mono_ns();
	o->next = o->queue->outputs;
	o->queue->outputs = o;
	o->err = open_trace(o);
}

static void free_item(union hl_item *item)
{
	switch (item->other.op) {
	case HL_ITEM_MODULE:
		free(item->other.module);
		break;
	case HL_ITEM_EXTRA:
		free(item->other.extra);
		break;
	case HL_ITEM_LIVE_SET:
		free(item->other.blocks);
		break;
	case HL_ITEM_COST:
		free(item->other.cost);
		break;
	case HL_ITEM_END:
		free(item->other.counters);
		break;
	}
}

/* A relative or empty name is completed from outside: the loader's view of the program itself. */
static int add_module(struct hl_output *o, struct hl_module *m)
{
	char link[64], path[PATH_MAX];
	struct hl_module whole = *m;
	ssize_t n;

	if (!m->path[0]) {
		whole.path = o->meta.program;
	} else if (m->path[0] != '/' && m->path[0] != '[') {
		snprintf(link, sizeof(link), "/proc/%llu/cwd", (unsigned long long)o->meta.pid);
		n = readlink(link, path, sizeof(path) - 1);
		if (n > 0 && (size_t)n + strlen(m->path) + 2 < sizeof(path)) {
			path[n] = '/';
			strcpy(path + n + 1, m->path);
			whole.path = path;
		}
	}
	return hl_writer_add_module(o->writer, &whole);
}

static void add_cost(struct hl_output *o, struct hl_cost *cost)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	cost->collector_ns = (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
	hl_writer_set_cost(o->writer, cost);
}

/* "app: snapshot 2 "after login": 12.4 MiB in 310 blocks live (+1.2 MiB)" */
static void tell_snapshot(struct hl_output *o, const char *label)
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
	o->queue->on_snapshot(o->queue->arg, hl_strbuf_str(&s));
	hl_strbuf_fini(&s);
}

static int write_item(struct hl_output *o, union hl_item *item)
{
	switch (item->other.op) {
	case HL_OP_ALLOC:
	case HL_OP_FREE:
		return hl_writer_add_event(o->writer, &item->event);
	case HL_ITEM_NODE:
		return hl_writer_add_node(o->writer, &item->other.node);
	case HL_ITEM_MODULE:
		return add_module(o, item->other.module);
	case HL_ITEM_THREAD:
		return hl_writer_add_thread(o->writer, item->other.tid);
	case HL_ITEM_EXTRA:
		if (item->other.extra->kind == HL_EXTRA_SNAPSHOT && o->queue->on_snapshot)
			tell_snapshot(o, item->other.extra->text);
		return hl_writer_add_extra(o->writer, item->other.extra);
	case HL_ITEM_LIVE_SET:
		return hl_writer_add_live_set(o->writer, item->other.blocks, item->other.n);
	case HL_ITEM_COST:
		add_cost(o, item->other.cost);
		return 0;
	case HL_ITEM_END:
		return hl_writer_end(o->writer, &item->other.end,
			item->other.counters ? item->other.counters : &(struct hl_counters){0});
	}
	return -EINVAL;
}

static void count_durable(struct hl_output *o)
{
	uint64_t n = o->writer ? hl_writer_durable_events(o->writer) : 0;

	if (n > o->counted)
		atomic_fetch_add(&o->durable->events, n - o->counted);
	o->counted = n > o->counted ? n : o->counted;
}

static void close_output(struct hl_output *o)
{
	struct hl_output **p = &o->queue->outputs;

	if (o->writer)
		hl_writer_close(o->writer);
	if (o->queue->on_closed)
		o->queue->on_closed(o->queue->arg, o->meta.pid, o->path, o->err);
	while (*p != o)
		p = &(*p)->next;
	*p = o->next;
	hl_durable_drop(o->durable);
	free(o->strings);
	free(o);
}

static void write_batch(struct hl_queue *q, struct hl_batch *b)
{
	struct hl_output *o = b->to;

	if (!o->opened)
		open_output(o);
	if (o->writer)
		hl_writer_hurry(o->writer, atomic_load(&q->n) > HL_QUEUE_MAX / 2);
	for (uint32_t i = 0; i < b->n; i++) {
		o->ended = b->items[i].other.op == HL_ITEM_END;
		if (!o->err)
			o->err = write_item(o, &b->items[i]);
		free_item(&b->items[i]);
	}
	o->dirty = true;
	count_durable(o);
	if (o->ended)
		close_output(o);
}

/* Resident pages of the program, from outside. */
static int read_rss(uint64_t pid, uint64_t *bytes)
{
	char path[64], text[128];
	unsigned long long size, resident;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%llu/statm", (unsigned long long)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return -ESRCH;
	text[n] = '\0';
	if (sscanf(text, "%llu %llu", &size, &resident) != 2 || !size)
		return -ESRCH;
	*bytes = resident * (uint64_t)sysconf(_SC_PAGESIZE);
	return 0;
}

static void tick(struct hl_queue *q, uint64_t now)
{
	for (struct hl_output *o = q->outputs; o; o = o->next) {
		struct hl_rss_sample s = {
			.time_ns = (now - o->start_mono_ns) & ~(uint64_t)(HL_TIME_UNIT_NS - 1)};

		if (!o->writer || o->err)
			continue;
		if (o->sample_rss && now > o->start_mono_ns &&
			read_rss(o->meta.pid, &s.rss_bytes) == 0)
			o->err = hl_writer_add_rss(o->writer, &s);
		if (o->dirty && !o->err && now - o->last_flush_ns > FLUSH_NS) {
			o->err = hl_writer_flush(o->writer);
			o->last_flush_ns = now;
			o->dirty = false;
			count_durable(o);
		}
	}
}

static struct hl_batch *take(struct hl_queue *q, uint64_t until_ns)
{
	struct timespec ts = {.tv_sec = (time_t)(until_ns / 1000000000),
		.tv_nsec = (long)(until_ns % 1000000000)};
	struct hl_batch *b;

	pthread_mutex_lock(&q->lock);
	while (!q->head && !q->closing)
		if (pthread_cond_timedwait(&q->filled, &q->lock, &ts) == ETIMEDOUT)
			break;
	b = q->head;
	if (b) {
		q->head = b->next;
		if (!q->head)
			q->tail = &q->head;
	}
	pthread_mutex_unlock(&q->lock);
	return b;
}

static void *run(void *arg)
{
	struct hl_queue *q = arg;
	uint64_t next_tick = hl_mono_ns() + TICK_NS;
	bool over = false;

	while (!over) {
		struct hl_batch *b = take(q, next_tick);
		uint64_t now = hl_mono_ns();

		if (b) {
			write_batch(q, b);
			pthread_mutex_lock(&q->lock);
			b->next = q->spare;
			q->spare = b;
			pthread_mutex_unlock(&q->lock);
			atomic_fetch_sub(&q->n, 1);
		}
		if (now >= next_tick) {
			tick(q, now);
			next_tick = now + TICK_NS;
		}
		pthread_mutex_lock(&q->lock);
		over = q->closing && !q->head;
		pthread_mutex_unlock(&q->lock);
	}
	return NULL;
}

int hl_queue_start(struct hl_queue *q)
{
	pthread_condattr_t attr;

	pthread_mutex_init(&q->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&q->filled, &attr);
	pthread_condattr_destroy(&attr);
	q->head = NULL;
	q->tail = &q->head;
	return -pthread_create(&q->thread, NULL, run, q);
}

void hl_queue_stop(struct hl_queue *q)
{
	pthread_mutex_lock(&q->lock);
	q->closing = true;
	pthread_cond_signal(&q->filled);
	pthread_mutex_unlock(&q->lock);
	pthread_join(q->thread, NULL);
	while (q->outputs)
		close_output(q->outputs);
	for (size_t i = 0; i < q->made.len; i++)
		free(q->made.data[i]);
	hl_vec_free(&q->made);
	while (q->spare) {
		struct hl_batch *b = q->spare;

		q->spare = b->next;
		free(b);
	}
}

struct hl_batch *hl_queue_get(struct hl_queue *q)
{
	struct hl_batch *b;

	pthread_mutex_lock(&q->lock);
	b = q->spare;
	if (b)
		q->spare = b->next;
	pthread_mutex_unlock(&q->lock);
	if (!b && posix_memalign((void **)&b, 64, sizeof(*b)) != 0)
		return NULL;
	b->n = 0;
	b->next = NULL;
	return b;
}

void hl_queue_put(struct hl_queue *q, struct hl_batch *b)
{
	atomic_fetch_add(&q->n, 1);
	pthread_mutex_lock(&q->lock);
	b->next = NULL;
	*q->tail = b;
	q->tail = &b->next;
	pthread_cond_signal(&q->filled);
	pthread_mutex_unlock(&q->lock);
}
