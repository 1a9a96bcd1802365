/*
 * tags.c - a tree of scopes for each thread: how it comes, grows and is handed on.
 *
 * A tree has one owner at a time, who holds its robust mutex for life. When a thread is gone, the
 * next of the same name goes on counting in its tree; when there are many trees, the next of any
 * name does. So numbers of threads that have ended stay, and a hundred thousand threads in a row
 * need no more memory than those that live at once.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/bits.h"
#include "base/hash.h"
#include "record/arch/arch.h"
#include "record/arch/syscall.h"
#include "record/tags.h"

#define MAX_CHUNK   4096u
#define FIRST_TABLE 512u
/* With as many trees as this a thread takes over one of another name. */
#define MANY_TREES 1024u
#define SEVERAL    "(several threads)"

/* What leaves with no node behind it: the scope was entered when memory was short. */
#define LOST ((void *)1)

static const _Atomic uint32_t not_counting = HL_MODE_TRACE;

/* Blocks of which the allocator and hl_tags_header must say the same. */
#define HEADERS_ASKED 64u

struct hl_tags hl_tags = {.steer = &not_counting, .unsure = HEADERS_ASKED};
struct hl_tags_head hl_tags_head = {
	.magic = HL_TAGS_MAGIC, .abi = HL_TAGS_ABI, .node_bytes = sizeof(struct hl_tag_node)};

static bool init_life(pthread_mutex_t *m)
{
	pthread_mutexattr_t robust;

	return pthread_mutexattr_init(&robust) == 0 &&
	       pthread_mutexattr_setrobust(&robust, PTHREAD_MUTEX_ROBUST) == 0 &&
	       pthread_mutex_init(m, &robust) == 0 && pthread_mutex_trylock(m) == 0;
}

static void init_place(struct hl_tag_node *n)
{
	n->parent = n;
	n->id = atomic_fetch_add(&hl_tags_head.next_id, 1) + 1;
	hl_tags_own_add_node(n);
}

static struct hl_tag_tree *new_tree(void)
{
	struct hl_tag_tree *t = hl_tags_map(hl_align_up(sizeof(*t), 4096));

	if (!t || !init_life(&t->life))
		return NULL;
	/* The rest of its page is for names. */
	t->names = (char *)(t + 1);
	t->names_left = hl_align_up(sizeof(*t), 4096) - sizeof(*t);
	init_place(&t->root);
	init_place(&t->off);
	return t;
}

static void publish(struct hl_tag_tree *t)
{
	t->next = atomic_load(&hl_tags_head.trees);
	while (!atomic_compare_exchange_weak(&hl_tags_head.trees, &t->next, t))
		;
	atomic_fetch_add(&hl_tags_head.n_trees, 1);
}

/* Its owner is gone, or has left it. */
static bool take_over(struct hl_tag_tree *t)
{
	int err = pthread_mutex_trylock(&t->life);

	if (err == EOWNERDEAD)
		err = pthread_mutex_consistent(&t->life);
	return err == 0;
}

static bool has_name(const struct hl_tag_tree *t, const char *name, size_t len)
{
	const char *its = atomic_load_explicit(&t->name, memory_order_acquire);

	return its && hl_tags_name_len(its) == len && !memcmp(its, name, len);
}

static struct hl_tag_tree *find_left(const char *name, size_t len)
{
	bool any = atomic_load(&hl_tags_head.n_trees) >= MANY_TREES;
	struct hl_tag_tree *t;

	for (t = atomic_load(&hl_tags_head.trees); t; t = t->next)
		if (has_name(t, name, len) && take_over(t))
			return t;
	for (t = any ? atomic_load(&hl_tags_head.trees) : NULL; t; t = t->next)
		if (take_over(t)) {
			const char *several = hl_tags_intern(t, SEVERAL, strlen(SEVERAL));

			if (several)
				atomic_store(&t->name, several);
			return t;
		}
	return NULL;
}

/* The calling thread's from now on. */
static void attach(struct hl_tag_tree *t, bool named)
{
	t->cursor = &t->root;
	t->lost = 0;
	t->disabled = 0;
	t->named = named;
	atomic_store(&t->tid, hl_rec.no_syscalls ? 0 : (uint32_t)hl_sys0(SYS_gettid));
	atomic_fetch_add(&t->owners, 1);
	hl_tls.tags = t;
	hl_tls.tag = &t->root;
}

