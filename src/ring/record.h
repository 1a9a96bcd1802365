/*
 * record.h - what stands in a ring: records of 8-byte words.
 *
 * Word 0 of each: type in the low 5 bits, enum hl_func in the next 5, stamp (modulo 2^54) above.
 * Records with a stack carry «the outermost `kept` frames are those of this ring's last stack;
 * these pcs, innermost first, are new». A stack too long for one record is begun by HL_REC_STACK
 * records; HL_STACK_FIRST on a part, which may be empty, throws away parts before it (their writer
 * was interrupted and has started over, or never comes back). Or they carry the number that
 * HL_REC_WAY or HL_REC_ALLOC_WAY gave to a stack; this ring's last stack stays what it was.
 */
#ifndef HL_RING_RECORD_H
#define HL_RING_RECORD_H

#include <stdint.h>

#include "base/func.h"

enum hl_rec {
	HL_REC_NONE,        /* never written: what zeroed memory reads as */
	HL_REC_ALLOC,       /* addr, stackword, pcs */
	HL_REC_FREE,        /* addr */
	HL_REC_FREE_STACK,  /* addr, stackword, pcs */
	HL_REC_MOVE_BEGIN,  /* old: realloc is about to be called */
	HL_REC_MOVE_END,    /* new, stackword, old, pcs; new == 0: the block was freed */
	HL_REC_MOVE_FAILED, /* old: it is still there */
	HL_REC_STACK,       /* stackword (its size field is HL_STACK_FIRST or 0), pcs */
	HL_REC_MAP,         /* start, stackword, size, prot | flags << 32, 0, pcs */
	HL_REC_UNMAP,       /* start, stackword, size, 0, 0, pcs */
	HL_REC_REMAP,       /* start, stackword, size, old start, old size, pcs */
	HL_REC_MODULE, /* start, end, bias, build-id length << 8 | name length << 16, id words, name
			*/
	HL_REC_PROCESS, /* pid | parent serial << 32: first record of a process in any ring of its
			   own */
	HL_REC_SWITCH,  /* serial << 32 | tid: what follows in this shared ring is theirs */
	HL_REC_MARK,    /* kind (enum hl_mark) | text length << 8, bytes */
	HL_REC_EXIT, /* exit status | HL_EXIT_WAITS, then wait ns, unwinds, frames walked, verified,
			rule misses, ticks in the hooks that were timed */
	HL_REC_EXEC, /* the process is about to become another program; its next record here: it
			could not */
	HL_REC_REAPED, /* pid | wait status << 32: a child of this process has ended so */
	HL_REC_SAMPLE, /* addr, stackword, R, pcs: an allocation that stands for others: one in R
			  bytes is told; the block is in the filter (ring/filter.h) */
	HL_REC_SAMPLE_MOVE, /* new, stackword, old, R, pcs: and the end of a realloc */
	HL_REC_TAG_NAME,    /* tag | parent tag << 32, length, name: what a tag is; 0: no parent */
	HL_REC_TAG,        /* tag: this ring's events are in this scope from here on; 0: in none. At
			      the start of a ring, and behind each SWITCH, it is none */
	HL_REC_POOL_NAME,  /* pool, length, name: the name of a pool, by its hash */
	HL_REC_POOL_ALLOC, /* addr, stackword, pool, pcs */
	HL_REC_POOL_FREE,  /* addr, pool */
	HL_REC_WAY,        /* number: this ring's last stack has it from here on */
	HL_REC_ALLOC_WAY,  /* addr, stackword, number, pcs: and this stack has it from here on */
	HL_REC_COUNT,
};

enum hl_mark {
	HL_MARK_MARK,
	HL_MARK_SNAPSHOT,
	HL_MARK_START,
	HL_MARK_STOP,
	HL_MARK_THREAD_NAME, /* of the thread that says it */
	HL_MARK_OTHERS_NAME, /* it has named another: see /proc */
	HL_MARK_TOGGLE,      /* pause, or go on: by a signal */
	HL_MARK_SIGNAL,      /* a snapshot, which a signal asked for */
	HL_MARK_PAUSE,       /* heaplapse_pause(): from here on frees alone are recorded ... */
	HL_MARK_RESUME,      /* ... up to here */
};

_Static_assert(HL_REC_COUNT <= 32 && HL_FUNC_COUNT <= 32, "five bits each");

#define HL_STACK_FIRST 1u

/* The process records nothing more and waits until its trace is complete (hl_ring.complete). */
#define HL_EXIT_WAITS (UINT64_C(1) << 32)

/*
 * The stack word: size in the low 40 bits, new pcs above (7 bits), kept above (16 bits, the upper
 * ones). A size that does not fit is HL_SIZE_BIG, and the true one stands in a word more, before
 * the pcs. With HL_STACK_WAY there are no pcs, and a number stands in the place of kept.
 */
#define HL_SIZE_BITS   40
#define HL_STACK_WAY   (UINT64_C(1) << (HL_SIZE_BITS + 7))
#define HL_SIZE_BIG    ((UINT64_C(1) << HL_SIZE_BITS) - 1)
#define HL_RECORD_PCS  64u /* at most, in one record; longer stacks are in parts */
#define HL_STAMP_SHIFT 10
#define HL_STAMP_MASK  ((UINT64_C(1) << 54) - 1)

/* One hook in so many is timed. Odd: what a program does by turns shall not fall into step. */
#define HL_TIMED_EVERY 1023u

#define HL_NAME_MAX      4095u  /* of a module's path */
#define HL_TAG_NAME_MAX  16383u /* longer ones are cut */
#define HL_POOL_NAME_MAX 255u
#define HL_WAY_NUMBERS   16384u

static inline uint64_t hl_stack_word(uint64_t size, uint32_t n_new, uint32_t kept)
{
	return size | (uint64_t)n_new << HL_SIZE_BITS | (uint64_t)kept << (HL_SIZE_BITS + 8);
}

static inline uint64_t hl_way_word(uint64_t size, uint32_t number)
{
	return size | HL_STACK_WAY | (uint64_t)number << (HL_SIZE_BITS + 8);
}

static inline uint32_t hl_stack_new(uint64_t word)
{
	return word & HL_STACK_WAY ? 0 : (word >> HL_SIZE_BITS) & 0x7f;
}

static inline uint32_t hl_stack_kept(uint64_t word)
{
	return (uint32_t)(word >> (HL_SIZE_BITS + 8));
}

static inline uint64_t hl_first_word(uint64_t stamp, uint32_t type, uint32_t func)
{
	return stamp << HL_STAMP_SHIFT | func << 5 | type;
}

#endif
