/* SPDX-License-Identifier: Apache-2.0 */
/*
 * region_layout.h - the memory that recorder and collector share: one memfd per program image.
 *
 *   header page
 *   ring controls (struct hl_ring)
 *   sampling filter (ring/sample_filter.h)
 *   data of the shared rings: 16 x 64 KiB
 *   data of the other rings: 1 MiB, 7 x 256 KiB, 424 x 64 KiB
 *
 * A program with little address space maps only the beginning: everything up to the last of the
 * other rings that it has room for. It uses no ring after that one. The collector always maps the
 * whole region.
 *
 * Each thread of the program owns one ring and is its only writer; the collector is the only
 * reader. A thread takes a free ring by compare-and-swap and holds the ring's robust mutex as long
 * as it lives. When the thread ends, in whatever way, the kernel marks the mutex and the collector
 * recycles the ring. Positions only grow, over all owners of a ring, and are multiples of 8; the
 * difference head - tail never exceeds the size of the ring. The program may overwrite anything
 * here by accident, so the collector copies data first and then checks the copy.
 *
 * A fork child inherits the mapping and takes rings like any thread, under a new process serial. If
 * there are more threads than rings, the others use the last HL_SHARED_RINGS rings. They take turns
 * under a lock, and each record is preceded by its origin (HL_REC_SWITCH).
 */
#ifndef HL_RING_REGION_LAYOUT_H
#define HL_RING_REGION_LAYOUT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/log_level.h"
#include "base/mode.h"

#define HL_REGION_MAGIC UINT64_C(0x0a1a65736c706168) /* "haplse\x1a\n" */
#define HL_REGION_ABI   14

/*
 * Free rings are taken in order, so a program with few threads has large rings, and a single thread
 * has the largest. With a large ring the collector can poll less often and absorb bursts.
 */
#define HL_FIRST_RING_BYTES (1024u * 1024)
#define HL_LARGE_RING_BYTES (256u * 1024)
#define HL_LARGE_RINGS      8u
#define HL_RING_BYTES       (64u * 1024) /* each of the other rings */
#define HL_RING_COUNT       448u
#define HL_SHARED_RINGS     16u /* the last rings, for when threads outnumber rings */
#define HL_OWN_RINGS        (HL_RING_COUNT - HL_SHARED_RINGS)

/*
 * With fewer file descriptors (RLIMIT_NOFILE) a collector is not started. It needs its own, those
 * of one program and of one trace, and some for reading directories and /proc.
 */
#define HL_FILES_MIN 16u

/*
 * Under a bare LD_PRELOAD this variable of the environment hands the session on to the programs
 * that the program executes. Its value is made and read by the collector
 * (collect/output/session_dir.h).
 */
#define HL_SESSION_VARIABLE   "HEAPLAPSE_SESSION"
#define HL_REGION_SESSION_MAX 2048u

/* Settings from the options of `record`. The collector writes them before it sets `ready`. */
#define HL_SET_FREE_STACKS (1u << 0)
#define HL_SET_MAPS        (1u << 1)
#define HL_SET_FULL_UNWIND (1u << 2)
#define HL_SET_NO_FORK     (1u << 3) /* fork children are not recorded */
#define HL_SET_START_OFF   (1u << 4) /* record nothing until heaplapse_start() */
#define HL_SET_ZERO        (1u << 8) /* memory from malloc and similar functions is zeroed */
#define HL_SET_NO_EXEC     (1u << 9) /* programs that this one executes are not recorded */

/* The source of stamps. */
enum hl_clock {
	HL_CLOCK_TSC,     /* the cycle counter: order and time */
	HL_CLOCK_COUNTER, /* stamp_counter, one shared atomic increment: order only; the collector
			     adds the time */
};

struct hl_region {
	uint64_t magic;
	uint32_t abi;
	uint32_t settings;
	uint32_t clock;       /* enum hl_clock */
	uint32_t depth_inner; /* frames recorded at the inner end of a deep stack ... */
	uint32_t depth_outer; /* ... and at the outer end */
	uint32_t max_wait_ms; /* longest wait for room in a full ring */
	/*
	 * Written by the collector rarely, read by every hook: not in a cache line with fields that
	 * change often.
	 */
	_Atomic uint32_t control;      /* the control word, see base/mode.h */
	_Atomic uint64_t sample_bytes; /* HL_MODE_SAMPLE: mean number of bytes per sample */
	uint64_t toggle_signals;       /* signals that pause and resume: bit n - 1 is signal n */
	uint32_t snapshot_signal;      /* signal that takes a snapshot; 0: none */
	_Atomic uint64_t sample_seed;  /* not 0: the same samples in each run, for tests */
	uint32_t exit_wait_ms;         /* longest wait for the trace at exit; 0: no wait */
	uint64_t inode; /* of the memfd; part of the socket name, see HL_CTL_PREFIX */

	/* Written by the collector. */
	_Alignas(64) _Atomic uint64_t heartbeat; /* changes at least every 50 ms */
	_Atomic uint64_t now;   /* a recent stamp, for threads that must not read the counter */
	_Atomic uint32_t ready; /* futex. 1: start recording; 2: refused, see message */
	_Atomic uint64_t drained_events; /* events copied out of the rings ... */
	_Atomic uint64_t durable_events; /* ... and events written to a file */
	_Atomic uint32_t collector_pid;  /* to distinguish a starved collector from a dead one */
	char message[208];               /* why recording was refused */
	uint32_t log_level;              /* enum hl_level */
	char log_path[HL_LOG_PATH_MAX];  /* "": stderr */
	/* For HL_SESSION_VARIABLE in the program's environment; "": the session is not handed on.
	 */
	char session[HL_REGION_SESSION_MAX];

