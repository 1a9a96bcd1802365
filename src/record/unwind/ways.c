/*
 * ways.c - stacks that come back: more than the last one, whole.
 *
 * A program that allocates in several places by turns changes its inner frames each time. The memo
 * knows the last stack only and would have them walked again; a way is a copy of a memo's pcs and
 * checks, found by a key, and believed exactly as the memo itself would be:
 * if all its words still hold. Ways lie in a ring of bytes, the oldest are overwritten; a position
 * only grows, so that one looks at it to see whether a way is still there. Where they seldom help
 * few are kept. And where there are more of them than places, and each differs from the last one in
 * a frame or two, to walk those is sooner done than to look for a way: now and then one is walked
 * that had been found, to see how many frames that are.
 *
 * The key only selects a set of places. It is made of the pc and the stack pointer that the walk
 * begins with. Behind an allocation wrapper these are the same for all callers of one depth: so
 * where two ways have the same key, a fork says which word of the stack becomes part of it, that of
 * the first check in which the two differ, and so on. To read that word must be safe before
 * anything is compared, see next_slot().
 */
#include <string.h>

#include "base/bits.h"
#include "record/unwind/memo_internal.h"

#define CREDIT_MAX 256
#define HIT_WORTH  4
#define BROKE_KEEP 16 /* out of credit: one stack in so many */

#define TRY_EVERY 257 /* of so many that are found one is walked, to see what that takes */
#define TRIES     16  /* then it is judged. They do not pay if they took few frames, ... */
#define PAYS      28
#define MISSES    (TRIES * TRY_EVERY / 8) /* ... and in the meantime many others were not found: */
#define PASS      (1u << 16)              /* so many unwinds without, ... */
#define PASS_MAX  (1u << 20) /* ... each time twice as many if it was so the last time too */

#define NEAR_CHECKS   32u /* from the inside on, whose words may be part of a key */
#define FORK_REFUSALS 8u

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

static struct hl_way_set *set_of(struct hl_ways *w, uint64_t key)
{
	return &w->sets[key >> 58 & (HL_WAY_SETS - 1)];
}

static struct hl_fork *forks_of(struct hl_ways *w, uint64_t key)
{
	return w->forks[key >> 51 & (HL_FORK_SETS - 1)];
}

static const struct hl_fork *find_fork(struct hl_ways *w, uint64_t key)
{
	const struct hl_fork *f = forks_of(w, key);

	if (f[0].key == key)
		return &f[0];
	return f[1].key == key ? &f[1] : NULL;
}

static uint64_t fork_key(const struct hl_fork *f, const struct hl_regs *start)
{
	return next_key(f->key, f->slot ? hl_word(f->slot) : start->fp);
}

static uint64_t find_key(struct hl_ways *w, const struct hl_regs *start)
{
	uint64_t key = first_key(start);
	const struct hl_fork *f;

	for (unsigned n = 0; n < HL_FORKS_MAX && (f = find_fork(w, key)); n++)
		key = fork_key(f, start);
	return key;
}

/* --- lookup --- */

static bool holds(const struct hl_way *y, const struct hl_regs *start)
{
	return y->pc == start->pc && y->sp == start->sp && (!y->live || y->fp == start->fp) &&
	       hl_first_to_fail(y->checks, y->n_checks) == 0;
}

void hl_ways_judge(struct hl_ways *w, uint32_t walked)
{
	w->trying = false;
	w->walked += walked;
	if (++w->tries < TRIES)
		return;
	if (w->walked < PAYS && w->missed > MISSES)
		w->pass = w->last_pass = hl_min_u32(hl_max_u32(w->last_pass * 2, PASS), PASS_MAX);
	else
		w->last_pass = 0;
	w->tries = w->walked = w->missed = 0;
}

/* Found, unless this is one that is walked all the same. */
static struct hl_way *found(struct hl_ways *w, struct hl_way *y)
{
	w->found++;
	if (hl_likely(--w->until_try))
		return y;
	w->until_try = TRY_EVERY;
	w->trying = true;
	return NULL;
}

/* It may have been overwritten since. */
static bool is_there(const struct hl_ways *w, uint64_t place)
{
	return w->end - place <= HL_WAY_BYTES;
}

