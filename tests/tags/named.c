/* SPDX-License-Identifier: Apache-2.0 */
/*
 * named.c - threads that are named in every possible way; each allocates blocks of a distinct size.
 *
 *   1001 named by itself            1002 by the main thread, before it has allocated
 *   1003 by prctl                   1004 by heaplapse_thread_name, longer than the kernel's names
 *   1005 by the main thread, after it has allocated
 *   1006 not at all                 1007 twice
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "heaplapse.h"

static pthread_barrier_t step;

static void *run_thread(void *arg)
{
	size_t n = (size_t)arg;
	void *volatile p;

	if (n == 1001 || n == 1007)
		pthread_setname_np(pthread_self(), n == 1001 ? "by itself" : "first");
	if (n == 1003)
		prctl(PR_SET_NAME, "by prctl, which is long");
	if (n == 1004)
		heaplapse_thread_name("by heaplapse, as long as it likes to be");
	if (n == 1005) {
		p = malloc(n);
		free(p);
	}
	pthread_barrier_wait(&step); /* the main thread names two of them */
	pthread_barrier_wait(&step);
	p = malloc(n);
	free(p);
	if (n == 1007)
		pthread_setname_np(pthread_self(), "second");
	/* The threads stay until all names have been read. */
	pthread_barrier_wait(&step);
	pthread_barrier_wait(&step);
	return NULL;
}

int main(void)
{
	pthread_t threads[7];

	pthread_barrier_init(&step, NULL, 8);
	for (size_t i = 0; i < 7; i++)
		pthread_create(&threads[i], NULL, run_thread, (void *)(1001 + i));
	pthread_barrier_wait(&step);
	pthread_setname_np(threads[1], "by another");
	pthread_setname_np(threads[4], "by another late");
	pthread_setname_np(threads[4], "longer than a kernel's name may be"); /* refused */
	pthread_barrier_wait(&step);
	pthread_barrier_wait(&step);
	/*
	 * More events than any buffer holds: when the last of these is written, the names have been
	 * read.
	 */
	for (int i = 0; i < 1000000; i++) {
		void *volatile p = malloc(1);

		free(p);
	}
	pthread_barrier_wait(&step);
	for (size_t i = 0; i < 7; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
