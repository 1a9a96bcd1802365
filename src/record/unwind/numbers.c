/*
 * numbers.c - numbers for stacks, by which others know them.
 *
 * A stack is told whole once, with the number of a slot here; as long as its hash stands in that
 * slot, the number says it all. The hash is of all its pcs and has 64 bits: of two stacks that are
 * in the table at the same time one in 2^64 would be taken for the other. Slots are few and given
 * away as stacks come, two to choose from for each.
 *
 * A slot is given away when its new owner is offered (the serial of that unwind stands there, which
 * is no key, for it is even) and is his when he has been told, unless it was offered to somebody
 * else in between: by a handler, whose stack was then told later.
 */
#include "record/unwind/memo_internal.h"

void hl_numbers_init(struct hl_numbers *n, uint64_t *keys, unsigned bits)
{
	n->keys = keys;
	n->shift = 64 - (bits - 1);
	hl_numbers_forget(n);
}

void hl_numbers_forget(struct hl_numbers *n)
{
	n->salt += UINT64_C(0x632be59bd9b4e019);
}

void hl_numbers_offer(struct hl_numbers *n, uint64_t hash, struct hl_stack *s)
{
	uint32_t slot = hl_numbers_set(n, hash) * 2 + (n->turn++ & 1);

	s->key = hl_numbers_key(n, hash);
	s->number = slot + 1;
	n->keys[slot] = s->serial * 2;
}

void hl_unwind_tell(struct hl_unwinder *u, const struct hl_stack *s)
{
	(void)hl_arch_cmpxchg_local(&u->numbers.keys[s->number - 1], s->serial * 2, s->key);
}

void hl_unwind_untell(struct hl_unwinder *u)
{
	hl_numbers_forget(&u->numbers);
	u->quick.sp = 0;
}
