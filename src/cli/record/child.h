/* SPDX-License-Identifier: Apache-2.0 */
/*
 * child.h - the program that `record` runs: its start, its signals and its end.
 *
 * The program must not notice us: it gets the limits, timers, pending signals and signal mask that
 * we were started with.
 */
#ifndef HL_CLI_RECORD_CHILD_H
#define HL_CLI_RECORD_CHILD_H

#include "cli/record/record_session.h"

/* Each region needs a descriptor while its program runs. restore sets the program's own limit. */
void hl_child_raise_file_limit(struct record_session *s);
void hl_child_restore_file_limit(const struct record_session *s);
/* Blocks all signals: each may be meant for the program. Our own faults still end us, because the
 * kernel does not block synchronous signals. Returns 0 or -errno. */
int hl_child_block_signals(struct record_session *s);
/* Starts the program when its outputs can be written. Returns 0, or prints the reason and returns
 * an exit status. */
int hl_child_start(struct record_session *s, int argc, char **argv);
/* Leaves the program's process group, forwards signals and reads messages of the collector until
 * the program has ended. Returns its wait status. */
int hl_child_wait(struct record_session *s);
/* Ends by the signal that ended the program, or returns the program's exit status. */
int hl_child_exit_like(int status);

#endif
