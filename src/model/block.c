/*
 * block.c - the table of blocks that are alive while events are read; see block.h.
 *
 * A heap may have millions of them, so little is kept of each: what most blocks do not have (a
 * weight, a pool) lies beside it, and only once one has it. Slots find the places: linear probing,
 * at most three quarters full; what is taken out is closed up at once, so that the table is never
 * larger than the most blocks that were alive ask for. Ordinals that follow each other lie in one
 * cache line of slots: blocks born together are often all that is alive, and often die together.
 */
#include "model/block.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "base/hash.h"

#define FREE UINT64_MAX
#define LINE 8u /* slots in a cache line */

struct hl_block_kept {
	uint64_t ordinal; /* FREE: a hole, and addr is the next one */
	uint64_t addr, size, birth_ns;
	uint32_t node, thread, tag;
	uint8_t func, born;
	bool rest;
};

struct hl_block_rest {
	uint64_t blocks, bytes;
	uint32_t pool;
};

struct hl_block_slot {
	uint32_t place; /* + 1; 0: free */
	uint32_t low;   /* of the ordinal: most others are told apart without a look at them */
};

/* Slots are three eighths full at the least, but for the smallest table. */
_Static_assert(sizeof(struct hl_block_kept) + sizeof(struct hl_block_rest) +
			       sizeof(struct hl_block_slot) * 8 / 3 <=
		       HL_BLOCKS_EACH,
	"what a block takes");

void hl_blocks_fini(struct hl_blocks *t)
{
	free(t->slots);
	free(t->kept);
	free(t->rest);
	memset(t, 0, sizeof(*t));
}

size_t hl_blocks_memory(const struct hl_blocks *t)
{
	return t->cap * sizeof(*t->slots) + t->kept_len * sizeof(*t->kept) +
	       (t->rest ? t->kept_len * sizeof(*t->rest) : 0);
}

static size_t home(const struct hl_blocks *t, uint64_t ordinal)
{
	return (hl_hash_u64(ordinal / LINE) * LINE + ordinal % LINE) & (t->cap - 1);
}

static void point(struct hl_blocks *t, uint64_t ordinal, size_t place)
{
	size_t i = home(t, ordinal);

	while (t->slots[i].place != 0)
		i = (i + 1) & (t->cap - 1);
	t->slots[i] =
		(struct hl_block_slot){.place = (uint32_t)place + 1, .low = (uint32_t)ordinal};
}

static void point_all(struct hl_blocks *t)
{
	for (size_t i = 0; i < t->kept_len; i++) {
		if (t->kept[i].ordinal != FREE)
			point(t, t->kept[i].ordinal, i);
	}
}

static int grow_slots(struct hl_blocks *t)
{
	size_t cap = t->cap ? t->cap * 2 : 1024;

	free(t->slots); /* all it says can be said again */
	t->slots = calloc(cap, sizeof(*t->slots));
	t->cap = t->slots ? cap : 0;
	if (!t->slots)
		return -ENOMEM;
	point_all(t);
	return 0;
}

static int grow_rest(struct hl_blocks *t)
{
	struct hl_block_rest *rest = realloc(t->rest, t->kept_cap * sizeof(*rest));

	if (!rest)
		return -ENOMEM;
	t->rest = rest;
	return 0;
}

static int grow_kept(struct hl_blocks *t)
{
	size_t cap = t->kept_cap ? t->kept_cap * 2 : 1024;
	struct hl_block_kept *kept =
		cap < UINT32_MAX ? realloc(t->kept, cap * sizeof(*kept)) : NULL;

	if (!kept)
		return -ENOMEM;
	t->kept = kept;
	t->kept_cap = cap;
	return t->rest ? grow_rest(t) : 0;
}

static size_t new_place(struct hl_blocks *t)
{
	size_t place = t->kept_len;

	if (t->hole == 0) {
		t->kept_len++;
		return place;
	}
	place = t->hole - 1;
	t->hole = t->kept[place].addr;
	return place;
}

int hl_blocks_put(struct hl_blocks *t, const struct hl_block *b)
{
	bool rest = b->blocks != 1 || b->bytes != b->size || b->pool != UINT32_MAX;
	size_t place;
	int err = 0;

	if (b->ordinal == FREE)
		return -EBADMSG;
	if (t->len * 4 >= t->cap * 3)
		err = grow_slots(t);
	if (!err && t->hole == 0 && t->kept_len == t->kept_cap)
		err = grow_kept(t);
	if (!err && rest && !t->rest)
		err = grow_rest(t);
	if (err)
		return err;
	place = new_place(t);
	t->kept[place] = (struct hl_block_kept){.ordinal = b->ordinal,
		.addr = b->addr,
		.size = b->size,
		.birth_ns = b->birth_ns,
		.node = b->node,
		.thread = b->thread,
		.tag = b->tag,
		.func = b->func,
		.born = b->born,
		.rest = rest};
	if (rest)
		t->rest[place] = (struct hl_block_rest){
			.blocks = b->blocks, .bytes = b->bytes, .pool = b->pool};
	point(t, b->ordinal, place);
	t->len++;
	return 0;
}

