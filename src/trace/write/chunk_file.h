/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chunk_file.h - the file half of a writer: packs chunks, appends them to the file, and passes the
 * same bytes to other sinks.
 *
 * The other half (writer.h) makes sealed chunks, which have raw columns. Both halves may run in one
 * thread, or with a queue between them; then packing and the disk do not delay recording. struct
 * hl_file_status returns information to the first half.
 */
#ifndef HL_TRACE_WRITE_CHUNK_FILE_H
#define HL_TRACE_WRITE_CHUNK_FILE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A chunk whose columns are not packed yet. */
struct hl_sealed;
struct hl_unwritten;
/* Copies a chunk. The caller frees the copy with free(). Returns NULL if memory is short. */
struct hl_sealed *hl_sealed_copy(const struct hl_sealed *chunk);
/* The memory that such a copy takes. */
size_t hl_sealed_bytes(const struct hl_sealed *chunk);

struct hl_file_status {
	_Atomic uint64_t bytes;             /* size of the file so far */
	_Atomic uint64_t events;            /* events in written chunks */
	_Atomic uint32_t keyframe_row_size; /* size of a row of the last keyframe, in 1/256 bytes */
	_Atomic uint32_t summaries_dropped; /* summaries left out because of their size */
	_Atomic int error;                  /* the first error */
};

struct hl_chunk_file;

/* The buffers and contexts for packing: megabytes. Files written by the same thread can share them.
 * NULL if memory is short. */
struct hl_chunk_packer;
struct hl_chunk_packer *hl_chunk_packer_new(void);
void hl_chunk_packer_free(struct hl_chunk_packer *b);

/*
 * Opens fd, a new and empty file, for writing. On success *out owns fd and hl_chunk_file_close
 * closes it; after an error fd still belongs to the caller. The file is locked (flock) until it is
 * closed, so readers know that it is still being written. sync: its sync word, 0 for a random one.
 * *status belongs to the caller and must outlive the file. Returns 0 or -errno.
 */
int hl_chunk_file_open(
	struct hl_chunk_file **out, int fd, uint64_t sync, struct hl_file_status *status);
/* The same with a shared bench, which must outlive the file. */
int hl_chunk_file_open_with(struct hl_chunk_file **out, struct hl_chunk_packer *bench, int fd,
	uint64_t sync, struct hl_file_status *status);
/* Adds a sink of the file's bytes (packed_sink.h), which is copied. It gets the header at once.
 * Only before the first chunk: -EBUSY afterwards. Returns 0, or -errno; then the sink is not added.
 */
struct hl_packed_sink;
int hl_chunk_file_add_sink(struct hl_chunk_file *f, const struct hl_packed_sink *sink);
/* Packs a chunk and writes it with one write. Errors are sticky. After a failure the file is
 * truncated to its last complete chunk, if that is possible. */
int hl_chunk_file_put(struct hl_chunk_file *f, const struct hl_sealed *chunk);
/* The same for a chunk that is already packed, from a file with the same sync word. `bytes` has the
 * length in its header. */
struct hl_chunk_header;
int hl_chunk_file_copy(
	struct hl_chunk_file *f, const struct hl_chunk_header *head, const void *bytes);
/* While on, event columns are stored without compression, which takes the most time. */
void hl_chunk_file_set_uncompressed(struct hl_chunk_file *f, bool on);
/* Records in the file header that events are missing. It overwrites the header, so it needs no disk
 * space. */
void hl_chunk_file_set_unwritten(struct hl_chunk_file *f, const struct hl_unwritten *u);
/* Continues with another status, which gets the contents of the old one. */
void hl_chunk_file_move_status(struct hl_chunk_file *f, struct hl_file_status *status);
void hl_chunk_file_close(struct hl_chunk_file *f);
/* Returns the descriptor to the caller: hl_chunk_file_close does not close it. */
void hl_chunk_file_disown(struct hl_chunk_file *f);

#endif
