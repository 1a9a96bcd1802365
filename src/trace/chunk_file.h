/*
 * chunk_file.h - the file's half of a writer: packs chunks and appends them.
 *
 * The other half (writer.h) makes chunks of raw columns: sealed ones. Both halves may be in one
 * thread, or a queue may lie between them: packing and the disk then hold up nobody who records.
 * What the first half must know of the second lies in hl_file_news.
 */
#ifndef HL_TRACE_CHUNK_FILE_H
#define HL_TRACE_CHUNK_FILE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A chunk that is not packed yet. */
struct hl_sealed;
struct hl_unwritten;
/* One that lasts; free() frees it. NULL: out of memory. */
struct hl_sealed *hl_sealed_copy(const struct hl_sealed *chunk);
/* How much memory such a copy takes. */
size_t hl_sealed_bytes(const struct hl_sealed *chunk);

struct hl_file_news {
	_Atomic uint64_t bytes;             /* of the file so far */
	_Atomic uint64_t events;            /* in chunks that are written */
	_Atomic uint32_t key_row;           /* what a keyframe's row took last, in 1/256 bytes */
	_Atomic uint32_t summaries_dropped; /* because they did not pay */
	_Atomic int error;                  /* the first one */
};

struct hl_chunk_file;

/* What packing takes beside the columns: megabytes. Files that one thread writes can share it. NULL
 * when memory is short. */
struct hl_chunk_bench;
struct hl_chunk_bench *hl_chunk_bench_new(void);
void hl_chunk_bench_free(struct hl_chunk_bench *b);

/*
 * Takes fd (closed by hl_chunk_file_close; after an error here it is still the caller's): a new,
 * empty file. It is locked (flock) until it is closed: so readers know it is growing. sync: its
 * sync word, 0 for a random one. The news stay the caller's. 0 or -errno.
 */
int hl_chunk_file_open(
	struct hl_chunk_file **out, int fd, uint64_t sync, struct hl_file_news *news);
/* The same with a shared bench, which outlives the file. */
int hl_chunk_file_open_at(struct hl_chunk_file **out, struct hl_chunk_bench *bench, int fd,
	uint64_t sync, struct hl_file_news *news);
/*
 * Packs and writes a chunk, with one write. An error sticks. After any failure the file is cut back
 * to its last whole chunk, if it can be cut.
 */
int hl_chunk_file_put(struct hl_chunk_file *f, const struct hl_sealed *chunk);
/*
 * The same for a chunk that is packed already, in a file with the same sync word: `bytes`, as long
 * as its head says.
 */
struct hl_chunk_head;
int hl_chunk_file_copy(
	struct hl_chunk_file *f, const struct hl_chunk_head *head, const void *bytes);
/* While on, columns of events are stored as they are: compression is what can wait. */
void hl_chunk_file_hurry(struct hl_chunk_file *f, bool on);
/* Says in the file that so much is missing, over what was there: that needs no room. */
void hl_chunk_file_stopped(struct hl_chunk_file *f, const struct hl_unwritten *u);
void hl_chunk_file_close(struct hl_chunk_file *f);
/* The descriptor is the caller's again. */
void hl_chunk_file_disown(struct hl_chunk_file *f);

#endif
