/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loop.c - a program that only allocates and frees: the undiluted cost of a recorder.
 *
 * Sixteen blocks are live at a time; a pair is the free of the oldest block and a malloc that
 * replaces it. All pairs are made below DEPTH calls of one function, which are real frames. With
 * --walk W each pair is made up to W frames above or below the previous one, never further than W
 * from DEPTH. Each frame that is entered anew is called from one of two call sites, so that stacks
 * differ as they do in a real program.
 *
 * With --live N there are N blocks instead, allocated before the clock starts, and a pair frees and
 * replaces a random one: blocks are freed in random order, as in a program with a large heap.
 *
 * With --sites N each pair is made from one of N call sites, in random order. Between a call site
 * and malloc are nested wrappers (--wrappers), like zmalloc, or g_malloc and g_strdup: the
 * innermost frame and the stack pointer are then the same for all sites.
 *
 * With --scopes N all pairs are made inside N nested scopes (heaplapse.h).
 *
 * The program makes exactly the number of allocations and frees that it prints, so that a recording
 * can be checked: nothing here uses stdio. Threads are the exception: libc allocates for each of
 * them.
 */
#include <getopt.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "heaplapse.h"

enum { LIVE = 16, THREADS_MAX = 256, SITES_MAX = 256, WRAPPERS_MAX = 8 };

/* Keeps the compiler from dropping an allocation or turning the recursion into a loop. */
#define KEEP() __asm__ volatile("" ::: "memory")

struct job {
	_Alignas(64) void *live[LIVE];
	void **many; /* with --live: many_count blocks, instead of `live` */
	uint64_t many_count;
	uint64_t left;   /* pairs to make */
	uint64_t random; /* never 0 */
	int depth, walk, scopes, sites, wrappers;
	int level; /* with --walk: the frame that makes the next pair */
	pthread_t thread;
};

static pthread_barrier_t start;

static inline uint64_t next_random(struct job *j)
{
	j->random ^= j->random << 13;
	j->random ^= j->random >> 7;
	j->random ^= j->random << 17;
	return j->random;
}

/* Inlined, so that the frame at the wanted depth is the caller of malloc. */
__attribute__((always_inline)) static inline void pair(struct job *j)
{
	unsigned i = --j->left % LIVE;

	free(j->live[i]);
	j->live[i] = malloc(16 + 16 * (size_t)i);
	KEEP();
}

static inline size_t size_of(uint64_t i)
{
	return 16 + 16 * (size_t)(i % 4);
}

__attribute__((always_inline)) static inline void pair_anywhere(struct job *j)
{
	uint64_t i = next_random(j) % j->many_count;

	j->left--;
	free(j->many[i]);
	j->many[i] = malloc(size_of(i));
	KEEP();
}

/* The allocation wrapper of --sites. Additional wrappers are nested calls of the same function. */
__attribute__((noinline)) static void *wrapper(size_t size, int more)
{
	void *p = more ? wrapper(size, more - 1) : malloc(size);

	KEEP();
	return p;
}

