/* SPDX-License-Identifier: Apache-2.0 */
/*
 * write_queue.c - see write_queue.h.
 *
 * A trace is opened at its first item. If no descriptor is available, its items are held until
 * another trace is closed.
 */
#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "collect/descriptor_budget.h"
#include "collect/output/base_task.h"
#include "collect/output/trace_output_internal.h"
#include "ring/region_layout.h"

#define THREAD_STACK   (1u << 20)
#define FD_TRIES       200
#define FOLLOWER_POLLS 1000 /* of 10 ms */

#define WAITING_BYTES_MAX (HL_QUEUE_BYTES_MAX / 2) /* of traces that wait for a descriptor */

/* --- the first thread --- */

int hl_write_queue_post(
	struct hl_trace_output *o, enum hl_item_kind kind, void *content, size_t bytes)
{
	struct hl_write_queue *q = o->queue;
	struct hl_queue_item *p = malloc(sizeof(*p));

	if (!p || (!content && (kind == HL_ITEM_CHUNK || kind == HL_ITEM_SAY))) {
		free(p);
		if (kind != HL_ITEM_BASE)
			free(content);
		return -ENOMEM;
	}
	*p = (struct hl_queue_item){.to = o, .kind = kind, .content = content, .bytes = bytes};
	atomic_fetch_add(&q->bytes, bytes);
	atomic_fetch_add(&q->n, 1);
	pthread_mutex_lock(&q->lock);
	*q->tail = p;
	q->tail = &p->next;
	pthread_cond_signal(&q->filled);
	pthread_mutex_unlock(&q->lock);
	return 0;
}

/* --- the second thread --- */

static bool is_short_of_fds(int err)
{
	return err == -EMFILE || err == -ENFILE;
}

/* Moves an output from waiting to the list of open or failed ones. */
static void register_output(struct hl_trace_output *o, int err)
{
	o->opened = true;
	o->err = err;
	if (err)
		atomic_store(&o->file_status.error, err);
	o->next = o->queue->outputs;
	o->queue->outputs = o;
}

/* False: no descriptor is available now, but one may be later. */
static bool open_output(struct hl_trace_output *o)
{
	struct hl_write_queue *q = o->queue;
	const struct timespec pause = {.tv_nsec = 10000000};
	int err;

	if (q->settings->disabled) {
		register_output(o, 0);
		return true;
	}
	err = hl_trace_output_take_reserved(o) ? 0 : hl_trace_output_create_file(o);
	/* The first thread has all descriptors: no trace will be closed that would free one, so
	 * poll. */
	for (int i = 0; is_short_of_fds(err) && o->ended && !q->n_open && i < FD_TRIES; i++) {
		nanosleep(&pause, NULL);
		err = hl_trace_output_create_file(o);
	}
	if (is_short_of_fds(err) && (q->n_open > 0 || !o->ended))
		return false;
	register_output(o, err);
	hl_log_file_write(&o->log, err ? HL_LEVEL_ERROR : HL_LEVEL_DEBUG,
		"the trace of process %llu is %s%s", (unsigned long long)o->meta.pid,
		err ? "not made: " : o->path, err ? strerror(-err) : "");
	if (err) {
		o->path[0] = '\0';
		return true;
	}
	q->n_open++;
	if (!o->tentative)
		hl_trace_output_list_file(o);
	atomic_store(&o->named, true);
	if (q->settings->follow)
		o->follower = q->settings->follow(q->settings, &o->meta, o->path);
	if (o->follower < 0 && q->on_no_log)
		q->on_no_log(q->arg, o->meta.pid, o->follower);
	return true;
}

/* The follower reads to the end and exits. One that is blocked on its own file is abandoned. */
static void wait_for_follower(int pid)
{
	const struct timespec pause = {.tv_nsec = 10000000};

	for (int i = 0; pid > 0 && i < FOLLOWER_POLLS && waitpid(pid, NULL, WNOHANG) == 0; i++)
		nanosleep(&pause, NULL);
}

/* ended: include the lost events that its counters report. */
static void count_durable(struct hl_trace_output *o, bool ended)
{
	uint64_t n = atomic_load_explicit(&o->file_status.events, memory_order_relaxed), all;
	ssize_t ignored;

	if (ended)
		n += o->reported_lost;
	if (n <= o->counted)
		return;
	all = atomic_fetch_add(&o->durable->events, n - o->counted) + n - o->counted;
	o->counted = n;
	/* A region that is over does not accept the write, and does not need it. */
	pthread_mutex_lock(&o->durable->lock);
	ignored = pwrite(
		o->durable->memfd, &all, sizeof(all), offsetof(struct hl_region, durable_events));
	pthread_mutex_unlock(&o->durable->lock);
	(void)ignored;
}

static void write_unwritten(struct hl_trace_output *o, uint64_t events)
{
	if (o->file && o->err)
		hl_chunk_file_set_unwritten(o->file,
			&(struct hl_unwritten){.error = (uint32_t)-o->err, .events = events});
}

