/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack_ids.c - stack ids: small numbers by which the collector knows stacks.
 *
 * A stack is sent once in full, with the index of a slot in this table as its id. While its key is
 * in that slot, the id identifies the stack. The key is made from a 64-bit hash of all pcs: two
 * stacks that are in the table at the same time are confused with a probability of 2^-64. There are
 * few slots. New stacks evict old ones; each stack can use two slots, which are evicted
 * alternately.
 *
 * States of a slot:
 *   free or old  0, or a key with an old salt
 *   offered      2 * the serial of the unwind; even, so it equals no key
 *   known        the key of a stack; odd. Set by hl_unwind_mark_sent() when the stack was sent
 * An offer evicts the previous stack at once. If a handler's unwind is offered the same slot before
 * the stack was sent, the slot belongs to the handler's stack, which is sent later;
 * hl_unwind_mark_sent() then has no effect for the first one.
 */
#include "record/unwind/memo_internal.h"

void hl_stack_ids_init(struct hl_stack_ids *ids, uint64_t *keys, unsigned bits)
{
	ids->keys = keys;
	ids->shift = 64 - (bits - 1);
	hl_stack_ids_forget(ids);
}

void hl_stack_ids_forget(struct hl_stack_ids *ids)
{
	ids->salt += UINT64_C(0x632be59bd9b4e019);
}

void hl_stack_ids_offer(struct hl_stack_ids *ids, uint64_t hash, struct hl_stack *s)
{
	uint32_t slot = hl_stack_ids_set(ids, hash) * 2 + (ids->victim++ & 1);

	s->key = hl_stack_ids_key(ids, hash);
	s->id_plus_1 = slot + 1;
	ids->keys[slot] = s->serial * 2;
}

void hl_unwind_mark_sent(struct hl_unwinder *u, const struct hl_stack *s)
{
	(void)hl_arch_cmpxchg_local(&u->ids.keys[s->id_plus_1 - 1], s->serial * 2, s->key);
}

void hl_unwind_forget_ids(struct hl_unwinder *u)
{
	hl_stack_ids_forget(&u->ids);
	u->last_stack.sp = 0;
}