static bool claim(const char *name, size_t len, bool named)
{
	struct hl_tag_tree *t = find_left(name, len);

	if (!t) {
		t = new_tree();
		if (!t)
			return false;
		atomic_store(&t->name, hl_tags_intern(t, name, len));
		publish(t);
	}
	attach(t, named);
	return true;
}

hl_cold struct hl_tag_node *hl_tags_enter_thread(void)
{
	char name[16] = "";

	if (hl_tls.busy)
		return NULL;
	hl_tls.busy = true;
	if (hl_tags_mode())
		atomic_store(&hl_tags_head.running, 1);
	if (!hl_rec.no_syscalls)
		hl_sys2(SYS_prctl, PR_GET_NAME, name);
	name[sizeof(name) - 1] = '\0';
	claim(name, strlen(name), false);
	hl_tls.busy = false;
	return hl_tls.tag;
}

static uint32_t slot_of(
	const struct hl_tag_tree *t, const struct hl_tag_node *parent, const char *name)
{
	return (uint32_t)hl_hash_pair((uintptr_t)parent, (uintptr_t)name) & (t->table_cap - 1);
}

static struct hl_tag_node *up(struct hl_tag_tree *t, const struct hl_tag_node *n)
{
	return n->parent ? n->parent : &t->root;
}

static struct hl_tag_node *find_child(
	struct hl_tag_tree *t, const struct hl_tag_node *parent, const char *name)
{
	uint32_t i;

	if (!t->table)
		return NULL;
	for (i = slot_of(t, parent, name); t->table[i]; i = (i + 1) & (t->table_cap - 1))
		if (t->table[i]->name == name && up(t, t->table[i]) == parent)
			return t->table[i];
	return NULL;
}

static void enter_in_table(struct hl_tag_tree *t, struct hl_tag_node *n)
{
	uint32_t i = slot_of(t, up(t, n), n->name);

	while (t->table[i])
		i = (i + 1) & (t->table_cap - 1);
	t->table[i] = n;
}

/* At most three quarters full. */
static bool grow_table(struct hl_tag_tree *t)
{
	struct hl_tag_node **old = t->table;
	uint32_t old_cap = t->table_cap, cap = old_cap ? old_cap * 2 : FIRST_TABLE;

	if (old && (t->n_nodes + 1) * UINT64_C(4) <= old_cap * UINT64_C(3))
		return true;
	t->table = hl_tags_map(cap * sizeof(*t->table));
	if (!t->table) {
		t->table = old;
		return false;
	}
	t->table_cap = cap;
	for (uint32_t i = 0; i < old_cap; i++)
		if (old[i])
			enter_in_table(t, old[i]);
	if (old) {
		hl_arch_unmap(old, old_cap * sizeof(*old));
		atomic_fetch_sub(&hl_tags_head.own_bytes, old_cap * sizeof(*old));
	}
	return true;
}

static struct hl_tag_node *new_node(struct hl_tag_tree *t)
{
	struct hl_tag_chunk *c = t->filling;
	uint32_t cap = c ? hl_min_u32(c->cap * 2, MAX_CHUNK) : HL_TAG_FIRST_CHUNK;

	if (!c || atomic_load_explicit(&c->used, memory_order_relaxed) == c->cap) {
		size_t bytes = sizeof(*c) + cap * sizeof(struct hl_tag_node);
		struct hl_tag_chunk *more = hl_tags_map(hl_align_up(bytes, 4096));

		if (!more)
			return NULL;
		more->cap = cap;
		atomic_store(c ? &c->next : &t->chunks, more);
		t->filling = c = more;
	}
	return &c->nodes[atomic_load_explicit(&c->used, memory_order_relaxed)];
}

/* A thread is often named after its first malloc: looked up again while there is something new. */
static void follow_name(struct hl_tag_tree *t)
{
	char name[16] = "";
	const char *kept;

	if (t->named || atomic_load(&t->owners) > 1 || hl_rec.no_syscalls)
		return;
	hl_sys2(SYS_prctl, PR_GET_NAME, name);
	name[sizeof(name) - 1] = '\0';
	kept = has_name(t, name, strlen(name)) ? NULL : hl_tags_intern(t, name, strlen(name));
	if (kept)
		atomic_store(&t->name, kept);
}

hl_cold static struct hl_tag_node *new_child(
	struct hl_tag_tree *t, struct hl_tag_node *parent, const char *name)
{
	struct hl_tag_node *n;