static void tell(const struct hl_blocks *t, size_t place, struct hl_block *b)
{
	const struct hl_block_kept *k = &t->kept[place];

	*b = (struct hl_block){.ordinal = k->ordinal,
		.addr = k->addr,
		.size = k->size,
		.blocks = k->rest ? t->rest[place].blocks : 1,
		.bytes = k->rest ? t->rest[place].bytes : k->size,
		.birth_ns = k->birth_ns,
		.death_ns = UINT64_MAX,
		.node = k->node,
		.thread = k->thread,
		.tag = k->tag,
		.pool = k->rest ? t->rest[place].pool : UINT32_MAX,
		.free_node = UINT32_MAX,
		.func = k->func,
		.born = k->born,
		.died = HL_PHASE_NEVER};
}

/* Moves later slots of the chain into the hole, so that a search never stops short of them. */
static void close_hole(struct hl_blocks *t, size_t hole)
{
	size_t mask = t->cap - 1;

	for (size_t i = (hole + 1) & mask; t->slots[i].place != 0; i = (i + 1) & mask) {
		uint64_t ordinal = t->kept[t->slots[i].place - 1].ordinal;

		if (((i - home(t, ordinal)) & mask) >= ((i - hole) & mask)) {
			t->slots[hole] = t->slots[i];
			hole = i;
		}
	}
	t->slots[hole].place = 0;
}

void hl_blocks_expect(const struct hl_blocks *t, uint64_t ordinal)
{
	if (t->cap > 0)
		hl_fetch(&t->slots[home(t, ordinal)]);
}

void hl_blocks_fetch(const struct hl_blocks *t, uint64_t ordinal)
{
	const struct hl_block_slot *s;

	if (t->cap == 0)
		return;
	s = &t->slots[home(t, ordinal)];
	if (s->place != 0 && s->low == (uint32_t)ordinal)
		hl_fetch(&t->kept[s->place - 1]);
}

static void give_place(struct hl_blocks *t, size_t place)
{
	t->kept[place].ordinal = FREE;
	t->kept[place].addr = t->hole;
	t->hole = place + 1;
	t->len--;
}

bool hl_blocks_take(struct hl_blocks *t, uint64_t ordinal, struct hl_block *b)
{
	size_t mask = t->cap - 1, place;

	if (t->len == 0 || ordinal == FREE)
		return false;
	for (size_t i = home(t, ordinal); t->slots[i].place != 0; i = (i + 1) & mask) {
		place = t->slots[i].place - 1;
		if (t->slots[i].low != (uint32_t)ordinal || t->kept[place].ordinal != ordinal)
			continue;
		tell(t, place, b);
		close_hole(t, i);
		give_place(t, place);
		return true;
	}
	return false;
}

void hl_blocks_drop_above(struct hl_blocks *t, uint64_t addr)
{
	for (size_t i = 0; i < t->kept_len; i++) {
		if (t->kept[i].ordinal != FREE && t->kept[i].addr >= addr)
			give_place(t, i);
	}
	/* Of many at once it is cheaper than to close up after each. */
	if (t->slots)
		memset(t->slots, 0, t->cap * sizeof(*t->slots));
	point_all(t);
}

bool hl_blocks_next(const struct hl_blocks *t, size_t *at, struct hl_block *b)
{
	while (*at < t->kept_len && t->kept[*at].ordinal == FREE)
		++*at;
	if (*at == t->kept_len)
		return false;
	tell(t, (*at)++, b);
	return true;
}

static int by_ordinal(const void *pa, const void *pb, void *arg)
{
	const struct hl_block_kept *kept = arg;
	uint64_t a = kept[*(const uint32_t *)pa].ordinal, b = kept[*(const uint32_t *)pb].ordinal;

	return (a > b) - (a < b);
}

int hl_blocks_in_order(
	const struct hl_blocks *t, int (*fn)(void *arg, const struct hl_block *b), void *arg)
{
	uint32_t *places = t->len ? malloc(t->len * sizeof(*places)) : NULL;
	struct hl_block b;
	size_t n = 0;
	int err = 0;

	if (!places)
		return t->len ? -ENOMEM : 0;
	for (size_t i = 0; i < t->kept_len; i++) {
		if (t->kept[i].ordinal != FREE)
			places[n++] = (uint32_t)i;
	}
	qsort_r(places, n, sizeof(*places), by_ordinal, t->kept);
	for (size_t i = 0; i < n && !err; i++) {
		tell(t, places[i], &b);
		err = fn(arg, &b);
	}
	free(places);
	return err;
}
