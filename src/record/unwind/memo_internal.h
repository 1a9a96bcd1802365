/*
 * memo_internal.h - what an unwinder remembers.
 *
 * A memo holds the frames of the last unwind on one stack, outermost first, and a flat list of
 * checks in the same order: the words that the steps of these frames have read. As long as all of
 * them still hold, a walk that comes by frame i in the same state would go on exactly as it did.
 * Frame i's checks end at checks_end; a special frame has one check, which always fails, and is
 * then repeated.
 */
#ifndef HL_RECORD_UNWIND_MEMO_INTERNAL_H
#define HL_RECORD_UNWIND_MEMO_INTERNAL_H

#include "base/hash.h"
#include "record/unwind/full_internal.h"

#define HL_MEMOS        32
#define HL_FIRST_FRAMES 768 /* of the first memo and of the scratch array */
#define HL_OTHER_FRAMES 32  /* of the other memos, before they grow */
#define HL_MEMO_FRAMES  65536
#define HL_FRAME_CHECKS 3
#define HL_MEMO_WALKS   4  /* so many unwinds in a row matched next to nothing: */
#define HL_MEMO_RETRY   16 /* remember only every so many */

struct hl_check {
	uintptr_t slot, word;
};

#define HL_KEPT_LIVE    1u /* some frame from here outwards needs this frame pointer */
#define HL_KEPT_EXACT   HL_STEP_EXACT
#define HL_KEPT_SPECIAL HL_STEP_SPECIAL
#define HL_KEPT_GUESSED HL_STEP_GUESSED
struct hl_kept {
	uintptr_t sp, fp;
	uintptr_t fp_slot; /* where the step out of this frame finds the outer one's; 0: kept */
	uint32_t checks_end, flags;
	uint64_t hash; /* of the pcs from the outermost to this one */
};

/* A frame just walked, and the step that leads out of it. */
struct hl_fresh {
	uintptr_t pc, sp, fp; /* pc as it is reported */
	struct hl_step step;
};

struct hl_memo {
	uintptr_t lo, hi;    /* of this stack, may be read */
	uint32_t depth;      /* frames remembered */
	uint32_t last_depth; /* pcs of the last result: may be more than are remembered */
	uint32_t unchanged;  /* so many of them have not been overwritten since */
	uint32_t capacity;
	uint32_t failures;   /* unwinds in a row that matched next to nothing */
	uint32_t unpatched;  /* so many times yet, patching is not tried: it failed too often */
	uint32_t patch_wait; /* for how long, when it fails the next time */
	uint64_t used;
	uint64_t walked_at; /* the count of unwinds at the last walk */
	uintptr_t *pcs;
	struct hl_kept *frames;
	struct hl_check *checks;
	size_t mapped; /* bytes to empty when the arrays move; they start at pcs */
	bool cut;
};

/* A stack in one piece, as a memo remembers it: see ways.c. */
struct hl_way {
	uintptr_t pc, sp, fp; /* the state of its innermost frame */
	uint64_t hash;
	uint32_t live; /* its fp counts */
	uint32_t depth, n_checks;
	uint32_t number; /* by which others knew it the last time that this was looked up, from 0 */
	struct hl_check checks[]; /* then so many pcs as it is deep */
};

hl_inline uintptr_t *hl_way_pcs(const struct hl_way *y)
{
	return (uintptr_t *)(y->checks + y->n_checks);
}

#define HL_WAY_BYTES  (32u * 1024)
#define HL_WAY_MAX    (HL_WAY_BYTES / 8) /* longer ones are not kept */
#define HL_WAY_SETS   64u
#define HL_WAY_PLACES 4u
#define HL_WAY_SEEN   256u
#define HL_FORK_SETS  128u
#define HL_FORK_WAYS  2u
#define HL_FORKS_MAX  16u /* words of the stack in one key, at most */

/* The newest first. A tag is 16 bits of the key, that of the first place in the low ones. */
struct hl_way_set {
	uint64_t tags;
	uint64_t places[HL_WAY_PLACES]; /* 0: none, as any that lies too far back */
};

/*
 * Several ways had this key: the word in this stack slot is part of the next key; slot 0: the frame
 * pointer is. Whenever the key is met, the slot can be read, see ways.c.
 */
struct hl_fork {
	uint64_t key; /* 0: none */
	uintptr_t slot;
};

struct hl_ways {
	struct hl_way_set sets[HL_WAY_SETS];
	struct hl_fork forks[HL_FORK_SETS][HL_FORK_WAYS]; /* the newest first */
	uint64_t end;                                     /* where the next one goes */
	/* Hashes of stacks that were walked once. Two by turns never push each other out. */
	uint32_t seen[HL_WAY_SEEN][2];
	uint32_t refused;                      /* forks */
	uint32_t credit, passed, found_before; /* found when the credit was last counted */
	/* How many were found, and how many not; of those that were walked all the same, how many,
	 * and how many frames that took; and how many times yet none is looked for, of how many. */
	uint32_t found, missed, tries, walked, pass, last_pass;
	uint32_t until_try; /* so many are found before one is walked all the same */
	bool trying;        /* the next walk is such a one */
	char *bytes;        /* HL_WAY_BYTES */
};

