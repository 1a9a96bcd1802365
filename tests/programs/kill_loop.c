/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kill_loop.c - threads that count each returned call in a shared file that survives a kill.
 *
 *	kill_loop FILE THREADS
 *
 * FILE is mapped shared: a line for the process, then one for each thread (struct line below;
 * tests/kill/kill_test.py reads it). After a malloc or free has returned, the thread adds one to
 * its count. After a kill, the file has the calls that certainly happened; a trace may have one
 * event more for each thread, the call in progress, but never less.
 *
 * A thread first allocates a block of MARKER bytes plus the number of its line, which is not
 * counted: it identifies the thread in the trace, and events before it (the loader's, in the main
 * thread) are ignored. One of the threads is the main thread itself, so that a process without
 * other threads is killed, too.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define MARKER 77777
#define HELD   16

struct line {
	_Atomic uint64_t id;    /* pid or tid; 0 until it has started */
	_Atomic uint64_t count; /* calls that returned; in the first line: number of threads */
	uint64_t unused[6];     /* pads to a cache line */
};

static struct line *lines;

static __attribute__((noinline)) void *loop(void *arg)
{
	struct line *line = arg;
	void *held[HELD] = {0};
	uint64_t count = 0;

	if (!malloc(MARKER + (size_t)(line - lines)))
		abort();
	atomic_store(&line->id, (uint64_t)gettid());
	for (unsigned i = 0;; i = (i + 1) % HELD) {
		/* free(NULL) is not an event and must not be counted */
		if (held[i]) {
			free(held[i]);
			atomic_store_explicit(&line->count, ++count, memory_order_release);
		}
		held[i] = malloc(16 + count % 500);
		atomic_store_explicit(&line->count, ++count, memory_order_release);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned threads = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 0) : 1;
	size_t size = (threads + 1) * sizeof(struct line);
	int fd = argc > 1 ? open(argv[1], O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
	pthread_t id;

	if (fd < 0 || ftruncate(fd, (off_t)size))
		return 1;
	lines = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (lines == MAP_FAILED)
		return 1;
	close(fd);
	atomic_store(&lines[0].count, threads);
	atomic_store(&lines[0].id, (uint64_t)getpid());
	for (unsigned t = 1; threads > 1 && t < threads; t++)
		if (pthread_create(&id, NULL, loop, &lines[t + 1]))
			return 1;
	loop(&lines[1]);
	return 0;
}
