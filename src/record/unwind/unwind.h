/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unwind.h - exact stacks, with as few steps as possible.
 *
 * An unwinder belongs to one thread. It has a memo for each stack that the thread runs on: the
 * frames of the last unwind there, with the stack slots that the walk read and the words in them.
 * The next unwind walks only the new frames and checks that the slots of the others still hold the
 * same words. The result equals that of a full walk. Rules by pc are shared by all threads,
 * lock-free.
 *
 * The calls for one event, in this order. Each step is slower than the one before it:
 *   1. hl_unwind_is_last_stack()  the last stack again, or the last walked one with a known id?
 *   2. hl_unwind_lookup()         another remembered stack whose id the collector knows?
 *   3. hl_unwind_after_miss()     after HL_LOOKUP_MISS: walks the new frames
 *      hl_unwind()                after HL_LOOKUP_UNWIND: tries the memo and the cache again, then
 *                                 walks the new frames. Correct without steps 1 and 2
 *   4. The caller writes the record: the stack id if `id_sent` is set in struct hl_stack;
 *      otherwise the pcs after the first `shared` ones, and the new id.
 *   5. Before the commit: hl_unwind_is_current(), or a comparison of hl_unwind_serial(). If a
 *      signal handler has unwound in between, the caller starts over.
 *   6. hl_unwind_mark_sent()      after the commit of a record that assigns an id
 *
 * Pcs: an ordinary frame reports its return address, a frame that was interrupted by a signal its
 * pc + 1. So pc - 1 is always in the instruction that was executing.
 *
 * Safe in a signal handler that interrupts an unwind of the same thread: hl_unwind() then returns
 * -EBUSY, and hl_unwind_full() still works. No malloc, no lock, errno is not changed. A system call
 * is made only to probe an address that no earlier unwind has read, or for a pc that is looked up
 * for the first time; never after hl_unwind_forbid_syscalls().
 */
#ifndef HL_RECORD_UNWIND_H
#define HL_RECORD_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "record/arch/arch.h"

/* A loaded object, found when one of its pcs was looked up for the first time. */
struct hl_unwind_module {
	uintptr_t start, end; /* the mapped range */
	uintptr_t bias;       /* pc - bias is the address in the ELF file */
	const char *name;     /* the loader's l_name; "" for the main program */
	bool is_vdso;
};

/*
 * Called on a rule miss, before any thread uses a pc of this module for the first time, and again
 * after every unload. Several threads may call it for the same module.
 */
typedef void (*hl_unwind_module_fn)(const struct hl_unwind_module *module);

/* Called once per process, before the first unwind. Idempotent. Returns 0 or -errno. */
int hl_unwind_init(hl_unwind_module_fn on_module);
/*
 * Called once per process, after hl_unwind_init() and before the program runs: maps large unwind
 * tables for reading. Opens a file descriptor for a moment. Optional: without it, the pages of
 * tables that were read stay resident.
 */
void hl_unwind_open_tables(void);

/*
 * Called before and after a dlclose. Between the two calls, other code may be loaded at the
 * addresses of the unloaded code: no rule and no memo is stored or trusted, and each step is
 * computed anew. The end call invalidates all rules and memos. Calls may nest and overlap, in any
 * threads.
 */
void hl_unwind_unload_begin(void);
void hl_unwind_unload_end(void);
bool hl_unwind_unloading(void);
/*
 * In a fork child: only n of the unloads in progress belong to the child. The others have no thread
 * that could end them.
 */
void hl_unwind_keep_unloads(uint32_t n);
/* An unload begin and end: code has been unloaded. */
void hl_unwind_bump(void);

/* After seccomp: a walk ends at an address that would need a probe. */
void hl_unwind_forbid_syscalls(bool forbidden);

/*
 * The memory of an unwinder is provided by the caller: zeroed, 64-byte aligned, at least
 * HL_UNWINDER_BYTES, otherwise hl_unwinder_init() returns NULL. With HL_UNWINDER_BYTES_BEST it has
 * the maximum of stack ids; more is not used.
 */
