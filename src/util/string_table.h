/* SPDX-License-Identifier: Apache-2.0 */
/*
 * string_table.h - a set of strings. Each is stored once and has a dense id, from 0.
 *
 * A zeroed table is empty. Pointers to its strings are valid until hl_string_table_fini.
 */
#ifndef HL_UTIL_STRING_TABLE_H
#define HL_UTIL_STRING_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hl_string_table {
	char **items;
	size_t len, cap;
	uint32_t *table;  /* hash table of id + 1; 0: free slot */
	size_t table_cap; /* 0 or a power of two */
	char *block;      /* the unused rest of the newest block */
	size_t block_left;
	char **blocks;
	size_t n_blocks, blocks_cap;
};

void hl_string_table_fini(struct hl_string_table *s);
/* Sets *id to the id of str. A new string is copied. Returns 0 or -ENOMEM. */
int hl_string_table_add(struct hl_string_table *s, const char *str, uint32_t *id);
/* Returns true and sets *id if the table has str. */
bool hl_string_table_find(const struct hl_string_table *s, const char *str, uint32_t *id);

static inline const char *hl_string_table_get(const struct hl_string_table *s, uint32_t id)
{
	return s->items[id];
}

#endif
