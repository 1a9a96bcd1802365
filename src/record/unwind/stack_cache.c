/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack_cache.c - a cache of whole stacks, for stacks that recur but are not the last one.
 *
 * A program that allocates alternately at several sites changes its inner frames each time. A memo
 * has only the last stack, and these frames would be walked again and again. A cached stack is a
 * copy of the pcs and checks of a memo, found by a key. It is trusted under the same condition as a
 * memo: all its checks still hold.
 *
 * Storage: cached stacks are in a circular buffer; the oldest are overwritten. Positions only grow,
 * so a comparison with write_pos shows whether a stack is still there.
 *
 * Admission: a stack is added when it was walked before (was_seen()) and there is credit. Hits earn
 * credit, additions spend it. So few stacks are added where they seldom help.
 *
 * Trials: if there are more stacks than room, and each differs from the last one in one or two
 * frames, then walking these frames is faster than a lookup. So one hit in TRIAL_EVERY is walked
 * anyway, to count the frames. If that shows that the cache does not pay, lookups are skipped for a
 * while.
 *
 * Keys: a key only selects a set. It starts as a hash of the pc and the stack pointer at the start
 * of the walk. Behind an allocation wrapper these are the same for all callers at one depth. So
 * where two stacks have the same key, a key extension names a word of the stack that is mixed into
 * the key: that of the first check in which the two differ. The new key can have an extension too,
 * and so on. It must be safe to read that word before anything is compared, see find_next_slot().
 */
#include <string.h>

#include "base/bits.h"
#include "record/unwind/memo_internal.h"

#define CREDIT_MAX       256
#define HIT_CREDIT       4
#define UNCREDITED_EVERY 16 /* without credit: one stack in this many is added */

#define TRIAL_EVERY      257 /* one hit in this many is a trial: it is walked anyway */
#define TRIALS           16  /* trials before a decision. The cache does not pay if ... */
#define TRIAL_FRAMES_MIN 28  /* ... they walked fewer frames than this ... */
#define TRIAL_MISSES     (TRIALS * TRIAL_EVERY / 8) /* ... and there were more misses than this: */
#define SKIP_FIRST       (1u << 16) /* lookups are skipped for this many unwinds, ... */
#define SKIP_MAX         (1u << 20) /* ... twice as many each time in a row, up to this */

#define NEAR_CHECKS        32u /* innermost checks whose words can be part of a key */
#define EXTENSION_REFUSALS 8u  /* in a full set, one new extension in this many is accepted */

/* --- keys --- */

static uint64_t first_key(const struct hl_regs *start)
{
	return start->pc * HL_HASH_K + start->sp * HL_PATH_K;
}

static uint64_t next_key(uint64_t key, uintptr_t word)
{
	return (key ^ word) * HL_HASH_K;
}

static uint16_t tag_of(uint64_t key)
{
	return (uint16_t)(key >> 32);
}

static struct hl_stack_cache_set *set_of(struct hl_stack_cache *c, uint64_t key)
{
	return &c->sets[key >> 58 & (HL_STACK_CACHE_SETS - 1)];
}

static struct hl_key_extension *extensions_of(struct hl_stack_cache *c, uint64_t key)
{
	return c->extensions[key >> 51 & (HL_KEY_EXTENSION_SETS - 1)];
}

static const struct hl_key_extension *find_extension(struct hl_stack_cache *c, uint64_t key)
{
	const struct hl_key_extension *e = extensions_of(c, key);

	if (e[0].key == key)
		return &e[0];
	return e[1].key == key ? &e[1] : NULL;
}

static uint64_t extend_key(const struct hl_key_extension *e, const struct hl_regs *start)
{
	return next_key(e->key, e->slot ? hl_word(e->slot) : start->fp);
}

static uint64_t find_key(struct hl_stack_cache *c, const struct hl_regs *start)
{
	uint64_t key = first_key(start);
	const struct hl_key_extension *e;

	for (unsigned n = 0; n < HL_KEY_EXTENSIONS_MAX && (e = find_extension(c, key)); n++)
		key = extend_key(e, start);
	return key;
}

