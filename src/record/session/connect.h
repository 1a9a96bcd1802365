/* SPDX-License-Identifier: Apache-2.0 */
/*
 * connect.h - gets the region of this program image from the collector of `heaplapse record`.
 */
#ifndef HL_RECORD_SESSION_CONNECT_H
#define HL_RECORD_SESSION_CONNECT_H

#include <stdint.h>

/* Gets the region's descriptor, and that of ring/announced_programs.h or -1. 0 or -errno. */
int hl_connect(const char *address, int *memfd, int *announced);
void hl_connect_wake(uint64_t inode); /* wakes the collector of the region with this inode */

#endif
