/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules_internal.h - the table of rules by pc, shared by all threads without a lock.
 *
 * A two-way hash table. An entry is one word: a 32-bit tag, 4 bits of generation, a rule of 28
 * bits. The set index (16 bits) and the tag together are the 48 bits of an invertible product of
 * the key, so a match is exact: two pcs never share an entry, they only evict each other. Any
 * interleaving of loads and stores is valid, because each word is complete in itself.
 *
 * The key is the pc to look up: a return address minus one, or an interrupted pc itself. Bit 47 is
 * set for an interrupted pc. Its rule can differ, because only then does the table row apply to the
 * address of the instruction itself.
 */
#ifndef HL_RECORD_UNWIND_RULES_INTERNAL_H
#define HL_RECORD_UNWIND_RULES_INTERNAL_H

#include <stdatomic.h>

#include "record/arch/walk.h"
#include "record/unwind/unwind.h"
#include HL_ARCH_STEP

#define HL_RULE_SETS (1u << 16)
#define HL_RULE_MUL \
	(UINT64_C(0x9e3779b97f4b) << 16) /* odd, so the product modulo 2^48 is invertible */

extern _Atomic uint64_t hl_rule_table[HL_RULE_SETS][2];
extern _Atomic uint64_t hl_rule_generation;

/*
 * The generation, and in its low bits the number of unloads in progress. During an unload, other
 * code may be loaded at any address before the rules of the old code are forgotten, so nothing may
 * be cached. Both are in one word, so that the hot path needs one comparison.
 */
#define HL_UNLOADS_MASK  UINT64_C(0xffff)
#define HL_NO_GENERATION (UINT64_C(1) << 40) /* beyond the bits of an entry: matches no entry */

hl_inline uint64_t hl_generation(void)
{
	return atomic_load_explicit(&hl_rule_generation, memory_order_acquire);
}

hl_inline bool hl_generation_settled(uint64_t generation)
{
	return !(generation & HL_UNLOADS_MASK);
}

/* The generation bits of the entries that a walk may use. */
hl_inline uint64_t hl_generation_bits(uint64_t generation)
{
	if (hl_unlikely(!hl_generation_settled(generation)))
		return HL_NO_GENERATION;
	return (generation / (HL_UNLOADS_MASK + 1)) % 15 + 1; /* 0 marks an empty entry */
}

/* Compiles the rule of pc, and stores it unless the code may change without notice. */
uint32_t hl_rule_compile(struct hl_walk *w, uintptr_t pc);

hl_inline uint32_t hl_rule_get(struct hl_walk *w, uintptr_t pc_now)
{
	uintptr_t pc = pc_now - !w->exact;
	uint64_t h = (pc | (uint64_t)w->exact << 47) * HL_RULE_MUL;
	/* A pc beyond 47 bits has no entry: the last term makes sure that no entry matches. */
	uint64_t want = (h << 16) >> 28 | w->generation | (pc >> 47) << 40;
	_Atomic uint64_t *set = hl_rule_table[h >> 48];
	uint64_t e = atomic_load_explicit(&set[0], memory_order_relaxed);

	if (hl_likely(e >> HL_RULE_BITS == want))
		return e & ((1u << HL_RULE_BITS) - 1);
	e = atomic_load_explicit(&set[1], memory_order_relaxed);
	if (hl_likely(e >> HL_RULE_BITS == want))
		return e & ((1u << HL_RULE_BITS) - 1);
	return hl_rule_compile(w, pc);
}

#endif
