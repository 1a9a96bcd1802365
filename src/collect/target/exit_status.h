/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exit_status.h - whether and how a process has ended.
 */
#ifndef HL_COLLECT_TARGET_EXIT_STATUS_H
#define HL_COLLECT_TARGET_EXIT_STATUS_H

#include <stdbool.h>

#include "collect/match/target_process.h"

/* True when the process is dead: shown by its pidfd or, without one, by a pid that does not exist.
 * Costs a system call. */
bool hl_exit_status_is_dead(int pidfd, uint64_t pid);
/* Dead and not reaped: without a pidfd its pid looks alive. */
bool hl_exit_status_is_zombie(uint64_t pid);

/* Finds out how it ended, as far as known now. False: not known yet, try again (for about a
 * second). */
bool hl_exit_status_known(const struct hl_target *p, struct hl_end *end);

/* True for a live process that no longer maps this file: it has called exec. */
bool hl_exit_status_has_execed(const struct hl_target *p, int memfd);

/* True if the pid that a fork child has sent belongs to another process here: the child is in
 * another pid namespace. */
bool hl_exit_status_is_reused_pid(uint64_t pid, int memfd);

/* Finds the child of `parent` that maps the file and whose pid in its own namespace is `pid`.
 * Returns its pid in our namespace; 0: not found. */
uint64_t hl_exit_status_find_child(uint64_t parent, uint64_t pid, int memfd);

/* Decodes a wait status. */
void hl_exit_status_decode(int status, struct hl_end *end);

#endif
