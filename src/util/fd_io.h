/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fd_io.h - reads and writes whole ranges through a descriptor. Calls that a signal interrupts are
 * repeated.
 */
#ifndef HL_UTIL_FD_IO_H
#define HL_UTIL_FD_IO_H

#include <stddef.h>
#include <stdint.h>

/* Writes all of data[len]. Returns 0 or -errno; a part may be written then. */
int hl_fd_write_all(int fd, const void *data, size_t len);
/* Reads all of [at, at + len) of a file. Returns 0; -ENODATA: the file ends before; or -errno. */
int hl_fd_read_at(int fd, void *to, size_t len, uint64_t at);

#endif
