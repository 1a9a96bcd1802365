/*
 * run.c - see run.h.
 *
 * A turn is a place in the recorded order: whoever waits for it spins shortly and then sleeps on a
 * word of its own, which is woken by the one that passes the turn. Order on slots is only looked
 * at: those who wait for a slot poll, and the others do not pay for them.
 */
#include "replay/run.h"

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

#define NO_MEMORY "needs more memory than there is"

struct slot {
	void *block;
	_Atomic uint32_t steps;
};

struct lane {
	_Alignas(64) _Atomic uint32_t asleep; /* its owner waits for its turn */
	struct hl_run *run;
	uint32_t number;
	uint8_t *buffer;
	struct hl_run_result done;

	/* Where it is: */
	uint64_t at, us;
	uint32_t last_slot;
	bool has_turn;
};

struct hl_run {
	const struct hl_script *script;
	struct hl_run_options opts;
	struct slot *slots;
	struct lane *lanes;
	unsigned spins;
	uint64_t start_ns, start_us;

	_Alignas(64) _Atomic uint64_t turn;
	_Alignas(64) _Atomic uint32_t round; /* how often it was begun */
	_Alignas(64) _Atomic uint32_t busy;  /* lanes other than the first that are not done */
};

/* --- waiting --- */

static void sleep_while(_Atomic uint32_t *word, uint32_t value)
{
	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void wake(_Atomic uint32_t *word, int n)
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
		atomic_store(&l->asleep, 1);
		/* Who passed the turn before this store did not see it. */
		if (!is_turn(l))
			sleep_while(&l->asleep, 1);
		atomic_store(&l->asleep, 0);
	}
}

