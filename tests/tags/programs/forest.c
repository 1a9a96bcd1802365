/*
 * forest.c - 300 threads whose scopes nest, recurse, are left open, popped too often and cross
 * threads; each keeps its own books of what it did in which place, and writes them down.
 *
 * The books know nothing of the recorder: a path is the list of names that the thread itself keeps
 * on a stack of its own. With "owner" as argument a free is charged to where the block came from.
 *
 * Output, one line for each place of a thread: thread<TAB>path<TAB>allocated bytes, blocks, freed
 * bytes, blocks, entered. All books lie in memory that is mapped before the first scope.
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
#define MAP_OF_ITS_OWN (128u * 1024)
#define STEPS          600

static const char *const names[] = {"alpha", "beta", "gamma", "", "with/slash", "alphabet"};
#define NAMES 6

struct place {
	int parent, name; /* -1: outside */
	unsigned long long alloc_bytes, alloc_blocks, free_bytes, free_blocks, entered;
};

struct block {
	void *p;
	int thread, place; /* whose it is */
};

struct books {
	struct place places[PLACES];
	int n_places;
	int stack[DEPTH], depth; /* places; stack[0] is outside */
	struct block blocks[BLOCKS];
	unsigned seed;
	unsigned long long unbalanced;
	/* For one neighbour to take, under its lock. */
	pthread_mutex_t lock;
	struct block gift;
	/* Of blocks of ours that others freed, by place; under the lock. */
	unsigned long long foreign_bytes[PLACES], foreign_blocks[PLACES];
};

static struct books *all;
static int by_owner;

static unsigned draw(struct books *b, unsigned n)
{
	b->seed = b->seed * 1664525u + 1013904223u;
	return (b->seed >> 16) % n;
}

static int here(const struct books *b)
{
	return b->stack[b->depth];
}

static int find_place(struct books *b, int parent, int name)
{
	for (int i = 1; i < b->n_places; i++)
		if (b->places[i].parent == parent && b->places[i].name == name)
			return i;
	if (b->n_places == PLACES)
		return -1;
	b->places[b->n_places] = (struct place){.parent = parent, .name = name};
	return b->n_places++;
}

static int may_enter(struct books *b, int name)
{
	return b->depth + 1 < DEPTH && find_place(b, here(b), name) >= 0;
}

static void note_enter(struct books *b, int name)
{
	int at = find_place(b, here(b), name);

	b->stack[++b->depth] = at;
	b->places[at].entered++;
}

static void note_alloc(struct books *b, void *p)
{
	struct place *at = &b->places[here(b)];

	at->alloc_bytes += malloc_usable_size(p);
	at->alloc_blocks++;
}

static void note_free(struct books *b, const struct block *k, size_t bytes)
{
	struct books *owner = &all[k->thread];
	struct place *at = &b->places[here(b)];

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

static void *allocate(struct books *b, size_t size)
{
	void *p = NULL;

	switch (draw(b, 9)) {
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

/* Now and then one that libc gives a map of its own. */
static size_t draw_size(struct books *b)
{
	return draw(b, 200) ? 1 + draw(b, 3000) : MAP_OF_ITS_OWN + draw(b, 3000);
}

static void change_block(struct books *b)
{
	struct block *k = &b->blocks[draw(b, BLOCKS)], old = *k;
	size_t size = draw_size(b), bytes;

	if (!k->p) {
		k->p = allocate(b, size);
		k->thread = (int)(b - all);
		k->place = here(b);
		note_alloc(b, k->p);
	} else if (draw(b, 3) == 0) {
		bytes = malloc_usable_size(k->p);
		k->p = draw(b, 2) ? realloc(k->p, size) : reallocarray(k->p, 3, size);
		note_free(b, &old, bytes);
		note_alloc(b, k->p);
		k->thread = (int)(b - all);
		k->place = here(b);
	} else {
		note_free(b, k, malloc_usable_size(k->p));
		if (draw(b, 8)) {
			free(k->p);
		} else if (realloc(k->p, 0)) { /* a free by another name */
			abort();
		}
		k->p = NULL;
	}
}

/* A block changes hands: the neighbour frees it, in its own scope. */
static void give(struct books *b)
{
	struct books *to = &all[((int)(b - all) + 1) % THREADS];
	struct block *k = &b->blocks[draw(b, BLOCKS)];

	pthread_mutex_lock(&to->lock);
	if (!to->gift.p && k->p) {
		to->gift = *k;
		k->p = NULL;
	}
	pthread_mutex_unlock(&to->lock);
}

static void take(struct books *b)
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

static void wander(struct books *b, int steps);

/* A scope by macro, within which some are left open: its end mends that. */
static void visit(struct books *b, int steps)
{
	int depth = b->depth;

	if (!may_enter(b, 0))
		return;
	HEAPLAPSE_SCOPE("alpha");
	note_enter(b, 0);
	wander(b, steps);
	b->unbalanced += (unsigned)(b->depth - depth - 1);
	b->depth = depth;
}

static void pop(struct books *b)
{
	heaplapse_tag_pop();
	if (b->depth)
		b->depth--;
	else
		b->unbalanced++;
}

/* Only inside the scope at `floor` are there scopes that may be popped. */
static void wander(struct books *b, int steps)
{
	int floor = b->depth;

	for (int i = 0; i < steps; i++)
		switch (draw(b, 12)) {
		case 0:
		case 1: {
			int name = (int)draw(b, NAMES);

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
			visit(b, steps / 8);
			break;
		case 4:
			give(b);
			break;
		case 5:
			take(b);
			break;
		default:
			change_block(b);
		}
}

static void *scope_of_another; /* for its thread alone to end */

static void *live(void *arg)
{
	struct books *b = arg;
	char name[32];

	snprintf(name, sizeof(name), "tree-%d", (int)(b - all));
	heaplapse_thread_name(name);
	/* Ending a scope of another thread ends nothing, and is counted. */
	heaplapse_scope_end_(&scope_of_another);
	b->unbalanced++;
	wander(b, STEPS);
	return NULL;
}

static void print_path(const struct books *b, int at)
{
	if (b->places[at].parent < 0)
		return;
	print_path(b, b->places[at].parent);
	printf(">%s", names[b->places[at].name]);
}

static void print(const struct books *b, int thread)
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
	mallopt(M_MMAP_THRESHOLD, MAP_OF_ITS_OWN); /* and not more after the first */
	heaplapse_thread_name("main");
	scope_of_another = heaplapse_scope_begin_("held", NULL);
	for (int i = 0; i < THREADS; i++) {
		all[i].seed = (unsigned)i * 7919u + 1;
		all[i].n_places = 1;
		all[i].places[0] = (struct place){.parent = -1, .name = -1};
		pthread_mutex_init(&all[i].lock, NULL);
	}
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, live, &all[i]))
			return 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	heaplapse_stats_write("forest.json"); /* before what printing allocates */
	for (int i = 0; i < THREADS; i++)
		print(&all[i], i);
	return 0;
}
