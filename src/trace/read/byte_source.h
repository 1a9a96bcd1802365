/* SPDX-License-Identifier: Apache-2.0 */
/*
 * byte_source.h - the bytes of a trace: a file, or memory. The reader uses nothing else, so a trace
 * need not have a path.
 *
 * A source may grow while it is read; its size changes only in hl_byte_source_refresh(). A read
 * beyond the end, even of a file that was truncated, is an error and not a signal. Reads may run in
 * several threads at once, but not during a refresh.
 */
#ifndef HL_TRACE_READ_BYTE_SOURCE_H
#define HL_TRACE_READ_BYTE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Why a trace was refused: one sentence for the user. */
struct hl_reader_refusal {
	char text[512];
};

struct hl_byte_source {
	const struct hl_byte_source_ops *ops;
	uint64_t bytes;
	uint64_t data_bytes; /* without holes; counted up to a limit, see byte_source.c */
	bool growing;        /* its writer is alive */
};

struct hl_byte_source_ops {
	/* Reads all of [at, at + len). Returns 0; -ENODATA: it ends before; or -errno. */
	int (*read)(const struct hl_byte_source *s, void *to, size_t len, uint64_t at);
	/*
	 * Sets bytes, data_bytes and growing. Returns 0; -ENOENT: the file was deleted or renamed;
	 * -ESTALE: another file has its name now; or -errno. After an error the old bytes can still
	 * be read.
	 */
	int (*refresh)(struct hl_byte_source *s);
	/* Returns the first offset >= at that is not in a hole; the size if there is none. */
	uint64_t (*skip_hole)(const struct hl_byte_source *s, uint64_t at);
	void (*close)(struct hl_byte_source *s); /* frees it */
};

/*
 * Opens a regular file that is not empty. Returns 0, or -errno with *why set. The caller closes
 * *out.
 *
 * The source always has a file description of its own, also of /proc/self/fd/N: testing the lock of
 * one that was inherited from the writer would drop the writer's lock.
 */
int hl_byte_source_open(
	struct hl_byte_source **out, const char *path, struct hl_reader_refusal *why);
/* The bytes at data, which must outlive the source. Returns 0 or -ENOMEM. */
int hl_byte_source_from_memory(struct hl_byte_source **out, const void *data, size_t len);
/* NULL is allowed. */
void hl_byte_source_close(struct hl_byte_source *s);

static inline int hl_byte_source_read(
	const struct hl_byte_source *s, void *to, size_t len, uint64_t at)
{
	return s->ops->read(s, to, len, at);
}
static inline int hl_byte_source_refresh(struct hl_byte_source *s)
{
	return s->ops->refresh(s);
}
static inline uint64_t hl_byte_source_skip_hole(const struct hl_byte_source *s, uint64_t at)
{
	return s->ops->skip_hole(s, at);
}

#endif
