/*
 * output.h - the traces being written, and the second thread, which packs and writes them.
 *
 * The first thread makes whole chunks of each trace (trace/writer.h); they go through a queue to
 * the second, which may wait for the disk as long as it likes. The queue is bounded. The first
 * thread never waits for it: when it is full, it stops emptying rings until there is room, and the
 * program waits for its rings.
 */
#ifndef HL_COLLECT_OUTPUT_H
#define HL_COLLECT_OUTPUT_H

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/ack.h"
#include "collect/series.h"
#include "trace/event.h"
#include "trace/writer.h"
#include "util/vec.h"

/* Raw columns that wait to be packed: some millions of events. */
#define HL_QUEUE_BYTES_MAX (16u << 20)

struct hl_logfile;
struct hl_output;
struct hl_parcel;

/* Where the traces go and how they are named. Strings belong to the caller. */
struct hl_output_settings {
	const char *pattern; /* with %p %e %t %n %h %% */
	int dir_fd;          /* relative patterns start here */
	bool overwrite;
	bool anywhere; /* also into folders that everybody may change */
	bool none;     /* no trace is written: mode tags, whose program writes its counters */
	/* Called by the second thread when the first trace of this run gets another name than the
	 * pattern gives, for that is taken. NULL: nobody is told. */
	void (*renamed)(const char *wanted, const char *path);
	/* --churn-log: called by the second thread when a trace has its name; a child that reads
	 * along until the trace is closed, or -errno. NULL: none. */
	const char *churn_log;
	int (*follow)(
		const struct hl_output_settings *s, const struct hl_meta *meta, const char *trace);
};

/* What hl_output_folder refuses, as errors: numbers that no call on files returns. */
#define HL_OUTPUT_EXPOSED ENOTUNIQ /* anybody may rename and remove files on the way */
#define HL_OUTPUT_PLANTED EREMCHG  /* a link in it was made by somebody else, for all to step on */
/* And hl_output_may_replace: somebody else's file in a sticky folder. */
#define HL_OUTPUT_FOREIGN ENOTNAM

/*
 * How many events of a region are on disk. The region and its outputs each hold it. The second
 * thread writes it into the region at once, for whoever takes over from us: not through a mapping,
 * which would be in the way of hl_region_is_over().
 */
struct hl_durable {
	_Atomic uint64_t events;
	_Atomic uint32_t holders;
	pthread_mutex_t lock; /* of memfd */
	int memfd;            /* -1: nobody wants to know, or not any more */
};

/* Takes memfd. */
struct hl_durable *hl_durable_new(int memfd, uint64_t before);
void hl_durable_drop(struct hl_durable *d);
/* The region is over: its memfd is closed, whoever still holds this. */
void hl_durable_close(struct hl_durable *d);

struct hl_queue {
	pthread_mutex_t lock;
	pthread_cond_t filled;
	struct hl_parcel *head, **tail;
	_Atomic size_t bytes; /* that wait in it */
	_Atomic uint32_t n;   /* parcels to be written now */
	bool closing;
	pthread_t thread;
	/* The second thread's. */
	struct hl_output *outputs;    /* that are open, or failed */
	struct hl_output *waiting;    /* for a descriptor, in the order of their first chunks */
	size_t waiting_bytes;         /* of their parcels */
	uint32_t n_open, open_max;    /* files */
	struct hl_chunk_bench *bench; /* they all are packed with it */
	const struct hl_output_settings *settings;
	struct hl_series series; /* names of this run's files */
	/* Called by the second thread; unwritten: events that an error has kept from the file. */
	/* unwritten: events; early: blocks, see hl_counters. */
	void (*on_closed)(void *arg, uint64_t pid, const char *path, int err, uint64_t unwritten,
		uint64_t early);
	/* --churn-log cannot be written for this process; NULL: nobody is told. */
	void (*on_no_log)(void *arg, uint64_t pid, int err);
	/* Each snapshot, in a sentence; NULL: nobody wants to know. */
	void (*on_snapshot)(void *arg, const char *sentence);
	void *arg;
};

