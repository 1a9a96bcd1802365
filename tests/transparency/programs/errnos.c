/* SPDX-License-Identifier: Apache-2.0 */
/*
 * errnos.c - errno must be unchanged after every successful call, and after every free: in the
 * first calls of a thread, with a full ring, in a fork child.
 */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static int bad;
static volatile size_t too_much = (size_t)-100;

#define KEEPS(call)                                                      \
	do {                                                             \
		errno = 12345;                                           \
		call;                                                    \
		if (errno != 12345 && bad++ < 10)                        \
			fprintf(stderr, "%s: errno %d\n", #call, errno); \
	} while (0)

static void make_calls(void)
{
	void *p, *q;

	KEEPS(p = malloc(100));
	KEEPS(p = realloc(p, 200000));
	KEEPS(p = reallocarray(p, 10, 10));
	KEEPS(free(p));
	KEEPS(p = calloc(10, 10));
	KEEPS(free(p));
	KEEPS(p = aligned_alloc(64, 640));
	KEEPS(free(p));
	KEEPS(p = memalign(64, 640));
	KEEPS(free(p));
	KEEPS(p = valloc(100));
	KEEPS(free(p));
	KEEPS(p = pvalloc(100));
	KEEPS(free(p));
	KEEPS(q = NULL; posix_memalign(&q, 64, 100));
	KEEPS(free(q));
	KEEPS(free(NULL));
}

static void *run_thread(void *arg)
{
	for (int i = 0; i < 3000; i++)
		make_calls();
	return arg;
}

int main(void)
{
	pthread_t t[4];
	int status;

	make_calls();
	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, run_thread, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	if (fork() == 0) {
		make_calls();
		_exit(bad != 0);
	}
	wait(&status);
	/* Failing calls must set errno. */
	errno = 0;
	if (malloc(too_much) || errno != ENOMEM)
		bad++;
	return bad || status;
}
