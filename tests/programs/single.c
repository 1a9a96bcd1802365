/* SPDX-License-Identifier: Apache-2.0 */
/*
 * single.c - one thread that uses every C allocation function and updates its counts after each
 * step.
 *
 *	single EVENTS SEED [MOMENTS [portable]]
 *
 * Blocks are stored in a table; its fill limit goes up and down, so that the peak is somewhere in
 * the middle. Reallocs make chains: a block may move from site to site many times. EVENTS are
 * counted as in a trace: a realloc that moves a block is two. portable: without pvalloc, which
 * jemalloc leaves to libc and then cannot free.
 */
#include "truth.h"
#include <malloc.h>
#include <stdbool.h>

#define SLOTS 4096

enum {
	MALLOC,
	MALLOC_LARGE,
	MALLOC_ZERO,
	MALLOC_DEEP,
	CALLOC,
	REALLOC_NEW,
	POSIX_MEMALIGN,
	ALIGNED_ALLOC,
	MEMALIGN,
	VALLOC,
	PVALLOC,
	REALLOCARRAY_NEW,
	NEW_SITES,
	REALLOC_MOVE = NEW_SITES,
	REALLOCARRAY_MOVE,
	ALL_SITES,
};

static const char *const names[ALL_SITES] = {
	"site_malloc",
	"site_malloc_large",
	"site_malloc_zero",
	"site_malloc_deep",
	"site_calloc",
	"site_realloc_new",
	"site_posix_memalign",
	"site_aligned_alloc",
	"site_memalign",
	"site_valloc",
	"site_pvalloc",
	"site_reallocarray_new",
	"site_realloc_move",
	"site_reallocarray_move",
};

static struct slot {
	void *p;
	size_t size;
	unsigned site;
} slots[SLOTS];
static bool portable;
static unsigned used; /* slots[0 .. used) hold blocks */

#define DEFINE_SITE(name, call)                \
	static TRUTH_SITE void *name(size_t n) \
	{                                      \
		void *p = call;                \
                                               \
		TRUTH_KEEP_FRAME();            \
		return p;                      \
	}

DEFINE_SITE(site_malloc, malloc(n))
DEFINE_SITE(site_malloc_large, malloc(n))
DEFINE_SITE(site_malloc_zero, malloc(n))
DEFINE_SITE(site_calloc, calloc(1, n))
DEFINE_SITE(site_realloc_new, realloc(NULL, n))
DEFINE_SITE(site_aligned_alloc, aligned_alloc(64, n))
DEFINE_SITE(site_memalign, memalign(256, n))
DEFINE_SITE(site_valloc, valloc(n))
DEFINE_SITE(site_pvalloc, pvalloc(n))
DEFINE_SITE(site_reallocarray_new, reallocarray(NULL, n, 1))

static TRUTH_SITE void *site_posix_memalign(size_t n)
{
	void *p = NULL;

	if (posix_memalign(&p, 128, n))
		abort();
	return p;
}

/* The innermost function of a recursion: one site, stacks of many depths. */
static TRUTH_SITE void *site_malloc_deep(size_t n)
{
	void *p = malloc(n);

	TRUTH_KEEP_FRAME();
	return p;
}

static TRUTH_SITE void *recurse(size_t n, unsigned depth)
{
	void *p = depth ? recurse(n, depth - 1) : site_malloc_deep(n);

	TRUTH_KEEP_FRAME();
	return p;
}

static void *enter_deep(size_t n)
{
	return recurse(n, (unsigned)(n % 40));
}

static TRUTH_SITE void *site_realloc_move(void *old, size_t n)
{
	void *p = realloc(old, n);

	TRUTH_KEEP_FRAME();
	return p;
}

static TRUTH_SITE void *site_reallocarray_move(void *old, size_t n)
{
	void *p = reallocarray(old, n, 1);

	TRUTH_KEEP_FRAME();
	return p;
}

