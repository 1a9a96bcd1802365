/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tagged.c - allocates in named scopes and counts the blocks of each of them, in separate memory.
 *
 *   tagged truth THREADS ROUNDS   nested, recursive and crossing scopes; all threads live at once
 *   tagged kill                   SIGKILL in the middle of a scope
 *   tagged fork                   a child that begins in its parent's scope
 *   tagged exec                   another program in the middle of a scope
 *   tagged names                  a name of 10,000 characters, an empty one, scopes 1,000 deep
 *   tagged stacks                 two functions, each with its own scope, alternately
 *   tagged handler                signals whose handler has a scope of its own
 *
 * At the end it prints a line for each path: PATH, blocks and bytes allocated, blocks and bytes
 * freed. A free counts for the scope in which the block was allocated.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "heaplapse.h"

#define PATHS_MAX 4096
#define PATH_LEN  12000
#define DEPTH     6

struct path {
	char *name; /* NULL: unused */
	_Atomic uint64_t alloc_blocks, alloc_bytes, free_blocks, free_bytes;
};
static struct path paths[PATHS_MAX];
static char names[8 << 20];
static size_t names_used;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The current path of this thread, by its own count. */
static __thread char where[PATH_LEN];
static __thread struct path *here;

static struct path *find_path(const char *name)
{
	size_t i = 0;

	pthread_mutex_lock(&lock);
	while (paths[i].name && strcmp(paths[i].name, name) != 0)
		i++;
	if (!paths[i].name) {
		paths[i].name = names + names_used;
		names_used += strlen(name) + 1;
		if (i + 1 == PATHS_MAX || names_used > sizeof(names))
			abort();
		strcpy(paths[i].name, name);
	}
	pthread_mutex_unlock(&lock);
	return &paths[i];
}

static void enter(const char *name)
{
	size_t len = strlen(where);

	snprintf(where + len, sizeof(where) - len, "%s%s", here ? "/" : "", name);
	here = find_path(where);
	heaplapse_tag_push(name);
}

static void leave(void)
{
	char *slash = strrchr(where, '/');

	heaplapse_tag_pop();
	if (slash)
		*slash = '\0';
	else
		where[0] = '\0';
	here = where[0] ? find_path(where) : NULL;
}

/* Header of each block. */
struct block {
	struct path *owner;
	size_t size;
};

static void count_alloc(struct block *b, size_t size)
{
	if (!b)
		abort();
	b->owner = here;
	b->size = size;
	if (here) {
		here->alloc_blocks++;
		here->alloc_bytes += size;
	}
}

static void count_free(struct path *owner, size_t size)
{
	if (owner) {
		owner->free_blocks++;
		owner->free_bytes += size;
	}
}

static struct block *alloc_block(size_t size)
{
	struct block *b = malloc(size);

	count_alloc(b, size);
	return b;
}

static void free_block(struct block *b)
{
	if (b)
		count_free(b->owner, b->size);
	free(b);
}

static struct block *resize_block(struct block *b, size_t size)
{
	struct path *owner = b->owner;
	size_t old = b->size;

	b = realloc(b, size);
	count_free(owner, old);
	count_alloc(b, size);
	return b;
}

static void print_truth(void)
{
	for (size_t i = 0; i < PATHS_MAX && paths[i].name; i++)
		printf("%s\t%llu\t%llu\t%llu\t%llu\n", paths[i].name,
			(unsigned long long)paths[i].alloc_blocks,
			(unsigned long long)paths[i].alloc_bytes,
			(unsigned long long)paths[i].free_blocks,
			(unsigned long long)paths[i].free_bytes);
}

/* --- many threads --- */

#define MAILBOXES 64
static _Atomic(struct block *) mailboxes[MAILBOXES];
static pthread_barrier_t start;
static unsigned rounds;

static uint64_t next_random(uint64_t *rng)
{
	*rng += UINT64_C(0x9e3779b97f4a7c15);
	return (*rng ^ *rng >> 29) * UINT64_C(0xbf58476d1ce4e5b9) >> 20;
}

static void random_step(uint64_t *rng, struct block **own)
{
	uint64_t slot = next_random(rng) % 16, size = sizeof(struct block) + next_random(rng) % 300;

	switch (next_random(rng) % 8) {
	case 0:
	case 1:
	case 2:
		free_block(own[slot]);
		own[slot] = alloc_block(size);
		break;
	case 3:
		if (own[slot])
			own[slot] = resize_block(own[slot], size);
		break;
	case 4:
		free_block(own[slot]);
		own[slot] = NULL;
		break;
	case 5: /* a block for another thread to free, in any scope */
		own[slot] = atomic_exchange(&mailboxes[next_random(rng) % MAILBOXES], own[slot]);
		break;
	case 6:
		if (strlen(where) < 2 * DEPTH) {
			const char name[2] = {(char)('a' + next_random(rng) % 3)};

			enter(name);
		}
		break;
	default:
		if (here)
			leave();
	}
}

