/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memo_internal.h - the data that an unwinder remembers.
 *
 *   last-stack memo  one stack, for the fast path        last_stack.h, filled by unwind.c
 *   memos            the last walk on each stack         memo.c, memo_update.c
 *   stack cache      other whole stacks of this thread   stack_cache.c
 *   stack ids        which stacks the collector knows    stack_ids.c
 *
 * A memo holds the frames of the last unwind on one stack, outermost first, and a flat array of
 * checks in the same order: the stack slots that the steps of these frames have read, with their
 * words. While all checks hold, a walk that reaches frame i in the remembered state would continue
 * exactly as before. The checks of frame i end at checks_end. A special frame has one check that
 * always fails; its step must then be repeated.
 */
#ifndef HL_RECORD_UNWIND_MEMO_INTERNAL_H
#define HL_RECORD_UNWIND_MEMO_INTERNAL_H

#include "base/hash.h"
#include "record/unwind/full_walk_internal.h"

#define HL_MEMOS        32
#define HL_FIRST_FRAMES 768 /* of the first memo and of the array of walked frames */
#define HL_OTHER_FRAMES 32  /* of the other memos, before they grow */
#define HL_MEMO_FRAMES  65536
#define HL_FRAME_CHECKS 3
#define HL_MEMO_WALKS   4  /* after this many walks in a row that matched almost nothing ... */
#define HL_MEMO_RETRY   16 /* ... only one walk in this many is remembered */

struct hl_check {
	uintptr_t slot, word;
};

#define HL_MEMO_FP_LIVE     1u /* this frame or one outside it needs this frame pointer */
#define HL_MEMO_INTERRUPTED HL_STEP_INTERRUPTED
#define HL_MEMO_SPECIAL     HL_STEP_SPECIAL
#define HL_MEMO_GUESSED     HL_STEP_GUESSED
struct hl_memo_frame {
	uintptr_t sp, fp;
	uintptr_t
		fp_slot; /* where the step out of this frame finds the caller's fp; 0: not saved */
	uint32_t checks_end, flags;
	uint64_t hash; /* of the pcs from the outermost to this frame */
};

/* A frame that was just walked, and the step out of it. */
struct hl_walked_frame {
	uintptr_t pc, sp, fp; /* pc as reported */
	struct hl_step step;
};

struct hl_memo {
	uintptr_t lo, hi;     /* readable range of this stack */
	uint32_t depth;       /* number of remembered frames */
	uint32_t last_depth;  /* pcs of the last result; may be more than are remembered */
	uint32_t base_prefix; /* pcs[0, base_prefix) are those of the last result without `id_sent`
			       */
	uint32_t capacity;
	uint32_t failures;    /* walks in a row that matched almost nothing */
	uint32_t patch_skips; /* mismatches for which patching is not tried: it failed too often */
	uint32_t patch_backoff; /* patch_skips after the next failure */
	uint64_t last_used;
	uint64_t walked_at; /* counts.unwinds at the last walk */
	uintptr_t *pcs;
	struct hl_memo_frame *frames;
	struct hl_check *checks;
	size_t mapped_bytes; /* bytes to empty when the arrays move, from pcs; 0: not mapped */
	bool cut;
};

/* A copy of a whole stack from a memo: see stack_cache.c. */
struct hl_cached_stack {
	uintptr_t pc, sp, fp; /* the registers of its innermost frame */
	uint64_t hash;
	uint32_t fp_live; /* its fp must match */
	uint32_t depth, n_checks;
	uint32_t id_hint;         /* its stack id at the last lookup */
	struct hl_check checks[]; /* n_checks; the pcs follow them, `depth` of them */
};

hl_inline uintptr_t *hl_cached_stack_pcs(const struct hl_cached_stack *s)
{
	return (uintptr_t *)(s->checks + s->n_checks);
}