static struct hl_way *way_at(const struct hl_ways *w, uint64_t place)
{
	return (struct hl_way *)(w->bytes + place % HL_WAY_BYTES);
}

#define EACH_TAG UINT64_C(0x0001000100010001)

/* The places with this tag, the highest bit of 16 each; above the first there may be others. Which
 * one it is, is chance: not by a branch. */
static uint64_t tagged(const struct hl_way_set *set, uint16_t tag)
{
	uint64_t differ = set->tags ^ tag * EACH_TAG;

	_Static_assert(HL_WAY_PLACES * 16 == 64, "the tags of a set are one word");
	return (differ - EACH_TAG) & ~differ & EACH_TAG << 15;
}

static bool has_tag(const struct hl_way_set *set, unsigned i, uint16_t tag)
{
	return (uint16_t)(set->tags >> i * 16) == tag;
}

struct hl_way *hl_ways_find(struct hl_ways *w, const struct hl_regs *start)
{
	const struct hl_way_set *set;
	uint64_t key;

	if (hl_ways_pass(w))
		return NULL;
	key = find_key(w, start);
	set = set_of(w, key);
	for (uint64_t left = tagged(set, tag_of(key)); left; left &= left - 1) {
		uint64_t place = set->places[(unsigned)__builtin_ctzll(left) / 16];
		struct hl_way *y = way_at(w, place);

		if (hl_likely(is_there(w, place) && holds(y, start)))
			return found(w, y);
	}
	return NULL;
}

/* --- keys that grow --- */

/* The key of a way, and the slots whose words are part of it. */
struct path {
	uint64_t key;
	uintptr_t slots[HL_FORKS_MAX];
	unsigned forks;
};

#define NO_CHECK UINT32_MAX

/* The check for this slot. */
static uint32_t check_of(const struct hl_way *y, uintptr_t slot)
{
	uint32_t i = y->n_checks, end = i > NEAR_CHECKS ? i - NEAR_CHECKS : 0;

	while (i-- > end) {
		if (y->checks[i].slot == slot)
			return i;
	}
	return NO_CHECK;
}

/* Does the way depend on the word that a fork reads? slot 0: the frame pointer. */
static bool depends_on(const struct hl_way *y, uintptr_t slot)
{
	return slot ? check_of(y, slot) != NO_CHECK : y->live;
}

static bool in_key(const struct path *p, uintptr_t slot)
{
	for (unsigned i = 0; i < p->forks; i++) {
		if (p->slots[i] == slot)
			return true;
	}
	return false;
}

/* True: to the end. False: the way does not depend on the word that the next fork reads. */
static bool follow(
	struct hl_ways *w, struct path *p, const struct hl_way *y, const struct hl_regs *start)
{
	const struct hl_fork *f;

	while (p->forks < HL_FORKS_MAX && (f = find_fork(w, p->key))) {
		if (!depends_on(y, f->slot))
			return false;
		p->slots[p->forks++] = f->slot;
		p->key = fork_key(f, start);
	}
	return true;
}

/* A word can be read whatever the stack holds in the page of the stack pointer, and in that of a
 * word which is part of the key. */
static bool in_page(const struct path *p, const struct hl_way *y, uintptr_t slot)
{
	bool found = slot / HL_PAGE == y->sp / HL_PAGE;

	for (unsigned i = 0; i < p->forks; i++)
		found |= slot / HL_PAGE == p->slots[i] / HL_PAGE;
	return found;
}

/*
 * The innermost word that is not part of the key. It can be read: all words inside it, and the
 * frame pointer if that counts, are part of the key, so that a walk would read it next. All ways of
 * this key depend on it. False: there is none.
 */
static bool next_slot(const struct path *p, const struct hl_way *y, uintptr_t *slot)
{
	uint32_t i = y->n_checks;

	while (i > 0 && in_key(p, y->checks[i - 1].slot))
		i--;
	if (i == 0)
		return false;
	*slot = y->checks[i - 1].slot;
	if (!in_page(p, y, *slot) && y->live && !in_key(p, 0))
		*slot = 0;
	return *slot != (uintptr_t)&hl_check_never;
}

