/*
 * unwind.h - exact stacks, walked as little as possible.
 *
 * An unwinder belongs to one thread and keeps a memo per stack that the thread runs on: the frames
 * of the last unwind there, with the stack slots that were read and what they held. The next
 * unwind walks the new frames only and checks that the slots of the rest still hold the same words;
 * the result is the one that a full unwind gives. Rules per pc are shared by all threads,
 * lock-free.
 *
 * Pcs: an ordinary frame reports its return address, a frame that a signal interrupted its pc + 1.
 * So pc - 1 always lies in the instruction that was executing.
 *
 * Safe in a signal handler that interrupts an unwind of the same thread: hl_unwind then says -EBUSY
 * and hl_unwind_full() still works. No malloc, no lock, no errno; a syscall only when an address
 * that no earlier unwind has vouched for must be probed, or for a pc that is met for the first
 * time, and never after hl_unwind_forbid_syscalls().
 */
#ifndef HL_RECORD_UNWIND_H
#define HL_RECORD_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "record/arch/arch.h"

/* A loaded object, as found when one of its pcs was first met. */
struct hl_unwind_module {
	uintptr_t start, end; /* the mapped range */
	uintptr_t bias;       /* pc - bias is the address in the ELF file */
	const char *name;     /* the loader's l_name; "" for the main program */
	bool is_vdso;
};

/*
 * Called on a rule miss, before a pc of this module is used for the first time by anyone;
 * again after every hl_unwind_bump(). May be called by several threads for one module.
 */
typedef void (*hl_unwind_module_fn)(const struct hl_unwind_module *module);

/* Once per process, before the first unwind. Idempotent. 0 or -errno. */
int hl_unwind_init(hl_unwind_module_fn on_module);
/*
 * Once per process, after that, before the program runs: maps large unwind tables for reading. Has
 * a descriptor open for a moment. Without it all works, but what was read stays resident.
 */
void hl_unwind_open_tables(void);

/*
 * Around a dlclose. Between the two, other code may be loaded in the place of what goes: no rule
 * and no memo is kept or believed, each step is worked out anew. Afterwards all are forgotten. May
 * nest and overlap, in any threads.
 */
void hl_unwind_unload_begin(void);
void hl_unwind_unload_end(void);
bool hl_unwind_unloading(void);
/* A fork child: of the unloads in progress only n are its own, the others have no thread to end
 * them. */
void hl_unwind_unloads_left(uint32_t n);
/* Both at once: code has gone. */
void hl_unwind_bump(void);

/* After seccomp: addresses that would need a probe end the walk instead. */
void hl_unwind_forbid_syscalls(bool forbidden);

/* A thread's unwinder lives in memory of the caller's: zeroed, at least this large, 64-byte
 * aligned. With as much as pays it can number more stacks. */
#define HL_UNWINDER_BYTES      (304 * 1024)
#define HL_UNWINDER_BYTES_BEST (400 * 1024)
struct hl_unwinder;
struct hl_unwinder *hl_unwinder_init(void *memory, size_t size);
/* A new thread takes over from an ended one of the same process: all memos are forgotten. */
void hl_unwinder_reset(struct hl_unwinder *u);

#define HL_UNWIND_NUMBERS 16384u

struct hl_stack {
	const uintptr_t *pcs; /* outermost first; until the next unwind of this unwinder */
	uint64_t serial;      /* for hl_unwind_is_current() ... */
	const uint64_t *now;  /* ... and the unwinder's */
	uint64_t key;         /* of its number */
	uint32_t depth;       /* so many pcs */
	uint32_t common;      /* pcs[0 .. common) stood in the previous result */
	/*
	 * A number below HL_UNWIND_NUMBERS, here + 1; 0: it has none. If `told`, others know it,
	 * and for what later results have in common with this one it is as if it had not been: they
	 * go by the last one that was not told. If not, hl_unwind_tell().
	 */
	uint32_t number;
	bool told;
	bool cut; /* the walk ended before the stack did */
};

/*
 * The stack above `start` (the state of a hook's caller). Incremental. 0, or -EBUSY inside a signal
 * handler that interrupted this unwinder.
 */
int hl_unwind(struct hl_unwinder *u, const struct hl_regs *start, struct hl_stack *out);

/*
 * Before that, for those who told others: is the stack above `start` one that they know? The last
 * result once more is answered by again.h, and where that says no, here, whether it is one whose
 * number they were told. As few instructions as it takes: no result is made, and the serial stays.
 */
enum hl_again_what {
	HL_AGAIN_ASK, /* ask hl_unwind() */
	HL_AGAIN_NEW, /* the same, by hl_unwind_new(), as nothing that is remembered holds whole */
	HL_AGAIN_NUMBER,
};
struct hl_again {
	uint32_t what;   /* enum hl_again_what */
	uint32_t n;      /* NUMBER: that, from 0 */
	uint64_t serial; /* of the last result; true as long as hl_unwind_serial() is this */
};
struct hl_again hl_unwind_way_again(struct hl_unwinder *u, const struct hl_regs *start);
int hl_unwind_new(struct hl_unwinder *u, const struct hl_regs *start, struct hl_stack *out);
/* Its first word. */
hl_inline uint64_t hl_unwind_serial(const struct hl_unwinder *u)
{
	return *(const volatile uint64_t *)u;
}

/*
 * Has no other unwind of u begun since this result? A signal handler between hl_unwind() and the
 * last use of its pcs may have changed them: who has copied them asks this before trusting the
 * copy.
 */
hl_inline bool hl_unwind_is_current(const struct hl_stack *s)
{
	return *(const volatile uint64_t *)s->now == s->serial;
}

/* Others have been told: from now on its number says it all. Not if they were untold since, nor if
 * a later result was offered the same. */
void hl_unwind_tell(struct hl_unwinder *u, const struct hl_stack *s);
/* Nobody knows any number any more. */
void hl_unwind_untell(struct hl_unwinder *u);

/* From scratch, innermost first, each pc handed to `each` until it returns false. Stateless. True:
 * the walk ended before the stack did, and not by `each`. */
typedef bool (*hl_unwind_each_fn)(void *arg, uintptr_t pc);
bool hl_unwind_full(const struct hl_regs *start, hl_unwind_each_fn each, void *arg);

struct hl_unwind_counts {
	uint64_t unwinds, walked, verified, misses;
};
void hl_unwinder_counts(const struct hl_unwinder *u, struct hl_unwind_counts *out);

/*
 * The bounds of the function that holds pc, from its unwind table. False when it has none.
 */
bool hl_unwind_function_range(uintptr_t pc, uintptr_t *lo, uintptr_t *hi);

#endif