/* Each function contains its own constant, so that the compiler cannot merge them. */
#define SITE(n)                                                                    \
	__attribute__((noinline)) static void *site_##n(size_t size, int wrappers) \
	{                                                                          \
		void *p = wrapper(size, wrappers - 1);                             \
                                                                                   \
		__asm__ volatile("" ::"i"(0x##n) : "memory");                      \
		return p;                                                          \
	}
/* clang-format is not idempotent on these. */
/* clang-format off */
#define SITES_16(X, n) \
	X(n##0) X(n##1) X(n##2) X(n##3) X(n##4) X(n##5) X(n##6) X(n##7) \
	X(n##8) X(n##9) X(n##a) X(n##b) X(n##c) X(n##d) X(n##e) X(n##f)
#define SITES_256(X) \
	SITES_16(X, 0) SITES_16(X, 1) SITES_16(X, 2) SITES_16(X, 3) \
	SITES_16(X, 4) SITES_16(X, 5) SITES_16(X, 6) SITES_16(X, 7) \
	SITES_16(X, 8) SITES_16(X, 9) SITES_16(X, a) SITES_16(X, b) \
	SITES_16(X, c) SITES_16(X, d) SITES_16(X, e) SITES_16(X, f)
/* clang-format on */
SITES_256(SITE)
#define SITE_NAME(n) site_##n,
static void *(*const sites[SITES_MAX])(size_t, int) = {SITES_256(SITE_NAME)};

__attribute__((always_inline)) static inline void pair_from_a_site(struct job *j)
{
	unsigned i = --j->left % LIVE;

	free(j->live[i]);
	j->live[i] = sites[next_random(j) % (unsigned)j->sites](16 + 16 * (size_t)i, j->wrappers);
	KEEP();
}

static int lowest_level(const struct job *j)
{
	return j->depth > j->walk ? j->depth - j->walk : 1;
}

static void choose_level(struct job *j)
{
	int step = (int)(next_random(j) % (2 * (unsigned)j->walk + 1)) - j->walk;

	j->level += step;
	if (j->level < lowest_level(j))
		j->level = lowest_level(j);
	if (j->level > j->depth + j->walk)
		j->level = j->depth + j->walk;
}

__attribute__((noinline)) static void wander(struct job *j, int level)
{
	while (j->left && j->level >= level) {
		if (j->level == level) {
			pair(j);
			choose_level(j);
		} else if (next_random(j) & 1) {
			wander(j, level + 1);
			KEEP();
		} else {
			wander(j, level + 1);
			__asm__ volatile("nop" ::: "memory"); /* a second, distinct call site */
		}
	}
}

__attribute__((noinline)) static void descend(struct job *j, int level)
{
	if (j->walk && level == lowest_level(j) - 1) {
		wander(j, level + 1);
	} else if (level < j->depth) {
		descend(j, level + 1);
	} else if (j->many) {
		while (j->left)
			pair_anywhere(j);
	} else if (j->sites) {
		while (j->left)
			pair_from_a_site(j);
	} else {
		while (j->left)
			pair(j);
	}
	KEEP();
}

/* The array comes from mmap and not from the heap: the blocks are the only events to record. */
static void fill_blocks(struct job *j, uint64_t count)
{
	j->many_count = count;
	j->many = mmap(NULL, count * sizeof(void *), PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (j->many == MAP_FAILED)
		_exit(3);
	for (uint64_t i = 0; i < count; i++)
		j->many[i] = malloc(size_of(i));
}

static void free_blocks(struct job *j)
{
	for (uint64_t i = 0; i < j->many_count; i++)
		free(j->many[i]);
}

__attribute__((always_inline)) static inline void work(struct job *j)
{
	static const char *const names[] = {"outer", "middle", "inner"};

	for (int i = 0; i < j->scopes; i++)
		heaplapse_tag_push(names[i % 3]);
	if (j->walk && lowest_level(j) == 1)
		wander(j, 1);
	else
		descend(j, 1);
	for (int i = 0; i < LIVE; i++)
		free(j->live[i]);
	for (int i = 0; i < j->scopes; i++)
		heaplapse_tag_pop();
}

static void *work_in_thread(void *arg)
{
	pthread_barrier_wait(&start);
	work(arg);
	return NULL;
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static uint64_t run_threads(struct job *jobs, int n)
{
	uint64_t t;

	pthread_barrier_init(&start, NULL, (unsigned)n + 1);
	for (int i = 0; i < n; i++) {
		if (pthread_create(&jobs[i].thread, NULL, work_in_thread, &jobs[i]) != 0)
			_exit(3);
	}
	t = now_ns();
	pthread_barrier_wait(&start);
	for (int i = 0; i < n; i++)
		pthread_join(jobs[i].thread, NULL);
	return now_ns() - t;
}

struct options {
	uint64_t pairs, live;
	int depth, threads, walk, scopes, sites, wrappers;
};

static const char usage[] =
	"usage: loop [options]\n"
	"  -n, --pairs N     malloc/free pairs in total (10000000)\n"
	"  -d, --depth N     frames between main or the thread's start and malloc (20)\n"
	"  -t, --threads N   threads that share the pairs (1: only the first thread)\n"
	"  -w, --walk N      distance of consecutive stacks, at most N frames (0)\n"
	"  -l, --live N      live blocks, freed in random order, one thread only (16, oldest "
	"first)\n"
	"  -k, --sites N     call sites used alternately, through a wrapper; up to 256 (0: no "
	"wrapper)\n"
	"  -r, --wrappers N  wrappers between a site and malloc, nested; up to 8 (1)\n"
	"  -s, --scopes N    open scopes, nested (0)\n";

static int parse(int argc, char **argv, struct options *o)
{
	static const struct option longs[] = {
		{"pairs", required_argument, NULL, 'n'},
		{"depth", required_argument, NULL, 'd'},
		{"threads", required_argument, NULL, 't'},
		{"walk", required_argument, NULL, 'w'},
		{"live", required_argument, NULL, 'l'},
		{"sites", required_argument, NULL, 'k'},
		{"wrappers", required_argument, NULL, 'r'},
		{"scopes", required_argument, NULL, 's'},
		{0},
	};
	int c;

	*o = (struct options){.pairs = 10000000, .depth = 20, .threads = 1, .wrappers = 1};
	while ((c = getopt_long(argc, argv, "n:d:t:w:l:k:r:s:", longs, NULL)) != -1) {
		switch (c) {
		case 'n':
			o->pairs = strtoull(optarg, NULL, 10);
			break;
		case 'd':
			o->depth = atoi(optarg);
			break;
		case 't':
			o->threads = atoi(optarg);
			break;
		case 'w':
			o->walk = atoi(optarg);
			break;
		case 'l':
			o->live = strtoull(optarg, NULL, 10);
			break;
		case 'k':
			o->sites = atoi(optarg);
			break;
		case 'r':
			o->wrappers = atoi(optarg);
			break;
		case 's':
			o->scopes = atoi(optarg);
			break;
		default:
			return -1;
		}
	}
	if (optind != argc || o->depth < 1 || o->walk < 0)
		return -1;
	if (o->sites < 0 || o->sites > SITES_MAX || o->wrappers < 1 || o->wrappers > WRAPPERS_MAX)
		return -1;
	if (o->sites && (o->walk || o->live))
		return -1;
	if (o->threads < 1 || o->threads > THREADS_MAX)
		return -1;
	return o->live && (o->walk || o->threads > 1) ? -1 : 0;
}

int main(int argc, char **argv)
{
	static struct job jobs[THREADS_MAX];
	struct options o;
	char line[256];
	uint64_t t;
	int n;

	if (parse(argc, argv, &o) < 0) {
		if (write(2, usage, sizeof(usage) - 1) < 0)
			return 3;
		return 2;
	}
	for (int i = 0; i < o.threads; i++) {
		uint64_t threads = (uint64_t)o.threads;

		jobs[i] =
			(struct job){.left = o.pairs / threads + ((uint64_t)i < o.pairs % threads),
				.random = (uint64_t)i + 1,
				.depth = o.depth,
				.level = o.depth,
				.walk = o.walk,
				.sites = o.sites,
				.wrappers = o.wrappers,
				.scopes = o.scopes};
	}
	if (o.threads > 1) {
		t = run_threads(jobs, o.threads);
	} else {
		if (o.live)
			fill_blocks(&jobs[0], o.live);
		t = now_ns();
		work(&jobs[0]);
		t = now_ns() - t;
		free_blocks(&jobs[0]);
	}
	n = snprintf(line, sizeof(line),
		"{\"pairs\":%llu,\"allocations\":%llu,\"ns_per_pair\":%.3f}\n",
		(unsigned long long)o.pairs, (unsigned long long)(o.pairs + o.live),
		o.pairs ? (double)t / (double)o.pairs : 0.0);
	return write(1, line, (size_t)n) == n ? 0 : 3;
}
