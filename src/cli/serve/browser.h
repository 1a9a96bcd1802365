/* SPDX-License-Identifier: Apache-2.0 */
/* browser.h - opens a page in the user's browser, on a desktop only. */
#ifndef HL_CLI_SERVE_BROWSER_H
#define HL_CLI_SERVE_BROWSER_H

/* Returns the path of a file to be removed at the end, which the caller frees; NULL: nothing was
 * opened. */
char *hl_browser_open(const char *url);
/* Removes and frees it. NULL is allowed. */
void hl_browser_forget(char *path);

#endif
