/*
 * strings.c - a set of strings; see strings.h.
 */
#include "util/strings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "util/vec.h"

#define BLOCK_SIZE 65536

void hl_strings_fini(struct hl_strings *s)
{
	for (size_t i = 0; i < s->n_blocks; i++)
		free(s->blocks[i]);
	free(s->blocks);
	free(s->items);
	free(s->table);
	memset(s, 0, sizeof(*s));
}

static uint64_t hash_of(const char *str, size_t len)
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

/* The place of str in the table, or the free one where it would go. */
static uint32_t *place_of(const struct hl_strings *s, const char *str, size_t len)
{
	size_t i = hash_of(str, len) & (s->table_cap - 1);

	while (s->table[i] && strcmp(s->items[s->table[i] - 1], str) != 0)
		i = (i + 1) & (s->table_cap - 1);
	return &s->table[i];
}

static int grow_table(struct hl_strings *s)
{
	size_t cap = s->table_cap ? s->table_cap * 2 : 256;
	uint32_t *table = calloc(cap, sizeof(*table));

	if (!table)
		return -ENOMEM;
	free(s->table);
	s->table = table;
	s->table_cap = cap;
	for (size_t i = 0; i < s->len; i++)
		*place_of(s, s->items[i], strlen(s->items[i])) = (uint32_t)i + 1;
	return 0;
}

/* Memory for `size` bytes; strings are never moved, so blocks are never resized. */
static char *take(struct hl_strings *s, size_t size)
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
			return p; /* a long one has a block of its own */
		s->block = p;
		s->block_left = block;
	}
	p = s->block;
	s->block += size;
	s->block_left -= size;
	return p;
}

int hl_strings_add(struct hl_strings *s, const char *str, uint32_t *id)
{
	size_t len = strlen(str);
	uint32_t *place;
	char *copy;

	if (s->len * 2 >= s->table_cap && grow_table(s))
		return -ENOMEM;
	place = place_of(s, str, len);
	if (!*place) {
		if (s->len >= UINT32_MAX - 1 ||
			hl_vec_grow((void **)&s->items, &s->cap, s->len + 1, sizeof(char *)))
			return -ENOMEM;
		copy = take(s, len + 1);
		if (!copy)
			return -ENOMEM;
		memcpy(copy, str, len + 1);
		s->items[s->len++] = copy;
		*place = (uint32_t)s->len;
	}
	*id = *place - 1;
	return 0;
}

bool hl_strings_find(const struct hl_strings *s, const char *str, uint32_t *id)
{
	uint32_t number = s->len ? *place_of(s, str, strlen(str)) : 0;

	if (number)
		*id = number - 1;
	return number;
}