/* How many checks from the inside on are the same in both. */
static uint32_t same_checks(const struct hl_way *a, const struct hl_way *b)
{
	const struct hl_check *x = a->checks + a->n_checks, *y = b->checks + b->n_checks;
	uint32_t n = 0, most = hl_min_u32(a->n_checks, b->n_checks);

	while (n < most && x[-1].slot == y[-1].slot && x[-1].word == y[-1].word)
		n++, x--, y--;
	return n;
}

/* Which word tells the way from another with the same key, or leads there? False: none. */
static bool telling_slot(
	const struct path *p, const struct hl_way *y, const struct hl_way *o, uintptr_t *slot)
{
	uint32_t same = same_checks(y, o);

	*slot = 0;
	if (y->live && o->live && y->fp != o->fp)
		return true;
	if (same >= NEAR_CHECKS || same == y->n_checks || same == o->n_checks)
		return false;
	*slot = y->checks[y->n_checks - 1 - same].slot;
	if (in_page(p, y, *slot) && o->checks[o->n_checks - 1 - same].slot == *slot)
		return true;
	return same < HL_FORKS_MAX && next_slot(p, y, slot);
}

/* Is there another way of this key that a word can tell from this one? */
static bool find_slot(
	struct hl_ways *w, const struct path *p, const struct hl_way *y, uintptr_t *slot)
{
	const struct hl_way_set *set = set_of(w, p->key);

	for (unsigned i = 0; i < HL_WAY_PLACES; i++) {
		const struct hl_way *o = way_at(w, set->places[i]);

		if (is_there(w, set->places[i]) && has_tag(set, i, tag_of(p->key)) &&
			o->pc == y->pc && o->sp == y->sp && telling_slot(p, y, o, slot))
			return true;
	}
	return false;
}

static void put(struct hl_ways *w, uint64_t key, uint64_t place)
{
	struct hl_way_set *set = set_of(w, key);

	memmove(set->places + 1, set->places, sizeof(set->places) - sizeof(*set->places));
	set->tags = set->tags << 16 | tag_of(key);
	set->places[0] = place;
}

/* The ways of this key get the key that they have now. One that has none is kept anew when it is
 * walked the next time. */
static void move_on(struct hl_ways *w, const struct hl_fork *f)
{
	struct hl_way_set *set = set_of(w, f->key), old = *set;

	for (unsigned i = 0; i < HL_WAY_PLACES; i++) {
		if (has_tag(&old, i, tag_of(f->key)))
			set->places[i] = 0;
	}
	for (unsigned i = HL_WAY_PLACES; i-- > 0;) {
		const struct hl_way *y = way_at(w, old.places[i]);

		if (is_there(w, old.places[i]) && has_tag(&old, i, tag_of(f->key)) &&
			depends_on(y, f->slot))
			put(w,
				next_key(f->key,
					f->slot ? y->checks[check_of(y, f->slot)].word : y->fp),
				old.places[i]);
	}
}

/* A siglongjmp out of a handler may end this anywhere: a key stands only beside its own slot. */
static void set_fork(struct hl_fork *f, uint64_t key, uintptr_t slot)
{
	f->key = 0;
	atomic_signal_fence(memory_order_seq_cst);
	f->slot = slot;
	atomic_signal_fence(memory_order_seq_cst);
	f->key = key;
}

/*
 * In the place of the one that has this key, or of the older one of the set. What goes makes the
 * ways behind it unreachable, and they are kept anew: so that several do not push each other out
 * all the time, most are refused where there is no room. NULL: refused.
 */
static const struct hl_fork *add_fork(struct hl_ways *w, uint64_t key, uintptr_t slot)
{
	struct hl_fork *f = forks_of(w, key);

	if (f[0].key != key && f[1].key != key) {
		if (f[0].key && f[1].key && ++w->refused % FORK_REFUSALS)
			return NULL;
		set_fork(&f[1], f[0].key, f[0].slot);
		f[0].key = 0;
	}
	f += f[1].key == key;
	set_fork(f, key, slot);
	return f;
}