/* --- lookup --- */

static bool is_valid(const struct hl_cached_stack *s, const struct hl_regs *start)
{
	return s->pc == start->pc && s->sp == start->sp && (!s->fp_live || s->fp == start->fp) &&
	       hl_failed_check(s->checks, s->n_checks) == 0;
}

void hl_stack_cache_note_walk(struct hl_stack_cache *c, uint32_t walked)
{
	c->in_trial = false;
	c->trial_frames += walked;
	if (++c->trials < TRIALS)
		return;
	if (c->trial_frames < TRIAL_FRAMES_MIN && c->misses > TRIAL_MISSES)
		c->skip = c->last_skip =
			hl_min_u32(hl_max_u32(c->last_skip * 2, SKIP_FIRST), SKIP_MAX);
	else
		c->last_skip = 0;
	c->trials = c->trial_frames = c->misses = 0;
}

/* Counts a hit. NULL: this one is a trial, to be walked. */
static struct hl_cached_stack *count_hit(struct hl_stack_cache *c, struct hl_cached_stack *s)
{
	c->hits++;
	if (hl_likely(--c->until_trial))
		return s;
	c->until_trial = TRIAL_EVERY;
	c->in_trial = true;
	return NULL;
}

/* False: it has been overwritten. */
static bool is_present(const struct hl_stack_cache *c, uint64_t pos)
{
	return c->write_pos - pos <= HL_STACK_CACHE_BYTES;
}

static struct hl_cached_stack *stack_at(const struct hl_stack_cache *c, uint64_t pos)
{
	return (struct hl_cached_stack *)(c->bytes + pos % HL_STACK_CACHE_BYTES);
}

#define TAG_LANES UINT64_C(0x0001000100010001)

/*
 * The entries with this tag: the highest bit of 16 each. Above the lowest bit set there may be
 * false positives. No branch per entry, because which one matches is unpredictable.
 */
static uint64_t match_tags(const struct hl_stack_cache_set *set, uint16_t tag)
{
	uint64_t differ = set->tags ^ tag * TAG_LANES;

	_Static_assert(HL_STACK_CACHE_WAYS * 16 == 64, "the tags of a set are one word");
	return (differ - TAG_LANES) & ~differ & TAG_LANES << 15;
}

static bool has_tag(const struct hl_stack_cache_set *set, unsigned i, uint16_t tag)
{
	return (uint16_t)(set->tags >> i * 16) == tag;
}

struct hl_cached_stack *hl_stack_cache_find(struct hl_stack_cache *c, const struct hl_regs *start)
{
	const struct hl_stack_cache_set *set;
	uint64_t key;

	if (hl_stack_cache_is_skipped(c))
		return NULL;
	key = find_key(c, start);
	set = set_of(c, key);
	for (uint64_t left = match_tags(set, tag_of(key)); left; left &= left - 1) {
		uint64_t pos = set->positions[(unsigned)__builtin_ctzll(left) / 16];
		struct hl_cached_stack *s = stack_at(c, pos);

		if (hl_likely(is_present(c, pos) && is_valid(s, start)))
			return count_hit(c, s);
	}
	return NULL;
}

/* --- key extensions --- */

/* The key of a stack, and the slots whose words are part of it. */
struct key_path {
	uint64_t key;
	uintptr_t slots[HL_KEY_EXTENSIONS_MAX];
	unsigned n_slots;
};

#define NO_CHECK UINT32_MAX

/* The index of the check of this slot, among the innermost NEAR_CHECKS; NO_CHECK: none. */
static uint32_t find_check(const struct hl_cached_stack *s, uintptr_t slot)
{
	uint32_t i = s->n_checks, end = i > NEAR_CHECKS ? i - NEAR_CHECKS : 0;

	while (i-- > end) {
		if (s->checks[i].slot == slot)
			return i;
	}
	return NO_CHECK;
}

