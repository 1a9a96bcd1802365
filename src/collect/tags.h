/*
 * tags.h - the scopes of a process: from what each thread calls its tags to those of the trace.
 *
 * A thread names a tag by a number of its own, its parent's number and a name; the trace knows a
 * path of names, whichever thread walks it. A thread in a scope is a role (trace/event.h), and
 * that is what events are charged to.
 */
#ifndef HL_COLLECT_TAGS_H
#define HL_COLLECT_TAGS_H

#include <stddef.h>
#include <stdint.h>

#include "util/map.h"
#include "util/strings.h"
#include "util/vec.h"

struct hl_proc;
struct hl_feed;

/* What one thread has said of its tags. */
struct hl_feed_tag {
	uint32_t parent; /* as the thread numbers them; 0: none */
	uint32_t name;   /* among the names of the process */
	uint32_t tag;    /* the trace's; HL_TAG_NONE: not looked up yet */
};

struct hl_feed_tags {
	struct hl_map by_id; /* the thread's number -> its place in `said` */
	HL_VEC(struct hl_feed_tag) said;
	HL_VEC(uint32_t) chain; /* on the way up to a tag that is known */
};

struct hl_proc_tags {
	struct hl_strings names;
	size_t name_bytes;
	struct hl_map by_path; /* (parent tag + 1, name) -> tag */
	struct hl_map roles;   /* (thread, tag) -> role */
	uint32_t n;
};

/* The thread says what a tag is; a later word counts. `len` bytes, up to a NUL. */
void hl_tags_name(struct hl_feed *f, uint32_t id, uint32_t parent, const char *name, size_t len);
/* The thread is in this scope from here on; 0: in none. */
void hl_tags_enter(struct hl_feed *f, uint32_t id);

void hl_feed_tags_fini(struct hl_feed_tags *t);
void hl_proc_tags_fini(struct hl_proc_tags *t);

#endif