/* A function that allocates a block, its maximum size, and how often it is chosen. */
static const struct maker {
	void *(*make)(size_t);
	size_t max;
	unsigned weight;
} makers[NEW_SITES] = {
	{site_malloc, 512, 40},
	{site_malloc_large, 200000, 2},
	{site_malloc_zero, 0, 1},
	{enter_deep, 256, 15},
	{site_calloc, 1024, 12},
	{site_realloc_new, 300, 8},
	{site_posix_memalign, 700, 4},
	{site_aligned_alloc, 700, 4},
	{site_memalign, 700, 4},
	{site_valloc, 5000, 1},
	{site_pvalloc, 5000, 1},
	{site_reallocarray_new, 300, 8},
};

static unsigned choose_maker(uint64_t r)
{
	unsigned at = (unsigned)(r % 100), site = 0;

	while (site < NEW_SITES - 1 && at >= makers[site].weight)
		at -= makers[site++].weight;
	return portable && site == PVALLOC ? MALLOC : site;
}

static void step_new(uint64_t *rng)
{
	unsigned site = choose_maker(truth_random(rng));
	struct slot *s = &slots[used];

	s->size = makers[site].max ? 1 + truth_random(rng) % makers[site].max : 0;
	s->site = site;
	s->p = makers[site].make(s->size);
	if (!s->p)
		abort();
	used++;
	truth_alloc(site, s->size);
}

static void step_free(uint64_t *rng)
{
	struct slot *s = &slots[truth_random(rng) % used];

	free(s->p);
	truth_free(s->site, s->size);
	*s = slots[--used];
}

static void step_move(uint64_t *rng)
{
	struct slot *s = &slots[truth_random(rng) % used];
	uint64_t r = truth_random(rng);
	/*
	 * Half of the blocks grow by a quarter, half get a random size; never 0, which would be a
	 * free.
	 */
	size_t size = r & 1 ? s->size + s->size / 4 + 1 : 1 + (r >> 8) % 2000;
	unsigned site = r & 2 ? REALLOC_MOVE : REALLOCARRAY_MOVE;
	void *p = r & 2 ? site_realloc_move(s->p, size) : site_reallocarray_move(s->p, size);

	if (!p)
		abort();
	truth_move(s->site, s->size, site, size);
	s->p = p;
	s->size = size;
	s->site = site;
}

/* Makes one step; returns its number of events. */
static unsigned step(uint64_t *rng, unsigned room)
{
	uint64_t r = truth_random(rng) % 100;

	if (used && r < 15) {
		step_move(rng);
		return 2;
	}
	if (used < SLOTS && (used == 0 || (used < room ? r < 70 : r < 35)))
		step_new(rng);
	else
		step_free(rng);
	return 1;
}

/* A random point in the next of `moments` equal parts of the run. */
static uint64_t random_moment(uint64_t *rng, uint64_t events, unsigned moments)
{
	uint64_t part = events / moments;

	return truth.n_moments * part + truth_random(rng) % (part ? part : 1);
}

int main(int argc, char **argv)
{
	uint64_t events = argc > 1 ? strtoull(argv[1], NULL, 0) : 200000;
	uint64_t rng = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
	unsigned moments = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 0) : 10;
	uint64_t done = 0, next_moment = UINT64_MAX;
	unsigned room = SLOTS / 4;

	portable = argc > 4;
	truth_open("single", names, ALL_SITES);
	truth.peak_kind = "exact";
	if (moments)
		next_moment = random_moment(&rng, events, moments);
	while (done < events) {
		if (truth_random(&rng) % 2048 == 0)
			room = (unsigned)(truth_random(&rng) % SLOTS);
		done += step(&rng, room);
		if (done >= next_moment && truth.n_moments < moments) {
			truth_take_moment();
			next_moment = random_moment(&rng, events, moments);
		}
	}
	truth_write();
	return 0;
}