/* Does the stack depend on the word of an extension? slot 0: the frame pointer. */
static bool depends_on(const struct hl_cached_stack *s, uintptr_t slot)
{
	return slot ? find_check(s, slot) != NO_CHECK : s->fp_live;
}

static bool is_in_key(const struct key_path *p, uintptr_t slot)
{
	for (unsigned i = 0; i < p->n_slots; i++) {
		if (p->slots[i] == slot)
			return true;
	}
	return false;
}

/*
 * Follows the extensions of the key. True: to the last one. False: the stack does not depend on the
 * word of the next extension.
 */
static bool follow_extensions(struct hl_stack_cache *c, struct key_path *p,
	const struct hl_cached_stack *s, const struct hl_regs *start)
{
	const struct hl_key_extension *e;

	while (p->n_slots < HL_KEY_EXTENSIONS_MAX && (e = find_extension(c, p->key))) {
		if (!depends_on(s, e->slot))
			return false;
		p->slots[p->n_slots++] = e->slot;
		p->key = extend_key(e, start);
	}
	return true;
}

/*
 * Is the slot readable whatever the stack holds? It is in the page of the stack pointer and in the
 * pages of slots that are part of the key.
 */
static bool is_in_known_page(
	const struct key_path *p, const struct hl_cached_stack *s, uintptr_t slot)
{
	bool found = slot / HL_PAGE == s->sp / HL_PAGE;

	for (unsigned i = 0; i < p->n_slots; i++)
		found |= slot / HL_PAGE == p->slots[i] / HL_PAGE;
	return found;
}

/*
 * Finds the innermost slot that is not part of the key. It is readable: all words inside it, and
 * the frame pointer if that is live, are part of the key, so a walk would read this slot next. All
 * stacks of this key depend on it. False: there is none.
 */
static bool find_next_slot(
	const struct key_path *p, const struct hl_cached_stack *s, uintptr_t *slot)
{
	uint32_t i = s->n_checks;

	while (i > 0 && is_in_key(p, s->checks[i - 1].slot))
		i--;
	if (i == 0)
		return false;
	*slot = s->checks[i - 1].slot;
	if (!is_in_known_page(p, s, *slot) && s->fp_live && !is_in_key(p, 0))
		*slot = 0;
	return *slot != (uintptr_t)&hl_slot_never;
}

/* The number of equal checks, from the inside outward. */
static uint32_t count_equal_checks(const struct hl_cached_stack *a, const struct hl_cached_stack *b)
{
	const struct hl_check *x = a->checks + a->n_checks, *y = b->checks + b->n_checks;
	uint32_t n = 0, most = hl_min_u32(a->n_checks, b->n_checks);

	while (n < most && x[-1].slot == y[-1].slot && x[-1].word == y[-1].word)
		n++, x--, y--;
	return n;
}

/*
 * Finds a word that distinguishes the stack from another one with the same key, or that leads to
 * such a word. False: none.
 */
static bool find_differing_slot(const struct key_path *p, const struct hl_cached_stack *s,
	const struct hl_cached_stack *other, uintptr_t *slot)
{
	uint32_t same = count_equal_checks(s, other);

	*slot = 0;
	if (s->fp_live && other->fp_live && s->fp != other->fp)
		return true;
	if (same >= NEAR_CHECKS || same == s->n_checks || same == other->n_checks)
		return false;
	*slot = s->checks[s->n_checks - 1 - same].slot;
	if (is_in_known_page(p, s, *slot) &&
		other->checks[other->n_checks - 1 - same].slot == *slot)
		return true;
	return same < HL_KEY_EXTENSIONS_MAX && find_next_slot(p, s, slot);
}

