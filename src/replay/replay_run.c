/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay_run.c - see replay_run.h.
 *
 * A turn is a position in the recorded order. A thread that waits for its turn spins briefly and
 * then sleeps on its own futex, which the thread that passes the turn wakes. The order on slots is
 * only checked: threads that wait for a slot poll, so that other threads have no cost.
 */
#include "replay/replay_run.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "heaplapse.h"

#define SPINS       200u
#define POLLS       64u
#define POLL_NS     50000
#define NS_PER_S    UINT64_C(1000000000)
#define NS_PER_US   1000u
#define PAGE        4096u
#define STACK_BYTES (256u << 10)

#define NO_MEMORY "needs more memory than is available"

struct slot {
	void *block;
	_Atomic uint32_t steps;
};

struct lane {
	_Alignas(64) _Atomic uint32_t sleeping; /* 1: its thread sleeps until its turn */
	struct hl_replay_run *run;
	uint32_t number;
	uint8_t *buffer;
	struct hl_replay_run_result done;

	/* The current position. */
	uint64_t at, us;
	uint32_t last_slot;
	bool has_turn;
};

struct hl_replay_run {
	const struct hl_replay_script *script;
	struct hl_replay_run_options opts;
	struct slot *slots;
	struct lane *lanes;
	unsigned spins;
	uint64_t start_ns, start_us;

	_Alignas(64) _Atomic uint64_t turn;
	_Alignas(64) _Atomic uint32_t round; /* number of the current playback */
	_Alignas(64) _Atomic uint32_t busy;  /* lanes other than the first that are not done */
};

/* --- waiting --- */