/* The key under which this way is found, by new forks where it needs them. */
static uint64_t make_key(struct hl_ways *w, const struct hl_way *y, const struct hl_regs *start)
{
	struct path p = {.key = first_key(start)};
	const struct hl_fork *f;
	uintptr_t slot;

	for (unsigned n = 0; n < 2 * HL_FORKS_MAX; n++) {
		bool ended = follow(w, &p, y, start);

		if (p.forks == HL_FORKS_MAX ||
			!(ended ? find_slot(w, &p, y, &slot) : next_slot(&p, y, &slot)))
			break;
		f = add_fork(w, p.key, slot);
		if (!f)
			break;
		move_on(w, f);
	}
	return p.key;
}

/* --- new ways --- */

/* The next `size` bytes in one piece; what lay there is gone from now on. */
static struct hl_way *take(struct hl_ways *w, uint32_t size, uint64_t *at)
{
	uint64_t left = HL_WAY_BYTES - w->end % HL_WAY_BYTES;

	*at = left < size ? w->end + left : w->end;
	w->end = *at + size;
	atomic_signal_fence(memory_order_release);
	return (struct hl_way *)(w->bytes + *at % HL_WAY_BYTES);
}

/* Has this stack, or one that begins alike, been walked not long ago? Most come once. */
static bool comes_back(struct hl_ways *w, const struct hl_memo *m)
{
	uint64_t h = m->frames[m->depth - 1].sp;
	uint32_t *seen;

	for (uint32_t i = m->depth, n = 0; i > 0 && n < 4; i--, n++)
		h = (h ^ m->pcs[i - 1]) * UINT64_C(0x9e3779b97f4a7c15);
	seen = w->seen[h >> 32 & (HL_WAY_SEEN - 1)];
	if (seen[0] == (uint32_t)h || seen[1] == (uint32_t)h)
		return true;
	seen[1] = seen[0];
	seen[0] = (uint32_t)h;
	return false;
}

static bool worth_it(struct hl_ways *w)
{
	uint32_t found = hl_min_u32(w->found - w->found_before, CREDIT_MAX);

	w->found_before = w->found;
	w->credit = hl_min_u32(w->credit + found * HIT_WORTH, CREDIT_MAX);
	if (w->credit > 0) {
		w->credit--;
		return true;
	}
	return ++w->passed % BROKE_KEEP == 0;
}

bool hl_ways_add(struct hl_ways *w, const struct hl_memo *m, const struct hl_regs *start)
{
	const struct hl_kept *inner = &m->frames[m->depth - 1];
	uint32_t pcs = m->depth * (uint32_t)sizeof(*m->pcs);
	uint32_t checks = inner->checks_end * (uint32_t)sizeof(*m->checks);
	uint32_t size = (uint32_t)sizeof(struct hl_way) + pcs + checks;
	uint64_t at;
	struct hl_way *y;

	if (w->trying)
		return false; /* it was found: it is there */
	w->missed++;
	if (w->pass || size > HL_WAY_MAX || (inner->flags & HL_KEPT_EXACT) || !comes_back(w, m) ||
		!worth_it(w))
		return false;
	y = take(w, size, &at);
	y->pc = m->pcs[m->depth - 1];
	y->sp = inner->sp;
	y->fp = inner->fp;
	y->live = inner->flags & HL_KEPT_LIVE;
	y->depth = m->depth;
	y->n_checks = inner->checks_end;
	y->hash = inner->hash;
	y->number = 0;
	memcpy(y->checks, m->checks, checks);
	memcpy(hl_way_pcs(y), m->pcs, pcs);
	atomic_signal_fence(memory_order_release);
	put(w, make_key(w, y, start), at);
	return true;
}

void hl_ways_forget(struct hl_ways *w)
{
	memset(w->sets, 0, sizeof(w->sets));
	memset(w->forks, 0, sizeof(w->forks));
	w->credit = CREDIT_MAX / 2;
	w->found = w->found_before = w->tries = w->walked = w->missed = w->pass = w->last_pass = 0;
	w->until_try = TRY_EVERY;
	w->trying = false;
	if (!w->end)
		w->end = 2 * HL_WAY_BYTES; /* 0 is no place: it lies too far back */
}
