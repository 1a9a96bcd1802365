/*
 * image.h - what program a process runs, as /proc tells it.
 */
#ifndef HL_COLLECT_IMAGE_H
#define HL_COLLECT_IMAGE_H

#include <limits.h>
#include <stdint.h>

#define HL_COMMAND_MAX 65536u

struct hl_image {
	char program[PATH_MAX];
	uint64_t parent_pid; /* 0: not known, or in another namespace */
	uint32_t command_len;
	char command[HL_COMMAND_MAX]; /* argv, each ended by NUL */
};

/*
 * Reads it while the process waits for us: a short program is gone before its first event is read.
 * What /proc does not tell stays empty.
 */
void hl_image_read(struct hl_image *image, uint64_t pid);

#endif
