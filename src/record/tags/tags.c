/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tags.c - a tree of scopes for each thread: how it is created, grows and is taken over.
 *
 * A tree has one owner at a time, which holds its robust mutex until it ends. After a thread has
 * ended, the next thread of the same name continues to count in its tree; if there are many trees,
 * the next thread of any name does. So the counters of ended threads stay, and a hundred thousand
 * threads one after another need no more memory than the threads that run at the same time.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/bits.h"
#include "base/hash.h"
#include "record/arch/arch.h"
#include "record/arch/syscall.h"
#include "record/tags/tags.h"

#define MAX_CHUNK   4096u
#define FIRST_TABLE 512u
/* With this many trees a thread takes over a tree of another name. */
#define MANY_TREES 1024u
#define SEVERAL    "(several threads)"

/* The handle of a scope without a node: memory was short when it was entered. */
#define LOST_SCOPE ((void *)1)

static const _Atomic uint32_t not_counting = HL_MODE_TRACE;

/* The number of blocks for which the allocator and hl_tags_header_size() must agree. */
#define HEADERS_CHECKED 64u

struct hl_tags hl_tags = {.control = &not_counting, .headers_unchecked = HEADERS_CHECKED};
struct hl_tags_head hl_tags_head = {
	.magic = HL_TAGS_MAGIC, .abi = HL_TAGS_ABI, .node_bytes = sizeof(struct hl_tag_node)};

static bool init_owner_mutex(pthread_mutex_t *m)
{
	pthread_mutexattr_t robust;

	return pthread_mutexattr_init(&robust) == 0 &&
	       pthread_mutexattr_setrobust(&robust, PTHREAD_MUTEX_ROBUST) == 0 &&
	       pthread_mutex_init(m, &robust) == 0 && pthread_mutex_trylock(m) == 0;
}

static void init_special_node(struct hl_tag_node *n)
{
	n->parent = n;
	n->id = atomic_fetch_add(&hl_tags_head.next_id, 1) + 1;
	hl_tags_owner_add_node(n);
}

static struct hl_tag_tree *new_tree(void)
{
	struct hl_tag_tree *t = hl_tags_map(hl_align_up(sizeof(*t), 4096));

	if (!t || !init_owner_mutex(&t->owner_mutex))
		return NULL;
	/* The rest of its page is for names. */
	t->names = (char *)(t + 1);
	t->names_left = hl_align_up(sizeof(*t), 4096) - sizeof(*t);
	init_special_node(&t->root);
	init_special_node(&t->disabled_node);
	return t;
}

static void publish_tree(struct hl_tag_tree *t)
{
	t->next = atomic_load(&hl_tags_head.trees);
	while (!atomic_compare_exchange_weak(&hl_tags_head.trees, &t->next, t))
		;
	atomic_fetch_add(&hl_tags_head.n_trees, 1);
}

/* Takes a tree whose owner has ended or has released it. False: it has an owner. */
static bool take_tree(struct hl_tag_tree *t)
{
	int err = pthread_mutex_trylock(&t->owner_mutex);

	if (err == EOWNERDEAD)
		err = pthread_mutex_consistent(&t->owner_mutex);
	return err == 0;
}

static bool has_name(const struct hl_tag_tree *t, const char *name, size_t len)
{
	const char *tree_name = atomic_load_explicit(&t->name, memory_order_acquire);

	return tree_name && hl_tags_name_len(tree_name) == len && !memcmp(tree_name, name, len);
}

static struct hl_tag_tree *find_abandoned_tree(const char *name, size_t len)
{
	bool any = atomic_load(&hl_tags_head.n_trees) >= MANY_TREES;
	struct hl_tag_tree *t;

	for (t = atomic_load(&hl_tags_head.trees); t; t = t->next)
		if (has_name(t, name, len) && take_tree(t))
			return t;
	for (t = any ? atomic_load(&hl_tags_head.trees) : NULL; t; t = t->next)
		if (take_tree(t)) {
			const char *several = hl_tags_intern(t, SEVERAL, strlen(SEVERAL));

			if (several)
				atomic_store(&t->name, several);
			return t;
		}
	return NULL;
}

/* Makes the tree that of the calling thread. */
static void attach_tree(struct hl_tag_tree *t, bool named)
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

static bool claim_tree(const char *name, size_t len, bool named)
{
	struct hl_tag_tree *t = find_abandoned_tree(name, len);

	if (!t) {
		t = new_tree();
		if (!t)
			return false;
		atomic_store(&t->name, hl_tags_intern(t, name, len));
		publish_tree(t);
	}
	attach_tree(t, named);
	return true;
}

hl_cold struct hl_tag_node *hl_tags_enter_thread(void)
{
	char name[16] = "";

	if (hl_tls.busy)
		return NULL;
	hl_tls.busy = true;
	if (hl_tags_counting())
		atomic_store(&hl_tags_head.running, 1);
	if (!hl_rec.no_syscalls)
		hl_sys2(SYS_prctl, PR_GET_NAME, name);
	name[sizeof(name) - 1] = '\0';
	claim_tree(name, strlen(name), false);
	hl_tls.busy = false;
	return hl_tls.tag;
}

