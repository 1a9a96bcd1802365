/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tag_paths.h - the scopes of a target: maps each thread's tag ids to tags of the trace.
 *
 * A thread announces a tag with an id of its own, the id of the parent and a name. In the trace a
 * tag is a path of names, the same for all threads. A thread with a tag is a role (trace/event.h);
 * events belong to roles.
 */
#ifndef HL_COLLECT_MATCH_TAG_PATHS_H
#define HL_COLLECT_MATCH_TAG_PATHS_H

#include <stddef.h>
#include <stdint.h>

#include "util/pair_map.h"
#include "util/string_table.h"
#include "util/vec.h"

struct hl_target;
struct hl_thread_stream;

/* A tag as one thread has announced it. */
struct hl_tag_id {
	uint32_t parent; /* the thread's id of the parent; 0: none */
	uint32_t name;   /* in the target's table of names */
	uint32_t tag;    /* the tag of the trace; HL_TAG_NONE: not resolved yet */
};

struct hl_tag_ids {
	struct hl_pair_map by_id; /* the thread's id -> index in `defs` */
	HL_VEC(struct hl_tag_id) defs;
	HL_VEC(uint32_t) chain; /* ancestors that are not resolved yet */
};

/* A tag of the trace. */
struct hl_tag_path {
	uint32_t parent, name; /* HL_TAG_NONE for an outermost one; in `names` */
};

struct hl_tag_paths {
	struct hl_string_table names;
	size_t name_bytes;
	struct hl_pair_map by_path; /* (parent tag + 1, name) -> tag */
	struct hl_pair_map roles;   /* (thread, tag) -> role */
	uint32_t n;
	HL_VEC(struct hl_tag_path) defined; /* n of them, by tag */
};

/* Defines a tag of the thread; a later definition replaces it. `name` has `len` bytes, or ends at a
 * NUL. */
void hl_tag_paths_name(
	struct hl_thread_stream *f, uint32_t id, uint32_t parent, const char *name, size_t len);
/* The thread is in this scope from here on; 0: in none. */
void hl_tag_paths_enter(struct hl_thread_stream *f, uint32_t id);

void hl_tag_ids_fini(struct hl_tag_ids *t);
void hl_tag_paths_fini(struct hl_tag_paths *t);

#endif
