/*
 * loop.c - a program that does nothing but allocate and free: what a recorder costs, undiluted.
 *
 * Sixteen blocks live at a time; a pair is the free of the oldest and a malloc in its place. All of
 * it happens below DEPTH calls of one function, which are real frames. With --walk W each pair is
 * made up to W frames above or below the one before, never further than W from DEPTH, and each
 * frame that is entered anew is called from one of two places: stacks that differ as a program's
 * do.
 *
 * It makes exactly as many allocations and frees as it says, so that a recording can be counted:
 * nothing here uses stdio. Threads are the exception: libc allocates for each of them.
 */
#include <fcntl.h>
#include <getopt.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LIVE = 16, THREADS_MAX = 256 };

/* The compiler may neither drop an allocation nor make a loop of the recursion. */
#define KEEP() __asm__ volatile("" ::: "memory")

struct job {
	_Alignas(64) void *live[LIVE];
	uint64_t left;   /* pairs to make */
	uint64_t random; /* never 0 */
	int depth, walk;
	int level; /* the frame that the next pair is made in, with walk */
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

/* Inlined, so that the frame at the wanted depth is the one that calls malloc. */
__attribute__((always_inline)) static inline void pair(struct job *j)
{
	unsigned i = --j->left % LIVE;

	free(j->live[i]);
	j->live[i] = malloc(16 + 16 * (size_t)i);
	KEEP();
}

static int lowest(const struct job *j)
{
	return j->depth > j->walk ? j->depth - j->walk : 1;
}

static void choose_level(struct job *j)
{
	int step = (int)(next_random(j) % (2 * (unsigned)j->walk + 1)) - j->walk;

	j->level += step;
	if (j->level < lowest(j))
		j->level = lowest(j);
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
			__asm__ volatile("nop" ::: "memory"); /* a second place, not the same one */
		}
	}
}

__attribute__((noinline)) static void descend(struct job *j, int level)
{
	if (j->walk && level == lowest(j) - 1) {
		wander(j, level + 1);
	} else if (level < j->depth) {
		descend(j, level + 1);
	} else {
		while (j->left)
			pair(j);
	}
	KEEP();
}

__attribute__((always_inline)) static inline void work(struct job *j)
{
	if (j->walk && lowest(j) == 1)
		wander(j, 1);
	else
		descend(j, 1);
	for (int i = 0; i < LIVE; i++)
		free(j->live[i]);
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

/* Not getrusage: its maximum includes the process as it was before exec. */
static uint64_t peak_rss(void)
{
	char text[4096];
	int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	ssize_t n = read(fd, text, sizeof(text) - 1);
	const char *line;

	close(fd);
	text[n > 0 ? n : 0] = '\0';
	line = strstr(text, "VmHWM:");
	return line ? strtoull(line + 6, NULL, 10) * 1024 : 0;
}

struct options {
	uint64_t pairs;
	int depth, threads, walk;
};

static const char usage[] =
	"usage: loop [options]\n"
	"  -n, --pairs N     malloc/free pairs in all (10000000)\n"
	"  -d, --depth N     frames between main or the thread's start and malloc (20)\n"
	"  -t, --threads N   that share the pairs; 1 is the first thread alone (1)\n"
	"  -w, --walk N      each pair up to N frames from the last one (0)\n";

static int parse(int argc, char **argv, struct options *o)
{
	static const struct option longs[] = {
		{"pairs", required_argument, NULL, 'n'},
		{"depth", required_argument, NULL, 'd'},
		{"threads", required_argument, NULL, 't'},
		{"walk", required_argument, NULL, 'w'},
		{0},
	};
	int c;

	*o = (struct options){.pairs = 10000000, .depth = 20, .threads = 1};
	while ((c = getopt_long(argc, argv, "n:d:t:w:", longs, NULL)) != -1) {
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
		default:
			return -1;
		}
	}
	return optind == argc && o->depth > 0 && o->threads > 0 && o->threads <= THREADS_MAX &&
			       o->walk >= 0
		       ? 0
		       : -1;
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
				.walk = o.walk};
	}
	if (o.threads > 1) {
		t = run_threads(jobs, o.threads);
	} else {
		t = now_ns();
		work(&jobs[0]);
		t = now_ns() - t;
	}
	n = snprintf(line, sizeof(line),
		"{\"pairs\":%llu,\"depth\":%d,\"threads\":%d,\"walk\":%d,\"elapsed_ns\":%llu,"
		"\"ns_per_pair\":%.3f,\"peak_rss\":%llu}\n",
		(unsigned long long)o.pairs, o.depth, o.threads, o.walk, (unsigned long long)t,
		o.pairs ? (double)t / (double)o.pairs : 0.0, (unsigned long long)peak_rss());
	return write(1, line, (size_t)n) == n ? 0 : 3;
}