#define HL_UNWINDER_BYTES      (304 * 1024)
#define HL_UNWINDER_BYTES_BEST (400 * 1024)
struct hl_unwinder;
struct hl_unwinder *hl_unwinder_init(void *memory, size_t size);
/* A new thread takes over from a thread of the same process that has ended: forgets all memos. */
void hl_unwinder_reset(struct hl_unwinder *u);

#define HL_STACK_IDS 16384u

struct hl_stack {
	const uintptr_t *pcs; /* outermost first; valid until the next unwind of this unwinder */
	uint64_t serial;      /* for hl_unwind_is_current(): the serial of this unwind ... */
	const uint64_t *current_serial; /* ... and the current serial of the unwinder */
	uint64_t key;                   /* of its stack id, for hl_unwind_mark_sent() */
	uint32_t depth;                 /* number of pcs */
	uint32_t shared;                /* pcs[0, shared) are the same in the base result */
	/*
	 * The stack id + 1; ids are below HL_STACK_IDS. 0: none. `id_sent`: the collector knows the
	 * id. If not, the caller may send the id with the stack and call hl_unwind_mark_sent().
	 *
	 * The base result is the last one without `id_sent`: the collector has it as the last stack
	 * of the ring. Results with `id_sent` do not change it.
	 */
	uint32_t id_plus_1;
	bool id_sent;
	bool truncated; /* truncated: the walk ended before the stack did */
};

/*
 * Unwinds the stack above `start` (the registers of the caller of a hook), incrementally. Returns
 * 0, or -EBUSY in a signal handler that interrupted this unwinder.
 */
int hl_unwind(struct hl_unwinder *u, const struct hl_regs *start, struct hl_stack *out);

/*
 * Fast path before hl_unwind(): does the collector know the stack above `start` by its id? To be
 * called if hl_unwind_is_last_stack() has returned 0. As few instructions as possible: no result is
 * made, and the serial does not change. hl_unwind_after_miss() is hl_unwind() without a second
 * search of the remembered stacks.
 */
enum hl_lookup_result {
	HL_LOOKUP_UNWIND, /* call hl_unwind() */
	HL_LOOKUP_MISS,   /* no remembered stack matches: call hl_unwind_after_miss() */
	HL_LOOKUP_ID,
};
struct hl_stack_lookup {
	uint32_t result; /* enum hl_lookup_result */
	uint32_t id;     /* HL_LOOKUP_ID: the stack id */
	uint64_t serial; /* valid while hl_unwind_serial() is this */
};
struct hl_stack_lookup hl_unwind_lookup(struct hl_unwinder *u, const struct hl_regs *start);
int hl_unwind_after_miss(struct hl_unwinder *u, const struct hl_regs *start, struct hl_stack *out);
/* The serial of the last unwind: the first word of the unwinder. */
hl_inline uint64_t hl_unwind_serial(const struct hl_unwinder *u)
{
	return *(const volatile uint64_t *)u;
}

/*
 * Is this still the last unwind of the unwinder? A signal handler may unwind after hl_unwind()
 * returned, and change the pcs of the result. A caller that has copied them must check this before
 * it uses the copy.
 */
hl_inline bool hl_unwind_is_current(const struct hl_stack *s)
{
	return *(const volatile uint64_t *)s->current_serial == s->serial;
}

/*
 * The id of s was sent: from now on it identifies the stack. No effect if the ids were forgotten
 * since, or if the same id was offered to a later result.
 */
void hl_unwind_mark_sent(struct hl_unwinder *u, const struct hl_stack *s);
/* The collector knows no ids any more. */
void hl_unwind_forget_ids(struct hl_unwinder *u);

/*
 * Walks the whole stack, innermost frame first, and calls `each` with each pc until it returns
 * false. Stateless. True: truncated; the walk ended before the stack did, and not because of
 * `each`.
 */
typedef bool (*hl_unwind_each_fn)(void *arg, uintptr_t pc);
bool hl_unwind_full(const struct hl_regs *start, hl_unwind_each_fn each, void *arg);

struct hl_unwind_counts {
	uint64_t unwinds, walked, verified, misses;
};
void hl_unwinder_counts(const struct hl_unwinder *u, struct hl_unwind_counts *out);

/* The bounds of the function that contains pc, from its unwind table. False: it has none. */
bool hl_unwind_function_range(uintptr_t pc, uintptr_t *lo, uintptr_t *hi);

#endif
