/*
 * tags.h - scopes that the program names, and counting by them.
 *
 * The scope a thread is in is one pointer in its thread-local memory, in every mode. In mode `tags`
 * the hooks count in that node and write nothing into rings. Nodes are made when a scope is entered
 * for the first time from where it is; a hook makes none, but a thread's first makes its tree.
 */
#ifndef HL_RECORD_TAGS_H
#define HL_RECORD_TAGS_H

#include "base/mode.h"
#include "record/real.h"
#include "record/recorder.h"
#include "tags/layout.h"

struct hl_tags {
	/* The word that says the mode: the region's, or one of ours where there is no collector. */
	const _Atomic uint32_t *steer;
	bool owner; /* --tags=owner */
	/* How many more blocks the allocator is asked about before hl_tags_header is believed. */
	_Atomic uint32_t unsure;
};
extern struct hl_tags hl_tags;
extern struct hl_tags_head hl_tags_head;

/* The innermost scope that the calling thread is in; NULL: none. */
hl_inline const struct hl_tag_node *hl_tags_current(void)
{
	const struct hl_tag_node *n = hl_tls.tag;

	return n && n->parent != n ? n : NULL;
}

/* Do the hooks count? */
hl_inline bool hl_tags_mode(void)
{
	uint32_t steer = atomic_load_explicit(hl_tags.steer, memory_order_relaxed);

	return (steer & (HL_STEER_MODE | HL_STEER_PAUSED)) == HL_MODE_TAGS;
}

/* The calling thread's node, at its first event; NULL: it is not to be counted. */
struct hl_tag_node *hl_tags_enter_thread(void);

/* tags_owner.c: --tags=owner. What was allocated is charged to `n`, what is freed to its owner. */
void hl_tags_own_alloc(struct hl_tag_node *n, const void *p, size_t size, enum hl_tag_call call);
void hl_tags_own_free(struct hl_tag_node *n, const void *p, size_t size, enum hl_tag_call call);
uint32_t hl_tags_own_take(const void *p);
void hl_tags_own_put(const void *p, uint32_t id);
void hl_tags_own_moved(struct hl_tag_node *n, uint32_t old_id, size_t old_size, const void *p,
	size_t size, enum hl_tag_call call);
bool hl_tags_own_init(void);
bool hl_tags_own_add_node(struct hl_tag_node *n);

hl_inline struct hl_tag_node *hl_tags_node(void)
{
	struct hl_tag_node *n = hl_tls.tag;

	return hl_likely(n != NULL) ? n : hl_tags_enter_thread();
}

/*
 * What libc's malloc_usable_size says of most blocks, from the word before the block: asking costs
 * as much as counting. 0: of this block only libc knows.
 */
hl_inline size_t hl_tags_header(const void *p)
{
	size_t word = ((const size_t *)p)[-1];

	return hl_unlikely(word & 2) ? 0
				     : (word & ~(size_t)7) - sizeof(word); /* 2: a map of its own */
}

/* The allocator's word. */
size_t hl_tags_ask(void *p);

hl_inline size_t hl_tags_size(const void *p)
{
	size_t size = 0;

	if (hl_likely(!atomic_load_explicit(&hl_tags.unsure, memory_order_relaxed)))
		size = hl_tags_header(p);
	return hl_likely(size != 0) ? size : hl_tags_ask((void *)(uintptr_t)p);
}

/* A release fence is no instruction on x86_64. */
hl_inline void hl_tags_begin(struct hl_tag_node *n)
{
	n->begun++;
	atomic_thread_fence(memory_order_release);
}

hl_inline void hl_tags_end(struct hl_tag_node *n)
{
	atomic_thread_fence(memory_order_release);
	n->ended++;
}

hl_inline void hl_tags_alloc(const void *p, enum hl_func func)
{
	struct hl_tag_node *n = hl_tags_node();
	size_t size;

	if (hl_unlikely(!n))
		return;
	size = hl_tags_size(p);
	if (hl_unlikely(hl_tags.owner)) {
		hl_tags_own_alloc(n, p, size, hl_tag_call(func));
		return;
	}
	hl_tags_begin(n);
	n->alloc_bytes += size;
	n->calls[hl_tag_call(func)]++;
	hl_tags_end(n);
}

/* Before the block is gone. */
hl_inline void hl_tags_free(const void *p, enum hl_func func)
{
	struct hl_tag_node *n = hl_tags_node();
	size_t size;

	if (hl_unlikely(!n))
		return;
	size = hl_tags_size(p);
	if (hl_unlikely(hl_tags.owner)) {
		hl_tags_own_free(n, p, size, hl_tag_call(func));
		return;
	}
	hl_tags_begin(n);
	n->free_bytes += size;
	n->calls[hl_tag_call(func)]++;
	hl_tags_end(n);
}

/* Around a realloc of a block. */
struct hl_tags_move {
	size_t size;
	uint32_t owner;
};
struct hl_tags_move hl_tags_move_begin(const void *p);
void hl_tags_move_end(struct hl_tags_move m, const void *old, const void *p, enum hl_func func);
void hl_tags_move_failed(struct hl_tags_move m, const void *p);

/* tags_names.c: the one copy of a name; NULL when memory is short. */
const char *hl_tags_intern(struct hl_tag_tree *t, const char *name, size_t len);
uint32_t hl_tags_name_len(const char *interned);
/* Memory that is never given back, counted as ours. NULL: there is none. */
void *hl_tags_map(size_t bytes);

/* What the environment says about output; NULL: nothing. */
struct hl_tags_wishes {
	const char *stats_json, *stats_dot, *snapshot_prefix, *snapshot_interval;
	const char *stats_pid; /* whose stats_json is; others put their pids into its name */
	bool stats_new; /* stats_json must not exist: else the pid is put into its name */
};

/* tags_out.c */
void hl_tags_out_init(const struct hl_tags_wishes *w);
void hl_tags_tick(void);      /* is it time for a snapshot? Now and then, from a scope's entry */
void hl_tags_snapshot(void);  /* one now, if it has a place */
void hl_tags_signalled(void); /* one now, to where there is a place: from a signal's handler */
/* For signals that ask for one, and that stop and start counting; NULL: none. */
void hl_tags_listen(const char *snapshot, const char *toggle);
void hl_tags_at_exit(void);
uint64_t hl_tags_in_use(void); /* bytes, as the allocator says; 0: it does not */

/* tags_start.c. Alone: without a collector, the counters are all there is. */
bool hl_tags_wanted_alone(const char *mode, const char *preload);
bool hl_tags_choose(const char *how);                /* HEAPLAPSE_TAGS; false: no such word */
const char *hl_tags_begin_alone(void);               /* NULL, or why it cannot */
void hl_tags_follow(const struct hl_region *region); /* the collector says the mode */

/* tags.c */
void hl_tags_thread_name(const char *name);
void hl_tags_pause(bool stop);
bool hl_tags_paused(void);

#endif
