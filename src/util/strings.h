/*
 * strings.h - a set of strings, each kept once, with dense numbers from 0.
 *
 * A zeroed set is an empty one. Pointers to its strings stay valid until hl_strings_fini.
 */
#ifndef HL_UTIL_STRINGS_H
#define HL_UTIL_STRINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hl_strings {
	char **items;
	size_t len, cap;
	uint32_t *table;  /* 1 + number; 0: free */
	size_t table_cap; /* 0 or a power of two */
	char *block;      /* what is left of the newest block */
	size_t block_left;
	char **blocks;
	size_t n_blocks, blocks_cap;
};

void hl_strings_fini(struct hl_strings *s);
/* The number of a string equal to str, which is copied if it is new. 0 or -ENOMEM. */
int hl_strings_add(struct hl_strings *s, const char *str, uint32_t *id);
/* True with the number of a string equal to str, if the set has one. */
bool hl_strings_find(const struct hl_strings *s, const char *str, uint32_t *id);

static inline const char *hl_strings_get(const struct hl_strings *s, uint32_t id)
{
	return s->items[id];
}

#endif
