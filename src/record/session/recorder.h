/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recorder.h - the state of the recorder: its phase, its memory, its threads.
 *
 * The recorder runs inside the malloc of another program. On the hot path (any event but a thread's
 * first one, an unwind rule that is needed for the first time, or a full ring) it makes no syscall,
 * takes no lock, allocates nothing and does not change errno.
 */
#ifndef HL_RECORD_SESSION_RECORDER_H
#define HL_RECORD_SESSION_RECORDER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/alloc_func.h"
#include "record/unwind/unwind.h"
#include "ring/region_layout.h"
#include "ring/producer.h"

enum hl_phase {
	HL_PHASE_EARLY, /* before our constructor: events go to the early buffer */
	HL_PHASE_ON,
	HL_PHASE_STOPPED, /* heaplapse_stop(): nothing is recorded until heaplapse_start() */
	HL_PHASE_OFF,     /* for the rest of the process */
};

/* How stamps are made; 0 is the fast case. */
enum hl_stamp_mode {
	HL_STAMP_TSC,
	HL_STAMP_COUNTER, /* region->stamp_counter */
	HL_STAMP_NONE,    /* the cycle counter may no longer be read (seccomp, PR_SET_TSC) */
};

/* A thread that cycles through more tags than this sends their names again and again. */
#define HL_NAMED_TAGS 32u
/* A value of sent_tag: the last tag in the ring is not known. */
#define HL_TAG_UNKNOWN ((const struct hl_tag_node *)1)

/* One recording thread. The memory is private and belongs to a ring slot, not to a thread: the next
 * owner of the slot takes it over. */
struct hl_thread {
	struct hl_producer out;
	struct hl_unwinder *unwinder;
	/* The collector's copy of our last stack: the outermost `synced_depth` frames of the
	 * unwinder's result `synced_serial`. Valid only while the ring still ends at synced_at. */
	uint64_t synced_at;
	uint64_t synced_serial;
	uint32_t synced_depth;
	uint32_t serial; /* of the process */
	uint32_t tid;
	bool shared; /* no ring of its own: locks a shared ring for each event */
	bool scratch_busy;
	bool in_parts; /* parts of a stack are in the ring, perhaps without their event */
	bool resync;   /* a new collector was noticed during a wait: the record to be written refers
			  to what only the old one knows */
	uintptr_t put_frame; /* frame of the put in progress, while the ring is busy */
	uint64_t last_stamp;
	/* After a wait was given up: the last heartbeat seen, and the number of events that are
	 * dropped without a wait (backpressure.c). */
	uint64_t silent_beat;
	uint32_t skip_waits;
	uint64_t wait_ns;     /* time spent waiting for room */
	uint32_t until_timed; /* hook calls up to the next one that is timed; never 0 */
	uint64_t timed_ticks; /* spent in the timed calls */
	uintptr_t *scratch;   /* --unwind=full: pcs of the walk */
	/* Sampling (sampling.c). The next owner of the slot may continue with these. */
	uint64_t sample_rate;  /* the rate that until_sample was drawn for; 0: none */
	uint64_t until_sample; /* bytes up to the next sample */
	uint32_t skip_control; /* while the control word has this value, allocations are skipped
				  without a decision; 0: never */
	uint64_t random;
	/* The last tag in the ring; NULL: none. And HL_NAMED_TAGS nodes, by their ids, whose names
	 * are in the ring; NULL in a shared ring, where everything is sent each time. */
	const struct hl_tag_node *sent_tag;
	const struct hl_tag_node **named_tags;
	uint32_t tag_sends;
	uint64_t sent_pool; /* the hash of the last pool name in the ring; 0: none */
};

struct hl_recorder {
	_Atomic uint32_t phase;
	_Atomic bool paused; /* heaplapse_pause(): allocations are not recorded, frees are */
	uint32_t stamp_mode;
	_Atomic bool one_thread, many_threads; /* threads that have claimed a ring (stamp.h) */
	uint32_t serial;
	uint32_t pid;
	uint32_t settings;
	uint32_t depth_inner, depth_outer;
	uint32_t max_wait_ms, exit_wait_ms;
	bool no_syscalls;        /* after seccomp */
	uint32_t stamp_ticks;    /* cost of reading the counter; 0: not measured yet */
	uint32_t overhead_ticks; /* cost of a hook without its record */
	struct hl_region *region;
	uint32_t rings;                  /* mapped rings of the region, without the shared ones */
	const _Atomic uint32_t *control; /* the control word: the region's; before that, our own:
					    record everything */
	uint32_t control_seen;           /* change number of the last request that was applied */
	struct hl_thread *slots[HL_RING_COUNT]; /* private memory, by ring */
};
extern struct hl_recorder hl_rec;
extern const _Atomic uint32_t hl_control_record_all;

/* The kernel wipes this page in a fork child, whatever call created it. The child finds `on` 0 and
 * takes the slow path, where it finds `ours` 0 and must first become a recorded process of its
 * own. */
struct hl_fork_page_layout {
	_Atomic uint32_t on;        /* while recording: HL_RECORDING and HL_RECORDING_*_SLOW */
	_Atomic uint32_t ours;      /* 1 in the process that wrote it, recording or not */
	_Atomic uint32_t exit_ring; /* ring of the thread that waits for the trace at exit, + 1 */
	char pad[4084];
};
extern struct hl_fork_page_layout hl_fork_page;

#define HL_RECORDING            1u
#define HL_RECORDING_ALLOC_SLOW 2u /* allocations take the slow path (emit_fast.c) ... */
#define HL_RECORDING_FREE_SLOW  4u /* ... and frees */

hl_inline void hl_fork_page_start(void)
{
	uint32_t settings = hl_rec.settings;

	atomic_store(&hl_fork_page.on,
		HL_RECORDING |
			(settings & (HL_SET_FULL_UNWIND | HL_SET_ZERO) ? HL_RECORDING_ALLOC_SLOW
								       : 0) |
			(atomic_load(&hl_rec.paused) ? HL_RECORDING_ALLOC_SLOW : 0) |
			(settings & HL_SET_FREE_STACKS ? HL_RECORDING_FREE_SLOW : 0));
}

/* All our thread-local memory. Initial-exec: accessing it never allocates. */
struct hl_tls {
	struct hl_thread *thread;
	uintptr_t guard; /* stack pointer of the caller of the outermost hook whose allocator may
			    call back */
	bool busy;     /* this thread is in a slow path of the recorder: its calls are not events */
	bool claiming; /* ... and is claiming a ring: calls come from a handler, and their events
			  are dropped */
	uint32_t unloads;         /* number of dlclose() calls that this thread is in */
	struct hl_tag_node *tag;  /* the node that it counts in, see tags.h */
	struct hl_tag_tree *tags; /* all of its scopes */
	struct hl_thread own; /* for a thread that found no ring; here, because other memory would
				 never be released */
};
extern __thread struct hl_tls hl_tls;

#endif
