/* SPDX-License-Identifier: Apache-2.0 */
/*
 * busy.c - a thread that allocates and frees blocks of one size, as fast as it can, until stdin
 * ends: a reader must see complete events only.
 */
#include <heaplapse.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static volatile int done;

static void *run_thread(void *arg)
{
	heaplapse_thread_name("worker");
	HEAPLAPSE_SCOPE("outer");
	while (!done) {
		HEAPLAPSE_SCOPE("inner");
		for (int i = 0; i < 1000; i++) {
			void *volatile p = malloc(1000);

			p = realloc(p, 1000);
			free(p);
		}
	}
	return arg;
}

int main(void)
{
	pthread_t thread;
	char byte;

	pthread_create(&thread, NULL, run_thread, NULL);
	dprintf(1, "%zu\n", malloc_usable_size(malloc(1000)));
	while (read(0, &byte, 1) > 0)
		;
	done = 1;
	pthread_join(thread, NULL);
	return 0;
}