static void log_closed(const struct hl_trace_output *o, uint64_t missing)
{
	if (o->err)
		hl_log_file_write(&o->log, HL_LEVEL_ERROR,
			"the trace %s of process %llu is incomplete: %s; %llu events are missing",
			o->path, (unsigned long long)o->meta.pid, strerror(-o->err),
			(unsigned long long)missing);
	else
		hl_log_file_write(&o->log, HL_LEVEL_INFO, "the trace %s of process %llu is closed",
			o->path, (unsigned long long)o->meta.pid);
}

/* Without an acknowledgement, a process that waits at its exit gives up after a while. */
static void send_exit_ack(struct hl_trace_output *o)
{
	struct hl_durable *d = o->durable;

	pthread_mutex_lock(&d->lock); /* the first thread may close the descriptor */
	(void)hl_exit_ack_send(d->memfd, &o->ack);
	pthread_mutex_unlock(&d->lock);
}

static void unregister_output(struct hl_trace_output *o)
{
	struct hl_trace_output **p = &o->queue->outputs;

	while (*p != o)
		p = &(*p)->next;
	*p = o->next;
}

static void close_output(struct hl_trace_output *o)
{
	uint64_t written = atomic_load(&o->file_status.events);
	uint64_t missing = o->n_events > written ? o->n_events - written : 0;

	if (!o->err)
		o->err = o->writer_err;
	write_unwritten(o, o->n_events ? missing : UINT64_MAX);
	o->queue->n_open -= o->file != NULL;
	hl_chunk_file_close(o->file);
	if (o->unlisted) /* now there is a descriptor */
		hl_trace_output_list_file(o);
	if (!o->err)
		count_durable(o, true);
	wait_for_follower(o->follower);
	log_closed(o, missing);
	if (o->queue->on_closed)
		o->queue->on_closed(o->queue->arg, &(struct hl_closed_trace){.pid = o->meta.pid,
							   .path = o->path,
							   .err = o->err,
							   .unwritten_events = missing,
							   .early_blocks = o->early_blocks,
							   .continued = o->successor != NULL});
	send_exit_ack(o);
	if (o->successor)
		atomic_store(&o->successor->predecessor_closed, true);
	unregister_output(o);
	hl_trace_output_free(o);
}

/* A follower of the empty file would wait for its end. */
static void discard_output(struct hl_trace_output *o)
{
	if (o->follower > 0)
		kill(o->follower, SIGTERM);
	wait_for_follower(o->follower);
	if (o->file) {
		o->queue->n_open--;
		hl_trace_output_remove_file(o);
		hl_chunk_file_close(o->file);
	}
	unregister_output(o);
	hl_trace_output_free(o);
}

static int put_base_chunk(void *arg, const struct hl_sealed *chunk)
{
	struct hl_trace_output *o = arg;

	hl_chunk_file_set_uncompressed(
		o->file, atomic_load(&o->queue->bytes) > HL_QUEUE_BYTES_MAX / 2);
	return hl_chunk_file_put(o->file, chunk);
}

static void write_base(struct hl_trace_output *o, struct hl_base_task *task)
{
	bool writable = !o->err && o->file;
	int err = hl_base_task_finish(task, writable ? put_base_chunk : NULL, o);

	if (writable && err) {
		o->err = err;
		atomic_store(&o->file_status.error, err);
		write_unwritten(o, UINT64_MAX);
	}
	atomic_store(&o->base_done, true);
}

/* The recording has moved to this file: the list of the session names no file that is discarded. */
static void confirm_output(struct hl_trace_output *o)
{
	o->tentative = false;
	if (o->file)
		hl_trace_output_list_file(o);
}

/* The output of the item must be open. */
static void process_item(struct hl_write_queue *q, struct hl_queue_item *p)
{
	struct hl_trace_output *o = p->to;

	if (o->tentative && p->kind != HL_ITEM_OPEN && p->kind != HL_ITEM_DISCARD)
		confirm_output(o);
	switch (p->kind) {
	case HL_ITEM_OPEN: /* already open */
		break;
	case HL_ITEM_CHUNK:
		if (o->err || !o->file)
			break;
		hl_chunk_file_set_uncompressed(
			o->file, atomic_load(&q->bytes) > HL_QUEUE_BYTES_MAX / 2);
		hl_log_file_write(
			&o->log, HL_LEVEL_TRACE, "a chunk of %zu bytes for %s", p->bytes, o->path);
		o->err = hl_chunk_file_put(o->file, p->content);
		if (o->err) /* the number is known at the end, if this process lives so long */
			write_unwritten(o, UINT64_MAX);
		count_durable(o, false);
		break;
	case HL_ITEM_SAY:
		q->on_snapshot(q->arg, p->content);
		break;
	case HL_ITEM_BASE:
		write_base(o, p->content);
		p->content = NULL;
		break;
	case HL_ITEM_CLOSE:
		close_output(o);
		break;
	case HL_ITEM_DISCARD:
		discard_output(o);
		break;
	}
	atomic_fetch_sub(&q->bytes, p->bytes);
	atomic_fetch_sub(&q->n, 1);
	free(p->content);
	free(p);
}