#define HL_STACK_CACHE_BYTES  (32u * 1024)
#define HL_CACHED_STACK_MAX   (HL_STACK_CACHE_BYTES / 8) /* larger stacks are not cached */
#define HL_STACK_CACHE_SETS   64u
#define HL_STACK_CACHE_WAYS   4u
#define HL_STACK_CACHE_SEEN   256u
#define HL_KEY_EXTENSION_SETS 128u
#define HL_KEY_EXTENSION_WAYS 2u
#define HL_KEY_EXTENSIONS_MAX 16u /* extensions of one key, at most */

/*
 * Entries are in order of age, the newest first. A tag is 16 bits of the key; that of entry 0 is in
 * the low bits.
 */
struct hl_stack_cache_set {
	uint64_t tags;
	uint64_t positions[HL_STACK_CACHE_WAYS]; /* in `bytes`; 0: none, as if overwritten */
};

/*
 * Several cached stacks had this key: the word in this stack slot, or the frame pointer if slot is
 * 0, is mixed into the next key. The slot is readable whenever a lookup has this key, see
 * stack_cache.c.
 */
struct hl_key_extension {
	uint64_t key; /* 0: none */
	uintptr_t slot;
};

struct hl_stack_cache {
	struct hl_stack_cache_set sets[HL_STACK_CACHE_SETS];
	struct hl_key_extension extensions[HL_KEY_EXTENSION_SETS]
					  [HL_KEY_EXTENSION_WAYS]; /* the newest first */
	uint64_t write_pos; /* position of the next stack; only grows */
	/*
	 * Hashes of stacks that were walked once. Two per bucket: two alternating stacks do not
	 * evict each other.
	 */
	uint32_t seen[HL_STACK_CACHE_SEEN][2];
	uint32_t refused_extensions;              /* for lack of room */
	uint32_t credit, uncredited, hits_before; /* `hits` when the credit was last updated */
	/*
	 * Lookups with and without a hit; trials and the frames that they walked; lookups still to
	 * be skipped, and how many were skipped the last time. See stack_cache.c.
	 */
	uint32_t hits, misses, trials, trial_frames, skip, last_skip;
	uint32_t until_trial; /* hits until the next trial */
	bool in_trial;        /* the next walk is a trial */
	char *bytes;          /* HL_STACK_CACHE_BYTES */
};

/* Is this lookup to be skipped, because the cache does not pay? */
hl_inline bool hl_stack_cache_is_skipped(struct hl_stack_cache *c)
{
	if (!c->skip)
		return false;
	c->skip--;
	return true;
}

/* The ids of stacks that the collector knows: see stack_ids.c. */
struct hl_stack_ids {
	uint64_t *keys; /* by stack id */
	uint64_t salt;  /* changes when all ids are forgotten */
	unsigned shift;
	uint32_t victim;
};

/*
 * The last-stack memo: everything that must hold for the stack to be the last one again. Only for a
 * stack that the collector knows. sp 0: invalid.
 */
struct hl_last_stack {
	uintptr_t pc, sp, fp;
	const struct hl_check *checks;
	const struct hl_memo *memo;
	uint32_t n_checks, depth;
	uint32_t fp_live; /* its fp must match */
	uint32_t result;  /* the result of hl_unwind_is_last_stack() */
};

struct hl_unwinder {
	uint64_t serial; /* of the current or last unwind; first, see hl_unwind_serial() */
	/* The range of stack pointers for which `current` is the memo. */
	uintptr_t range_lo, range_hi;
	struct hl_memo *current;
	uintptr_t busy; /* token of the current unwind, or of an abandoned one; 0: none */
	bool reading;   /* hl_unwind_is_last_stack() is running, or was abandoned */
	uint64_t generation;
	struct hl_last_stack last_stack;
	struct hl_walked_frame *walked;
	uint32_t walked_capacity;
	size_t walked_mapped;
	struct hl_unwind_counts counts;
	struct hl_memo *base_memo;                 /* gave the base result; NULL: it was ... */
	const struct hl_cached_stack *base_cached; /* ... this one; NULL: there is none */
	struct hl_stack_cache cache;
	struct hl_stack_ids ids;
	uintptr_t ends[HL_MEMOS]; /* where the stack of each memo ends; 0: the memo is free */
	struct hl_memo memos[HL_MEMOS];
};

