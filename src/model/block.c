/*
 * block.c - the table of blocks that are alive while events are read; see block.h.
 *
 * Linear probing, at most three quarters full; what is taken out is closed up at once, so that the
 * table is never larger than the most blocks that were alive ask for.
 */
#include "model/block.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

#define FREE UINT64_MAX

void hl_blocks_fini(struct hl_blocks *t)
{
	free(t->slots);
	memset(t, 0, sizeof(*t));
}

static size_t home(const struct hl_blocks *t, uint64_t ordinal)
{
	return hl_hash_u64(ordinal) & (t->cap - 1);
}

static void insert(struct hl_blocks *t, const struct hl_block *b)
{
	size_t i = home(t, b->ordinal);

	while (t->slots[i].ordinal != FREE)
		i = (i + 1) & (t->cap - 1);
	t->slots[i] = *b;
}

static int grow(struct hl_blocks *t)
{
	struct hl_blocks bigger = {.cap = t->cap ? t->cap * 2 : 1024, .len = t->len};

	bigger.slots = malloc(bigger.cap * sizeof(*bigger.slots));
	if (!bigger.slots)
		return -ENOMEM;
	for (size_t i = 0; i < bigger.cap; i++)
		bigger.slots[i].ordinal = FREE;
	for (size_t i = 0; i < t->cap; i++) {
		if (t->slots[i].ordinal != FREE)
			insert(&bigger, &t->slots[i]);
	}
	free(t->slots);
	*t = bigger;
	return 0;
}

int hl_blocks_put(struct hl_blocks *t, const struct hl_block *b)
{
	if (b->ordinal == FREE)
		return -EBADMSG;
	if (t->len * 4 >= t->cap * 3 && grow(t))
		return -ENOMEM;
	insert(t, b);
	t->len++;
	return 0;
}

/* Moves later blocks of the chain into the hole, so that a search never stops short of them. */
static void close_hole(struct hl_blocks *t, size_t hole)
{
	size_t mask = t->cap - 1;

	for (size_t i = (hole + 1) & mask; t->slots[i].ordinal != FREE; i = (i + 1) & mask) {
		size_t from_home = (i - home(t, t->slots[i].ordinal)) & mask;

		if (from_home >= ((i - hole) & mask)) {
			t->slots[hole] = t->slots[i];
			hole = i;
		}
	}
	t->slots[hole].ordinal = FREE;
}

void hl_blocks_expect(const struct hl_blocks *t, uint64_t ordinal)
{
	if (t->cap > 0)
		__builtin_prefetch(&t->slots[home(t, ordinal)], 1);
}

bool hl_blocks_take(struct hl_blocks *t, uint64_t ordinal, struct hl_block *b)
{
	size_t i;

	if (t->len == 0 || ordinal == FREE)
		return false;
	for (i = home(t, ordinal); t->slots[i].ordinal != ordinal; i = (i + 1) & (t->cap - 1)) {
		if (t->slots[i].ordinal == FREE)
			return false;
	}
	*b = t->slots[i];
	close_hole(t, i);
	t->len--;
	return true;
}
