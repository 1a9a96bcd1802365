/* output.c - see output.h. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/attr.h"
#include "base/path.h"
#include "collect/clock.h"
#include "collect/fds.h"
#include "collect/logfile.h"
#include "collect/output.h"
#include "ring/layout.h"
#include "util/procfs.h"
#include "util/strbuf.h"
#include "util/text.h"

#define THREAD_STACK (1u << 20)
#define TICK_NS      UINT64_C(100000000) /* resident set sampled this often */
#define FLUSH_NS     UINT64_C(250000000) /* and what is pending written at least this often */

#define NAME_TRIES     10000 /* others may be as fast as we are */
#define FD_TRIES       200
#define FOLLOWER_LOOKS 1000 /* of 10 ms */

#define WAITING_BYTES_MAX (HL_QUEUE_BYTES_MAX / 2) /* of traces that wait for a descriptor */

/* What goes through the queue. */
enum parcel_kind {
	PARCEL_OPEN,  /* nothing but the name: processes are named in the order they are met */
	PARCEL_CHUNK, /* content: struct hl_sealed */
	PARCEL_SAY,   /* content: text */
	PARCEL_CLOSE,
};

struct hl_parcel {
	struct hl_parcel *next;
	struct hl_output *to;
	enum parcel_kind kind;
	size_t bytes; /* that it counts for */
	void *content;
};

struct hl_output {
	struct hl_queue *queue;
	struct hl_meta meta;
	char *strings;
	struct hl_file_news news; /* from the second thread to the writer */

	/* The first thread's. */
	struct hl_writer *writer;
	uint64_t start_mono_ns, last_tick_ns, last_flush_ns;
	uint64_t snapshots, snapshot_bytes; /* how many so far; live at the last one */
	bool sample_rss;
	uint64_t rss;      /* the last sample; 0: none */
	int writer_err;    /* read by the second after PARCEL_CLOSE */
	uint64_t given;    /* events in all; the same */
	uint64_t early;    /* the same */
	uint64_t tells;    /* the same: lost events of others that its counters speak of */
	struct hl_ack ack; /* the same: who waits for the trace */

	/* The second thread's. */
	struct hl_output *next;
	struct hl_parcel *held, **held_tail; /* while it waits for a descriptor */
	size_t held_bytes;
	uint32_t held_n;            /* not in the queue's n while it lives */
	bool ended;                 /* the last of them closes it */
	struct hl_chunk_file *file; /* NULL until opened, and after an error */
	struct hl_durable *durable;
	uint64_t counted;
	bool opened;
	_Atomic bool named; /* path is final: the first thread may read it */
	int follower;       /* its pid; 0 or less: none */
	int err;
	char path[PATH_MAX];
	struct hl_logfile log;
};

struct hl_durable *hl_durable_new(int memfd, uint64_t before)
{
	struct hl_durable *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	pthread_mutex_init(&d->lock, NULL);
	d->memfd = memfd;
	atomic_store(&d->events, before);
	atomic_store(&d->holders, 1);
	return d;
}

void hl_durable_drop(struct hl_durable *d)
{
	if (!d || atomic_fetch_sub(&d->holders, 1) > 1)
		return;
	hl_durable_close(d);
	pthread_mutex_destroy(&d->lock);
	free(d);
}

