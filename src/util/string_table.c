/* SPDX-License-Identifier: Apache-2.0 */
/* string_table.c - a set of strings; see string_table.h. */
#include "util/string_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "util/vec.h"

#define BLOCK_SIZE 65536

void hl_string_table_fini(struct hl_string_table *s)
{
	for (size_t i = 0; i < s->n_blocks; i++)
		free(s->blocks[i]);
	free(s->blocks);
	free(s->items);
	free(s->table);
	memset(s, 0, sizeof(*s));
}

static uint64_t hash_string(const char *str, size_t len)
{
	uint64_t h = len, word;

	for (; len >= 8; str += 8, len -= 8) {
		memcpy(&word, str, 8);
		h = hl_hash_pair(h, word);
	}
	word = 0;
	memcpy(&word, str, len);
	return hl_hash_pair(h, word);
}

/* Returns the slot of str in the hash table, or the free slot where it belongs. */
static uint32_t *find_slot(const struct hl_string_table *s, const char *str, size_t len)
{
	size_t i = hash_string(str, len) & (s->table_cap - 1);

	while (s->table[i] && strcmp(s->items[s->table[i] - 1], str) != 0)
		i = (i + 1) & (s->table_cap - 1);
	return &s->table[i];
}

static int grow_table(struct hl_string_table *s)
{
	size_t cap = s->table_cap ? s->table_cap * 2 : 256;
	uint32_t *table = calloc(cap, sizeof(*table));

	if (!table)
		return -ENOMEM;
	free(s->table);
	s->table = table;
	s->table_cap = cap;
	for (size_t i = 0; i < s->len; i++)
		*find_slot(s, s->items[i], strlen(s->items[i])) = (uint32_t)i + 1;
	return 0;
}

/* Returns memory for `size` bytes. Strings never move, so blocks are never resized. */
static char *alloc_bytes(struct hl_string_table *s, size_t size)
{
	char *p;

	if (size > s->block_left) {
		size_t block = size > BLOCK_SIZE / 4 ? size : BLOCK_SIZE;

		if (hl_vec_grow(
			    (void **)&s->blocks, &s->blocks_cap, s->n_blocks + 1, sizeof(char *)))
			return NULL;
		p = malloc(block);
		if (!p)
			return NULL;
		s->blocks[s->n_blocks++] = p;
		if (block == size)
			return p; /* a long string gets a block of its own */
		s->block = p;
		s->block_left = block;
	}
	p = s->block;
	s->block += size;
	s->block_left -= size;
	return p;
}

int hl_string_table_add(struct hl_string_table *s, const char *str, uint32_t *id)
{
	size_t len = strlen(str);
	uint32_t *slot;
	char *copy;

	if (s->len * 2 >= s->table_cap && grow_table(s))
		return -ENOMEM;
	slot = find_slot(s, str, len);
	if (!*slot) {
		if (s->len >= UINT32_MAX - 1 ||
			hl_vec_grow((void **)&s->items, &s->cap, s->len + 1, sizeof(char *)))
			return -ENOMEM;
		copy = alloc_bytes(s, len + 1);
		if (!copy)
			return -ENOMEM;
		memcpy(copy, str, len + 1);
		s->items[s->len++] = copy;
		*slot = (uint32_t)s->len;
	}
	*id = *slot - 1;
	return 0;
}

bool hl_string_table_find(const struct hl_string_table *s, const char *str, uint32_t *id)
{
	uint32_t id_plus_1 = s->len ? *find_slot(s, str, strlen(str)) : 0;

	if (id_plus_1)
		*id = id_plus_1 - 1;
	return id_plus_1;
}
