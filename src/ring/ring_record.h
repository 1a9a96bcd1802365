/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring_record.h - the records in a ring: sequences of 8-byte words.
 *
 * Word 0 of each record: type in the low 5 bits, enum hl_func in the next 5, stamp (modulo 2^54)
 * above.
 *
 * A record with a stack has the number of outermost frames shared with the last stack of this ring,
 * and the pcs of the other frames, innermost first. A stack that is too long for one record starts
 * in HL_REC_STACK records, which hold its inner parts. A part with HL_STACK_FIRST_PART, which may
 * have no pcs, discards all parts before it: their writer was interrupted and has started over, or
 * was abandoned.
 *
 * Instead of pcs a record may have a stack id, which HL_REC_STACK_ID or HL_REC_ALLOC_STACK_ID has
 * assigned. Such a record does not change the last stack of the ring.
 */
#ifndef HL_RING_RING_RECORD_H
#define HL_RING_RING_RECORD_H

#include <stdint.h>

#include "base/alloc_func.h"

enum hl_rec {
	HL_REC_NONE,        /* never written: zeroed memory */
	HL_REC_ALLOC,       /* addr, stackword, pcs */
	HL_REC_FREE,        /* addr */
	HL_REC_FREE_STACK,  /* addr, stackword, pcs */
	HL_REC_MOVE_BEGIN,  /* old: realloc will be called next */
	HL_REC_MOVE_END,    /* new, stackword, old, pcs; new == 0: the block was freed */
	HL_REC_MOVE_FAILED, /* old: realloc failed, the block is still live */
	HL_REC_STACK,       /* stackword (its size field is HL_STACK_FIRST_PART or 0), pcs */
	HL_REC_MAP,         /* start, stackword, size, prot | flags << 32, 0, pcs */
	HL_REC_UNMAP,       /* start, stackword, size, 0, 0, pcs */
	HL_REC_REMAP,       /* start, stackword, size, old start, old size, pcs */
	HL_REC_MODULE,  /* start, end, bias, id length << 8 | name length << 16, build-id, name */
	HL_REC_PROCESS, /* pid | parent serial << 32: the first record of a process in any ring that
			   it owns */
	HL_REC_SWITCH,  /* serial << 32 | tid: origin of the next records in this shared ring */
	HL_REC_MARK,    /* kind (enum hl_mark_kind) | text length << 8, bytes */
	HL_REC_EXIT, /* exit status | HL_EXIT_WAITS, then ns waited, unwinds, frames walked, frames
			verified, rule misses, ticks in the timed hooks */
	HL_REC_EXEC, /* the process calls exec; another record of it in this ring means that the
			exec failed */
	HL_REC_REAPED, /* pid | wait status << 32: a child of this process ended with this status */
	HL_REC_SAMPLE, /* addr, stackword, R, pcs: a sampled allocation, one per R bytes on average;
			  the block is in the sampling filter */
	HL_REC_SAMPLE_MOVE, /* new, stackword, old, R, pcs: the same for the end of a realloc */
	HL_REC_TAG_NAME, /* tag | parent tag << 32, length, name: defines a tag; parent 0: none */
	HL_REC_TAG, /* tag: the tag of the following events of this ring; 0: none. It is none at the
		       start of a ring and after each SWITCH */
	HL_REC_POOL_NAME,      /* pool, length, name: the name of a pool; `pool` is its hash */
	HL_REC_POOL_ALLOC,     /* addr, stackword, pool, pcs */
	HL_REC_POOL_FREE,      /* addr, pool */
	HL_REC_STACK_ID,       /* id: the stack id of the last stack of this ring from here on */
	HL_REC_ALLOC_STACK_ID, /* addr, stackword, id, pcs: an ALLOC that also assigns a stack id */
	HL_REC_COUNT,
};

enum hl_mark_kind {
	HL_MARK_MARK,
	HL_MARK_SNAPSHOT,
	HL_MARK_START,
	HL_MARK_STOP,
	HL_MARK_THREAD_NAME,       /* the name of the writing thread */
	HL_MARK_OTHER_THREAD_NAME, /* the writing thread has named another one: read /proc */
	HL_MARK_TOGGLE,            /* a signal paused or resumed recording */
	HL_MARK_SIGNAL,            /* a signal requested a snapshot */
	HL_MARK_PAUSE,             /* heaplapse_pause(): from here on only frees are recorded ... */
	HL_MARK_RESUME,            /* ... until here */
};

_Static_assert(HL_REC_COUNT <= 32 && HL_FUNC_COUNT <= 32, "five bits each");

#define HL_STACK_FIRST_PART 1u

/* The process records nothing more and waits until its trace is complete (hl_ring.exit_ack). */
#define HL_EXIT_WAITS (UINT64_C(1) << 32)

/*
 * The stack word: size in the low 40 bits, number of pcs (7 bits), HL_STACK_HAS_ID (1 bit), number
 * of shared frames (16 bits). A size that does not fit is stored as HL_SIZE_BIG, and an extra word
 * before the pcs has the true size. With HL_STACK_HAS_ID there are no pcs, and the upper 16 bits
 * are the stack id.
 */
#define HL_SIZE_BITS    40
#define HL_STACK_HAS_ID (UINT64_C(1) << (HL_SIZE_BITS + 7))
#define HL_SIZE_BIG     ((UINT64_C(1) << HL_SIZE_BITS) - 1)
#define HL_RECORD_PCS   64u /* at most in one record; longer stacks are sent in parts */
#define HL_STAMP_SHIFT  10
#define HL_STAMP_MASK   ((UINT64_C(1) << 54) - 1)

/*
 * One hook call in this many is timed. Odd, so that it does not fall into step with periodic
 * behaviour of the program.
 */
#define HL_HOOK_TIMER_EVERY 1023u

#define HL_NAME_MAX       4095u  /* of the path of a module */
#define HL_TAG_NAME_MAX   16383u /* longer names are truncated */
#define HL_POOL_NAME_MAX  255u
#define HL_RING_STACK_IDS 16384u

static inline uint64_t hl_stack_word(uint64_t size, uint32_t n_new, uint32_t shared)
{
	return size | (uint64_t)n_new << HL_SIZE_BITS | (uint64_t)shared << (HL_SIZE_BITS + 8);
}

static inline uint64_t hl_stack_id_word(uint64_t size, uint32_t id)
{
	return size | HL_STACK_HAS_ID | (uint64_t)id << (HL_SIZE_BITS + 8);
}

static inline uint32_t hl_stack_n_pcs(uint64_t word)
{
	return word & HL_STACK_HAS_ID ? 0 : (word >> HL_SIZE_BITS) & 0x7f;
}

static inline uint32_t hl_stack_shared_or_id(uint64_t word)
{
	return (uint32_t)(word >> (HL_SIZE_BITS + 8));
}

static inline uint64_t hl_first_word(uint64_t stamp, uint32_t type, uint32_t func)
{
	return stamp << HL_STAMP_SHIFT | func << 5 | type;
}

#endif