/*
 * Compares n checks from the last to the first, that is from the innermost outward. Returns 0 if
 * all hold, otherwise the index + 1 of the first that fails. Unrolled, but a word is read only
 * after the inner one held: only then is the outer slot known to be readable.
 */
hl_inline uint32_t hl_failed_check(const struct hl_check *checks, uint32_t n)
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
hl_inline bool hl_memo_frame_equals(
	const struct hl_memo *m, uint32_t i, const struct hl_regs *r, bool exact)
{
	const struct hl_memo_frame *f = &m->frames[i];

	return f->sp == r->sp && m->pcs[i] == r->pc + exact &&
	       !!(f->flags & HL_MEMO_INTERRUPTED) == exact &&
	       (!(f->flags & HL_MEMO_FP_LIVE) || f->fp == r->fp);
}

/* Is the stack that of the memo? The most frequent case. */
hl_inline bool hl_memo_unchanged(const struct hl_memo *m, const struct hl_regs *start)
{
	return m->depth > 0 && hl_memo_frame_equals(m, m->depth - 1, start, false) &&
	       hl_failed_check(m->checks, m->frames[m->depth - 1].checks_end) == 0;
}

/* The memo for this stack pointer. NULL: code was unloaded, or the memo must be searched. */
hl_inline struct hl_memo *hl_memo_ready(const struct hl_unwinder *u, const struct hl_regs *start)
{
	if (hl_unlikely(hl_generation() != u->generation ||
			start->sp - u->range_lo >= u->range_hi - u->range_lo))
		return NULL;
	return u->current;
}

/*
 * A mark on the stack of the function that uses an unwinder. A later call uses it to find out
 * whether that function is still active: the mark must be at a higher address than the caller's
 * frame and intact. The mark of a function that was abandoned by siglongjmp is overwritten sooner
 * or later, or is at a lower address. Until then the unwinder appears busy, and nothing that it
 * remembers changes.
 */
struct hl_busy_token {
	const struct hl_unwinder *owner;
	const volatile struct hl_busy_token *self;
};

hl_inline void hl_unwind_enter(struct hl_unwinder *u, volatile struct hl_busy_token *token)
{
	token->owner = u;
	token->self = token;
	u->busy = (uintptr_t)token;
	atomic_signal_fence(memory_order_seq_cst);
}

hl_inline void hl_unwind_leave(struct hl_unwinder *u, volatile struct hl_busy_token *token)
{
	atomic_signal_fence(memory_order_seq_cst);
	u->busy = 0;
	token->owner = NULL;
}

/* stack_ids.c */
/*
 * The hash of a stack with one more frame. A polynomial, so that the hash of a concatenation can be
 * computed from the hashes of its parts.
 */
#define HL_PATH_ROOT UINT64_C(0x27220a95fe2bd1a3)
#define HL_PATH_K    UINT64_C(0xd1342543de82ef97)
hl_inline uint64_t hl_path_hash_extend(uint64_t outer, uintptr_t pc)
{
	uint64_t mixed = pc * HL_HASH_K;

	return outer * HL_PATH_K + (mixed ^ mixed >> 32);
}

/* `keys`: 2^bits zeroed words, owned by the caller. */
void hl_stack_ids_init(struct hl_stack_ids *ids, uint64_t *keys, unsigned bits);
void hl_stack_ids_forget(struct hl_stack_ids *ids);
/* Assigns s an id that is not known to the collector, to be sent with the stack. */
void hl_stack_ids_offer(struct hl_stack_ids *ids, uint64_t hash, struct hl_stack *s);

hl_inline uint64_t hl_stack_ids_key(const struct hl_stack_ids *ids, uint64_t hash)
{
	return (hash ^ ids->salt) | 1;
}

