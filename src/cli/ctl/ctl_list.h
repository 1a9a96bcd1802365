/* SPDX-License-Identifier: Apache-2.0 */
/* ctl_list.h - `heaplapse ctl list`: the processes that are being recorded now. */
#ifndef HL_CLI_CTL_CTL_LIST_H
#define HL_CLI_CTL_CTL_LIST_H

#include <stdbool.h>

/* Prints the recorded processes of this user, for root of all users. Returns an exit status. */
int hl_ctl_list(bool json);

#endif
