/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pager.h - shows output that is longer than the screen in a pager.
 *
 * stdout becomes a stream that holds back up to one screen of output. Output that fits is written
 * to the terminal at the end. Longer output starts the pager. Nothing happens if stdout is not a
 * terminal. Descriptor 1 stays the terminal, so isatty() and size queries on it give the same
 * results as before.
 */
#ifndef HL_UTIL_TERMINAL_PAGER_H
#define HL_UTIL_TERMINAL_PAGER_H

#include <stdbool.h>

/* Option --no-pager. */
void hl_pager_disable(void);
/* Call this before the first output. */
void hl_pager_start(void);
/*
 * Call this after the last output. Waits until the user has left the pager, then restores stdout.
 * Returns true if a pager was started; a write error on stdout is then not a failure, because the
 * user may quit early.
 */
bool hl_pager_end(void);

#endif
