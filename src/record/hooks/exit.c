/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exit.c - hooks of dlclose, after which code is gone, and of the functions that end the process,
 * which have an exit status. Each hook then calls the real function, whose behavior does not
 * change.
 *
 * The next functions are resolved before main. Resolving them later would take the loader's lock,
 * which may be held by a thread that waits for this one.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/stat.h>
#include <stdlib.h>

#include "record/arch/syscall.h"
#include "record/interpose/next.h"
#include "record/session/debug_log.h"
#include "record/session/recorder.h"
#include "record/emit/backpressure.h"
#include "record/emit/emit.h"
#include "record/hooks/cxx.h"
#include "record/hooks/exit.h"
#include "record/session/modules.h"
#include "record/session/thread.h"
#include "record/tags/tags.h"

hl_export int dlclose(void *handle);
hl_export void _exit(int status) __attribute__((noreturn));
hl_export void _Exit(int status) __attribute__((noreturn));
hl_export void quick_exit(int status) __attribute__((noreturn));

static struct {
	int (*dlclose)(void *);
	void (*exit)(int);
	void (*exit_c)(int);
	void (*quick_exit)(int);
} real;

void hl_exit_resolve(void)
{
	real.dlclose = hl_next_find("dlclose");
	real.exit = hl_next_find("_exit");
	real.exit_c = hl_next_find("_Exit");
	real.quick_exit = hl_next_find("quick_exit");
}

/* For calls before our constructor. */
hl_inline void ensure_resolved(void)
{
	if (hl_unlikely(!real.quick_exit))
		hl_exit_resolve();
}

int dlclose(void *handle)
{
	int err;

	ensure_resolved();
	/* Rules and memos of unloaded code would be used for code that is loaded in its place,
	 * perhaps by another thread before this call returns. */
	hl_tls.unloads++;
	hl_unwind_unload_begin();
	hl_cxx_forget();
	err = real.dlclose(handle);
	hl_cxx_forget(); /* operators that were found meanwhile */
	hl_modules_forget();
	hl_unwind_unload_end();
	hl_tls.unloads--;
	return err;
}

/* True if this is the only thread. If /proc cannot be read, the answer is false. */
static bool is_only_thread(void)
{
	struct statx st = {0};

	return hl_sys5(SYS_statx, AT_FDCWD, "/proc/self/task", 0, STATX_NLINK, &st) == 0 &&
	       st.stx_nlink == 3; /* ".", "..", and one for each thread */
}

/*
 * Decides whether this exit waits for the trace. It does not while other threads run: static
 * objects are destroyed by now, and a thread that would have ended with the process must not run on
 * and use them. If it waits, no thread records anything from here on: the trace ends with the
 * status. A handler that interrupted a put of its own thread does not wait either: the ring stays
 * busy, and the collector would wait for it in turn.
 */
static bool begin_exit_wait(struct hl_thread *t)
{
	struct hl_ring *ring = t->out.ring;
	uint32_t none = 0, number;

	if (!hl_rec.exit_wait_ms || hl_rec.no_syscalls ||
		__atomic_load_n(&ring->head, __ATOMIC_RELAXED) & 1 || !is_only_thread())
		return false;
	number = (uint32_t)(ring - hl_region_ring(hl_rec.region, 0)) + 1;
	if (!atomic_compare_exchange_strong(&hl_fork_page.exit_ring, &none, number))
		return false;
	atomic_store(&hl_fork_page.on, 0);
	return true;
}

/* Called also by a second thread that exits meanwhile: its call would end the process. */
static void wait_for_trace(void)
{
	uint32_t ring = atomic_load(&hl_fork_page.exit_ring);

	if (ring && !hl_rec.no_syscalls)
		hl_wait_for_trace(hl_region_ring(hl_rec.region, ring - 1));
}

/* Emits the exit status, and the cost of stacks and waits of all threads. */
static void emit_exit(struct hl_thread *t, int status)
{
	uint64_t words[7] = {(uint32_t)status};
	bool waits;

	for (uint32_t i = 0; i < HL_RING_COUNT; i++) {
		struct hl_unwind_counts n;

		if (!hl_rec.slots[i])
			continue;
		hl_unwinder_counts(hl_rec.slots[i]->unwinder, &n);
		words[1] += hl_rec.slots[i]->wait_ns;
		words[2] += n.unwinds;
		words[3] += n.walked;
		words[4] += n.verified;
		words[5] += n.misses;
		words[6] += hl_rec.slots[i]->timed_ticks;
	}
	waits = begin_exit_wait(t);
	words[0] |= waits ? HL_EXIT_WAITS : 0;
	if (!hl_emit_state(t, HL_REC_EXIT, words, 7, NULL, 0) && waits)
		atomic_store(&hl_fork_page.exit_ring, 0); /* the collector will not answer */
	hl_debug_log(HL_LEVEL_INFO, "the program exits, status", (uint32_t)status);
}

/* Emits the last record of the process. */
void hl_exit_emit_status(int status)
{
	struct hl_thread *t = hl_thread_enter();

	hl_tags_at_exit();
	/* The status is recorded also while recording is stopped. */
	if (!t && hl_rec.phase == HL_PHASE_STOPPED && atomic_load(&hl_fork_page.ours))
		t = hl_tls.thread;
	/* A vfork child exits in our memory, but this process goes on. */
	if (!hl_rec.no_syscalls && (uint32_t)hl_sys0(SYS_getpid) != hl_rec.pid)
		return;
	if (t && !t->shared)
		emit_exit(t, status);
	wait_for_trace();
}

/* The argument of quick_exit(): its handlers do not get it. */
static _Atomic int quick_status;
static bool has_quick_handler;

static void on_quick_exit(void)
{
	hl_exit_emit_status(atomic_load(&quick_status));
}

/* Our handler is registered before any handler of the program, so it runs after them and their
 * allocations are recorded. */
void hl_exit_watch_quick_exit(void)
{
	has_quick_handler = at_quick_exit(on_quick_exit) == 0;
}

void _exit(int status)
{
	hl_exit_emit_status(status);
	ensure_resolved();
	real.exit(status);
	__builtin_unreachable();
}

void _Exit(int status)
{
	hl_exit_emit_status(status);
	ensure_resolved();
	real.exit_c(status);
	__builtin_unreachable();
}

void quick_exit(int status)
{
	atomic_store(&quick_status, status);
	if (!has_quick_handler)
		hl_exit_emit_status(status);
	ensure_resolved();
	real.quick_exit(status);
	__builtin_unreachable();
}
