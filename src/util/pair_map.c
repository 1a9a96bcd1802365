/* SPDX-License-Identifier: Apache-2.0 */
/* pair_map.c - a hash table from a pair of words to a 32-bit value; see pair_map.h. */
#include "util/pair_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

void hl_pair_map_fini(struct hl_pair_map *m)
{
	free(m->slots);
	memset(m, 0, sizeof(*m));
}

/* Returns the slot of the key, or the free slot where it belongs. Requires cap > 0. */
static struct hl_pair_map_slot *find_slot(const struct hl_pair_map *m, uint64_t a, uint64_t b)
{
	size_t i = hl_hash_pair(a, b) & (m->cap - 1);

	while (m->slots[i].value != HL_PAIR_MAP_NONE && (m->slots[i].a != a || m->slots[i].b != b))
		i = (i + 1) & (m->cap - 1);
	return &m->slots[i];
}

uint32_t hl_pair_map_get(const struct hl_pair_map *m, uint64_t a, uint64_t b)
{
	return m->cap ? find_slot(m, a, b)->value : HL_PAIR_MAP_NONE;
}

static int grow_map(struct hl_pair_map *m)
{
	struct hl_pair_map bigger = {.cap = m->cap ? m->cap * 2 : 64, .len = m->len};

	bigger.slots = calloc(bigger.cap, sizeof(*bigger.slots));
	if (!bigger.slots)
		return -ENOMEM;
	for (size_t i = 0; i < bigger.cap; i++)
		bigger.slots[i].value = HL_PAIR_MAP_NONE;
	for (size_t i = 0; i < m->cap; i++) {
		if (m->slots[i].value != HL_PAIR_MAP_NONE)
			*find_slot(&bigger, m->slots[i].a, m->slots[i].b) = m->slots[i];
	}
	free(m->slots);
	*m = bigger;
	return 0;
}

int hl_pair_map_put(struct hl_pair_map *m, uint64_t a, uint64_t b, uint32_t value)
{
	if (m->len * 2 >= m->cap && grow_map(m))
		return -ENOMEM;
	*find_slot(m, a, b) = (struct hl_pair_map_slot){.a = a, .b = b, .value = value};
	m->len++;
	return 0;
}
