/* SPDX-License-Identifier: Apache-2.0 */
/*
 * import_input.h - reads the bytes of a file, decompressed if necessary. The decompressed size is
 * limited.
 */
#ifndef HL_IMPORT_IMPORT_INPUT_H
#define HL_IMPORT_IMPORT_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zlib.h>
#include <zstd.h>

struct hl_import_input {
	int fd;
	uint64_t packed, unpacked; /* bytes so far */
	bool truncated;            /* the compressed data ended early */
	char error[256];           /* one sentence, after -errno */

	enum { HL_IMPORT_INPUT_PLAIN, HL_IMPORT_INPUT_GZIP, HL_IMPORT_INPUT_ZSTD } kind;
	bool eof, between; /* eof: of the file; between: at the end of a member or frame */
	uint8_t *buf;
	size_t at, len;
	z_stream zlib;
	bool zlib_open;
	ZSTD_DStream *zstd;
};

/* Detects the compression. The caller keeps fd. Returns 0 or -errno with in->error. */
int hl_import_input_open(struct hl_import_input *in, int fd);
void hl_import_input_close(struct hl_import_input *in);
/* Reads up to n bytes; *got is 0 at the end. Returns 0 or -errno with in->error. */
int hl_import_input_read(struct hl_import_input *in, void *to, size_t n, size_t *got);

/* The memory that may be used for the input so far. */
static inline uint64_t hl_import_input_budget(const struct hl_import_input *in)
{
	return (UINT64_C(64) << 20) + 256 * in->packed;
}

#endif
