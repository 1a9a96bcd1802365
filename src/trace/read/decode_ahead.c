/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decode_ahead.c - see decode_ahead.h.
 *
 * The pool has a ring of slots, a chunk each, in the order of the loop. The caller fills slots at
 * the tail and takes them from the head; workers decode the first slot that waits. A slot belongs
 * to the caller, except while it is BUSY: then it belongs to the worker that took it. `state` is
 * protected by the lock; all other fields are passed on with it.
 *
 * If a slot still waits when the loop needs it, the caller decodes the chunk itself. So a worker
 * that gets no CPU time delays the loop by one chunk at most.
 */
#include "trace/read/decode_ahead.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "base/bits.h"
#include "trace/read/reader_internal.h"
#include "util/cacheline.h"

#define SLOTS_MAX 10u
/* Decoded chunks of all slots. The limits of the format allow four chunks of any kind. */
#define MEMORY_MAX (UINT64_C(48) << 20)
/* A loop over some chunks often ends soon. */
#define STREAK_MIN 2

enum slot_state { SLOT_WAITING, SLOT_BUSY, SLOT_DONE };

struct slot {
	enum slot_state state;
	size_t chunk;
	unsigned want;
	int err; /* DONE: the result of decoding */
	struct hl_chunk_events events;
};

struct worker {
	struct hl_decode_pool *pool;
	struct hl_reader *reader; /* its own: shares the list of chunks */
	pthread_t thread;
};

struct hl_decode_pool {
	pthread_mutex_t lock;
	pthread_cond_t announced, decoded;
	bool ends;
	struct slot slots[SLOTS_MAX];
	size_t n_slots, head, len; /* slots[(head + i) % n_slots] for i < len are in use */
	struct worker workers[HL_WORKERS_MAX];
	unsigned n_workers;
};

static struct slot *slot_at(struct hl_decode_pool *p, size_t i)
{
	return &p->slots[(p->head + i) % p->n_slots];
}

/* --- workers --- */

/* Returns the first slot that waits, which is BUSY then. NULL: the pool ends. */
static struct slot *take_job(struct hl_decode_pool *p)
{
	while (!p->ends) {
		for (size_t i = 0; i < p->len; i++) {
			struct slot *s = slot_at(p, i);

			if (s->state != SLOT_WAITING)
				continue;
			s->state = SLOT_BUSY;
			return s;
		}
		pthread_cond_wait(&p->announced, &p->lock);
	}
	return NULL;
}

