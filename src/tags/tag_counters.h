/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tag_counters.h - the layout of the tags' counters in the program's memory: one tree for each
 * thread.
 *
 * Written by the recorder, read by the recorder itself and, from another process, by `heaplapse
 * tags PID`. The memory is private: a fork child has a copy of its own. A note in the recorder's
 * image (record/tags/tags_note.c) holds the distance to the head.
 *
 * A node is written by one thread, with plain stores (with --tags=owner by any thread, with atomic
 * additions). A writer increments `begun` first and `ended` last; both only grow. A reader reads
 * `ended` first and `begun` last: if they are equal, no write was in progress in between.
 *
 * Nodes are never moved and never freed. Within the chunks of a tree a parent comes before its
 * children.
 */
#ifndef HL_TAGS_TAG_COUNTERS_H
#define HL_TAGS_TAG_COUNTERS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tags/tag_calls.h"

#define HL_TAGS_MAGIC UINT64_C(0x736761742d6c6168) /* "hal-tags" */
#define HL_TAGS_ABI   1u

struct hl_tag_node {
	uint64_t ended;
	struct hl_tag_node *parent; /* NULL: outermost; itself: not a scope (root, off) */
	const char *name;           /* interned: equal names are one pointer; ends with NUL */
	uint32_t name_len;
	uint32_t id; /* from 1, never reused */
	struct hl_tag_node *last_child;
	uint64_t entered;
	uint64_t alloc_bytes;
	uint64_t free_bytes;
	uint64_t realloc_new;   /* of the reallocs: without an old block ... */
	uint64_t realloc_freed; /* ... and without a new one */
	uint64_t calls[HL_TAG_CALLS];
	uint64_t begun;
};
_Static_assert(offsetof(struct hl_tag_node, begun) + 8 == sizeof(struct hl_tag_node),
	"a copy ends with what is written first");

#define HL_TAG_FIRST_CHUNK 24u /* nodes: with its header, a page; later chunks have more */

struct hl_tag_chunk {
	struct hl_tag_chunk *_Atomic next;
	uint32_t cap;
	_Atomic uint32_t used; /* nodes below this index are complete */
	struct hl_tag_node nodes[];
};

/* The counters of one thread at a time. Threads may use a tree one after another. */
struct hl_tag_tree {
	struct hl_tag_tree *next;         /* older ones */
	struct hl_tag_node root;          /* outside any scope */
	struct hl_tag_node disabled_node; /* while the thread had counting disabled */
	struct hl_tag_chunk *_Atomic chunks;
	_Atomic(const char *) name; /* interned */
	_Atomic uint32_t tid;       /* of the last owner */
	_Atomic uint32_t owners; /* number of threads that have counted here, one after another */
	_Atomic uint64_t unbalanced; /* pops without a push, and similar errors */
	_Atomic uint64_t failed;     /* pushes for which there was no memory */

	/* Used by the owner alone. */
	struct hl_tag_node *cursor;
	uint64_t lost;        /* open scopes that have no node */
	uint32_t disabled;    /* nesting depth */
	uint32_t until_clock; /* pushes up to the next check of the clock */
	bool named;           /* by heaplapse_thread_name() */
	struct hl_tag_chunk *filling;
	struct hl_tag_node **table; /* by parent and name, open addressing */
	uint32_t table_cap, n_nodes;
	char *names; /* memory for more names */
	size_t names_left;
	pthread_mutex_t owner_mutex; /* robust: the kernel marks it when the owner has ended */
};

#define HL_TAGS_OWNER (1u << 0) /* frees are charged to the scope that owns the block */

struct hl_tags_head {
	uint64_t magic;
	uint32_t abi;
	uint32_t node_bytes;
	_Atomic uint32_t flags;
	_Atomic uint32_t running;          /* 1: this program counts, or has counted at some time */
	struct hl_tag_tree *_Atomic trees; /* the newest first */
	_Atomic uint32_t n_trees;
	_Atomic uint32_t next_id;
	_Atomic uint64_t own_bytes;    /* memory that counting takes */
	_Atomic uint64_t before_bytes; /* in use when counting began */
	_Atomic uint64_t before_freed; /* of before_bytes, with HL_TAGS_OWNER: freed since */
	int64_t start_s;               /* Unix time when counting began */
};

/* The recorder's note: the distance from the number itself to the head. */
#define HL_TAGS_NOTE_NAME "heaplapse"
#define HL_TAGS_NOTE_TYPE 0x74616773u /* "tags" */

#endif