void hl_durable_close(struct hl_durable *d)
{
	pthread_mutex_lock(&d->lock);
	if (d->memfd >= 0)
		close(d->memfd);
	d->memfd = -1;
	pthread_mutex_unlock(&d->lock);
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

/* --- the first thread --- */

static int post(struct hl_output *o, enum parcel_kind kind, void *content, size_t bytes)
{
	struct hl_queue *q = o->queue;
	struct hl_parcel *p = malloc(sizeof(*p));

	if (!p || (!content && kind != PARCEL_CLOSE && kind != PARCEL_OPEN)) {
		free(p);
		free(content);
		return -ENOMEM;
	}
	*p = (struct hl_parcel){.to = o, .kind = kind, .content = content, .bytes = bytes};
	atomic_fetch_add(&q->bytes, bytes);
	atomic_fetch_add(&q->n, 1);
	pthread_mutex_lock(&q->lock);
	*q->tail = p;
	q->tail = &p->next;
	pthread_cond_signal(&q->filled);
	pthread_mutex_unlock(&q->lock);
	return 0;
}

static int post_chunk(void *arg, const struct hl_sealed *chunk)
{
	struct hl_output *o = arg;
	int err = atomic_load_explicit(&o->news.error, memory_order_relaxed);

	return err ? err : post(o, PARCEL_CHUNK, hl_sealed_copy(chunk), hl_sealed_bytes(chunk));
}

struct hl_output *hl_output_new(struct hl_queue *q, const struct hl_meta *meta,
	uint64_t start_mono_ns, struct hl_durable *durable, bool sample_rss,
	const struct hl_logfile *log)
{
	struct hl_output *o = calloc(1, sizeof(*o));

	if (!o)
		return NULL;
	if (log && log->level)
		o->log = *log;
	o->strings = copy_meta(&o->meta, meta);
	o->queue = q;
	o->start_mono_ns = start_mono_ns;
	o->last_flush_ns = o->last_tick_ns = hl_mono_ns();
	o->durable = durable;
	o->sample_rss = sample_rss;
	atomic_fetch_add(&durable->holders, 1);
	if (o->strings &&
		hl_writer_open_to(&o->writer, &o->meta, NULL, post_chunk, o, &o->news) == 0) {
		(void)post(o, PARCEL_OPEN, NULL, 0); /* else its first chunk opens it */
		return o;
	}
	hl_durable_drop(durable);
	free(o->strings);
	free(o);
	return NULL;
}

struct hl_writer *hl_output_writer(struct hl_output *o)
{
	return o->writer;
}

/* The whole path of a module in buf, or what there is: the loader has the name that it was asked
 * for. The recorder makes it whole where it can, for a program may be gone before we read its
 * words. */
static const char *whole_path(const struct hl_output *o, const char *name, char *buf, size_t size)
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

int hl_output_add_module(struct hl_output *o, const struct hl_module *m)
{
	char path[PATH_MAX];
	struct hl_module whole = *m;

	whole.path = whole_path(o, m->path, path, sizeof(path));
	return hl_writer_add_module(o->writer, &whole);
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
	(void)post(o, PARCEL_SAY, strdup(hl_strbuf_str(&s)), 0);
	hl_strbuf_fini(&s);
}

int hl_output_add_extra(struct hl_output *o, const struct hl_extra *extra)
{
	if (extra->kind == HL_EXTRA_SNAPSHOT && o->queue->on_snapshot)
		tell_snapshot(o, extra->text);
	return hl_writer_add_extra(o->writer, extra);
}

void hl_output_where(
	const struct hl_output *o, char *path, size_t n, uint64_t *bytes, uint64_t *start_unix_ns)
{
	snprintf(path, n, "%s", atomic_load(&o->named) ? o->path : "");
	*bytes = atomic_load_explicit(&o->news.bytes, memory_order_relaxed);
	*start_unix_ns = o->meta.start_unix_ns;
}

/* Resident pages of the program, from outside. */
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

void hl_output_tick(struct hl_output *o, uint64_t now)
{
	struct hl_rss_sample s = {
		.time_ns = (now - o->start_mono_ns) & ~(uint64_t)(HL_TIME_UNIT_NS - 1)};

	/* The scan that met the program began before its output did. */
	if (now < o->last_tick_ns + TICK_NS)
		return;
	o->last_tick_ns = now;
	if (o->sample_rss && now > o->start_mono_ns && read_rss(o->meta.pid, &s.rss_bytes) == 0)
		(void)hl_writer_add_rss(o->writer, &s);
	o->rss = s.rss_bytes;
	if (now - o->last_flush_ns > FLUSH_NS) {
		(void)hl_writer_flush(o->writer);
		o->last_flush_ns = now;
	}
}

uint64_t hl_output_rss(const struct hl_output *o)
{
	return o->rss;
}

void hl_output_tells(struct hl_output *o, uint64_t lost)
{
	o->tells = lost;
}

void hl_output_await(struct hl_output *o, const struct hl_ack *ack)
{
	o->ack = *ack;
}

void hl_output_end(struct hl_output *o, const struct hl_end *end,
	const struct hl_counters *counters, const struct hl_cost *cost, uint64_t events)
{
	struct hl_writer *writer = o->writer;
	struct hl_cost whole = *cost;
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	whole.collector_ns = (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
	hl_writer_set_cost(writer, &whole);
	o->given = events;
	o->early = counters->early_blocks;
	o->writer_err = hl_writer_end(writer, end, counters);
	o->writer = NULL;
	/* Without memory even for this the file stays open to the end: cut, and still a trace. */
	(void)post(o, PARCEL_CLOSE, NULL, sizeof(*o));
	/* `o` may be gone. Somebody waits for the file, nobody for this memory. */
	hl_writer_close(writer);
}

/* --- the second thread --- */

int hl_output_nameless(int dir)
{
	int fd = openat(dir, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	return fd < 0 ? -errno : fd;
}

int hl_output_take_name(int dir, const char *base, int fd)
{
	char self[64];

	if (fd < 0) {
		fd = openat(dir, base, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		return fd < 0 ? -errno : fd;
	}
	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	return linkat(AT_FDCWD, self, dir, base, AT_SYMLINK_FOLLOW) < 0 ? -errno : fd;
}

int hl_output_replace_name(int dir, const char *base, int fd)
{
	uint64_t random = 0;
	char temp[64];
	int got, err;

	if (getrandom(&random, sizeof(random), 0) < 0)
		random = hl_mono_ns(); /* one that is taken is refused, not used */
	snprintf(temp, sizeof(temp), ".heaplapse-%016" PRIx64, random);
	got = hl_output_take_name(dir, temp, fd);
	if (got < 0 || renameat(dir, temp, dir, base) == 0)
		return got;
	err = -errno;
	unlinkat(dir, temp, 0);
	if (fd < 0)
		close(got);
	return err;
}

/* --overwrite replaces what was there before us, not another trace of this run. 0: the file of this
 * name is replaced; -ENOENT: a new one is made; another error: neither. */
static int may_replace(const struct hl_output *o, int dir, const char *path)
{
	if (!o->queue->settings->overwrite)
		return -ENOENT;
	return hl_series_has(&o->queue->series, path)
		       ? -EEXIST
		       : hl_output_may_replace(dir, hl_output_base(path));
}

static int make_named(struct hl_output *o, int dir, int fd)
{
	const char *base = hl_output_base(o->path);
	int err = may_replace(o, dir, o->path);

	if (err && err != -ENOENT)
		return -EEXIST;
	return err ? hl_output_take_name(dir, base, fd) : hl_output_replace_name(dir, base, fd);
}

struct candidate {
	const struct hl_output *o;
	const char *name;
	int dir;
};

static bool is_taken(const void *arg, uint32_t number)
{
	const struct candidate *c = arg;
	char path[PATH_MAX];
	struct stat st;
	int err;

	if (hl_series_name(path, sizeof(path), c->name, number))
		return false; /* the error comes when it is made */
	err = may_replace(c->o, c->dir, path);
	if (err != -ENOENT)
		return err != 0;
	return fstatat(c->dir, hl_output_base(path), &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* A new file of ours alone: never through a link, never over somebody's file. Other collectors may
 * take names of the same series at the same time. */
static int name_file(struct hl_output *o, const char *name, int dir, int fd)
{
	const struct candidate c = {o, name, dir};
	struct hl_series *series = &o->queue->series;
	uint32_t number = hl_series_first(series, name);
	const bool first = number == 1;
	int got = -EEXIST;

	for (int tries = 0; tries < NAME_TRIES && number <= HL_SERIES_MAX; tries++) {
		got = hl_series_name(o->path, sizeof(o->path), name, number);
		if (!got)
			got = make_named(o, dir, fd);
		if (got != -EEXIST)
			break;
		number = hl_series_find(number + 1, is_taken, &c);
	}
	if (got < 0)
		return got;
	hl_series_took(series, name, number);
	if (o->queue->settings->renamed && first && number > 1)
		o->queue->settings->renamed(name, o->path);
	if (o->queue->settings->overwrite)
		(void)hl_series_keep(series, o->path);
	return got;
}

/*
 * The file gets its name only when it is locked and has a head: a reader that sees the name knows
 * whether it is still being written. Where that cannot be done it is made under its name.
 */
static int open_in(struct hl_output *o, const char *name, int dir)
{
	int got, err, fd = hl_output_nameless(dir);

	if (fd >= 0) {
		err = hl_chunk_file_open_at(&o->file, o->queue->bench, fd, 0, &o->news);
		if (err) {
			close(fd);
			return err;
		}
	}
	got = name_file(o, name, dir, fd);
	if (fd >= 0 && got < 0) {
		hl_chunk_file_close(o->file);
		o->file = NULL;
		got = got == -EEXIST ? got : name_file(o, name, dir, fd = -1);
	}
	if (got < 0 || fd >= 0)
		return got < 0 ? got : 0;
	err = hl_chunk_file_open_at(&o->file, o->queue->bench, got, 0, &o->news);
	if (err)
		close(got);
	return err;
}

static int open_trace(struct hl_output *o)
{
	const struct hl_output_settings *s = o->queue->settings;
	char name[PATH_MAX];
	int err, dir;

	err = hl_output_name(name, sizeof(name), s->pattern, o->meta.program, o->meta.pid,
		o->meta.start_unix_ns, o->queue->series.files + 1);
	if (err)
		return err;
	dir = hl_output_folder(s, name);
	if (dir < 0)
		return dir;
	err = open_in(o, name, dir);
	close(dir);
	return err;
}

static bool is_short_of_fds(int err)
{
	return err == -EMFILE || err == -ENFILE;
}

/* It waits no more. */
static void list_output(struct hl_output *o, int err)
{
	o->opened = true;
	o->err = err;
	if (err)
		atomic_store(&o->news.error, err);
	o->next = o->queue->outputs;
	o->queue->outputs = o;
}

/* False: there is no descriptor for it now, and there may be one later. */
static bool open_output(struct hl_output *o)
{
	struct hl_queue *q = o->queue;
	const struct timespec pause = {.tv_nsec = 10000000};
	int err;

	if (q->settings->none) {
		list_output(o, 0);
		return true;
	}
	err = open_trace(o);
	/* All are the first thread's: nothing that is written will tell us when there is one. */
	for (int i = 0; is_short_of_fds(err) && o->ended && !q->n_open && i < FD_TRIES; i++) {
		nanosleep(&pause, NULL);
		err = open_trace(o);
	}
	if (is_short_of_fds(err) && (q->n_open > 0 || !o->ended))
		return false;
	list_output(o, err);
	hl_logfile_say(&o->log, err ? HL_LEVEL_ERROR : HL_LEVEL_DEBUG,
		"the trace of process %llu is %s%s", (unsigned long long)o->meta.pid,
		err ? "not made: " : o->path, err ? strerror(-err) : "");
	if (err) {
		o->path[0] = '\0';
		return true;
	}
	q->n_open++;
	atomic_store(&o->named, true);
	if (q->settings->follow)
		o->follower = q->settings->follow(q->settings, &o->meta, o->path);
	if (o->follower < 0 && q->on_no_log)
		q->on_no_log(q->arg, o->meta.pid, o->follower);
	return true;
}

/* It reads the end and goes; one that hangs on its own file is left behind. */
static void wait_for_follower(int pid)
{
	const struct timespec pause = {.tv_nsec = 10000000};

	for (int i = 0; pid > 0 && i < FOLLOWER_LOOKS && waitpid(pid, NULL, WNOHANG) == 0; i++)
		nanosleep(&pause, NULL);
}

/* ended: with what its counters tell. */
static void count_durable(struct hl_output *o, bool ended)
{
	uint64_t n = atomic_load_explicit(&o->news.events, memory_order_relaxed), all;
	ssize_t ignored;

	if (ended)
		n += o->tells;
	if (n <= o->counted)
		return;
	all = atomic_fetch_add(&o->durable->events, n - o->counted) + n - o->counted;
	o->counted = n;
	/* A region that is over takes no more, and needs no more. */
	pthread_mutex_lock(&o->durable->lock);
	ignored = pwrite(
		o->durable->memfd, &all, sizeof(all), offsetof(struct hl_region, durable_events));
	pthread_mutex_unlock(&o->durable->lock);
	(void)ignored;
}

static void tell_unwritten(struct hl_output *o, uint64_t events)
{
	if (o->file && o->err)
		hl_chunk_file_stopped(o->file,
			&(struct hl_unwritten){.error = (uint32_t)-o->err, .events = events});
}

static void log_closed(const struct hl_output *o, uint64_t missing)
{
	if (o->err)
		hl_logfile_say(&o->log, HL_LEVEL_ERROR,
			"the trace %s of process %llu is not whole: %s; %llu events are missing",
			o->path, (unsigned long long)o->meta.pid, strerror(-o->err),
			(unsigned long long)missing);
	else
		hl_logfile_say(&o->log, HL_LEVEL_INFO, "the trace %s of process %llu is closed",
			o->path, (unsigned long long)o->meta.pid);
}

/* Without an answer a process that waits at its exit gives up after a while. */
static void acknowledge(struct hl_output *o)
{
	struct hl_durable *d = o->durable;

	pthread_mutex_lock(&d->lock); /* the first thread may close the descriptor */
	(void)hl_ack_give(d->memfd, &o->ack);
	pthread_mutex_unlock(&d->lock);
}

static void close_output(struct hl_output *o)
{
	struct hl_output **p = &o->queue->outputs;
	uint64_t written = atomic_load(&o->news.events);
	uint64_t missing = o->given > written ? o->given - written : 0;

	if (!o->err)
		o->err = o->writer_err;
	tell_unwritten(o, o->given ? missing : UINT64_MAX);
	o->queue->n_open -= o->file != NULL;
	hl_chunk_file_close(o->file);
	if (!o->err)
		count_durable(o, true);
	wait_for_follower(o->follower);
	log_closed(o, missing);
	if (o->queue->on_closed)
		o->queue->on_closed(o->queue->arg, o->meta.pid, o->path, o->err, missing, o->early);
	acknowledge(o);
	while (*p != o)
		p = &(*p)->next;
	*p = o->next;
	hl_durable_drop(o->durable);
	free(o->strings);
	free(o);
}

/* Of an output that is open. */
static void open_parcel(struct hl_queue *q, struct hl_parcel *p)
{
	struct hl_output *o = p->to;

	switch (p->kind) {
	case PARCEL_OPEN: /* it is open */
		break;
	case PARCEL_CHUNK:
		if (o->err || !o->file)
			break;
		hl_chunk_file_hurry(o->file, atomic_load(&q->bytes) > HL_QUEUE_BYTES_MAX / 2);
		hl_logfile_say(
			&o->log, HL_LEVEL_TRACE, "a chunk of %zu bytes for %s", p->bytes, o->path);
		o->err = hl_chunk_file_put(o->file, p->content);
		if (o->err) /* how many will be known at the end, if we live to see it */
			tell_unwritten(o, UINT64_MAX);
		count_durable(o, false);
		break;
	case PARCEL_SAY:
		q->on_snapshot(q->arg, p->content);
		break;
	case PARCEL_CLOSE:
		close_output(o);
		break;
	}
	atomic_fetch_sub(&q->bytes, p->bytes);
	atomic_fetch_sub(&q->n, 1);
	free(p->content);
	free(p);
}

/* An output that has no descriptor keeps its parcels. Those of a process that lives may stay for
 * long: nobody shall wait for them. */
static void hold(struct hl_queue *q, struct hl_parcel *p)
{
	struct hl_output *o = p->to, **last = &q->waiting;

	if (!o->held) {
		o->held_tail = &o->held;
		while (*last)
			last = &(*last)->next;
		*last = o;
		o->next = NULL;
	}
	p->next = NULL;
	*o->held_tail = p;
	o->held_tail = &p->next;
	o->held_bytes += p->bytes;
	q->waiting_bytes += p->bytes;
	o->ended = p->kind == PARCEL_CLOSE;
	if (o->ended) {
		atomic_fetch_add(&q->n, o->held_n);
	} else {
		o->held_n++;
		atomic_fetch_sub(&q->n, 1);
	}
}

/* It is open now, or has failed: what it has kept goes there. */
static void release(struct hl_queue *q, struct hl_output *o)
{
	struct hl_parcel *p = o->held, *next;

	q->waiting_bytes -= o->held_bytes;
	if (!o->ended)
		atomic_fetch_add(&q->n, o->held_n);
	o->held = NULL;
	for (; p; p = next) {
		next = p->next;
		open_parcel(q, p); /* the last one may free the output */
	}
}

/*
 * One place is for processes that have ended: their traces are written and closed at once, so that
 * all of them have their turn however long the others live.
 */
static bool has_room(const struct hl_queue *q, bool ended)
{
	return q->n_open < q->open_max + ended;
}

/* The next that may be opened; NULL: none. When too much waits, one has to be, or to fail. */
static struct hl_output **next_waiting(struct hl_queue *q)
{
	struct hl_output **first = &q->waiting, **o = first;

	while (*o && !(*o)->ended)
		o = &(*o)->next;
	if (*o && has_room(q, true))
		return o;
	if (*first && (has_room(q, false) || q->waiting_bytes > WAITING_BYTES_MAX))
		return first;
	return NULL;
}

static void serve_waiting(struct hl_queue *q)
{
	struct hl_output **at, *o;

	while ((at = next_waiting(q))) {
		o = *at;
		*at = o->next;
		if (!open_output(o) && q->waiting_bytes <= WAITING_BYTES_MAX) {
			o->next = *at;
			*at = o;
			return;
		}
		if (!o->opened)
			list_output(o, -EMFILE);
		release(q, o);
	}
}

static void take_parcel(struct hl_queue *q, struct hl_parcel *p)
{
	struct hl_output *o = p->to;

	if (p->kind == PARCEL_SAY || o->opened ||
		(!o->held && has_room(q, false) && open_output(o)))
		open_parcel(q, p);
	else
		hold(q, p);
	serve_waiting(q);
}

/* The next parcel; NULL when no more will come. */
static struct hl_parcel *take(struct hl_queue *q)
{
	struct hl_parcel *p;

	pthread_mutex_lock(&q->lock);
	while (!q->head && !q->closing)
		pthread_cond_wait(&q->filled, &q->lock);
	p = q->head;
	if (p) {
		q->head = p->next;
		if (!q->head)
			q->tail = &q->head;
	}
	pthread_mutex_unlock(&q->lock);
	return p;
}

static void *run(void *arg)
{
	struct hl_queue *q = arg;
	struct hl_parcel *p;

	while ((p = take(q)))
		take_parcel(q, p);
	return NULL;
}

/* Not as large as RLIMIT_STACK says, which is the program's. */
static int start_thread(struct hl_queue *q)
{
	pthread_attr_t attr;
	int err = -pthread_attr_init(&attr);

	if (err)
		return err;
	err = -pthread_attr_setstacksize(&attr, THREAD_STACK);
	if (!err)
		err = -pthread_create(&q->thread, &attr, run, q);
	pthread_attr_destroy(&attr);
	return err;
}

int hl_queue_start(struct hl_queue *q)
{
	/* Chunks come and go by the hundred: their memory is kept, for a fresh page costs more than
	 * to fill it. */
	mallopt(M_MMAP_THRESHOLD, 64 << 20);
	mallopt(M_TRIM_THRESHOLD, 64 << 20);
	pthread_mutex_init(&q->lock, NULL);
	pthread_cond_init(&q->filled, NULL);
	q->head = NULL;
	q->tail = &q->head;
	q->open_max = hl_fds_traces(hl_fds_limit());
	q->bench = hl_chunk_bench_new();
	return q->bench ? start_thread(q) : -ENOMEM;
}

void hl_queue_stop(struct hl_queue *q)
{
	pthread_mutex_lock(&q->lock);
	q->closing = true;
	pthread_cond_signal(&q->filled);
	pthread_mutex_unlock(&q->lock);
	pthread_join(q->thread, NULL);
	do {
		while (q->outputs)
			close_output(q->outputs);
		serve_waiting(q); /* one or more, now that there is room */
	} while (q->outputs);
	hl_chunk_bench_free(q->bench);
	hl_series_fini(&q->series);
}