static uint32_t find_slot(
	const struct hl_tag_tree *t, const struct hl_tag_node *parent, const char *name)
{
	return (uint32_t)hl_hash_pair((uintptr_t)parent, (uintptr_t)name) & (t->table_cap - 1);
}

static struct hl_tag_node *get_parent(struct hl_tag_tree *t, const struct hl_tag_node *n)
{
	return n->parent ? n->parent : &t->root;
}

static struct hl_tag_node *find_child(
	struct hl_tag_tree *t, const struct hl_tag_node *parent, const char *name)
{
	uint32_t i;

	if (!t->table)
		return NULL;
	for (i = find_slot(t, parent, name); t->table[i]; i = (i + 1) & (t->table_cap - 1))
		if (t->table[i]->name == name && get_parent(t, t->table[i]) == parent)
			return t->table[i];
	return NULL;
}

static void insert_in_table(struct hl_tag_tree *t, struct hl_tag_node *n)
{
	uint32_t i = find_slot(t, get_parent(t, n), n->name);

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
			insert_in_table(t, old[i]);
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

/* Many threads get their names only after their first malloc: the name is read again whenever a
 * node is created. */
static void update_name(struct hl_tag_tree *t)
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

	update_name(t);
	if (!grow_table(t))
		return NULL;
	n = new_node(t);
	if (!n)
		return NULL;
	n->parent = parent == &t->root ? NULL : parent;
	n->name = name;
	n->name_len = hl_tags_name_len(name);
	n->id = atomic_fetch_add(&hl_tags_head.next_id, 1) + 1;
	if (!hl_tags_owner_add_node(n))
		return NULL;
	insert_in_table(t, n);
	t->n_nodes++;
	atomic_fetch_add_explicit(&t->filling->used, 1, memory_order_release);
	return n;
}

/* True if scopes are tracked at all: in every mode, but not if recording is off for good. */
static bool is_active(void)
{
	return hl_tags.control != &not_counting ||
	       atomic_load_explicit(&hl_rec.phase, memory_order_relaxed) != HL_PHASE_OFF;
}

static struct hl_tag_tree *get_own_tree(void)
{
	if (hl_unlikely(!hl_tls.tags) && is_active())
		hl_tags_enter_thread();
	return hl_tls.tags;
}

static void set_cursor(struct hl_tag_tree *t, struct hl_tag_node *n)
{
	t->cursor = n;
	if (hl_likely(!t->disabled))
		hl_tls.tag = n;
}

hl_cold static void *count_lost_scope(struct hl_tag_tree *t)
{
	t->lost++;
	atomic_fetch_add_explicit(&t->failed, 1, memory_order_relaxed);
	return LOST_SCOPE;
}

static void *enter_scope(struct hl_tag_tree *t, const char *name)
{
	struct hl_tag_node *here = t->cursor, *n = here->last_child;

	if (hl_unlikely(t->lost || !name))
		return count_lost_scope(t);
	if (hl_unlikely(!n || n->name != name)) {
		n = find_child(t, here, name);
		if (!n)
			n = new_child(t, here, name);
		if (!n)
			return count_lost_scope(t);
		here->last_child = n;
	}
	n->entered++;
	set_cursor(t, n);
	if (hl_unlikely(t->until_clock-- == 0)) {
		t->until_clock = 63;
		hl_tags_snapshot_if_due();
	}
	return n;
}

hl_cold static const char *intern_name(const char *name, const void **cache)
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

/* Returns a handle for leave(). cache: where the calling code stores the interned name. */
void *heaplapse_impl_tag_enter(const char *name, const void **cache)
{
	struct hl_tag_tree *t = get_own_tree();
	const char *kept;

	if (hl_unlikely(!t))
		return NULL;
	kept = cache ? __atomic_load_n(cache, __ATOMIC_ACQUIRE) : NULL;
	if (hl_unlikely(!kept))
		kept = intern_name(name, cache);
	return enter_scope(t, kept);
}

static void count_unbalanced(struct hl_tag_tree *t, uint64_t n)
{
	atomic_fetch_add_explicit(&t->unbalanced, n, memory_order_relaxed);
}

/* Scopes inside this one were left open; they are left too. If the scope is not an open one of this
 * thread, none is left. */
hl_cold static void leave_outer(struct hl_tag_tree *t, const struct hl_tag_node *scope)
{
	const struct hl_tag_node *n = t->cursor;
	uint64_t skipped = 0;

	for (; n != &t->root && n != scope; n = get_parent(t, n))
		skipped++;
	if (n == scope)
		set_cursor(t, get_parent(t, n));
	count_unbalanced(t, n == scope ? skipped : 1);
}