static void *run_thread(void *arg)
{
	uint64_t rng = (uintptr_t)arg;
	struct block *own[16] = {0};

	pthread_barrier_wait(&start);
	for (unsigned i = 0; i < rounds; i++)
		random_step(&rng, own);
	pthread_barrier_wait(&start);
	return NULL;
}

static void run_threads(unsigned n)
{
	static pthread_t threads[1024];
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 256 << 10);
	pthread_barrier_init(&start, NULL, n);
	for (unsigned i = 0; i < n; i++)
		if (pthread_create(&threads[i], &attr, run_thread, (void *)(uintptr_t)(i + 1)) != 0)
			abort();
	for (unsigned i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
}

/* --- fork, exec, names --- */

static void in_scopes(void)
{
	enter("outer");
	for (int i = 0; i < 100; i++) {
		free_block(alloc_block(40));
		enter("inner");
		alloc_block(100);
		leave();
	}
	enter("last");
	alloc_block(1000);
}

static void run_fork(void)
{
	int status;
	pid_t pid;

	enter("parent");
	alloc_block(100);
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		memset(paths, 0, sizeof(paths));
		here = find_path(where);
		alloc_block(200);
		enter("child");
		alloc_block(300);
		leave();
		leave();
		enter("alone");
		alloc_block(400);
		print_truth();
		exit(0);
	}
	waitpid(pid, &status, 0);
	alloc_block(500);
	leave();
}

static void run_names(void)
{
	static char name[10001];

	memset(name, 'n', sizeof(name) - 1);
	enter(name);
	alloc_block(100);
	leave();
	heaplapse_tag_push("");
	free_block(alloc_block(100));
	heaplapse_tag_pop();
	for (int i = 0; i < 1000; i++)
		heaplapse_tag_push(i % 2 ? "odd" : "even");
	free(malloc(17));
	for (int i = 0; i < 1100; i++) /* more than are open */
		heaplapse_tag_pop();
	enter("after");
	alloc_block(100);
	leave();
}

/* --- a handler that allocates in its own scope while the program allocates in others --- */

static volatile sig_atomic_t left = 2000;
static struct path *handler_paths[2];

static void on_signal(int sig)
{
	struct path *was = here;
	struct block *b;

	left--;
	heaplapse_tag_push("handler");
	here = handler_paths[was != NULL];
	b = alloc_block(64);
	heaplapse_tag_pop();
	here = was;
	free_block(b);
}

static void run_handler(void)
{
	struct sigaction a = {.sa_handler = on_signal};
	pthread_t self = pthread_self();

	/*
	 * glibc's malloc must not be called in a handler that interrupts it, so the program sends
	 * itself the signals between two calls.
	 */
	handler_paths[0] = find_path("handler");
	handler_paths[1] = find_path("work/handler");
	sigaction(SIGUSR1, &a, NULL);
	while (left > 0) {
		enter("work");
		free_block(alloc_block(32));
		pthread_kill(self, SIGUSR1);
		alloc_block(33);
		leave();
		pthread_kill(self, SIGUSR1);
	}
}

/* --- stacks of the first event in a scope --- */

__attribute__((noinline)) static void first_place(void)
{
	HEAPLAPSE_SCOPE("one");
	void *volatile p = malloc(10);

	free(p);
}

__attribute__((noinline)) static void second_place(void)
{
	HEAPLAPSE_SCOPE("two");
	void *volatile p = malloc(10);

	free(p);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	static char buffer[4096];

	setvbuf(stdout, buffer, _IOFBF,
		sizeof(buffer)); /* otherwise it would be allocated in some scope */
	if (strcmp(what, "truth") == 0 && argc == 4) {
		rounds = (unsigned)atoi(argv[3]);
		run_threads((unsigned)atoi(argv[2]));
	} else if (strcmp(what, "kill") == 0) {
		in_scopes();
		print_truth();
		fflush(stdout);
		raise(SIGKILL);
	} else if (strcmp(what, "fork") == 0) {
		run_fork();
	} else if (strcmp(what, "exec") == 0) {
		in_scopes();
		print_truth();
		fflush(stdout);
		execl(argv[0], argv[0], "names", NULL);
	} else if (strcmp(what, "names") == 0) {
		run_names();
	} else if (strcmp(what, "stacks") == 0) {
		for (int i = 0; i < 50; i++) {
			first_place();
			second_place();
		}
	} else if (strcmp(what, "handler") == 0) {
		run_handler();
	} else {
		return 2;
	}
	print_truth();
	return 0;
}
