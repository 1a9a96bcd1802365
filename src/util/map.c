/*
 * map.c - from a pair of words to a small number; see map.h.
 */
#include "util/map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

void hl_map_fini(struct hl_map *m)
{
	free(m->slots);
	memset(m, 0, sizeof(*m));
}

/* The slot of the key, or the free one where it would go. cap > 0. */
static struct hl_map_slot *slot_of(const struct hl_map *m, uint64_t a, uint64_t b)
{
	size_t i = hl_hash_pair(a, b) & (m->cap - 1);

	while (m->slots[i].value != HL_MAP_NONE && (m->slots[i].a != a || m->slots[i].b != b))
		i = (i + 1) & (m->cap - 1);
	return &m->slots[i];
}

uint32_t hl_map_get(const struct hl_map *m, uint64_t a, uint64_t b)
{
	return m->cap ? slot_of(m, a, b)->value : HL_MAP_NONE;
}

static int grow(struct hl_map *m)
{
	struct hl_map bigger = {.cap = m->cap ? m->cap * 2 : 64, .len = m->len};

	bigger.slots = calloc(bigger.cap, sizeof(*bigger.slots));
	if (!bigger.slots)
		return -ENOMEM;
	for (size_t i = 0; i < bigger.cap; i++)
		bigger.slots[i].value = HL_MAP_NONE;
	for (size_t i = 0; i < m->cap; i++) {
		if (m->slots[i].value != HL_MAP_NONE)
			*slot_of(&bigger, m->slots[i].a, m->slots[i].b) = m->slots[i];
	}
	free(m->slots);
	*m = bigger;
	return 0;
}

int hl_map_put(struct hl_map *m, uint64_t a, uint64_t b, uint32_t value)
{
	if (m->len * 2 >= m->cap && grow(m))
		return -ENOMEM;
	*slot_of(m, a, b) = (struct hl_map_slot){.a = a, .b = b, .value = value};
	m->len++;
	return 0;
}
