/*
 * process.c - calls of the program that change what we know: dlclose (code goes away), exit in its
 * forms (the end has a status). Each does its own work as if we were not there.
 */
#include <dlfcn.h>

#include "record/arch/syscall.h"
#include "record/real.h"
#include "record/recorder.h"

hl_export int dlclose(void *handle);
hl_export void _exit(int status) __attribute__((noreturn));
hl_export void _Exit(int status) __attribute__((noreturn));
hl_export void quick_exit(int status) __attribute__((noreturn));

static void *find(void **cache, const char *name)
{
	if (!*cache)
		*cache = hl_real_find(name, NULL);
	return *cache;
}

int dlclose(void *handle)
{
	static void *real;
	int (*next)(void *) = (int (*)(void *))find(&real, "dlclose");
	int err;

	/* Rules and memos of code that is gone would be believed for what is loaded in its place,
	 * by another thread perhaps before this call is back. */
	hl_tls.unloads++;
	hl_unwind_unload_begin();
	err = next(handle);
	hl_modules_forget();
	hl_unwind_unload_end();
	hl_tls.unloads--;
	return err;
}

/* Our last word: the status, and what all threads' stacks and waits have cost. */
void hl_process_note_exit(int status)
{
	struct hl_thread *t = hl_thread_enter();
	uint64_t words[7] = {(uint32_t)status};

	/* Also while nothing else is recorded. */
	if (!t && hl_rec.phase == HL_PHASE_STOPPED && atomic_load(&hl_alive.ours))
		t = hl_tls.thread;
	/* A vfork child ends in our memory, but it is not our end. */
	if (!hl_rec.no_syscalls && (uint32_t)hl_sys0(SYS_getpid) != hl_rec.pid)
		return;
	if (!t || t->shared)
		return;
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
	hl_emit_state(t, HL_REC_EXIT, words, 7, NULL, 0);
}

void _exit(int status)
{
	hl_process_note_exit(status);
	for (;;)
		hl_sys1(SYS_exit_group, status);
}

void _Exit(int status)
{
	_exit(status);
}

void quick_exit(int status)
{
	static void *real;
	void (*next)(int) = (void (*)(int))find(&real, "quick_exit");

	hl_process_note_exit(status);
	next(status);
	__builtin_unreachable();
}
