/*
 * ending.h - has a process ended, and how?
 */
#ifndef HL_COLLECT_ENDING_H
#define HL_COLLECT_ENDING_H

#include <stdbool.h>

#include "collect/proc.h"

/* True when the process is dead (its pidfd says so, or without one its pid is gone). Costs a system
 * call. */
bool hl_ending_is_dead(int pidfd, uint64_t pid);
/* Dead and not reaped: without a pidfd its pid looks alive. */
bool hl_ending_is_zombie(uint64_t pid);

/* How it ended, as far as can be known now. False: not known yet, ask again (for a second or so).
 */
bool hl_ending_known(const struct hl_proc *p, struct hl_end *end);

/* A live process that no longer maps this file: another program has taken its place. */
bool hl_ending_has_execed(const struct hl_proc *p, int memfd);

/*
 * The pid that a fork child told us is somebody else's here: the child lives in another pid
 * namespace.
 */
bool hl_ending_is_stranger(uint64_t pid, int memfd);

/* The child of `parent` that maps the file and whose own namespace calls it `pid`, by the name that
 * we know it by; 0 when it is not found. */
uint64_t hl_ending_find_child(uint64_t parent, uint64_t pid, int memfd);

/* From a wait status. */
void hl_ending_from_status(int status, struct hl_end *end);

#endif
