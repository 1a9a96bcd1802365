/*
 * tagged.c - allocates in named scopes and counts what each of them did, in memory of its own.
 *
 *   tagged truth THREADS ROUNDS   nested, recursive and crossing scopes; all threads live at once
 *   tagged kill                   SIGKILL in the middle of a scope
 *   tagged fork                   a child that begins in its parent's scope
 *   tagged exec                   another program in the middle of a scope
 *   tagged names                  a name of 10,000 characters, an empty one, scopes 1,000 deep
 *   tagged stacks                 two functions, each with a scope of its own, by turns
 *   tagged handler                signals whose handler has a scope of its own
 *
 * At its end it prints a line for each path: PATH, blocks and bytes allocated, blocks and bytes
 * freed. A free counts for the scope that the block was allocated in.
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
	char *name; /* NULL: free */
	_Atomic uint64_t alloc_blocks, alloc_bytes, free_blocks, free_bytes;
};
static struct path paths[PATHS_MAX];
static char names[8 << 20];
static size_t names_used;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Where this thread is, by its own account. */
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

/* Each block begins with what is known of it. */
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

static struct block *take(size_t size)
{
	struct block *b = malloc(size);

	count_alloc(b, size);
	return b;
}

static void give(struct block *b)
{
	if (b)
		count_free(b->owner, b->size);
	free(b);
}

static struct block *change(struct block *b, size_t size)
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

static uint64_t next(uint64_t *rng)
{
	*rng += UINT64_C(0x9e3779b97f4a7c15);
	return (*rng ^ *rng >> 29) * UINT64_C(0xbf58476d1ce4e5b9) >> 20;
}

static void act(uint64_t *rng, struct block **own)
{
	uint64_t slot = next(rng) % 16, size = sizeof(struct block) + next(rng) % 300;

	switch (next(rng) % 8) {
	case 0:
	case 1:
	case 2:
		give(own[slot]);
		own[slot] = take(size);
		break;
	case 3:
		if (own[slot])
			own[slot] = change(own[slot], size);
		break;
	case 4:
		give(own[slot]);
		own[slot] = NULL;
		break;
	case 5: /* a block changes hands: another thread frees it, in whatever scope that is */
		own[slot] = atomic_exchange(&mailboxes[next(rng) % MAILBOXES], own[slot]);
		break;
	case 6:
		if (strlen(where) < 2 * DEPTH) {
			const char name[2] = {(char)('a' + next(rng) % 3)};

			enter(name);
		}
		break;
	default:
		if (here)
			leave();
	}
}

static void *work(void *arg)
{
	uint64_t rng = (uintptr_t)arg;
	struct block *own[16] = {0};

	pthread_barrier_wait(&start);
	for (unsigned i = 0; i < rounds; i++)
		act(&rng, own);
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
		if (pthread_create(&threads[i], &attr, work, (void *)(uintptr_t)(i + 1)) != 0)
			abort();
	for (unsigned i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
}

/* --- ends and beginnings --- */

static void in_scopes(void)
{
	enter("outer");
	for (int i = 0; i < 100; i++) {
		give(take(40));
		enter("inner");
		take(100);
		leave();
	}
	enter("last");
	take(1000);
}

static void run_fork(void)
{
	int status;
	pid_t pid;

	enter("parent");
	take(100);
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		memset(paths, 0, sizeof(paths));
		here = find_path(where);
		take(200);
		enter("child");
		take(300);
		leave();
		leave();
		enter("alone");
		take(400);
		print_truth();
		exit(0);
	}
	waitpid(pid, &status, 0);
	take(500);
	leave();
}

static void run_names(void)
{
	static char name[10001];

	memset(name, 'n', sizeof(name) - 1);
	enter(name);
	take(100);
	leave();
	heaplapse_tag_push("");
	give(take(100));
	heaplapse_tag_pop();
	for (int i = 0; i < 1000; i++)
		heaplapse_tag_push(i % 2 ? "odd" : "even");
	free(malloc(17));
	for (int i = 0; i < 1100; i++) /* more than there are */
		heaplapse_tag_pop();
	enter("after");
	take(100);
	leave();
}

/* --- a handler that allocates in a scope of its own, while the program does in others --- */

static volatile sig_atomic_t left = 2000;
static struct path *handler_paths[2];

static void on_signal(int sig)
{
	struct path *was = here;
	struct block *b;

	left--;
	heaplapse_tag_push("handler");
	here = handler_paths[was != NULL];
	b = take(64);
	heaplapse_tag_pop();
	here = was;
	give(b);
}

static void run_handler(void)
{
	struct sigaction a = {.sa_handler = on_signal};
	pthread_t self = pthread_self();

	/* glibc's malloc may not be called in a handler that interrupts it: so signals come between
	 * two calls, from the program itself, and those of a timer while none is inside. */
	handler_paths[0] = find_path("handler");
	handler_paths[1] = find_path("work/handler");
	sigaction(SIGUSR1, &a, NULL);
	while (left > 0) {
		enter("work");
		give(take(32));
		pthread_kill(self, SIGUSR1);
		take(33);
		leave();
		pthread_kill(self, SIGUSR1);
	}
}

/* --- whose stack is it? --- */

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

	setvbuf(stdout, buffer, _IOFBF, sizeof(buffer)); /* or it would be some scope's */
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
