/*
 * script.h - a script (base/replay.h), checked from end to end before anything of it is run.
 *
 * After hl_script_open() these hold: each step is whole; allocations are into empty slots, frees
 * and reallocs of full ones; a step says that its slot was another thread's exactly where it was;
 * the sums are those that the end promises. Memory is at most some times what the file has bytes.
 *
 * Nothing here calls malloc or stdio: the allocator below is what is looked at.
 */
#ifndef HL_REPLAY_SCRIPT_H
#define HL_REPLAY_SCRIPT_H

#include <stddef.h>
#include <stdint.h>

#include "base/replay.h"

#define HL_SCRIPT_LANES_MAX 4096u
#define HL_SCRIPT_NONE      UINT32_MAX

struct hl_script_chunk {
	uint64_t at;   /* of its table of streams, in the file */
	uint64_t base; /* operations before it */
	uint64_t time_us;
	uint32_t n_streams;
};

/*
 * A lane is a thread of ours: it plays threads of the script one after the other, as long as they
 * are not there at the same time.
 */
struct hl_script_thread {
	uint64_t first_op, last_op;
	uint32_t first_chunk, last_chunk;
	uint32_t lane;
	uint32_t next; /* that this lane plays; HL_SCRIPT_NONE: no more */
};

struct hl_script {
	int fd;
	uint64_t file_bytes;
	struct hl_replay_end end;
	struct hl_script_chunk *chunks;
	struct hl_script_thread *threads;
	uint32_t *lane_first; /* the first thread of each lane */
	uint32_t n_lanes;
	size_t buffer_bytes; /* that hl_script_load() needs at the most */
};

/* NULL, or what is wrong, as the rest of a sentence that begins with the file's name. The script
 * stays open for as long as the process runs. */
const char *hl_script_open(struct hl_script *s, const char *path);
/* The stream of a thread in a chunk, into buffer: its length, 0 for none, or -errno. */
int64_t hl_script_load(const struct hl_script *s, uint32_t chunk, uint32_t thread, uint8_t *buffer);

/* Zeroed memory that no allocator knows of; NULL: there is none. */
void *hl_script_memory(size_t bytes);

#endif
