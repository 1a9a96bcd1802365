/*
 * recorder.h - what the files of the recorder share: its phase, its memory, its threads.
 *
 * The recorder is a guest in someone's malloc. On the hot path (any event but a thread's first,
 * an unwind rule met for the first time, a full ring) it makes no syscall, takes no lock,
 * allocates nothing and leaves errno alone.
 */
#ifndef HL_RECORD_RECORDER_H
#define HL_RECORD_RECORDER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/func.h"
#include "record/unwind/unwind.h"
#include "ring/layout.h"
#include "ring/producer.h"

enum hl_phase {
	HL_PHASE_EARLY, /* before our constructor: events go to a buffer of our own */
	HL_PHASE_ON,
	HL_PHASE_STOPPED, /* heaplapse_stop(): nothing is recorded until heaplapse_start() */
	HL_PHASE_OFF,     /* for good */
};

/* How stamps are made; 0 is the fast case. */
enum hl_stamp_mode {
	HL_STAMP_TSC,
	HL_STAMP_COUNTER, /* region->order */
	HL_STAMP_NONE,    /* the counter may not be read any more (seccomp, PR_SET_TSC) */
};

/* A thread that goes round more scopes than this tells their names again and again. */
#define HL_NAMED_TAGS 32u
/* As told_tag: what the ring said last is not known. */
#define HL_TAG_UNKNOWN ((const struct hl_tag_node *)1)

/*
 * One recording thread. It lives in private memory that belongs to a ring slot, not to a thread:
 * the next owner of the slot takes it over.
 */
struct hl_thread {
	struct hl_producer out;
	struct hl_unwinder *unwinder;
	/* The collector's idea of our last stack: the outermost `synced` frames of the unwinder's
	 * result `synced_serial`, valid only while the ring still ends at synced_at. */
	uint64_t synced_at;
	uint64_t synced_serial;
	uint32_t synced;
	uint32_t serial; /* of the process */
	uint32_t tid;
	bool shared; /* no ring of its own: takes a shared one for each event */
	bool scratch_busy;
	bool in_parts; /* parts of a stack are in the ring, and maybe not the event they are for */
	bool resync; /* a new collector was met while waiting: what was to be written relies on the
			old */
	uintptr_t put_frame; /* of the put that is under way, while the ring is busy */
	uint64_t last_stamp;
	/* Giving up on a silent collector: see wait.c. */
	uint64_t silent_beat;
	uint32_t skip;
	uint64_t wait_ns;     /* stood still for want of room */
	uint32_t until_timed; /* hooks, to the next that is timed; never 0 */
	uint64_t timed_ticks; /* spent in those */
	uintptr_t *scratch;   /* --unwind=full: pcs of the walk */
	/* Samples (steer.c). Whoever has the slot next may go on with these. */
	uint64_t sample_rate;  /* that the distance was drawn for; 0: none was */
	uint64_t until_sample; /* bytes that are still passed over */
	uint32_t passing;      /* while the steering word is this, without asking; 0: never */
	uint64_t random;
	/* The scope that the ring said last; NULL: none. And HL_NAMED_TAGS nodes, by their ids,
	 * that it has told the names of; NULL in a shared ring, where all is told each time. */
	const struct hl_tag_node *told_tag;
	const struct hl_tag_node **named;
	uint32_t tellings;
	uint64_t told_pool; /* the hash of the pool that the ring named last; 0: none */
};

struct hl_recorder {
	_Atomic uint32_t phase;
	_Atomic bool paused; /* heaplapse_pause(): allocations are not recorded, frees are */
	uint32_t stamp_mode;
	_Atomic bool met, many; /* one thread has had a ring; another one too */
	uint32_t serial;
	uint32_t pid;
	uint32_t settings;
	uint32_t depth_inner, depth_outer;
	uint32_t max_wait_ms, exit_wait_ms;
	bool no_syscalls;      /* after seccomp */
	uint32_t stamp_ticks;  /* what reading the counter takes; 0: not measured yet */
	uint32_t around_ticks; /* what a hook takes besides its record */
	struct hl_region *region;
	uint32_t rings;                /* of the region that are mapped, besides the shared ones */
	const _Atomic uint32_t *steer; /* the region's; before there is one, our own: record all */
	uint32_t steer_seen;           /* number of the last request that was obeyed */
	struct hl_thread *slots[HL_RING_COUNT]; /* private memory, by ring */
};
extern struct hl_recorder hl_rec;
extern const _Atomic uint32_t hl_steer_all;