int hl_queue_start(struct hl_queue *q);
/* Everything queued is written; the thread has ended. */
void hl_queue_stop(struct hl_queue *q);

static inline bool hl_queue_full(const struct hl_queue *q)
{
	return atomic_load_explicit(&q->bytes, memory_order_relaxed) >= HL_QUEUE_BYTES_MAX;
}

/*
 * A trace to be. The first thread makes it, adds to its writer and ends it; the file is opened,
 * written and closed by the second. meta's strings and the log, which may be NULL, are copied;
 * durable gets one more holder. NULL when memory is short.
 */
struct hl_output *hl_output_new(struct hl_queue *q, const struct hl_meta *meta,
	uint64_t start_mono_ns, struct hl_durable *durable, bool sample_rss,
	const struct hl_logfile *log);
/* Its writer; the first error is kept in it. */
struct hl_writer *hl_output_writer(struct hl_output *o);
/* A path that is empty or relative is completed from outside. */
int hl_output_add_module(struct hl_output *o, const struct hl_module *m);
int hl_output_add_extra(struct hl_output *o, const struct hl_extra *extra);
/* Where it goes: the file's path ("" before there is one), its size, and when it began. */
void hl_output_where(
	const struct hl_output *o, char *path, size_t n, uint64_t *bytes, uint64_t *start_unix_ns);
/* Now and then: the resident set is sampled, and what is pending goes out. */
void hl_output_tick(struct hl_output *o, uint64_t now_ns);
/* The resident set when it was sampled last; 0: not known. */
uint64_t hl_output_rss(const struct hl_output *o);
/* Its counters will speak of so many events that an earlier collector lost: when they are written,
 * these are as durable as others. */
void hl_output_tells(struct hl_output *o, uint64_t lost);
/* Before its end: who waits for it. */
void hl_output_await(struct hl_output *o, const struct hl_ack *ack);
/* Its end, with what it cost and how many events the writer was given; the second thread closes and
 * frees it in its time. */
void hl_output_end(struct hl_output *o, const struct hl_end *end,
	const struct hl_counters *counters, const struct hl_cost *cost, uint64_t events);

/* The name that a pattern gives; 0, -EINVAL for a bad pattern, -ENAMETOOLONG. */
int hl_output_name(char *buf, size_t n, const char *pattern, const char *program, uint64_t pid,
	uint64_t unix_ns, uint32_t number);

/* The folder that this file lies in, as a descriptor of the caller's; -HL_OUTPUT_EXPOSED,
 * -HL_OUTPUT_PLANTED or another -errno. */
int hl_output_folder(const struct hl_output_settings *s, const char *path);
/* The file's name without its folder: the end of `path`. */
const char *hl_output_base(const char *path);
/*
 * May the file of this name in the folder be replaced? Only plain files and links are, the links
 * themselves: never a device, a FIFO or a folder (-EEXIST). -HL_OUTPUT_FOREIGN; -EBUSY: it is a
 * trace that is being written; -ENOENT.
 */
int hl_output_may_replace(int dir, const char *base);

/* A file in this folder as it will be, but without a name yet; -errno where the file system cannot
 * do that. */
int hl_output_nameless(int dir);
/* Gives the nameless file `fd` its name, or makes a new one (fd < 0). A descriptor or -errno. */
int hl_output_take_name(int dir, const char *base, int fd);
/* The same in place of what has the name now: in one step, so that one of the two is always there.
 */
int hl_output_replace_name(int dir, const char *base, int fd);

/*
 * Could a trace of this process be made? 0; -EEXIST when the file is there and may not be replaced;
 * -errno of hl_output_folder, hl_output_may_replace or the pattern (-EINVAL).
 */
int hl_output_check(const struct hl_output_settings *s, const char *program, uint64_t pid);

#endif
