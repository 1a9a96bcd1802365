/* SPDX-License-Identifier: Apache-2.0 */
/*
 * forest.c - 300 threads whose scopes nest, recurse, are left open, are popped too often and cross
 * threads. Each thread counts its own operations by tag and prints the counts.
 *
 * The counts are independent of the recorder: a path is the list of names that the thread itself
 * keeps on its own stack. With "owner" as argument a free is charged to the tag that allocated the
 * block.
 *
 * Output, one line for each tag of a thread: thread<TAB>path<TAB>allocated bytes, blocks, freed
 * bytes, blocks, entered. All counts are in memory that is mapped before the first scope.
 */
#include <heaplapse.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define THREADS        300
#define PLACES         64
#define DEPTH          24
#define BLOCKS         40
#define MMAP_THRESHOLD (128u * 1024)
#define STEPS          600

static const char *const names[] = {"alpha", "beta", "gamma", "", "with/slash", "alphabet"};
#define NAMES 6

struct place {
	int parent, name; /* -1: outside */
	unsigned long long alloc_bytes, alloc_blocks, free_bytes, free_blocks, entered;
};

struct block {
	void *p;
	int thread, place; /* its owner */
};

struct counts {
	struct place places[PLACES];
	int n_places;
	int stack[DEPTH], depth; /* tags; stack[0] is outside */
	struct block blocks[BLOCKS];
	unsigned seed;
	unsigned long long unbalanced;
	/* A block for one neighbour to take, under its lock. */
	pthread_mutex_t lock;
	struct block gift;
	/* Blocks of this thread that others freed, by tag; under the lock. */
	unsigned long long foreign_bytes[PLACES], foreign_blocks[PLACES];
};

static struct counts *all;
static int by_owner;

static unsigned random_below(struct counts *b, unsigned n)
{
	b->seed = b->seed * 1664525u + 1013904223u;
	return (b->seed >> 16) % n;
}

static int current_tag(const struct counts *b)
{
	return b->stack[b->depth];
}

static int find_place(struct counts *b, int parent, int name)
{
	for (int i = 1; i < b->n_places; i++)
		if (b->places[i].parent == parent && b->places[i].name == name)
			return i;
	if (b->n_places == PLACES)
		return -1;
	b->places[b->n_places] = (struct place){.parent = parent, .name = name};
	return b->n_places++;
}

static int may_enter(struct counts *b, int name)
{
	return b->depth + 1 < DEPTH && find_place(b, current_tag(b), name) >= 0;
}

static void note_enter(struct counts *b, int name)
{
	int at = find_place(b, current_tag(b), name);

	b->stack[++b->depth] = at;
	b->places[at].entered++;
}

static void note_alloc(struct counts *b, void *p)
{
	struct place *at = &b->places[current_tag(b)];

	at->alloc_bytes += malloc_usable_size(p);
	at->alloc_blocks++;
}

static void note_free(struct counts *b, const struct block *k, size_t bytes)
{
	struct counts *owner = &all[k->thread];
	struct place *at = &b->places[current_tag(b)];

	if (!by_owner) {
		at->free_bytes += bytes;
		at->free_blocks++;
		return;
	}
	pthread_mutex_lock(&owner->lock);
	owner->foreign_bytes[k->place] += bytes;
	owner->foreign_blocks[k->place]++;
	pthread_mutex_unlock(&owner->lock);
}

static void *allocate(struct counts *b, size_t size)
{
	void *p = NULL;

	switch (random_below(b, 9)) {
	case 0:
		return calloc(3, size);
	case 1:
		return posix_memalign(&p, 64, size) ? NULL : p;
	case 2:
		return aligned_alloc(32, (size + 31) / 32 * 32);
	case 3:
		return memalign(128, size);
	case 4:
		return valloc(size);
	case 5:
		return realloc(NULL, size);
	case 6:
		return reallocarray(NULL, 2, size);
	default:
		return malloc(size);
	}
}

/* Sometimes a size above libc's mmap threshold. */
static size_t draw_size(struct counts *b)
{
	return random_below(b, 200) ? 1 + random_below(b, 3000)
				    : MMAP_THRESHOLD + random_below(b, 3000);
}

static void change_block(struct counts *b)
{
	struct block *k = &b->blocks[random_below(b, BLOCKS)], old = *k;
	size_t size = draw_size(b), bytes;

	if (!k->p) {
		k->p = allocate(b, size);
		k->thread = (int)(b - all);
		k->place = current_tag(b);
		note_alloc(b, k->p);
	} else if (random_below(b, 3) == 0) {
		bytes = malloc_usable_size(k->p);
		k->p = random_below(b, 2) ? realloc(k->p, size) : reallocarray(k->p, 3, size);
		note_free(b, &old, bytes);
		note_alloc(b, k->p);
		k->thread = (int)(b - all);
		k->place = current_tag(b);
	} else {
		note_free(b, k, malloc_usable_size(k->p));
		if (random_below(b, 8)) {
			free(k->p);
		} else if (realloc(k->p, 0)) { /* a free by another name */
			abort();
		}
		k->p = NULL;
	}
}