/*
 * The page is wiped in a fork child, whichever way it was forked: the child finds `on` 0 and goes
 * the slow way, where `ours` tells it that it must first become a process of its own.
 */
struct hl_alive_page {
	_Atomic uint32_t on;      /* while recording: HL_ALIVE_* */
	_Atomic uint32_t ours;    /* 1 in the process that wrote it, recording or not */
	_Atomic uint32_t leaving; /* ring of the thread that waits for the trace at exit, + 1 */
	char pad[4084];
};
extern struct hl_alive_page hl_alive;

#define HL_ALIVE_ON    1u
#define HL_ALIVE_ALLOC 2u /* and more is done for an allocation than usual (usual.c) ... */
#define HL_ALIVE_FREE  4u /* ... or for a free */

hl_inline void hl_alive_start(void)
{
	uint32_t settings = hl_rec.settings;

	atomic_store(&hl_alive.on,
		HL_ALIVE_ON | (settings & (HL_SET_FULL_UNWIND | HL_SET_ZERO) ? HL_ALIVE_ALLOC : 0) |
			(atomic_load(&hl_rec.paused) ? HL_ALIVE_ALLOC : 0) |
			(settings & HL_SET_FREE_STACKS ? HL_ALIVE_FREE : 0));
}

/* All our thread-local memory. Initial-exec: touching it never allocates. */
struct hl_tls {
	struct hl_thread *thread;
	uintptr_t
		guard; /* frame of the outermost hook that calls an allocator which may call back */
	bool busy;     /* this thread is inside a slow path of ours: its calls are not events */
	bool meets;    /* ... and who calls then is a handler: they are, and lost */
	uint32_t unloads;         /* how many dlclose() this thread is in */
	struct hl_tag_node *tag;  /* the scope that it counts in, see tags.h */
	struct hl_tag_tree *tags; /* all of its scopes */
	struct hl_thread own; /* for a thread that found no ring: nobody would give memory back */
};
extern __thread struct hl_tls hl_tls;

struct hl_thread *hl_thread_enter_slow(void);

/* The calling thread's state, or NULL when this call is not to be recorded. */
hl_inline struct hl_thread *hl_thread_enter(void)
{
	if (hl_likely(atomic_load_explicit(&hl_alive.on, memory_order_relaxed))) {
		struct hl_thread *t = hl_tls.thread;
		if (hl_likely(t != NULL))
			return t;
	}
	return hl_thread_enter_slow();
}

/* thread.c */
struct hl_thread *hl_thread_claim(void); /* NULL when memory is short */
struct hl_thread *hl_thread_adopt_early(
	void);                /* the constructor's thread, with what it did before */
void hl_thread_reserve(void); /* memory for threads that begin when none can be asked for */
uint64_t hl_thread_first_stamp(void);
bool hl_thread_lock_shared(struct hl_thread *t);
void hl_thread_unlock_shared(struct hl_thread *t);

/* hooks.c: what a hook costs around its record, by the same steps with nothing behind them. */
uint32_t hl_hooks_ticks_around(void);

/* --zero-memory: a new block is zeros. */
hl_inline void hl_emit_zero(uint32_t func, const void *addr, size_t size)
{
	if (hl_unlikely(hl_rec.settings & HL_SET_ZERO) && func != HL_FUNC_CALLOC)
		__builtin_memset((void *)(uintptr_t)addr, 0, size);
}

/* emit.c: one event each. Never fails visibly: what finds no room is counted as dropped. */
void *hl_emit_alloc(const struct hl_regs *regs, uint32_t func, void *addr, size_t size); /* addr */
void hl_emit_free(const struct hl_regs *regs, uint32_t func, const void *addr);
/* True when the collector is told that the block may move; then it must be told what came of it. */
bool hl_emit_move_begin(const void *old);
void hl_emit_move_end(const struct hl_regs *regs, uint32_t func, const void *old, const void *addr,
	size_t size, bool begun);
void hl_emit_move_failed(const void *old);
void hl_emit_map(const struct hl_regs *regs, uint32_t type, uint64_t start, uint64_t size,
	uint64_t a, uint64_t b);
/* A record of words and bytes without a stack, for state; true when it is in the ring. */
bool hl_emit_state(struct hl_thread *t, uint32_t type, const uint64_t *words, uint32_t n,
	const void *bytes, size_t len);