/* Finds a cached stack with this key that a word distinguishes from s. False: there is none. */
static bool find_extension_slot(struct hl_stack_cache *c, const struct key_path *p,
	const struct hl_cached_stack *s, uintptr_t *slot)
{
	const struct hl_stack_cache_set *set = set_of(c, p->key);

	for (unsigned i = 0; i < HL_STACK_CACHE_WAYS; i++) {
		const struct hl_cached_stack *other = stack_at(c, set->positions[i]);

		if (is_present(c, set->positions[i]) && has_tag(set, i, tag_of(p->key)) &&
			other->pc == s->pc && other->sp == s->sp &&
			find_differing_slot(p, s, other, slot))
			return true;
	}
	return false;
}

static void insert_entry(struct hl_stack_cache *c, uint64_t key, uint64_t pos)
{
	struct hl_stack_cache_set *set = set_of(c, key);

	memmove(set->positions + 1, set->positions,
		sizeof(set->positions) - sizeof(*set->positions));
	set->tags = set->tags << 16 | tag_of(key);
	set->positions[0] = pos;
}

/*
 * Moves the cached stacks of this key to the extended key. A stack that does not depend on the slot
 * is dropped; it is added again when it is walked the next time.
 */
static void rekey_entries(struct hl_stack_cache *c, const struct hl_key_extension *e)
{
	struct hl_stack_cache_set *set = set_of(c, e->key), old = *set;

	for (unsigned i = 0; i < HL_STACK_CACHE_WAYS; i++) {
		if (has_tag(&old, i, tag_of(e->key)))
			set->positions[i] = 0;
	}
	for (unsigned i = HL_STACK_CACHE_WAYS; i-- > 0;) {
		const struct hl_cached_stack *s = stack_at(c, old.positions[i]);

		if (is_present(c, old.positions[i]) && has_tag(&old, i, tag_of(e->key)) &&
			depends_on(s, e->slot))
			insert_entry(c,
				next_key(e->key,
					e->slot ? s->checks[find_check(s, e->slot)].word : s->fp),
				old.positions[i]);
	}
}

/*
 * A siglongjmp out of a handler may end this anywhere: a key is stored only while its own slot is.
 */
static void set_extension(struct hl_key_extension *e, uint64_t key, uintptr_t slot)
{
	e->key = 0;
	atomic_signal_fence(memory_order_seq_cst);
	e->slot = slot;
	atomic_signal_fence(memory_order_seq_cst);
	e->key = key;
}

/*
 * Adds an extension, in place of the one with this key, or else of the older one in the set. Stacks
 * behind an evicted extension become unreachable and must be added again. So most extensions are
 * refused where there is no room; otherwise several would evict each other all the time. NULL:
 * refused.
 */
static const struct hl_key_extension *add_extension(
	struct hl_stack_cache *c, uint64_t key, uintptr_t slot)
{
	struct hl_key_extension *e = extensions_of(c, key);

	if (e[0].key != key && e[1].key != key) {
		if (e[0].key && e[1].key && ++c->refused_extensions % EXTENSION_REFUSALS)
			return NULL;
		set_extension(&e[1], e[0].key, e[0].slot);
		e[0].key = 0;
	}
	e += e[1].key == key;
	set_extension(e, key, slot);
	return e;
}

/* The key by which this stack is found; adds extensions where it needs them. */
static uint64_t make_key(
	struct hl_stack_cache *c, const struct hl_cached_stack *s, const struct hl_regs *start)
{
	struct key_path p = {.key = first_key(start)};
	const struct hl_key_extension *e;
	uintptr_t slot;

	for (unsigned n = 0; n < 2 * HL_KEY_EXTENSIONS_MAX; n++) {
		bool at_end = follow_extensions(c, &p, s, start);

		if (p.n_slots == HL_KEY_EXTENSIONS_MAX ||
			!(at_end ? find_extension_slot(c, &p, s, &slot)
				 : find_next_slot(&p, s, &slot)))
			break;
		e = add_extension(c, p.key, slot);
		if (!e)
			break;
		rekey_entries(c, e);
	}
	return p.key;
}