/* Holds an item of an output without a descriptor. Items of a live target may stay for long, so
 * they are not counted in the queue's n: `record` must not wait for them. */
static void hold_item(struct hl_write_queue *q, struct hl_queue_item *p)
{
	struct hl_trace_output *o = p->to, **last = &q->waiting;

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
	o->ended = p->kind == HL_ITEM_CLOSE || p->kind == HL_ITEM_DISCARD;
	if (o->ended) {
		atomic_fetch_add(&q->n, o->held_n);
	} else {
		o->held_n++;
		atomic_fetch_sub(&q->n, 1);
	}
}

/* Processes the held items of an output that is now open or has failed. */
static void release_held(struct hl_write_queue *q, struct hl_trace_output *o)
{
	struct hl_queue_item *p = o->held, *next;

	q->waiting_bytes -= o->held_bytes;
	if (!o->ended)
		atomic_fetch_add(&q->n, o->held_n);
	o->held = NULL;
	for (; p; p = next) {
		next = p->next;
		process_item(q, p); /* the last one may free the output */
	}
}

/* One extra descriptor is reserved for processes that have ended: their traces are written and
 * closed at once, so that all of them are served, however long the others live. */
static bool has_room(const struct hl_write_queue *q, bool ended)
{
	return q->n_open < q->open_max + ended;
}

/* The next output that may be opened; NULL: none. When too many bytes wait, the first one must be
 * opened or fail. */
static struct hl_trace_output **next_waiting(struct hl_write_queue *q)
{
	struct hl_trace_output **first = &q->waiting, **o = first;

	while (*o && !(*o)->ended)
		o = &(*o)->next;
	if (*o && has_room(q, true))
		return o;
	if (*first && (has_room(q, false) || q->waiting_bytes > WAITING_BYTES_MAX))
		return first;
	return NULL;
}

static void serve_waiting(struct hl_write_queue *q)
{
	struct hl_trace_output **at, *o;

	while ((at = next_waiting(q))) {
		o = *at;
		*at = o->next;
		if (!open_output(o) && q->waiting_bytes <= WAITING_BYTES_MAX) {
			o->next = *at;
			*at = o;
			return;
		}
		if (!o->opened)
			register_output(o, -EMFILE);
		release_held(q, o);
	}
}

static void handle_item(struct hl_write_queue *q, struct hl_queue_item *p)
{
	struct hl_trace_output *o = p->to;

	if (p->kind == HL_ITEM_SAY || o->opened ||
		(!o->held && has_room(q, false) && open_output(o)))
		process_item(q, p);
	else
		hold_item(q, p);
	serve_waiting(q);
}

/* Waits for the next item. NULL: no more will follow. */
static struct hl_queue_item *pop_item(struct hl_write_queue *q)
{
	struct hl_queue_item *p;

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

static void *run_writer_thread(void *arg)
{
	struct hl_write_queue *q = arg;
	struct hl_queue_item *p;

	while ((p = pop_item(q)))
		handle_item(q, p);
	return NULL;
}

/* The stack is not as large as RLIMIT_STACK, which is the program's. */
static int start_thread(struct hl_write_queue *q)
{
	pthread_attr_t attr;
	int err = -pthread_attr_init(&attr);

	if (err)
		return err;
	err = -pthread_attr_setstacksize(&attr, THREAD_STACK);
	if (!err)
		err = -pthread_create(&q->thread, &attr, run_writer_thread, q);
	pthread_attr_destroy(&attr);
	return err;
}

int hl_write_queue_start(struct hl_write_queue *q)
{
	/* Hundreds of chunks are allocated and freed. Keep their memory: a fresh page costs more
	 * than filling it. */
	mallopt(M_MMAP_THRESHOLD, 64 << 20);
	mallopt(M_TRIM_THRESHOLD, 64 << 20);
	pthread_mutex_init(&q->lock, NULL);
	pthread_cond_init(&q->filled, NULL);
	q->head = NULL;
	q->tail = &q->head;
	q->open_max = hl_fds_traces(hl_fds_limit());
	q->bench = hl_chunk_packer_new();
	return q->bench ? start_thread(q) : -ENOMEM;
}

void hl_write_queue_stop(struct hl_write_queue *q)
{
	pthread_mutex_lock(&q->lock);
	q->closing = true;
	pthread_cond_signal(&q->filled);
	pthread_mutex_unlock(&q->lock);
	pthread_join(q->thread, NULL);
	for (struct hl_trace_output *o = q->outputs; o; o = o->next)
		o->successor = NULL; /* it may be closed first */
	do {
		while (q->outputs)
			close_output(q->outputs);
		serve_waiting(q); /* opens one or more, now that descriptors are free */
	} while (q->outputs);
	hl_write_queue_remove_reserved(q);
	hl_chunk_packer_free(q->bench);
	hl_numbered_names_fini(&q->series);
}
