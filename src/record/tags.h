/*
 * tags.h - the scope that a thread is in: a tree of named nodes for each thread.
 *
 * The least that the rest of the recorder needs of tags: what the current node is. A node stays
 * where it is and what it is for the life of the process.
 */
#ifndef HL_RECORD_TAGS_H
#define HL_RECORD_TAGS_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"

struct hl_tag_node {
	const struct hl_tag_node *parent; /* NULL: outermost */
	const char *name;
	uint32_t name_len;
	uint32_t id; /* from 1, never reused in this process */
	struct hl_tag_node *children, *next;
};

extern __thread const struct hl_tag_node *hl_tag_now;

/* NULL: outside of any scope. */
hl_inline const struct hl_tag_node *hl_tags_current(void)
{
	return hl_tag_now;
}

#endif