	follow_name(t);
	if (!grow_table(t))
		return NULL;
	n = new_node(t);
	if (!n)
		return NULL;
	n->parent = parent == &t->root ? NULL : parent;
	n->name = name;
	n->name_len = hl_tags_name_len(name);
	n->id = atomic_fetch_add(&hl_tags_head.next_id, 1) + 1;
	if (!hl_tags_own_add_node(n))
		return NULL;
	enter_in_table(t, n);
	t->n_nodes++;
	atomic_fetch_add_explicit(&t->filling->used, 1, memory_order_release);
	return n;
}

/* Are scopes followed at all? In every mode, but not in a program that is left alone. */
static bool is_active(void)
{
	return hl_tags.steer != &not_counting ||
	       atomic_load_explicit(&hl_rec.phase, memory_order_relaxed) != HL_PHASE_OFF;
}

static struct hl_tag_tree *own_tree(void)
{
	if (hl_unlikely(!hl_tls.tags) && is_active())
		hl_tags_enter_thread();
	return hl_tls.tags;
}

static void move_to(struct hl_tag_tree *t, struct hl_tag_node *n)
{
	t->cursor = n;
	if (hl_likely(!t->disabled))
		hl_tls.tag = n;
}

hl_cold static void *lose(struct hl_tag_tree *t)
{
	t->lost++;
	atomic_fetch_add_explicit(&t->failed, 1, memory_order_relaxed);
	return LOST;
}

static void *enter(struct hl_tag_tree *t, const char *name)
{
	struct hl_tag_node *here = t->cursor, *n = here->last_child;

	if (hl_unlikely(t->lost || !name))
		return lose(t);
	if (hl_unlikely(!n || n->name != name)) {
		n = find_child(t, here, name);
		if (!n)
			n = new_child(t, here, name);
		if (!n)
			return lose(t);
		here->last_child = n;
	}
	n->entered++;
	move_to(t, n);
	if (hl_unlikely(t->until_clock-- == 0)) {
		t->until_clock = 63;
		hl_tags_tick();
	}
	return n;
}

hl_cold static const char *keep_name(const char *name, const void **cache)
{
	const char *kept = hl_tags_intern(hl_tls.tags, name ? name : "", name ? strlen(name) : 0);

	if (cache)
		__atomic_store_n(cache, kept, __ATOMIC_RELEASE);
	return kept;
}

hl_export void *heaplapse_impl_tag_enter(const char *name, const void **cache);
hl_export void heaplapse_impl_tag_leave(void *scope);
hl_export void heaplapse_impl_tag_pop(void);
hl_export void heaplapse_impl_tags_enable(int on);

/* Returns what leave() wants. cache: where the kept name of this place in the program is. */
void *heaplapse_impl_tag_enter(const char *name, const void **cache)
{
	struct hl_tag_tree *t = own_tree();
	const char *kept;

	if (hl_unlikely(!t))
		return NULL;
	kept = cache ? __atomic_load_n(cache, __ATOMIC_ACQUIRE) : NULL;
	if (hl_unlikely(!kept))
		kept = keep_name(name, cache);
	return enter(t, kept);
}

static void count_unbalanced(struct hl_tag_tree *t, uint64_t n)
{
	atomic_fetch_add_explicit(&t->unbalanced, n, memory_order_relaxed);
}

/* Scopes were left open inside this one, or it is not of this thread: then nothing is left. */
hl_cold static void leave_outer(struct hl_tag_tree *t, const struct hl_tag_node *scope)
{
	const struct hl_tag_node *n = t->cursor;
	uint64_t skipped = 0;

	for (; n != &t->root && n != scope; n = up(t, n))
		skipped++;
	if (n == scope)
		move_to(t, up(t, n));
	count_unbalanced(t, n == scope ? skipped : 1);
}

void heaplapse_impl_tag_leave(void *scope)
{
	struct hl_tag_tree *t = hl_tls.tags;

	if (hl_unlikely(!t || !scope))
		return;
	if (hl_unlikely(scope == LOST))
		t->lost -= t->lost > 0;
	else if (hl_likely(scope == t->cursor))
		move_to(t, up(t, t->cursor));
	else
		leave_outer(t, scope);
}