/* --- adding stacks --- */

/* Reserves `size` contiguous bytes; stacks that were there are lost. */
static struct hl_cached_stack *reserve_bytes(struct hl_stack_cache *c, uint32_t size, uint64_t *pos)
{
	uint64_t left = HL_STACK_CACHE_BYTES - c->write_pos % HL_STACK_CACHE_BYTES;

	*pos = left < size ? c->write_pos + left : c->write_pos;
	c->write_pos = *pos + size;
	atomic_signal_fence(memory_order_release);
	return (struct hl_cached_stack *)(c->bytes + *pos % HL_STACK_CACHE_BYTES);
}

/*
 * Was this stack, or one with the same innermost frames, walked recently? Most stacks occur once.
 */
static bool was_seen(struct hl_stack_cache *c, const struct hl_memo *m)
{
	uint64_t h = m->frames[m->depth - 1].sp;
	uint32_t *seen;

	for (uint32_t i = m->depth, n = 0; i > 0 && n < 4; i--, n++)
		h = (h ^ m->pcs[i - 1]) * UINT64_C(0x9e3779b97f4a7c15);
	seen = c->seen[h >> 32 & (HL_STACK_CACHE_SEEN - 1)];
	if (seen[0] == (uint32_t)h || seen[1] == (uint32_t)h)
		return true;
	seen[1] = seen[0];
	seen[0] = (uint32_t)h;
	return false;
}

static bool has_credit(struct hl_stack_cache *c)
{
	uint32_t new_hits = hl_min_u32(c->hits - c->hits_before, CREDIT_MAX);

	c->hits_before = c->hits;
	c->credit = hl_min_u32(c->credit + new_hits * HIT_CREDIT, CREDIT_MAX);
	if (c->credit > 0) {
		c->credit--;
		return true;
	}
	return ++c->uncredited % UNCREDITED_EVERY == 0;
}

bool hl_stack_cache_add(
	struct hl_stack_cache *c, const struct hl_memo *m, const struct hl_regs *start)
{
	const struct hl_memo_frame *inner = &m->frames[m->depth - 1];
	uint32_t pcs = m->depth * (uint32_t)sizeof(*m->pcs);
	uint32_t checks = inner->checks_end * (uint32_t)sizeof(*m->checks);
	uint32_t size = (uint32_t)sizeof(struct hl_cached_stack) + pcs + checks;
	uint64_t pos;
	struct hl_cached_stack *s;

	if (c->in_trial)
		return false; /* a trial: it is in the cache */
	c->misses++;
	if (c->skip || size > HL_CACHED_STACK_MAX || (inner->flags & HL_MEMO_INTERRUPTED) ||
		!was_seen(c, m) || !has_credit(c))
		return false;
	s = reserve_bytes(c, size, &pos);
	s->pc = m->pcs[m->depth - 1];
	s->sp = inner->sp;
	s->fp = inner->fp;
	s->fp_live = inner->flags & HL_MEMO_FP_LIVE;
	s->depth = m->depth;
	s->n_checks = inner->checks_end;
	s->hash = inner->hash;
	s->id_hint = 0;
	memcpy(s->checks, m->checks, checks);
	memcpy(hl_cached_stack_pcs(s), m->pcs, pcs);
	atomic_signal_fence(memory_order_release);
	insert_entry(c, make_key(c, s, start), pos);
	return true;
}

void hl_stack_cache_forget(struct hl_stack_cache *c)
{
	memset(c->sets, 0, sizeof(c->sets));
	memset(c->extensions, 0, sizeof(c->extensions));
	c->credit = CREDIT_MAX / 2;
	c->hits = c->hits_before = c->trials = c->trial_frames = c->misses = c->skip =
		c->last_skip = 0;
	c->until_trial = TRIAL_EVERY;
	c->in_trial = false;
	if (!c->write_pos)
		c->write_pos = 2 * HL_STACK_CACHE_BYTES; /* position 0 is then invalid */
}
