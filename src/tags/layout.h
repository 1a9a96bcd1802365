/*
 * layout.h - the counters of tags as they lie in a program's memory: one tree for each thread.
 *
 * Written by the recorder, read by the recorder itself and, from another process, by `heaplapse
 * tags PID`. It is private memory: a fork child has a copy of its own. A note in the recorder's
 * image (record/tags_note.c) tells where the head is.
 *
 * A node is written by one thread, with plain stores. Who writes raises `begun` first and `ended`
 * last; both only grow. Who reads takes `ended` first and `begun` last: when they are equal, no
 * write was under way in between.
 *
 * Nodes are never moved and never given back. Within a tree's chunks a parent comes before its
 * children.
 */
#ifndef HL_TAGS_LAYOUT_H
#define HL_TAGS_LAYOUT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tags/calls.h"

#define HL_TAGS_MAGIC UINT64_C(0x736761742d6c6168) /* "hal-tags" */
#define HL_TAGS_ABI   1u

struct hl_tag_node {
	uint64_t ended;
	struct hl_tag_node *parent; /* NULL: outermost; itself: no scope but a place for numbers */
	const char *name;           /* interned: equal names are one pointer; ended by NUL */
	uint32_t name_len;
	uint32_t id; /* from 1, never reused */
	struct hl_tag_node *last_child;
	uint64_t entered;
	uint64_t alloc_bytes;
	uint64_t free_bytes;
	uint64_t realloc_new;  /* of the reallocs: without an old block ... */
	uint64_t realloc_gone; /* ... and without a new one */
	uint64_t calls[HL_TAG_CALLS];
	uint64_t begun;
};
_Static_assert(offsetof(struct hl_tag_node, begun) + 8 == sizeof(struct hl_tag_node),
	"a copy ends with what is written first");

#define HL_TAG_FIRST_CHUNK 24u /* nodes: with its head, a page; later ones have more */

struct hl_tag_chunk {
	struct hl_tag_chunk *_Atomic next;
	uint32_t cap;
	_Atomic uint32_t used; /* nodes below it are whole */
	struct hl_tag_node nodes[];
};

/* What is written for a thread; those who come and go take turns. */
struct hl_tag_tree {
	struct hl_tag_tree *next; /* older ones */
	struct hl_tag_node root;  /* outside any scope */
	struct hl_tag_node off;   /* while the thread had counting disabled */
	struct hl_tag_chunk *_Atomic chunks;
	_Atomic(const char *) name;  /* interned */
	_Atomic uint32_t tid;        /* of the last owner */
	_Atomic uint32_t owners;     /* threads that have counted here, one after another */
	_Atomic uint64_t unbalanced; /* pops without a push, and the like */
	_Atomic uint64_t failed;     /* pushes for which there was no memory */

	/* The owner's alone. */
	struct hl_tag_node *cursor;
	uint64_t lost;        /* scopes that are open but have no node */
	uint32_t disabled;    /* how many times */
	uint32_t until_clock; /* pushes to the next look at the clock */
	bool named;           /* by heaplapse_thread_name() */
	struct hl_tag_chunk *filling;
	struct hl_tag_node **table; /* by parent and name, open addressing */
	uint32_t table_cap, n_nodes;
	char *names; /* room for more of them */
	size_t names_left;
	pthread_mutex_t life; /* robust: the kernel tells when the owner is gone */
};

#define HL_TAGS_OWNER (1u << 0) /* frees are charged to the scope that owns the block */

struct hl_tags_head {
	uint64_t magic;
	uint32_t abi;
	uint32_t node_bytes;
	_Atomic uint32_t flags;
	_Atomic uint32_t running;          /* 1: this program has been counted at some time */
	struct hl_tag_tree *_Atomic trees; /* the newest first */
	_Atomic uint32_t n_trees;
	_Atomic uint32_t next_id;
	_Atomic uint64_t own_bytes;    /* memory that all this takes */
	_Atomic uint64_t before_bytes; /* in use when counting began */
	_Atomic uint64_t before_freed; /* of that, HL_TAGS_OWNER: given back since */
	int64_t start_s;               /* Unix time of that */
};

/* The recorder's note: where the head is, from the place of the number itself. */
#define HL_TAGS_NOTE_NAME "heaplapse"
#define HL_TAGS_NOTE_TYPE 0x74616773u /* "tags" */

#endif
