/*
 * layout.h - the memory that recorder and collector share: one memfd per program image.
 *
 *   header page | ring controls | filter (ring/filter.h) | data of the shared rings (16 x 64 KiB) |
 *   data of the others (1 MiB, 7 x 256 KiB, 424 x 64 KiB)
 *
 * A program with little address space maps only the first part, up to as many of the others as it
 * has room for, and uses no ring beyond; the collector always maps all of it.
 *
 * Each thread of the program owns one ring and is its only writer; the collector is its only
 * reader. A thread takes a free ring by compare-and-swap and holds the ring's robust mutex for
 * life: when it ends, however it ends, the kernel marks the mutex and the collector recycles the
 * ring. Positions only grow, over all owners of a ring, and are multiples of 8; w - tail never
 * exceeds the ring's size. Whatever the collector reads here may have been scribbled over by the
 * program: it copies, then checks.
 *
 * A fork child inherits the mapping and takes rings like any thread, under a new process serial.
 * When more threads live than there are rings, the last HL_SHARED_RINGS are used by turns, under a
 * lock, each record preceded by who it is from (HL_REC_SWITCH).
 */
#ifndef HL_RING_LAYOUT_H
#define HL_RING_LAYOUT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/level.h"
#include "base/mode.h"

#define HL_REGION_MAGIC UINT64_C(0x0a1a65736c706168) /* "haplse\x1a\n" */
#define HL_REGION_ABI   13

/* Free rings are taken from the first on, so a program with few threads has large ones, and one
 * with a single thread the largest: the collector looks in less often, and catches up later with
 * what came at once. */
#define HL_FIRST_RING_BYTES (1024u * 1024)
#define HL_LARGE_RING_BYTES (256u * 1024)
#define HL_LARGE_RINGS      8u
#define HL_RING_BYTES       (64u * 1024) /* of the others */
#define HL_RING_COUNT       448u
#define HL_SHARED_RINGS     16u /* of these, for when threads outnumber rings: the last */
#define HL_OWN_RINGS        (HL_RING_COUNT - HL_SHARED_RINGS)

/* With fewer descriptors (RLIMIT_NOFILE) a collector is not started: its own, those of one program,
 * of a trace, and for a look at a folder or /proc. */
#define HL_FILES_LEAST 16u

/* Settings, from `record`'s options; written by the collector before it says ready. */
#define HL_SET_FREE_STACKS (1u << 0)
#define HL_SET_MAPS        (1u << 1)
#define HL_SET_FULL_UNWIND (1u << 2)
#define HL_SET_NO_FORK     (1u << 3) /* a fork child stays silent */
#define HL_SET_START_OFF   (1u << 4) /* wait for heaplapse_start() */
#define HL_SET_ZERO        (1u << 8) /* what malloc and its like give is zeroed */
#define HL_SET_NO_EXEC     (1u << 9) /* programs that this one executes are not recorded */

/* Where stamps come from. */
enum hl_clock {
	HL_CLOCK_TSC,     /* the cycle counter: order and time */
	HL_CLOCK_COUNTER, /* region.order, one shared fetch_add: order alone, time added by the
			     collector */
};

struct hl_region {
	uint64_t magic;
	uint32_t abi;
	uint32_t settings;
	uint32_t clock;       /* enum hl_clock */
	uint32_t depth_inner; /* frames kept at the inner end of a deep stack ... */
	uint32_t depth_outer; /* ... and at the outer end */
	uint32_t max_wait_ms; /* longest wait for room in a full ring */
	/* Written by the collector now and then, read by every hook: not beside what often changes.
	 */
	_Atomic uint32_t steer;        /* base/mode.h */
	_Atomic uint64_t sample_bytes; /* HL_MODE_SAMPLE: on average one sample in so many */
	uint64_t toggle_signals;  /* of the program, that pause and resume: bit n - 1 is signal n */
	uint32_t snapshot_signal; /* of the program, that takes a snapshot; 0: none */
	_Atomic uint64_t sample_seed; /* not 0: the same samples each time, for tests */
	uint32_t exit_wait_ms;        /* longest wait for the trace at exit; 0: none */
	uint64_t inode; /* of the memfd: names the collector's socket (HL_CTL_PREFIX) */

	/* Written by the collector. */
	_Alignas(64) _Atomic uint64_t heartbeat; /* changes at least every 50 ms */
	_Atomic uint64_t now;   /* a recent stamp, for threads that may not read the counter */
	_Atomic uint32_t ready; /* futex. 1: go; 2: refused, see message */
	_Atomic uint64_t taken_events;   /* copied out of the rings ... */
	_Atomic uint64_t durable_events; /* ... and of these, written to a file */
	_Atomic uint32_t collector_pid;  /* to tell a starved collector from a dead one */
	char message[208];               /* why it was refused */
	uint32_t log_level;              /* enum hl_level */
	char log_path[HL_LOG_PATH_MAX];  /* "": stderr */

	/* Written by the program. */
	_Alignas(64) _Atomic uint32_t next_serial; /* process serials: 0 is the image itself */
	_Atomic uint32_t high;               /* rings [0, high) have been owned at some time */
	_Atomic uint32_t shared_used;        /* 1: the shared rings too */
	_Atomic uint32_t registered;         /* 1: registered for membarrier */
	_Atomic uint64_t start_stamp;        /* time zero of serial 0 */
	_Atomic uint64_t unclaimed_drops;    /* events dropped for want of a ring */
	_Alignas(64) _Atomic uint64_t order; /* HL_CLOCK_COUNTER */
};

enum hl_ring_state {
	HL_RING_FREE,
	HL_RING_TAKING, /* between the compare-and-swap and the lock */
	HL_RING_OWNED,
};

struct hl_ring {
	/* Written by the owner on each event. Bit 0 of w: a stamp is out and its record not yet in.
	 */
	_Alignas(64) uint64_t w;
	_Atomic uint64_t dropped; /* events that found no room, over all owners */

	/* Written by the collector: its own line, or each drain would stall the owner. */
	_Alignas(64) _Atomic uint64_t tail; /* everything below has been copied out */

	/* Written when an owner comes, waits or goes. */
	_Alignas(64) _Atomic uint32_t state; /* enum hl_ring_state */
	_Atomic uint32_t claim;              /* +1 with each owner */
	uint32_t serial;                     /* the owner's process */
	uint32_t tid;
	_Atomic uint32_t waiting; /* futex: the owner sleeps until there is room */
	_Atomic uint32_t epoch;   /* +1 with each collector: the next knows none of our stacks */
	/* Futex, written by the collector: the claim of the owner whose process has a complete
	 * trace. An exiting process waits for its own claim here. */
	_Atomic uint32_t complete;
	_Atomic uint64_t lock; /* shared rings: (serial + 1) << 32 | tid of who is writing */
	uint64_t frame;        /* and where on its stack it took the lock */
	pthread_mutex_t life;  /* robust, process-shared, held by the owner */
};

#define HL_REGION_CONTROL_OFFSET 4096u
#define HL_FILTER_BITS           18u
#define HL_FILTER_PAGES_BITS     13u
#define HL_REGION_FILTER_OFFSET     \
	(HL_REGION_CONTROL_OFFSET + \
		((HL_RING_COUNT * (uint32_t)sizeof(struct hl_ring) + 4095u) & ~4095u))
#define HL_REGION_DATA_OFFSET \
	(HL_REGION_FILTER_OFFSET + (1u << HL_FILTER_BITS) + (1u << HL_FILTER_PAGES_BITS))
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

/* The size of the part that has the shared rings and the first n others. */
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