void heaplapse_impl_tag_pop(void)
{
	struct hl_tag_tree *t = own_tree();

	if (hl_unlikely(!t))
		return;
	if (hl_unlikely(t->lost))
		t->lost--;
	else if (hl_unlikely(t->cursor == &t->root))
		count_unbalanced(t, 1);
	else
		move_to(t, up(t, t->cursor));
}

/* Of the calling thread; disabled twice, it must be enabled twice. */
void heaplapse_impl_tags_enable(int on)
{
	struct hl_tag_tree *t = own_tree();

	if (!t || (on && !t->disabled))
		return;
	t->disabled += on ? -1u : 1u;
	hl_tls.tag = t->disabled ? &t->off : t->cursor;
}

/* A tree that others have counted in keeps its name, and the thread finds or makes another. */
void hl_tags_thread_name(const char *name)
{
	struct hl_tag_tree *t = own_tree();
	size_t len = name ? strlen(name) : 0;
	const char *kept;

	if (!t || !len || has_name(t, name, len))
		return;
	if (atomic_load(&t->owners) > 1 && t->cursor == &t->root && !t->disabled && !t->lost) {
		hl_tls.busy = true;
		atomic_fetch_sub(&t->owners, 1); /* it was not for us */
		pthread_mutex_unlock(&t->life);
		hl_tls.tags = NULL;
		hl_tls.tag = NULL;
		claim(name, len, true);
		hl_tls.busy = false;
		return;
	}
	kept = hl_tags_intern(t, name, len);
	if (kept) {
		atomic_store(&t->name, kept);
		t->named = true;
	}
}

/* Some allocators allocate before they can answer: that is theirs, as what a hook's call brings. */
static size_t ask_foreign(void *p)
{
	uintptr_t saved = hl_tls.guard;
	size_t size;

	hl_tls.guard = (uintptr_t)__builtin_frame_address(0); /* see guard.h */
	size = hl_real.usable_size(p);
	hl_tls.guard = saved;
	return size;
}

size_t hl_tags_ask(void *p)
{
	uint32_t unsure = atomic_load_explicit(&hl_tags.unsure, memory_order_relaxed);
	size_t size, header;

	if (hl_real.foreign)
		return ask_foreign(p);
	size = hl_real.usable_size(p);
	header = hl_tags_header(p);
	if (!unsure || unsure > HEADERS_ASKED || !header)
		return size;
	if (hl_likely(header == size))
		atomic_compare_exchange_strong(&hl_tags.unsure, &unsure, unsure - 1);
	else /* another libc, or one with other headers (memory tagging): never again */
		atomic_store(&hl_tags.unsure, UINT32_MAX);
	return size;
}

struct hl_tags_move hl_tags_move_begin(const void *p)
{
	return (struct hl_tags_move){hl_tags_size(p), hl_tags.owner ? hl_tags_own_take(p) : 0};
}

void hl_tags_move_failed(struct hl_tags_move m, const void *p)
{
	if (hl_tags.owner)
		hl_tags_own_put(p, m.owner);
}

/* p NULL: realloc(old, 0) has freed it. old NULL: it was a malloc by another name. */
void hl_tags_move_end(struct hl_tags_move m, const void *old, const void *p, enum hl_func func)
{
	struct hl_tag_node *n = hl_tags_node();
	size_t size = p ? hl_tags_size(p) : 0;

	if (!n)
		return;
	if (hl_tags.owner) {
		hl_tags_own_moved(n, m.owner, old ? m.size : 0, p, size, hl_tag_call(func));
		return;
	}
	hl_tags_begin(n);
	n->alloc_bytes += size;
	n->free_bytes += m.size;
	n->realloc_new += !old;
	n->realloc_gone += !p;
	n->calls[hl_tag_call(func)]++;
	hl_tags_end(n);
}

/* heaplapse_stop() and heaplapse_start(), whoever says the mode. */
void hl_tags_pause(bool stop)
{
	static const _Atomic uint32_t stopped = HL_MODE_TAGS | HL_STEER_PAUSED;
	static const _Atomic uint32_t *before;
	const _Atomic uint32_t *now = hl_tags.steer; /* once: two threads may say it at a time */

	if (stop == (now == &stopped))
		return;
	if (stop)
		before = now;
	hl_tags.steer = stop ? &stopped : before;
}

bool hl_tags_paused(void)
{
	return atomic_load_explicit(hl_tags.steer, memory_order_relaxed) & HL_STEER_PAUSED;
}