static void pass_turn(struct lane *l, uint32_t thread)
{
	struct lane *next = &l->run->lanes[l->run->script->threads[thread].lane];

	l->has_turn = false;
	atomic_store(&l->run->turn, l->at);
	if (next != l && atomic_load(&next->asleep)) {
		atomic_store(&next->asleep, 0);
		wake(&next->asleep, 1);
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

/* The compiler would make a malloc of realloc(NULL). */
static void *volatile nothing;

static void *call_aligned(const struct hl_replay_step *s)
{
	void *p = NULL;

	return posix_memalign(&p, (size_t)1 << s->align, s->size) ? NULL : p;
}

static void *call(const struct hl_replay_step *s)
{
	switch (s->op) {
	case HL_REPLAY_CALLOC:
		return calloc(1, s->size);
	case HL_REPLAY_NEW:
		return realloc(nothing, s->size);
	case HL_REPLAY_ALIGNED:
		return call_aligned(s);
	}
	return malloc(s->size);
}

/* What realloc to 0 bytes does to the old block differs from allocator to allocator. */
static void *call_realloc(void *old, uint64_t size)
{
	if (size > 0)
		return realloc(old, size);
	free(old);
	return malloc(0);
}

static void play_alloc(struct lane *l, struct slot *slot, const struct hl_replay_step *s)
{
	void *p = s->op == HL_REPLAY_REALLOC ? call_realloc(slot->block, s->size) : call(s);

	l->done.frees += s->op == HL_REPLAY_REALLOC;
	if (p) {
		l->done.allocations++;
		l->done.bytes += s->size;
		slot->block = p;
		if (l->run->opts.touch)
			touch_block(p, s->size);
	} else {
		l->done.failed++; /* a realloc leaves the old one */
	}
}

static void play_op(struct lane *l, const struct hl_replay_step *s)
{
	struct slot *slot = &l->run->slots[s->slot];
	uint32_t steps;

	if (s->cross && l->run->opts.loose)
		wait_slot(l, slot, s->before);
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
	struct hl_run *r = l->run;

	l->at += s->gap;
	l->us += s->us;
	/* A RUN in the middle of a turn says only what time it is. */
	if (!r->opts.loose && !l->has_turn)
		wait_turn(l);
	l->has_turn = true;
	if (r->opts.real_time)
		sleep_until(r->start_ns + (l->us - r->start_us) * NS_PER_US);
}

/* 0, or -EBADMSG: this is not what was checked. */
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
	const struct hl_script *s = l->run->script;
	const struct hl_script_thread *t = &s->threads[thread];
	int err = 0;

	for (uint32_t i = t->first_chunk; i <= t->last_chunk && !err; i++) {
		int64_t n = hl_script_load(s, i, thread, l->buffer);

		l->at = s->chunks[i].base;
		l->us = s->chunks[i].time_us;
		l->last_slot = 0;
		err = n < 0 ? (int)n : play_stream(l, l->buffer, l->buffer + n);
	}
	return err;
}

/* --- lanes --- */

/* The others wait for what will not come. */
static _Noreturn void give_up(void)
{
	static const char words[] =
		"heaplapse-replay: the script has changed while it was played\n";

	(void)!write(STDERR_FILENO, words, sizeof(words) - 1);
	_exit(3);
}

static void play_lane(struct lane *l)
{
	const struct hl_script *s = l->run->script;
	uint32_t thread = s->lane_first[l->number];

	l->done = (struct hl_run_result){0};
	while (thread != HL_SCRIPT_NONE) {
		if (play_thread(l, thread))
			give_up();
		thread = s->threads[thread].next;
	}
}

static void lane_done(struct hl_run *r)
{
	if (atomic_fetch_sub(&r->busy, 1) == 1)
		wake(&r->busy, 1);
}

static void wait_done(struct hl_run *r)
{
	uint32_t busy;

	while ((busy = atomic_load(&r->busy)) > 0)
		sleep_while(&r->busy, busy);
}

static void *lane_main(void *arg)
{
	struct lane *l = arg;
	struct hl_run *r = l->run;

	for (uint32_t round = 0;; round++) {
		lane_done(r); /* of the making, or of the round before */
		while (atomic_load(&r->round) == round)
			sleep_while(&r->round, round);
		play_lane(l);
	}
	return NULL;
}

static const char *make_threads(struct hl_run *r)
{
	pthread_attr_t attr;
	int err = pthread_attr_init(&attr);

	pthread_attr_setstacksize(&attr, STACK_BYTES);
	atomic_store(&r->busy, r->script->n_lanes - 1);
	for (uint32_t i = 1; i < r->script->n_lanes && !err; i++) {
		pthread_t thread;

		err = pthread_create(&thread, &attr, lane_main, &r->lanes[i]);
	}
	if (err)
		return "has more threads at the same time than this system allows";
	wait_done(r);
	return NULL;
}

static const char *make_lanes(struct hl_run *r)
{
	const struct hl_script *s = r->script;

	r->lanes = hl_script_memory(s->n_lanes * sizeof(*r->lanes));
	for (uint32_t i = 0; r->lanes && i < s->n_lanes; i++) {
		struct lane *l = &r->lanes[i];

		l->run = r;
		l->number = i;
		l->buffer = hl_script_memory(s->buffer_bytes);
		if (!l->buffer)
			return NO_MEMORY;
	}
	return r->lanes ? NULL : NO_MEMORY;
}

const char *hl_run_new(
	struct hl_run **out, const struct hl_script *s, const struct hl_run_options *o)
{
	struct hl_run *r = hl_script_memory(sizeof(*r));
	size_t slots = s->end.n_slots * sizeof(*r->slots);
	const char *wrong;

	if (!r)
		return NO_MEMORY;
	*out = r;
	r->script = s;
	r->opts = *o;
	r->spins = sysconf(_SC_NPROCESSORS_ONLN) > 1 ? SPINS : 0;
	r->slots = hl_script_memory(slots);
	wrong = r->slots ? make_lanes(r) : NO_MEMORY;
	if (wrong)
		return wrong;
	/* Its pages are there before it begins, so that what comes is the allocator's. */
	memset(r->slots, 0, slots);
	if (s->n_lanes <= 1)
		return NULL;
	/* What libc allocates for threads is not the script's. */
	heaplapse_stop();
	wrong = make_threads(r);
	heaplapse_start();
	return wrong;
}

void hl_run_play(struct hl_run *r, struct hl_run_result *result)
{
	const struct hl_script *s = r->script;

	memset(result, 0, sizeof(*result));
	r->start_ns = now_ns();
	if (s->n_lanes == 0)
		return;
	r->start_us = s->chunks[0].time_us;
	atomic_store(&r->turn, 0);
	atomic_store(&r->busy, s->n_lanes - 1);
	atomic_fetch_add(&r->round, 1);
	wake(&r->round, INT_MAX);
	play_lane(&r->lanes[0]);
	wait_done(r);
	result->wall_ns = now_ns() - r->start_ns;
	for (uint32_t i = 0; i < s->n_lanes; i++) {
		result->allocations += r->lanes[i].done.allocations;
		result->frees += r->lanes[i].done.frees;
		result->bytes += r->lanes[i].done.bytes;
		result->failed += r->lanes[i].done.failed;
	}
}

void hl_run_clear(struct hl_run *r)
{
	for (uint64_t i = 0; i < r->script->end.n_slots; i++) {
		free(r->slots[i].block);
		r->slots[i].block = NULL;
		atomic_store(&r->slots[i].steps, 0);
	}
}
