/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hello.h - the first message of a program image to the collector of `heaplapse record`. The reply
 * is one byte with the file descriptor of the region, and that of the page of announced_programs.h
 * if there is one.
 */
#ifndef HL_RING_HELLO_H
#define HL_RING_HELLO_H

#include <stdint.h>

#define HL_HELLO_MAGIC UINT32_C(0x6f6c6c68)
#define HL_NONCE_CHARS 32

/*
 * The name of the abstract socket of a region: this prefix, the inode of its memfd, "-", and a
 * number, which is 0 unless another process has taken the name.
 */
#define HL_CTL_PREFIX "heaplapse-ctl-"

struct hl_hello {
	uint32_t magic;
	uint32_t abi;
	uint32_t pid;
	uint32_t reserved;
	char nonce[HL_NONCE_CHARS + 8];
};

#endif