static void *run_worker(void *arg)
{
	struct worker *w = arg;
	struct hl_decode_pool *p = w->pool;
	struct slot *s;

	pthread_mutex_lock(&p->lock);
	while ((s = take_job(p))) {
		pthread_mutex_unlock(&p->lock);
		/* The memory is that of a chunk that the caller has read. */
		hl_cacheline_flush(s->events.events, s->events.n_events * sizeof(struct hl_event));
		s->err = hl_reader_decode_some(w->reader, s->chunk, s->want, &s->events);
		pthread_mutex_lock(&p->lock);
		s->state = SLOT_DONE;
		pthread_cond_signal(&p->decoded);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

static int start_worker(struct hl_decode_pool *p, struct hl_reader *r)
{
	struct worker *w = &p->workers[p->n_workers];
	int err = hl_reader_share(&w->reader, r);

	w->pool = p;
	if (!err)
		err = -r->create_thread(&w->thread, NULL, run_worker, w);
	if (err)
		hl_reader_close(w->reader);
	else
		p->n_workers++;
	return err;
}

/* Handlers of signals run in the caller's thread, as without workers. */
static void start_workers(struct hl_decode_pool *p, struct hl_reader *r)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	while (p->n_workers < r->workers && start_worker(p, r) == 0)
		;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* --- the pool --- */

/* How many chunks fit into MEMORY_MAX, even if all are as large as the largest. */
static size_t count_slots(const struct hl_reader *r)
{
	uint64_t most = 1;

	for (size_t i = 0; i < r->chunks.len; i++) {
		const struct hl_chunk_info *c = &r->chunks.data[i];

		most = hl_max_u64(
			most, c->n_events * (sizeof(struct hl_event) + sizeof(uint32_t)) +
				      c->n_extras * (sizeof(struct hl_extra) + sizeof(uint32_t)));
	}
	return (size_t)hl_min_u64(MEMORY_MAX / most, hl_min_u64(r->workers + 1, SLOTS_MAX));
}

static void free_pool(struct hl_decode_pool *p)
{
	pthread_mutex_lock(&p->lock);
	p->ends = true;
	pthread_cond_broadcast(&p->announced);
	pthread_mutex_unlock(&p->lock);
	for (unsigned i = 0; i < p->n_workers; i++) {
		pthread_join(p->workers[i].thread, NULL);
		hl_reader_close(p->workers[i].reader);
	}
	for (size_t i = 0; i < SLOTS_MAX; i++)
		hl_chunk_events_free(&p->slots[i].events);
	pthread_cond_destroy(&p->announced);
	pthread_cond_destroy(&p->decoded);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

/* Returns NULL if no worker can be started. */
static struct hl_decode_pool *new_pool(struct hl_reader *r)
{
	struct hl_decode_pool *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->announced, NULL);
	pthread_cond_init(&p->decoded, NULL);
	p->n_slots = count_slots(r);
	if (p->n_slots > 0)
		start_workers(p, r);
	if (p->n_workers > 0)
		return p;
	free_pool(p);
	return NULL;
}

/* --- the loop; these functions are called with the lock --- */

static void wait_for_slot(struct hl_decode_pool *p, const struct slot *s)
{
	while (s->state == SLOT_BUSY)
		pthread_cond_wait(&p->decoded, &p->lock);
}

static void drop_head(struct hl_decode_pool *p)
{
	wait_for_slot(p, slot_at(p, 0));
	p->head = (p->head + 1) % p->n_slots;
	p->len--;
}

/* Removes the slots before the chunk, and the chunk's own if it has too few fields. */
static void drop_skipped(struct hl_decode_pool *p, size_t chunk, unsigned want)
{
	while (p->len > 0 && (slot_at(p, 0)->chunk != chunk || want & ~slot_at(p, 0)->want))
		drop_head(p);
}

/* Fills the free slots with the chunks that follow. The chunk that is read now has one if it was
 * announced. */
static void announce_chunks(struct hl_decode_pool *p, const struct hl_reader *r, size_t chunk,
	size_t end, unsigned want)
{
	size_t next = p->len > 0 ? slot_at(p, p->len - 1)->chunk + 1 : chunk + 1;

	for (; next < end && next < r->chunks.len && p->len < p->n_slots; next++) {
		struct slot *s = slot_at(p, p->len);

		if (r->chunks.data[next].lost || r->chunk_rows.data[next] == HL_NO_ROW)
			continue;
		s->chunk = next;
		s->want = want;
		s->state = SLOT_WAITING;
		p->len++;
		pthread_cond_signal(&p->announced);
	}
}

/* Takes the chunk from the head, if a worker decoded it. Returns false if the caller must decode
 * it. */
static bool take_decoded(struct hl_decode_pool *p, size_t chunk, struct slot *taken)
{
	struct slot *s = slot_at(p, 0);
	bool good;

	if (p->len == 0 || s->chunk != chunk)
		return false;
	wait_for_slot(p, s);
	good = s->state == SLOT_DONE && s->err == 0;
	if (good) {
		struct hl_chunk_events events = s->events;

		s->events = taken->events;
		taken->events = events;
		taken->want = s->want;
	}
	drop_head(p);
	return good;
}

/* --- reading --- */

void hl_decode_ahead_init(struct hl_decode_ahead *a, struct hl_reader *r)
{
	*a = (struct hl_decode_ahead){.reader = r, .next = SIZE_MAX};
	a->is_off = r->workers == 0;
}

void hl_decode_ahead_fini(struct hl_decode_ahead *a)
{
	if (a->pool)
		free_pool(a->pool);
	a->pool = NULL;
}

/* Counts the streak, and starts the workers when it is long enough. */
static void note_chunk(struct hl_decode_ahead *a, size_t chunk, size_t end)
{
	a->streak = chunk == a->next ? a->streak + 1 : 1;
	a->next = chunk + 1;
	if (a->is_off || a->pool || a->streak < STREAK_MIN || chunk + 1 >= end)
		return;
	a->pool = new_pool(a->reader);
	a->is_off = !a->pool;
}

/* Returns whether *taken has the chunk. */
static bool take_from_pool(
	struct hl_decode_ahead *a, size_t chunk, size_t end, unsigned want, struct slot *taken)
{
	struct hl_decode_pool *p = a->pool;
	bool good;

	pthread_mutex_lock(&p->lock);
	end = a->streak < STREAK_MIN ? 0 : end;
	drop_skipped(p, chunk, want);
	announce_chunks(p, a->reader, chunk, end, want); /* it may wait for this chunk */
	good = take_decoded(p, chunk, taken);
	announce_chunks(p, a->reader, chunk, end, want);
	pthread_mutex_unlock(&p->lock);
	return good;
}

int hl_decode_ahead_read(struct hl_decode_ahead *a, size_t chunk, size_t end, unsigned *want,
	struct hl_chunk_events *into)
{
	struct slot taken = {.events = *into};

	note_chunk(a, chunk, end);
	if (a->pool && take_from_pool(a, chunk, end, *want, &taken)) {
		*into = taken.events;
		*want = taken.want;
		return hl_reader_adopt(a->reader, chunk, into);
	}
	return hl_reader_decode_some(a->reader, chunk, *want, into);
}
