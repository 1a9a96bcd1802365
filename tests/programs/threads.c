/* SPDX-License-Identifier: Apache-2.0 */
/*
 * threads.c - 16 threads that free each other's blocks.
 *
 *	threads ROUNDS OPERATIONS SEED
 *
 * Blocks pass through a table of mailboxes: a thread swaps its new block into a random box and
 * frees the block that was there, so most blocks are freed by another thread than the one that
 * allocated them. Each block stores its own size and site. Rounds are separated by barriers;
 * between two barriers only thread 0 runs, which then knows exactly which blocks are live.
 *
 * Totals and live blocks at a barrier are exact. The peak depends on the order of threads, so there
 * are bounds that hold for every order that respects each thread's own order and the barriers:
 *
 *   at least  the most live bytes at a barrier, because all earlier events happened before it;
 *   at most   the maximum over all rounds of the live bytes at the start of the round plus, summed
 *             over the threads, the largest net growth of that thread alone within the round
 *             (frees of others' blocks make its growth negative, never larger).
 */
#include "truth.h"
#include <pthread.h>
#include <stdatomic.h>

#define THREADS 16
#define BOXES   1024
#define SITES   8

static const char *const names[SITES] = {
	"site_00",
	"site_01",
	"site_02",
	"site_03",
	"site_04",
	"site_05",
	"site_06",
	"site_07",
};

struct block {
	size_t size;
	unsigned site;
};

/*
 * The counts of one thread, in a separate cache line: otherwise counting would be the slowest part.
 */
struct counts {
	_Alignas(64) struct truth_counts sites[SITES];
	int64_t net, max_net; /* bytes since the round began */
	uint64_t rng;
};

static struct counts counts[THREADS];
static _Atomic(struct block *) boxes[BOXES];
static pthread_barrier_t barrier;
static unsigned rounds = 12, operations = 4000;
static uint64_t round_began_with;

#define DEFINE_SITE(name, call)                \
	static TRUTH_SITE void *name(size_t n) \
	{                                      \
		void *p = call;                \
                                               \
		TRUTH_KEEP_FRAME();            \
		return p;                      \
	}

DEFINE_SITE(site_00, malloc(n))
DEFINE_SITE(site_01, malloc(n))
DEFINE_SITE(site_02, malloc(n))
DEFINE_SITE(site_03, malloc(n))
DEFINE_SITE(site_04, calloc(1, n))
DEFINE_SITE(site_05, calloc(n, 1))
DEFINE_SITE(site_06, aligned_alloc(64, n))

static TRUTH_SITE void *site_07(void *old, size_t n)
{
	void *p = realloc(old, n);

	TRUTH_KEEP_FRAME();
	return p;
}

static void *(*const makers[SITES - 1])(size_t) = {
	site_00,
	site_01,
	site_02,
	site_03,
	site_04,
	site_05,
	site_06,
};

static void grow(struct counts *b, int64_t by)
{
	b->net += by;
	if (b->net > b->max_net)
		b->max_net = b->net;
}

static struct block *make(struct counts *b)
{
	unsigned site = (unsigned)(truth_random(&b->rng) % (SITES - 1));
	size_t size = sizeof(struct block) + truth_random(&b->rng) % (64u << site);
	struct block *p = makers[site](size);

	if (!p)
		abort();
	p->size = size;
	p->site = site;
	b->sites[site].alloc_blocks++;
	b->sites[site].alloc_bytes += size;
	grow(b, (int64_t)size);
	return p;
}

static void count_gone(struct counts *b, const struct block *p)
{
	b->sites[p->site].free_blocks++;
	b->sites[p->site].free_bytes += p->size;
}

static void drop(struct counts *b, struct block *p)
{
	if (!p)
		return;
	count_gone(b, p);
	grow(b, -(int64_t)p->size);
	free(p);
}

/* Takes a block of any thread out of a box and reallocates it. */
static struct block *resize(struct counts *b, struct block *p)
{
	size_t size = sizeof(struct block) + truth_random(&b->rng) % 3000;
	size_t old_size = p->size;

	count_gone(b, p);
	p = site_07(p, size);
	if (!p)
		abort();
	p->size = size;
	p->site = 7;
	b->sites[7].alloc_blocks++;
	b->sites[7].alloc_bytes += size;
	grow(b, (int64_t)size - (int64_t)old_size);
	return p;
}

static void operate(struct counts *b, unsigned fill)
{
	_Atomic(struct block *) *box = &boxes[truth_random(&b->rng) % BOXES];
	unsigned r = (unsigned)(truth_random(&b->rng) % 100);
	struct block *p = NULL;

	if (r < 20) {
		p = atomic_exchange(box, NULL);
		if (p)
			p = resize(b, p);
	} else if (r < 20 + fill) {
		p = make(b);
	}
	drop(b, atomic_exchange(box, p));
}

/*
 * Called between two barriers, when no other thread runs: adds up the counts and updates the bounds
 * of the peak.
 */
static void close_round(void)
{
	uint64_t most = round_began_with, live = 0;

	memset(truth.sites, 0, sizeof(truth.sites));
	for (unsigned t = 0; t < THREADS; t++) {
		for (unsigned i = 0; i < SITES; i++) {
			truth.sites[i].alloc_blocks += counts[t].sites[i].alloc_blocks;
			truth.sites[i].alloc_bytes += counts[t].sites[i].alloc_bytes;
			truth.sites[i].free_blocks += counts[t].sites[i].free_blocks;
			truth.sites[i].free_bytes += counts[t].sites[i].free_bytes;
		}
		most += (uint64_t)counts[t].max_net;
		counts[t].net = counts[t].max_net = 0;
	}
	for (unsigned i = 0; i < SITES; i++)
		live += truth_live_of(i).bytes;
	if (live > truth.peak_min)
		truth.peak_min = live;
	if (most > truth.peak_max)
		truth.peak_max = most;
	round_began_with = live;
	truth_take_moment();
}

static void *work(void *arg)
{
	struct counts *b = arg;

	/*
	 * The start is a barrier too: all threads' own memory is allocated before the first event.
	 */
	pthread_barrier_wait(&barrier);
	for (unsigned round = 0; round < rounds; round++) {
		/* full boxes after even rounds, few after odd ones */
		for (unsigned i = 0; i < operations; i++)
			operate(b, round % 2 ? 15 : 75);
		pthread_barrier_wait(&barrier);
		if (b == counts)
			close_round();
		pthread_barrier_wait(&barrier);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	uint64_t seed = argc > 3 ? strtoull(argv[3], NULL, 0) : 1;
	pthread_t ids[THREADS];

	if (argc > 2) {
		rounds = (unsigned)strtoul(argv[1], NULL, 0);
		operations = (unsigned)strtoul(argv[2], NULL, 0);
	}
	truth_open("threads", names, SITES);
	truth.peak_kind = "bounds";
	pthread_barrier_init(&barrier, NULL, THREADS);
	for (unsigned t = 0; t < THREADS; t++) {
		counts[t].rng = seed * 1000 + t;
		if (pthread_create(&ids[t], NULL, work, &counts[t]))
			abort();
	}
	for (unsigned t = 0; t < THREADS; t++)
		pthread_join(ids[t], NULL);
	truth_write();
	return 0;
}
