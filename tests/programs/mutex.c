/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mutex.c - 16 threads that allocate and free while holding one mutex.
 *
 *	mutex EVENTS SEED
 *
 * The lock gives the events a total order, which the trace must show: the peak is exact although 16
 * threads run. In addition, the n-th allocation has MUTEX_FIRST + n % MUTEX_CYCLE bytes, so that
 * the sizes in a dump, read in order, must increase by one: a single pair in wrong order is
 * visible.
 */
#include "truth.h"
#include <pthread.h>
#include <stdbool.h>

#define THREADS     16
#define SLOTS       512
#define SITES       4
#define MUTEX_FIRST 1000
#define MUTEX_CYCLE 50000

static const char *const names[SITES] = {"site_00", "site_01", "site_02", "site_03"};

static struct slot {
	void *p;
	size_t size;
	unsigned site;
} slots[SLOTS];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;
/* Everything below is protected by the lock. */
static uint64_t events, serial, rng;

#define DEFINE_SITE(name, call)                           \
	static TRUTH_SITE void *name(void *old, size_t n) \
	{                                                 \
		void *p = call;                           \
                                                          \
		TRUTH_KEEP_FRAME();                       \
		return p;                                 \
	}

DEFINE_SITE(site_00, ((void)old, malloc(n)))
DEFINE_SITE(site_01, ((void)old, calloc(1, n)))
DEFINE_SITE(site_02, ((void)old, aligned_alloc(64, n)))
DEFINE_SITE(site_03, realloc(old, n))

static void *(*const makers[SITES])(void *, size_t) = {site_00, site_01, site_02, site_03};

static size_t next_size(void)
{
	return MUTEX_FIRST + serial++ % MUTEX_CYCLE;
}

static void fill_slot(struct slot *s)
{
	s->site = (unsigned)(truth_random(&rng) % SITES);
	s->size = next_size();
	s->p = makers[s->site](NULL, s->size);
	if (!s->p)
		abort();
	truth_alloc(s->site, s->size);
	events--;
}

static void resize_slot(struct slot *s)
{
	size_t size = next_size();

	s->p = site_03(s->p, size);
	if (!s->p)
		abort();
	truth_move(s->site, s->size, 3, size);
	s->size = size;
	s->site = 3;
	events -= events > 1 ? 2 : 1;
}

static void free_slot(struct slot *s)
{
	free(s->p);
	s->p = NULL;
	truth_free(s->site, s->size);
	events--;
}

static void step(void)
{
	struct slot *s = &slots[truth_random(&rng) % SLOTS];

	if (!s->p)
		fill_slot(s);
	else if (truth_random(&rng) % 4 == 0)
		resize_slot(s);
	else
		free_slot(s);
}

static void *work(void *arg)
{
	bool more = true;

	pthread_barrier_wait(&barrier);
	while (more) {
		pthread_mutex_lock(&lock);
		more = events > 0;
		if (more)
			step();
		pthread_mutex_unlock(&lock);
	}
	/* No thread's own memory is freed before the last event. */
	pthread_barrier_wait(&barrier);
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t ids[THREADS];

	events = argc > 1 ? strtoull(argv[1], NULL, 0) : 200000;
	rng = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
	truth_open("mutex", names, SITES);
	truth.peak_kind = "exact";
	pthread_barrier_init(&barrier, NULL, THREADS);
	for (unsigned t = 0; t < THREADS; t++)
		if (pthread_create(&ids[t], NULL, work, NULL))
			abort();
	for (unsigned t = 0; t < THREADS; t++)
		pthread_join(ids[t], NULL);
	truth_write();
	return 0;
}
