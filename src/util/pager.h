/*
 * pager.h - shows what is longer than the screen page by page.
 *
 * stdout becomes a stream that holds back a screenful: what is not longer goes to the terminal at
 * the end, as if nothing had been there; for what is longer the pager is started. Nothing happens
 * where stdout is no terminal. Descriptor 1 stays the terminal, so that questions about it have
 * the same answer as before.
 */
#ifndef HL_UTIL_PAGER_H
#define HL_UTIL_PAGER_H

#include <stdbool.h>

/* --no-pager. */
void hl_pager_forbid(void);
/* Before the first output. */
void hl_pager_start(void);
/*
 * After the last: waits until the reader has left the pager, and gives stdout back. True when one
 * was started; what it did not want to read is then no failure.
 */
bool hl_pager_end(void);

#endif