static void futex_wait(_Atomic uint32_t *word, uint32_t value)
{
	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void futex_wake(_Atomic uint32_t *word, int n)
{
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, n, NULL, NULL, 0);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

static void sleep_until(uint64_t ns)
{
	struct timespec t = {.tv_sec = (time_t)(ns / NS_PER_S), .tv_nsec = (long)(ns % NS_PER_S)};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

static bool is_turn(struct lane *l)
{
	return atomic_load(&l->run->turn) == l->at;
}

static void wait_turn(struct lane *l)
{
	for (unsigned i = 0; i < l->run->spins; i++) {
		if (is_turn(l))
			return;
	}
	while (!is_turn(l)) {
		atomic_store(&l->sleeping, 1);
		/* A thread that passed the turn before this store has not seen it, so check
		 * again. */
		if (!is_turn(l))
			futex_wait(&l->sleeping, 1);
		atomic_store(&l->sleeping, 0);
	}
}

static void pass_turn(struct lane *l, uint32_t thread)
{
	struct lane *next = &l->run->lanes[l->run->script->threads[thread].lane];

	l->has_turn = false;
	atomic_store(&l->run->turn, l->at);
	if (next != l && atomic_load(&next->sleeping)) {
		atomic_store(&next->sleeping, 0);
		futex_wake(&next->sleeping, 1);
	}
}

static void wait_slot(struct lane *l, struct slot *slot, uint32_t steps)
{
	struct timespec t = {.tv_nsec = POLL_NS};

	for (unsigned i = 0; atomic_load_explicit(&slot->steps, memory_order_acquire) != steps;
		i++) {
		if (i >= l->run->spins + POLLS)
			nanosleep(&t, NULL);
		else if (i >= l->run->spins)
			sched_yield();
	}
}

/* --- steps --- */

static void touch_block(void *block, uint64_t size)
{
	for (uint64_t i = 0; i < size; i += PAGE)
		((volatile char *)block)[i] = 1;
}

/* Volatile, because the compiler would turn realloc(NULL) into malloc. */
static void *volatile null_pointer;

static void *call_aligned(const struct hl_replay_step *s)
{
	void *p = NULL;

	return posix_memalign(&p, (size_t)1 << s->align, s->size) ? NULL : p;
}

static void *call_alloc(const struct hl_replay_step *s)
{
	switch (s->op) {
	case HL_REPLAY_CALLOC:
		return calloc(1, s->size);
	case HL_REPLAY_NEW:
		return realloc(null_pointer, s->size);
	case HL_REPLAY_ALIGNED:
		return call_aligned(s);
	}
	return malloc(s->size);
}

/* The effect of realloc to 0 bytes on the old block depends on the allocator. */
static void *call_realloc(void *old, uint64_t size)
{
	if (size > 0)
		return realloc(old, size);
	free(old);
	return malloc(0);
}

static void play_alloc(struct lane *l, struct slot *slot, const struct hl_replay_step *s)
{
	void *p = s->op == HL_REPLAY_REALLOC ? call_realloc(slot->block, s->size) : call_alloc(s);

	l->done.frees += s->op == HL_REPLAY_REALLOC;
	if (p) {
		l->done.allocations++;
		l->done.bytes += s->size;
		slot->block = p;
		if (l->run->opts.touch)
			touch_block(p, s->size);
	} else {
		l->done.failed++; /* after a failed realloc the old block stays */
	}
}

static void play_op(struct lane *l, const struct hl_replay_step *s)
{
	struct slot *slot = &l->run->slots[s->slot];
	uint32_t steps;

	if (s->other_thread && l->run->opts.loose)
		wait_slot(l, slot, s->slot_steps);
	steps = atomic_load_explicit(&slot->steps, memory_order_relaxed);
	if (s->op == HL_REPLAY_FREE) {
		free(slot->block);
		slot->block = NULL;
		l->done.frees++;
	} else {
		play_alloc(l, slot, s);
	}
	atomic_store_explicit(&slot->steps, steps + 1, memory_order_release);
	l->last_slot = s->slot;
	l->at++;
}

static void play_run(struct lane *l, const struct hl_replay_step *s)
{
	struct hl_replay_run *r = l->run;

	l->at += s->gap;
	l->us += s->us;
	/* A RUN within a turn only updates the time. */
	if (!r->opts.loose && !l->has_turn)
		wait_turn(l);
	l->has_turn = true;
	if (r->opts.real_time)
		sleep_until(r->start_ns + (l->us - r->start_us) * NS_PER_US);
}

/* Returns 0, or -EBADMSG if the file has changed since it was checked. */
static int play_stream(struct lane *l, const uint8_t *p, const uint8_t *end)
{
	struct hl_replay_step s = {0};

	while (p < end) {
		p = hl_replay_get(p, end, &s, l->last_slot);
		if (!p)
			return -EBADMSG;
		if (s.op == HL_REPLAY_RUN) {
			play_run(l, &s);
		} else if (s.op == HL_REPLAY_PASS) {
			if (!l->run->opts.loose && s.thread < l->run->script->end.n_threads)
				pass_turn(l, s.thread);
		} else {
			if (s.slot >= l->run->script->end.n_slots)
				return -EBADMSG;
			play_op(l, &s);
		}
	}
	return 0;
}

static int play_thread(struct lane *l, uint32_t thread)
{
	const struct hl_replay_script *s = l->run->script;
	const struct hl_replay_script_thread *t = &s->threads[thread];
	int err = 0;

	for (uint32_t i = t->first_chunk; i <= t->last_chunk && !err; i++) {
		int64_t n = hl_replay_script_load(s, i, thread, l->buffer);

		l->at = s->chunks[i].base;
		l->us = s->chunks[i].time_us;
		l->last_slot = 0;
		err = n < 0 ? (int)n : play_stream(l, l->buffer, l->buffer + n);
	}
	return err;
}

/* --- lanes --- */

/* Ends the process, because the other threads wait for turns that will not come. */
static _Noreturn void exit_script_changed(void)
{
	static const char message[] =
		"heaplapse-replay: the script changed while it was replayed\n";

	(void)!write(STDERR_FILENO, message, sizeof(message) - 1);
	_exit(3);
}

static void play_lane(struct lane *l)
{
	const struct hl_replay_script *s = l->run->script;
	uint32_t thread = s->lane_first[l->number];

	l->done = (struct hl_replay_run_result){0};
	while (thread != HL_REPLAY_SCRIPT_NONE) {
		if (play_thread(l, thread))
			exit_script_changed();
		thread = s->threads[thread].next;
	}
}

static void mark_lane_done(struct hl_replay_run *r)
{
	if (atomic_fetch_sub(&r->busy, 1) == 1)
		futex_wake(&r->busy, 1);
}

static void wait_for_lanes(struct hl_replay_run *r)
{
	uint32_t busy;

	while ((busy = atomic_load(&r->busy)) > 0)
		futex_wait(&r->busy, busy);
}

static void *run_lane(void *arg)
{
	struct lane *l = arg;
	struct hl_replay_run *r = l->run;

	for (uint32_t round = 0;; round++) {
		mark_lane_done(r); /* ends the creation of the thread, or the previous playback */
		while (atomic_load(&r->round) == round)
			futex_wait(&r->round, round);
		play_lane(l);
	}
	return NULL;
}

static const char *make_threads(struct hl_replay_run *r)
{
	pthread_attr_t attr;
	int err = pthread_attr_init(&attr);

	pthread_attr_setstacksize(&attr, STACK_BYTES);
	atomic_store(&r->busy, r->script->n_lanes - 1);
	for (uint32_t i = 1; i < r->script->n_lanes && !err; i++) {
		pthread_t thread;

		err = pthread_create(&thread, &attr, run_lane, &r->lanes[i]);
	}
	if (err)
		return "has more threads at the same time than this system allows";
	wait_for_lanes(r);
	return NULL;
}

static const char *make_lanes(struct hl_replay_run *r)
{
	const struct hl_replay_script *s = r->script;

	r->lanes = hl_replay_alloc_pages(s->n_lanes * sizeof(*r->lanes));
	for (uint32_t i = 0; r->lanes && i < s->n_lanes; i++) {
		struct lane *l = &r->lanes[i];

		l->run = r;
		l->number = i;
		l->buffer = hl_replay_alloc_pages(s->buffer_bytes);
		if (!l->buffer)
			return NO_MEMORY;
	}
	return r->lanes ? NULL : NO_MEMORY;
}

const char *hl_replay_run_new(struct hl_replay_run **out, const struct hl_replay_script *s,
	const struct hl_replay_run_options *o)
{
	struct hl_replay_run *r = hl_replay_alloc_pages(sizeof(*r));
	size_t slots = s->end.n_slots * sizeof(*r->slots);
	const char *error;

	if (!r)
		return NO_MEMORY;
	*out = r;
	r->script = s;
	r->opts = *o;
	r->spins = sysconf(_SC_NPROCESSORS_ONLN) > 1 ? SPINS : 0;
	r->slots = hl_replay_alloc_pages(slots);
	error = r->slots ? make_lanes(r) : NO_MEMORY;
	if (error)
		return error;
	/* Touches the pages before the playback, so that page faults in it come from the allocator
	 * only. */
	memset(r->slots, 0, slots);
	if (s->n_lanes <= 1)
		return NULL;
	/* Allocations of libc for threads are not part of the script. */
	heaplapse_stop();
	error = make_threads(r);
	heaplapse_start();
	return error;
}

void hl_replay_run_play(struct hl_replay_run *r, struct hl_replay_run_result *result)
{
	const struct hl_replay_script *s = r->script;

	memset(result, 0, sizeof(*result));
	r->start_ns = now_ns();
	if (s->n_lanes == 0)
		return;
	r->start_us = s->chunks[0].time_us;
	atomic_store(&r->turn, 0);
	atomic_store(&r->busy, s->n_lanes - 1);
	atomic_fetch_add(&r->round, 1);
	futex_wake(&r->round, INT_MAX);
	play_lane(&r->lanes[0]);
	wait_for_lanes(r);
	result->wall_ns = now_ns() - r->start_ns;
	for (uint32_t i = 0; i < s->n_lanes; i++) {
		result->allocations += r->lanes[i].done.allocations;
		result->frees += r->lanes[i].done.frees;
		result->bytes += r->lanes[i].done.bytes;
		result->failed += r->lanes[i].done.failed;
	}
}

void hl_replay_run_clear(struct hl_replay_run *r)
{
	for (uint64_t i = 0; i < r->script->end.n_slots; i++) {
		free(r->slots[i].block);
		r->slots[i].block = NULL;
		atomic_store(&r->slots[i].steps, 0);
	}
}