void hl_emit_mark(uint32_t kind, const char *text);
/* A block of a pool of the program's own, which is in no heap. */
/* pool: as it was named in the ring (pools.c). */
void hl_emit_pool_alloc(struct hl_thread *t, const struct hl_regs *regs, uint64_t pool,
	const void *addr, size_t size);
/* An event that found no room is counted. */
void hl_emit_drop(struct hl_thread *t);
/* Whoever reads this ring from here on knows of no scope and no tag. */
void hl_emit_forget_tags(struct hl_thread *t);

/* wait.c: true when there is room for `words` now. */
bool hl_wait_for_room(struct hl_thread *t, uint64_t pos, uint32_t words);
/* What hl_thread_claim() gave; if that has no ring of its own, one that has, unless none comes. */
struct hl_thread *hl_wait_for_ring(struct hl_thread *t);
/* At exit: until the collector has completed the trace of this process, at most exit_wait_ms. */
void hl_wait_for_trace(struct hl_ring *ring);
/* As long for something else: true when `try` has said so. */
bool hl_wait_for(struct hl_thread *t, bool (*try)(struct hl_thread *t));

/* modules.c */
void hl_modules_on_found(const struct hl_unwind_module *module);
void hl_modules_forget(void);                      /* code has gone: what stands there may be new */
void hl_modules_announce_all(struct hl_thread *t); /* a fork child tells its own trace */

/* sandbox.c */
void hl_sandbox_resolve(void);
/* Has this program begun with fewer rights than `record` (or, for bare LD_PRELOAD, process 1)? */
bool hl_sandbox_surrounds(const char *address);

/* newcomer.c: a program that is about to be executed with this environment. */
struct hl_newcomer {
	const char *why; /* it is not recorded; NULL: it is, as far as can be told */
	bool by_script;  /* that is said of the interpreter it names */
	bool strips;     /* it could not run with us in its LD_PRELOAD */
	uint64_t id;     /* of its file; 0: there is none */
};
struct hl_newcomer hl_newcomer_judge(int dir, const char *path, char *const envp[]);
struct hl_newcomer hl_newcomer_judge_fd(int fd, char *const envp[]);
struct hl_newcomer hl_newcomer_judge_file(const char *file, const char *path, char *const envp[]);
/* Says that it is not recorded, once for each program. path may be NULL. */
void hl_newcomer_announce(const struct hl_newcomer *n, const char *path);
/* Its environment without us, made in `room` of so many bytes. */
size_t hl_newcomer_room(char *const envp[]);
char *const *hl_newcomer_env(char *const envp[], void *room);
/* fd: of the page that is shared with the whole recording (ring/announced.h); -1: there is none. */
void hl_newcomer_begin(int fd);
void hl_newcomer_end(void);
/* --no-follow-exec: takes us out of this environment, in place. system() and popen() call exec
 * behind our hooks, so the hooks would not do. */
void hl_newcomer_leave(char **envp);

/* names.c: the calling thread has this name now, of which the kernel keeps 15 bytes. */
void hl_names_self(const char *name);
void hl_names_resolve(void);

/* process.c, exec.c, maps.c, cxx.c, reap.c: *_resolve finds the functions behind ours, before main.
 */
void hl_process_note_exit(int status);
void hl_process_watch_quick_exit(void);
void hl_process_resolve(void);
void hl_exec_resolve(void);
void hl_maps_resolve(void);
void hl_cxx_resolve(void);
void hl_cxx_forget(void); /* cxx_late.c: code is going, perhaps with operators in it */
void hl_reap_resolve(void);

/* order.c: ends the recording because another allocator stands before us; its place is said. */
void hl_order_refuse(const char *preload);

/* room.c: how many rings, besides the shared ones, there is address space for; 0: for none. */
uint32_t hl_room_rings(void);

/* life.c */
void hl_life_fork_child(void);
void hl_life_off(const char *why);                  /* why == NULL: silently */
void hl_life_message(const char *a, const char *b); /* one line on stderr, unless quiet */
void hl_life_message3(const char *a, const char *b, const char *c);
void hl_life_message4(const char *a, const char *b, const char *c, const char *d);

/* spawn.c, connect.c: the region's descriptor, or -errno; and that of ring/announced.h, or -1. */
int hl_connect(const char *address, int *memfd, int *announced);
void hl_connect_wake(uint64_t inode); /* the collector of the region with this inode */
int hl_spawn_collector(char **envp, int memfd, long *pid);

#endif