void heaplapse_impl_tag_leave(void *scope)
{
	struct hl_tag_tree *t = hl_tls.tags;

	if (hl_unlikely(!t || !scope))
		return;
	if (hl_unlikely(scope == LOST_SCOPE))
		t->lost -= t->lost > 0;
	else if (hl_likely(scope == t->cursor))
		set_cursor(t, get_parent(t, t->cursor));
	else
		leave_outer(t, scope);
}

void heaplapse_impl_tag_pop(void)
{
	struct hl_tag_tree *t = get_own_tree();

	if (hl_unlikely(!t))
		return;
	if (hl_unlikely(t->lost))
		t->lost--;
	else if (hl_unlikely(t->cursor == &t->root))
		count_unbalanced(t, 1);
	else
		set_cursor(t, get_parent(t, t->cursor));
}

/* For the calling thread; disabled twice, it must be enabled twice. */
void heaplapse_impl_tags_enable(int on)
{
	struct hl_tag_tree *t = get_own_tree();

	if (!t || (on && !t->disabled))
		return;
	t->disabled += on ? -1u : 1u;
	hl_tls.tag = t->disabled ? &t->disabled_node : t->cursor;
}

/* A tree that other threads have counted in keeps its name, and the thread finds or creates another
 * one. */
void hl_tags_thread_name(const char *name)
{
	struct hl_tag_tree *t = get_own_tree();
	size_t len = name ? strlen(name) : 0;
	const char *kept;

	if (!t || !len || has_name(t, name, len))
		return;
	if (atomic_load(&t->owners) > 1 && t->cursor == &t->root && !t->disabled && !t->lost) {
		hl_tls.busy = true;
		atomic_fetch_sub(&t->owners, 1); /* it did not count here */
		pthread_mutex_unlock(&t->owner_mutex);
		hl_tls.tags = NULL;
		hl_tls.tag = NULL;
		claim_tree(name, len, true);
		hl_tls.busy = false;
		return;
	}
	kept = hl_tags_intern(t, name, len);
	if (kept) {
		atomic_store(&t->name, kept);
		t->named = true;
	}
}

/* Some allocators allocate before they can answer. Such calls are internal, as those
 * inside a hook. */
static size_t query_foreign_size(void *p)
{
	uintptr_t saved = hl_tls.guard;
	size_t size;

	hl_tls.guard = (uintptr_t)__builtin_frame_address(0); /* see reentry.h */
	size = hl_next.usable_size(p);
	hl_tls.guard = saved;
	return size;
}

size_t hl_tags_query_size(void *p)
{
	uint32_t unchecked = atomic_load_explicit(&hl_tags.headers_unchecked, memory_order_relaxed);
	size_t size, header;

	if (hl_next.foreign)
		return query_foreign_size(p);
	size = hl_next.usable_size(p);
	header = hl_tags_header_size(p);
	if (!unchecked || unchecked > HEADERS_CHECKED || !header)
		return size;
	if (hl_likely(header == size))
		atomic_compare_exchange_strong(
			&hl_tags.headers_unchecked, &unchecked, unchecked - 1);
	else /* another libc, or other headers (memory tagging): never trust them again */
		atomic_store(&hl_tags.headers_unchecked, UINT32_MAX);
	return size;
}

struct hl_tags_move hl_tags_move_begin(const void *p)
{
	return (struct hl_tags_move){hl_tags_size(p), hl_tags.owner ? hl_tags_owner_take(p) : 0};
}

void hl_tags_move_failed(struct hl_tags_move m, const void *p)
{
	if (hl_tags.owner)
		hl_tags_owner_put(p, m.owner);
}

/* p NULL: realloc(old, 0) has freed the block. old NULL: the call was a malloc. */
void hl_tags_move_end(struct hl_tags_move m, const void *old, const void *p, enum hl_func func)
{
	struct hl_tag_node *n = hl_tags_node();
	size_t size = p ? hl_tags_size(p) : 0;

	if (!n)
		return;
	if (hl_tags.owner) {
		hl_tags_owner_moved(n, m.owner, old ? m.size : 0, p, size, hl_tag_call(func));
		return;
	}
	hl_tags_write_begin(n);
	n->alloc_bytes += size;
	n->free_bytes += m.size;
	n->realloc_new += !old;
	n->realloc_freed += !p;
	n->calls[hl_tag_call(func)]++;
	hl_tags_write_end(n);
}

/* For heaplapse_stop() and heaplapse_start(), with or without a collector. */
void hl_tags_pause(bool stop)
{
	static const _Atomic uint32_t stopped = HL_MODE_TAGS | HL_CONTROL_PAUSED;
	static const _Atomic uint32_t *before;
	/* Read once: two threads may call this at a time. */
	const _Atomic uint32_t *now = hl_tags.control;

	if (stop == (now == &stopped))
		return;
	if (stop)
		before = now;
	hl_tags.control = stop ? &stopped : before;
}

bool hl_tags_paused(void)
{
	return atomic_load_explicit(hl_tags.control, memory_order_relaxed) & HL_CONTROL_PAUSED;
}