/* Passes a block to the neighbour, which frees it in its own scope. */
static void give_block(struct counts *b)
{
	struct counts *to = &all[((int)(b - all) + 1) % THREADS];
	struct block *k = &b->blocks[random_below(b, BLOCKS)];

	pthread_mutex_lock(&to->lock);
	if (!to->gift.p && k->p) {
		to->gift = *k;
		k->p = NULL;
	}
	pthread_mutex_unlock(&to->lock);
}

static void take_block(struct counts *b)
{
	struct block k;

	pthread_mutex_lock(&b->lock);
	k = b->gift;
	b->gift.p = NULL;
	pthread_mutex_unlock(&b->lock);
	if (!k.p)
		return;
	note_free(b, &k, malloc_usable_size(k.p));
	free(k.p);
}

static void random_steps(struct counts *b, int steps);

/* A scope by macro in which some scopes are left open: its end closes them. */
static void run_in_scope(struct counts *b, int steps)
{
	int depth = b->depth;

	if (!may_enter(b, 0))
		return;
	HEAPLAPSE_SCOPE("alpha");
	note_enter(b, 0);
	random_steps(b, steps);
	b->unbalanced += (unsigned)(b->depth - depth - 1);
	b->depth = depth;
}

static void pop(struct counts *b)
{
	heaplapse_tag_pop();
	if (b->depth)
		b->depth--;
	else
		b->unbalanced++;
}

/* Only the scopes inside the one at `floor` may be popped. */
static void random_steps(struct counts *b, int steps)
{
	int floor = b->depth;

	for (int i = 0; i < steps; i++)
		switch (random_below(b, 12)) {
		case 0:
		case 1: {
			int name = (int)random_below(b, NAMES);

			if (may_enter(b, name)) {
				heaplapse_tag_push(names[name]);
				note_enter(b, name);
			}
			break;
		}
		case 2:
			if (b->depth > floor || floor == 0)
				pop(b);
			break;
		case 3:
			run_in_scope(b, steps / 8);
			break;
		case 4:
			give_block(b);
			break;
		case 5:
			take_block(b);
			break;
		default:
			change_block(b);
		}
}

static void *scope_of_another; /* only its own thread may end it */

static void *run_thread(void *arg)
{
	struct counts *b = arg;
	char name[32];

	snprintf(name, sizeof(name), "tree-%d", (int)(b - all));
	heaplapse_thread_name(name);
	/* Ending a scope of another thread ends nothing, and is counted. */
	heaplapse_scope_end_(&scope_of_another);
	b->unbalanced++;
	random_steps(b, STEPS);
	return NULL;
}

static void print_path(const struct counts *b, int at)
{
	if (b->places[at].parent < 0)
		return;
	print_path(b, b->places[at].parent);
	printf(">%s", names[b->places[at].name]);
}

static void print(const struct counts *b, int thread)
{
	for (int i = 0; i < b->n_places; i++) {
		const struct place *p = &b->places[i];

		printf("tree-%d\t", thread);
		print_path(b, i);
		printf("\t%llu %llu %llu %llu %llu\n", p->alloc_bytes, p->alloc_blocks,
			p->free_bytes + b->foreign_bytes[i], p->free_blocks + b->foreign_blocks[i],
			i ? p->entered : 1);
	}
	printf("tree-%d\tunbalanced\t%llu\n", thread, b->unbalanced);
}

int main(int argc, char **argv)
{
	static pthread_t threads[THREADS];

	by_owner = argc > 1 && !strcmp(argv[1], "owner");
	all = mmap(NULL, sizeof(*all) * THREADS, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (all == MAP_FAILED)
		return 1;
	mallopt(M_MMAP_THRESHOLD,
		MMAP_THRESHOLD); /* fixed: glibc would otherwise raise it after the first free */
	heaplapse_thread_name("main");
	scope_of_another = heaplapse_scope_begin_("held", NULL);
	for (int i = 0; i < THREADS; i++) {
		all[i].seed = (unsigned)i * 7919u + 1;
		all[i].n_places = 1;
		all[i].places[0] = (struct place){.parent = -1, .name = -1};
		pthread_mutex_init(&all[i].lock, NULL);
	}
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, run_thread, &all[i]))
			return 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	heaplapse_stats_write("forest.json"); /* before printing allocates */
	for (int i = 0; i < THREADS; i++)
		print(&all[i], i);
	return 0;
}
