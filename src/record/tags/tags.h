/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tags.h - scopes that the program names, and counting by them.
 *
 * The scope of a thread is one pointer in its thread-local memory, in every mode. In mode `tags`
 * the hooks count in that node and write nothing into rings. A node is created when a scope is
 * entered for the first time in its parent. A hook creates none, but the first hook call of a
 * thread creates the thread's tree.
 */
#ifndef HL_RECORD_TAGS_TAGS_H
#define HL_RECORD_TAGS_TAGS_H

#include "base/mode.h"
#include "record/interpose/next.h"
#include "record/session/recorder.h"
#include "tags/tag_counters.h"

struct hl_tags {
	/* The control word: the region's, or our own if there is no collector. */
	const _Atomic uint32_t *control;
	bool owner; /* --tags=owner */
	/* The number of blocks still to be compared with the allocator's answer before
	 * hl_tags_header_size() is trusted. */
	_Atomic uint32_t headers_unchecked;
};
extern struct hl_tags hl_tags;
extern struct hl_tags_head hl_tags_head;

/* The innermost scope that the calling thread is in; NULL: none. */
hl_inline const struct hl_tag_node *hl_tags_current(void)
{
	const struct hl_tag_node *n = hl_tls.tag;

	return n && n->parent != n ? n : NULL;
}

/* True if the hooks count. */
hl_inline bool hl_tags_counting(void)
{
	uint32_t control = atomic_load_explicit(hl_tags.control, memory_order_relaxed);

	return (control & (HL_CONTROL_MODE | HL_CONTROL_PAUSED)) == HL_MODE_TAGS;
}

/* The calling thread's node, at its first event; NULL: it must not be counted. */
struct hl_tag_node *hl_tags_enter_thread(void);

/* tags_owner.c: --tags=owner. An allocation is charged to `n`, a free to the owner of the block. */
void hl_tags_owner_alloc(struct hl_tag_node *n, const void *p, size_t size, enum hl_tag_call call);
void hl_tags_owner_free(struct hl_tag_node *n, const void *p, size_t size, enum hl_tag_call call);
uint32_t hl_tags_owner_take(const void *p);
void hl_tags_owner_put(const void *p, uint32_t id);
void hl_tags_owner_moved(struct hl_tag_node *n, uint32_t old_id, size_t old_size, const void *p,
	size_t size, enum hl_tag_call call);
bool hl_tags_owner_init(void);
bool hl_tags_owner_add_node(struct hl_tag_node *n);

hl_inline struct hl_tag_node *hl_tags_node(void)
{
	struct hl_tag_node *n = hl_tls.tag;

	return hl_likely(n != NULL) ? n : hl_tags_enter_thread();
}

/* The result of libc's malloc_usable_size for most blocks, taken from the word before the block: a
 * call would cost as much as counting. 0: only libc knows the size of this block. */
hl_inline size_t hl_tags_header_size(const void *p)
{
	size_t word = ((const size_t *)p)[-1];

	return hl_unlikely(word & 2) ? 0 : (word & ~(size_t)7) - sizeof(word); /* 2: mmapped */
}

/* The usable size as the allocator reports it. */
size_t hl_tags_query_size(void *p);

hl_inline size_t hl_tags_size(const void *p)
{
	size_t size = 0;

	if (hl_likely(!atomic_load_explicit(&hl_tags.headers_unchecked, memory_order_relaxed)))
		size = hl_tags_header_size(p);
	return hl_likely(size != 0) ? size : hl_tags_query_size((void *)(uintptr_t)p);
}

/* A release fence is no instruction on a CPU that does not reorder stores. */
hl_inline void hl_tags_write_begin(struct hl_tag_node *n)
{
	n->begun++;
	atomic_thread_fence(memory_order_release);
}

hl_inline void hl_tags_write_end(struct hl_tag_node *n)
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
		hl_tags_owner_alloc(n, p, size, hl_tag_call(func));
		return;
	}
	hl_tags_write_begin(n);
	n->alloc_bytes += size;
	n->calls[hl_tag_call(func)]++;
	hl_tags_write_end(n);
}

/* Called before the block is freed. */
hl_inline void hl_tags_free(const void *p, enum hl_func func)
{
	struct hl_tag_node *n = hl_tags_node();
	size_t size;

	if (hl_unlikely(!n))
		return;
	size = hl_tags_size(p);
	if (hl_unlikely(hl_tags.owner)) {
		hl_tags_owner_free(n, p, size, hl_tag_call(func));
		return;
	}
	hl_tags_write_begin(n);
	n->free_bytes += size;
	n->calls[hl_tag_call(func)]++;
	hl_tags_write_end(n);
}

/* Around a realloc of a block. */
struct hl_tags_move {
	size_t size;
	uint32_t owner;
};
struct hl_tags_move hl_tags_move_begin(const void *p);
void hl_tags_move_end(struct hl_tags_move m, const void *old, const void *p, enum hl_func func);
void hl_tags_move_failed(struct hl_tags_move m, const void *p);

/* tags_intern.c: returns the one copy of a name; NULL if memory is short. */
const char *hl_tags_intern(struct hl_tag_tree *t, const char *name, size_t len);
uint32_t hl_tags_name_len(const char *interned);
/* Maps memory that is never released, counted as our own. NULL: there is none. */
void *hl_tags_map(size_t bytes);

/* The output settings from the environment; NULL: not set. */
struct hl_tags_settings {
	const char *stats_json, *stats_dot, *snapshot_prefix, *snapshot_interval;
	const char *stats_pid; /* the process that writes stats_json; others put their pids into its
				  name */
	bool stats_new; /* stats_json must not exist; if it does, the pid is put into its name */
};

/* tags_output.c */
void hl_tags_output_init(const struct hl_tags_settings *w);
/* Writes a snapshot if one is due; called now and then when a scope is entered. */
void hl_tags_snapshot_if_due(void);
/* Writes one now, if a prefix is set. */
void hl_tags_snapshot(void);
/* Writes one now, to the prefix or to the stats files; called in a signal handler. */
void hl_tags_snapshot_from_signal(void);
/* Installs handlers for the signals that write a snapshot, and that stop and start counting; NULL:
 * none. */
void hl_tags_install_signals(const char *snapshot, const char *toggle);
void hl_tags_at_exit(void);
uint64_t hl_tags_heap_bytes(void); /* bytes in use, as the allocator reports them; 0: it does not */

/* tags_start.c. Standalone: without a collector, there are only the counters. */
bool hl_tags_standalone_requested(const char *mode, const char *preload);
bool hl_tags_set_charge(const char *how);   /* HEAPLAPSE_TAGS; false: not a known value */
const char *hl_tags_begin_standalone(void); /* NULL, or why it cannot begin */
void hl_tags_begin_with_region(
	const struct hl_region *region); /* the mode is in the region's control word */

/* tags.c */
void hl_tags_thread_name(const char *name);
void hl_tags_pause(bool stop);
bool hl_tags_paused(void);

#endif
