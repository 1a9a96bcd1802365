/*
 * hello.h - the first message of a program image to the collector of `heaplapse record`. The
 * answer is one byte with the region's descriptor, and that of announced.h if there is one.
 */
#ifndef HL_RING_HELLO_H
#define HL_RING_HELLO_H

#include <stdint.h>

#define HL_HELLO_MAGIC UINT32_C(0x6f6c6c68)
#define HL_NONCE_CHARS 32

/* The abstract socket of a region is named by this, the inode of its memfd, "-", and a number that
 * is 0 unless somebody else has taken the name. */
#define HL_CTL_PREFIX "heaplapse-ctl-"

struct hl_hello {
	uint32_t magic;
	uint32_t abi;
	uint32_t pid;
	uint32_t reserved;
	char nonce[HL_NONCE_CHARS + 8];
};

#endif