/* Is this one of the times that none is looked for? */
hl_inline bool hl_ways_pass(struct hl_ways *w)
{
	if (!w->pass)
		return false;
	w->pass--;
	return true;
}

/* Which stacks others know by which numbers: see numbers.c. */
struct hl_numbers {
	uint64_t *keys; /* the number is the place */
	uint64_t salt;  /* another when all have been forgotten */
	unsigned shift;
	uint32_t turn;
};

/* All that must hold for the stack to be the last one of a memo again, if others know that; sp 0:
 * it is not to be had. */
struct hl_quick {
	uintptr_t pc, sp, fp;
	const struct hl_check *checks;
	const struct hl_memo *memo;
	uint32_t n_checks, depth;
	uint32_t live;   /* its fp counts */
	uint32_t answer; /* of hl_unwind_last_again() */
};

struct hl_unwinder {
	uint64_t serial; /* of the running or last unwind; first, as unwind.h says */
	/* The range of stack pointers for which `current` is the answer. */
	uintptr_t range_lo, range_hi;
	struct hl_memo *current;
	uintptr_t busy; /* in the frame of the running hl_unwind(), or of one that was left */
	bool reading;   /* somebody is in again.h, or has left it in the middle */
	uint64_t generation;
	struct hl_quick quick;
	struct hl_fresh *fresh;
	uint32_t fresh_capacity;
	size_t fresh_mapped;
	struct hl_unwind_counts counts;
	struct hl_memo *last;          /* gave the last result; NULL: it was */
	const struct hl_way *last_way; /* ... this one, or there was none */
	struct hl_ways ways;
	struct hl_numbers numbers;
	uintptr_t ends[HL_MEMOS]; /* where each memo's stack ends; 0: the memo is free */
	struct hl_memo memos[HL_MEMOS];
};

/*
 * How many of the first n checks are left when one fails; 0 when all hold. Unrolled, but a word is
 * read only after the inner one held: what an outer slot points to is known to be there only then.
 */
hl_inline uint32_t hl_first_to_fail(const struct hl_check *checks, uint32_t n)
{
	const struct hl_check *c = checks + n;

	if (n & 1) {
		if (hl_unlikely(hl_word(c[-1].slot) != c[-1].word))
			return n;
		n--, c--;
	}
	if (n & 2) {
		if (hl_unlikely(hl_word(c[-1].slot) != c[-1].word))
			return n;
		if (hl_unlikely(hl_word(c[-2].slot) != c[-2].word))
			return n - 1;
		n -= 2, c -= 2;
	}
	for (; n > 0; n -= 4, c -= 4) {
		if (hl_unlikely(hl_word(c[-1].slot) != c[-1].word))
			return n;
		if (hl_unlikely(hl_word(c[-2].slot) != c[-2].word))
			return n - 1;
		if (hl_unlikely(hl_word(c[-3].slot) != c[-3].word))
			return n - 2;
		if (hl_unlikely(hl_word(c[-4].slot) != c[-4].word))
			return n - 3;
	}
	return 0;
}

/* Is frame i remembered in this state? */
hl_inline bool hl_memo_same_frame(
	const struct hl_memo *m, uint32_t i, const struct hl_regs *r, bool exact)
{
	const struct hl_kept *f = &m->frames[i];

	return f->sp == r->sp && m->pcs[i] == r->pc + exact &&
	       !!(f->flags & HL_KEPT_EXACT) == exact &&
	       (!(f->flags & HL_KEPT_LIVE) || f->fp == r->fp);
}

/* The most frequent case by far, which needs next to nothing: all is as it was. */
hl_inline bool hl_memo_unchanged(const struct hl_memo *m, const struct hl_regs *start)
{
	return m->depth > 0 && hl_memo_same_frame(m, m->depth - 1, start, false) &&
	       hl_first_to_fail(m->checks, m->frames[m->depth - 1].checks_end) == 0;
}

/* The memo for this stack pointer, while nobody has unloaded code; NULL: find it. */
hl_inline struct hl_memo *hl_memo_ready(const struct hl_unwinder *u, const struct hl_regs *start)
{
	if (hl_unlikely(hl_generation() != u->generation ||
			start->sp - u->range_lo >= u->range_hi - u->range_lo))
		return NULL;
	return u->current;
}

/*
 * Left on the stack by whoever is busy with an unwinder, so that a later one can tell whether he
 * still is: his frame must lie above and still hold these words. One that was left by siglongjmp is
 * overwritten sooner or later, or lies below. Meanwhile nothing that is remembered changes.
 */
struct hl_token {
	const struct hl_unwinder *owner;
	const volatile struct hl_token *self;
};