hl_inline uint32_t hl_stack_ids_set(const struct hl_stack_ids *ids, uint64_t hash)
{
	return (uint32_t)(hash * HL_HASH_K >> ids->shift);
}

/* The id + 1 of the known stack with this hash; 0: none. */
hl_inline uint32_t hl_stack_ids_find(const struct hl_stack_ids *ids, uint64_t hash)
{
	uint32_t slot = hl_stack_ids_set(ids, hash) * 2;
	uint64_t key = hl_stack_ids_key(ids, hash);

	slot += ids->keys[slot + 1] == key; /* which of the two is unpredictable: no branch */
	return ids->keys[slot] == key ? slot + 1 : 0;
}

/* As above; *hint is usually the id, and is updated. */
hl_inline uint32_t hl_stack_ids_find_hinted(
	const struct hl_stack_ids *ids, uint64_t hash, uint32_t *hint)
{
	uint32_t id_plus_1;

	if (hl_likely(ids->keys[*hint] == hl_stack_ids_key(ids, hash)))
		return *hint + 1;
	id_plus_1 = hl_stack_ids_find(ids, hash);
	if (id_plus_1)
		*hint = id_plus_1 - 1;
	return id_plus_1;
}

/* stack_cache.c */
/* The cached stack that starts in this state and whose checks all hold; NULL if there is none. */
struct hl_cached_stack *hl_stack_cache_find(struct hl_stack_cache *c, const struct hl_regs *start);
/*
 * Adds a copy of the memo's stack, unless it does not seem worth it. True: it was added, and other
 * cached stacks may have been overwritten. start: of the walk that filled the memo; the stack has
 * not changed since.
 */
bool hl_stack_cache_add(
	struct hl_stack_cache *c, const struct hl_memo *m, const struct hl_regs *start);
void hl_stack_cache_forget(struct hl_stack_cache *c);
/* The trial is over: walking the stack that was found took this many frames. */
void hl_stack_cache_note_walk(struct hl_stack_cache *c, uint32_t walked);

/* memo.c */
/* Grows the arrays for n frames and keeps their contents. False: no memory, or too many frames. */
bool hl_memo_reserve(const struct hl_unwinder *u, struct hl_memo *m, uint32_t n);
/* Removes the outermost n frames: frame n becomes frame 0. */
void hl_memo_drop(struct hl_memo *m, uint32_t n);
bool hl_walked_frames_grow(struct hl_unwinder *u);
void hl_memo_forget_all(struct hl_unwinder *u);
/* The memo for a stack pointer: the right one if the stack is known, otherwise a guess. */
struct hl_memo *hl_memo_pick(struct hl_unwinder *u, uintptr_t sp);
/* The walk from sp has reached the end of the stack: the memo of the stack with this end. */
struct hl_memo *hl_memo_assign(struct hl_unwinder *u, uintptr_t sp, uintptr_t end);

/* memo_update.c */
extern const uintptr_t hl_slot_never; /* slot of a check that always fails: its word is 1 */
/*
 * Keeps frames [0, shared) and adds the n walked frames inside them. fp: frame pointer of frame
 * shared - 1. Returns how many pcs are the same in the base result.
 */
uint32_t hl_memo_remember(struct hl_memo *m, uint32_t shared, const struct hl_walked_frame *walked,
	uint32_t n, uintptr_t fp);
/*
 * As above, but stores only the pcs of the walked frames: for stacks that change almost completely.
 */
uint32_t hl_memo_store_pcs(
	struct hl_memo *m, uint32_t shared, const struct hl_walked_frame *walked, uint32_t n);
/*
 * Replaces frames (e, f] with the walked frames, innermost first. fp: frame pointer of frame e.
 * False: their checks need more or less space than before; then nothing is changed.
 */
bool hl_memo_replace(struct hl_memo *m, uint32_t e, uint32_t f,
	const struct hl_walked_frame *walked, uintptr_t fp);

#endif
