/*
 * process.c - calls of the program that change what we know: dlclose (code goes away), exit in its
 * forms (the end has a status). Each does its own work as if we were not there.
 *
 * The next functions are found before main: asking the loader for them later would wait for its
 * lock, which may be held by a thread that waits for ours.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/stat.h>
#include <stdlib.h>

#include "record/arch/syscall.h"
#include "record/real.h"
#include "record/log.h"
#include "record/recorder.h"
#include "record/tags.h"

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

void hl_process_resolve(void)
{
	real.dlclose = hl_real_find("dlclose");
	real.exit = hl_real_find("_exit");
	real.exit_c = hl_real_find("_Exit");
	real.quick_exit = hl_real_find("quick_exit");
}

/* For calls that come before our constructor. */
hl_inline void resolved(void)
{
	if (hl_unlikely(!real.quick_exit))
		hl_process_resolve();
}

int dlclose(void *handle)
{
	int err;

	resolved();
	/* Rules and memos of code that is gone would be believed for what is loaded in its place,
	 * by another thread perhaps before this call is back. */
	hl_tls.unloads++;
	hl_unwind_unload_begin();
	hl_cxx_forget();
	err = real.dlclose(handle);
	hl_cxx_forget(); /* what was found in the meantime */
	hl_modules_forget();
	hl_unwind_unload_end();
	hl_tls.unloads--;
	return err;
}

/* Is this the only thread? Where /proc cannot be read, it counts as one of several. */
static bool is_alone(void)
{
	struct statx st = {0};

	return hl_sys5(SYS_statx, AT_FDCWD, "/proc/self/task", 0, STATX_NLINK, &st) == 0 &&
	       st.stx_nlink == 3; /* ".", "..", and one for each thread */
}

/*
 * Shall this exit wait for the trace? Not while other threads run: static objects are destroyed by
 * now, and a thread that the exit would have ended at once must not meet that. Then nothing is recorded from here on, by no thread: the
 * trace ends with the status. A handler that has interrupted a put of its own thread does not wait:
 * the ring stays busy, and the collector would wait for it in turn.
 */
static bool begin_leaving(struct hl_thread *t)
{
	struct hl_ring *ring = t->out.ring;
	uint32_t nobody = 0, number;

	if (!hl_rec.exit_wait_ms || hl_rec.no_syscalls ||
		__atomic_load_n(&ring->w, __ATOMIC_RELAXED) & 1 || !is_alone())
		return false;
	number = (uint32_t)(ring - hl_region_ring(hl_rec.region, 0)) + 1;
	if (!atomic_compare_exchange_strong(&hl_alive.leaving, &nobody, number))
		return false;
	atomic_store(&hl_alive.on, 0);
	return true;
}

/* Also a second thread that calls exit meanwhile: its call would end the process. */
static void wait_for_trace(void)
{
	uint32_t ring = atomic_load(&hl_alive.leaving);

	if (ring && !hl_rec.no_syscalls)
		hl_wait_for_trace(hl_region_ring(hl_rec.region, ring - 1));
}

/* The status, and what all threads' stacks and waits have cost. */
static void emit_exit(struct hl_thread *t, int status)
{
	uint64_t words[7] = {(uint32_t)status};
	bool leaves;

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
	leaves = begin_leaving(t);
	words[0] |= leaves ? HL_EXIT_WAITS : 0;
	if (!hl_emit_state(t, HL_REC_EXIT, words, 7, NULL, 0) && leaves)
		atomic_store(&hl_alive.leaving, 0); /* there will be no answer */
	hl_log(HL_LEVEL_INFO, "the program exits, status", (uint32_t)status);
}

/* The last record of the process. */
void hl_process_note_exit(int status)
{
	struct hl_thread *t = hl_thread_enter();

	hl_tags_at_exit();
	/* Also while nothing else is recorded. */
	if (!t && hl_rec.phase == HL_PHASE_STOPPED && atomic_load(&hl_alive.ours))
		t = hl_tls.thread;
	/* A vfork child ends in our memory, but it is not our end. */
	if (!hl_rec.no_syscalls && (uint32_t)hl_sys0(SYS_getpid) != hl_rec.pid)
		return;
	if (t && !t->shared)
		emit_exit(t, status);
	wait_for_trace();
}

/* What quick_exit() was called with: its handlers are not told. */
static _Atomic int quick_status;
static bool has_quick_handler;

static void at_quick(void)
{
	hl_process_note_exit(atomic_load(&quick_status));
}

/* Ours is registered before any handler of the program, so it runs after them: what they allocate
 * is recorded. */
void hl_process_watch_quick_exit(void)
{
	has_quick_handler = at_quick_exit(at_quick) == 0;
}

void _exit(int status)
{
	hl_process_note_exit(status);
	resolved();
	real.exit(status);
	__builtin_unreachable();
}

void _Exit(int status)
{
	hl_process_note_exit(status);
	resolved();
	real.exit_c(status);
	__builtin_unreachable();
}

void quick_exit(int status)
{
	atomic_store(&quick_status, status);
	if (!has_quick_handler)
		hl_process_note_exit(status);
	resolved();
	real.quick_exit(status);
	__builtin_unreachable();
}