hl_inline void hl_unwind_enter(struct hl_unwinder *u, volatile struct hl_token *token)
{
	token->owner = u;
	token->self = token;
	u->busy = (uintptr_t)token;
	atomic_signal_fence(memory_order_seq_cst);
}

hl_inline void hl_unwind_leave(struct hl_unwinder *u, volatile struct hl_token *token)
{
	atomic_signal_fence(memory_order_seq_cst);
	u->busy = 0;
	token->owner = NULL;
}

/* numbers.c */
/*
 * The hash of a stack with one frame more. A polynomial, so that the hash of two parts together
 * comes from those of the parts.
 */
#define HL_PATH_ROOT UINT64_C(0x27220a95fe2bd1a3)
#define HL_PATH_K    UINT64_C(0xd1342543de82ef97)
hl_inline uint64_t hl_path_on(uint64_t outer, uintptr_t pc)
{
	uint64_t mixed = pc * HL_HASH_K;

	return outer * HL_PATH_K + (mixed ^ mixed >> 32);
}

/* `keys`: 2^bits zeros. */
void hl_numbers_init(struct hl_numbers *n, uint64_t *keys, unsigned bits);
void hl_numbers_forget(struct hl_numbers *n);
/* The result is not known: it gets a number that nobody has, to be told. */
void hl_numbers_offer(struct hl_numbers *n, uint64_t hash, struct hl_stack *s);

hl_inline uint64_t hl_numbers_key(const struct hl_numbers *n, uint64_t hash)
{
	return (hash ^ n->salt) | 1;
}

hl_inline uint32_t hl_numbers_set(const struct hl_numbers *n, uint64_t hash)
{
	return (uint32_t)(hash * HL_HASH_K >> n->shift);
}

/* The number + 1 by which others know a stack of this hash; 0: by none. */
hl_inline uint32_t hl_numbers_find(const struct hl_numbers *n, uint64_t hash)
{
	uint32_t slot = hl_numbers_set(n, hash) * 2;
	uint64_t key = hl_numbers_key(n, hash);

	slot += n->keys[slot + 1] == key; /* which of the two is chance: not by a branch */
	return n->keys[slot] == key ? slot + 1 : 0;
}

/* The same, where *last is most often the number, from 0. */
hl_inline uint32_t hl_numbers_find_again(const struct hl_numbers *n, uint64_t hash, uint32_t *last)
{
	uint32_t number;

	if (hl_likely(n->keys[*last] == hl_numbers_key(n, hash)))
		return *last + 1;
	number = hl_numbers_find(n, hash);
	if (number)
		*last = number - 1;
	return number;
}

/* ways.c */
/* The way that begins in this state and still holds; NULL when there is none. */
struct hl_way *hl_ways_find(struct hl_ways *w, const struct hl_regs *start);
/* Keeps what the memo remembers, unless that has not been worth it. True: others may be gone.
 * start: of the walk that the memo is from; the stack is still what it was then. */
bool hl_ways_add(struct hl_ways *w, const struct hl_memo *m, const struct hl_regs *start);
void hl_ways_forget(struct hl_ways *w);
/* What was found and not told took so many frames to walk. */
void hl_ways_judge(struct hl_ways *w, uint32_t walked);

/* memo.c */
/* Room for n frames, with what is there kept; false when there is none to be had. */
bool hl_memo_reserve(const struct hl_unwinder *u, struct hl_memo *m, uint32_t n);
/* Forgets the outermost n frames: the memo now begins inside them. */
void hl_memo_drop(struct hl_memo *m, uint32_t n);
bool hl_fresh_grow(struct hl_unwinder *u);
void hl_memo_forget_all(struct hl_unwinder *u);
/* The memo for a stack pointer: exact when the stack is known, a guess when not. */
struct hl_memo *hl_memo_pick(struct hl_unwinder *u, uintptr_t sp);
/* The stack from sp on was walked to its end: the memo that it belongs to. */
struct hl_memo *hl_memo_settle(struct hl_unwinder *u, uintptr_t sp, uintptr_t end);

/* keep.c */
extern const uintptr_t hl_check_never; /* the slot of a check that always fails: its word is 1 */
/*
 * Frames [0, keep) stay, the fresh ones go on top. fp: of frame keep - 1. Returns how many pcs are
 * those of the last result.
 */
uint32_t hl_memo_remember(
	struct hl_memo *m, uint32_t keep, const struct hl_fresh *fresh, uint32_t n, uintptr_t fp);
/* Of the fresh ones only the pcs are kept: for stacks of which next to nothing stays the same. */
uint32_t hl_memo_list(struct hl_memo *m, uint32_t keep, const struct hl_fresh *fresh, uint32_t n);
/*
 * Frames (e, f] are now what `fresh` holds, innermost first. False when their checks need another
 * room.
 */
bool hl_memo_replace(
	struct hl_memo *m, uint32_t e, uint32_t f, const struct hl_fresh *fresh, uintptr_t fp);

#endif
