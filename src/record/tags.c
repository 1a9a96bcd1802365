/*
 * tags.c - see tags.h. A minimal tree for each thread, kept in mapped memory that is never given
 * back. It stands in for the one that counts, which has the same interface.
 */
#include "record/tags.h"

#include <stdatomic.h>
#include <string.h>

#include "record/arch/arch.h"
#include "record/arch/syscall.h"
#include "record/recorder.h"

#define ARENA_BYTES 65536u

hl_export void heaplapse_impl_tag_push(const char *name);
hl_export void heaplapse_impl_tag_pop(void);

__thread const struct hl_tag_node *hl_tag_now;
static __thread struct hl_tag_node *roots;
static __thread char *arena;
static __thread size_t arena_left;
static _Atomic uint32_t last_id;

/* NULL when memory is short. */
static void *take(size_t len)
{
	void *p;

	len = (len + 15) & ~(size_t)15;
	if (len > arena_left) {
		size_t map = len > ARENA_BYTES ? len : ARENA_BYTES;

		arena = hl_arch_map(map);
		arena_left = arena ? map : 0;
		if (!arena)
			return NULL;
	}
	p = arena;
	arena += len;
	arena_left -= len;
	return p;
}

static struct hl_tag_node *new_node(struct hl_tag_node **list, const char *name, size_t len)
{
	struct hl_tag_node *n = take(sizeof(*n) + len + 1);

	if (!n)
		return NULL;
	n->parent = hl_tag_now;
	n->name = memcpy(n + 1, name, len + 1);
	n->name_len = (uint32_t)len;
	n->id = atomic_fetch_add(&last_id, 1) + 1;
	n->children = NULL;
	n->next = *list;
	*list = n;
	return n;
}

void heaplapse_impl_tag_push(const char *name)
{
	struct hl_tag_node **list =
		hl_tag_now ? &((struct hl_tag_node *)(uintptr_t)hl_tag_now)->children : &roots;
	size_t len = strlen(name);
	struct hl_tag_node *n = *list;

	while (n && (n->name_len != len || memcmp(n->name, name, len) != 0))
		n = n->next;
	if (!n)
		n = new_node(list, name, len);
	if (n)
		hl_tag_now = n;
}

void heaplapse_impl_tag_pop(void)
{
	if (hl_tag_now)
		hl_tag_now = hl_tag_now->parent;
}
