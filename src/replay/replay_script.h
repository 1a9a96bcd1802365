/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay_script.h - a script (base/replay_format.h), which is checked completely before any of it
 * is played.
 *
 * After hl_replay_script_open() these invariants hold: each step is complete; allocations are into
 * empty slots, frees and reallocs of full ones; a step is marked as crossing threads exactly if the
 * previous step on its slot was by another thread; the sums equal those in the end record. The
 * memory used is at most a small multiple of the size of the file.
 *
 * Nothing here calls malloc or stdio, because the allocator is under test.
 */
#ifndef HL_REPLAY_REPLAY_SCRIPT_H
#define HL_REPLAY_REPLAY_SCRIPT_H

#include <stddef.h>
#include <stdint.h>

#include "base/replay_format.h"

#define HL_REPLAY_SCRIPT_LANES_MAX 4096u
#define HL_REPLAY_SCRIPT_NONE      UINT32_MAX

struct hl_replay_script_chunk {
	uint64_t at;   /* offset of its table of streams in the file */
	uint64_t base; /* number of operations before it */
	uint64_t time_us;
	uint32_t n_streams;
};

/*
 * A lane is a thread of heaplapse-replay. It plays threads of the script one after the other; they
 * do not overlap in time.
 */
struct hl_replay_script_thread {
	uint64_t first_op, last_op;
	uint32_t first_chunk, last_chunk;
	uint32_t lane;
	uint32_t next; /* the next thread of this lane; HL_REPLAY_SCRIPT_NONE: none */
};

struct hl_replay_script {
	int fd;
	uint64_t file_bytes;
	struct hl_replay_end end;
	struct hl_replay_script_chunk *chunks;
	struct hl_replay_script_thread *threads;
	uint32_t *lane_first; /* the first thread of each lane */
	uint32_t n_lanes;
	size_t buffer_bytes; /* size of the largest buffer that hl_replay_script_load() needs */
};

/* Opens and checks a script. Returns NULL, or an error as the rest of a sentence that begins with
 * the file's name. The script stays open until the process ends. */
const char *hl_replay_script_open(struct hl_replay_script *s, const char *path);
/* Reads the stream of a thread in a chunk into buffer. Returns its length, 0 if there is none, or
 * -errno. */
int64_t hl_replay_script_load(
	const struct hl_replay_script *s, uint32_t chunk, uint32_t thread, uint8_t *buffer);

/* Returns zeroed memory from mmap, not from the allocator; NULL on failure. */
void *hl_replay_alloc_pages(size_t bytes);

#endif