	/* Written by the program. */
	_Alignas(64) _Atomic uint32_t next_serial; /* next process serial; 0: the image */
	_Atomic uint32_t rings_used;               /* rings [0, high) have had an owner */
	_Atomic uint32_t shared_used;              /* 1: the shared rings have been used too */
	_Atomic uint32_t registered;               /* 1: registered for membarrier */
	_Atomic uint64_t start_stamp;              /* start of the process with serial 0 */
	_Atomic uint64_t no_ring_drops; /* events dropped because the thread had no ring */
	_Alignas(64) _Atomic uint64_t stamp_counter; /* the counter of HL_CLOCK_COUNTER */
};

enum hl_ring_state {
	HL_RING_FREE,
	HL_RING_TAKING, /* between the compare-and-swap and taking the mutex */
	HL_RING_OWNED,
};

struct hl_ring {
	/*
	 * Written by the owner for each event. Bit 0 of head is the busy bit: a stamp was taken and
	 * its record is not committed yet.
	 */
	_Alignas(64) uint64_t head;
	_Atomic uint64_t dropped; /* events dropped because the ring was full, over all owners */

	/* Written by the collector. In its own cache line, or each drain would stall the owner. */
	_Alignas(64) _Atomic uint64_t tail; /* everything below this position has been copied out */

	/* Written when an owner starts, waits or ends. */
	_Alignas(64) _Atomic uint32_t state; /* enum hl_ring_state */
	_Atomic uint32_t claim;              /* +1 with each owner */
	uint32_t serial;                     /* process serial of the owner */
	uint32_t tid;
	_Atomic uint32_t waiting; /* futex: the owner sleeps until there is room */
	_Atomic uint32_t epoch;   /* +1 with each collector, which knows no stacks yet */
	/*
	 * Futex, written by the collector: the claim of the owner whose process has a complete
	 * trace. An exiting process waits until its own claim is here.
	 */
	_Atomic uint32_t exit_ack;
	_Atomic uint64_t lock; /* of a shared ring: (serial + 1) << 32 | tid of the writer */
	uint64_t
		lock_frame; /* frame address of the lock holder, to detect one left by siglongjmp */
	pthread_mutex_t owner_mutex; /* robust, process-shared, held by the owner */
};

#define HL_REGION_CONTROL_OFFSET    4096u
#define HL_SAMPLE_FILTER_BITS       18u
#define HL_SAMPLE_FILTER_PAGES_BITS 13u
#define HL_REGION_FILTER_OFFSET     \
	(HL_REGION_CONTROL_OFFSET + \
		((HL_RING_COUNT * (uint32_t)sizeof(struct hl_ring) + 4095u) & ~4095u))
#define HL_REGION_DATA_OFFSET                                      \
	(HL_REGION_FILTER_OFFSET + (1u << HL_SAMPLE_FILTER_BITS) + \
		(1u << HL_SAMPLE_FILTER_PAGES_BITS))
#define HL_REGION_OWN_OFFSET (HL_REGION_DATA_OFFSET + HL_SHARED_RINGS * HL_RING_BYTES)
#define HL_REGION_BYTES                                                                            \
	(HL_REGION_OWN_OFFSET + HL_FIRST_RING_BYTES + (HL_LARGE_RINGS - 1) * HL_LARGE_RING_BYTES + \
		(HL_OWN_RINGS - HL_LARGE_RINGS) * HL_RING_BYTES)

_Static_assert(sizeof(struct hl_region) <= HL_REGION_CONTROL_OFFSET, "header fits its page");
_Static_assert(offsetof(struct hl_ring, tail) == 64, "owner's words fit one line");
_Static_assert(sizeof(struct hl_ring) == 256, "rings do not share lines");
_Static_assert(HL_REGION_BYTES <= 32u << 20, "the budget of address space");

static inline struct hl_ring *hl_region_ring(struct hl_region *r, uint32_t i)
{
	return (struct hl_ring *)((char *)r + HL_REGION_CONTROL_OFFSET) + i;
}

static inline uint32_t hl_ring_bytes(uint32_t i)
{
	if (i == 0)
		return HL_FIRST_RING_BYTES;
	return i < HL_LARGE_RINGS ? HL_LARGE_RING_BYTES : HL_RING_BYTES;
}

/* The size of the region up to and including the shared rings and the first n other rings. */
static inline uint32_t hl_region_bytes(uint32_t n)
{
	uint32_t large = n < HL_LARGE_RINGS ? n : HL_LARGE_RINGS;
	uint32_t bytes =
		HL_REGION_OWN_OFFSET + large * HL_LARGE_RING_BYTES + (n - large) * HL_RING_BYTES;

	return n > 0 ? bytes + HL_FIRST_RING_BYTES - HL_LARGE_RING_BYTES : bytes;
}

static inline uint64_t *hl_region_data(struct hl_region *r, uint32_t i)
{
	uint32_t at = i < HL_OWN_RINGS ? hl_region_bytes(i)
				       : HL_REGION_DATA_OFFSET + (i - HL_OWN_RINGS) * HL_RING_BYTES;

	return (uint64_t *)((char *)r + at);
}

#endif
