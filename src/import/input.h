/*
 * input.h - the bytes of a file, unpacked if need be; what can be unpacked is bounded.
 */
#ifndef HL_IMPORT_INPUT_H
#define HL_IMPORT_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zlib.h>
#include <zstd.h>

struct hl_input {
	int fd;
	uint64_t packed, unpacked; /* bytes so far */
	bool cut;                  /* it ended in the middle of what was packed */
	char error[256];           /* one sentence, after -errno */

	enum { HL_INPUT_PLAIN, HL_INPUT_GZIP, HL_INPUT_ZSTD } kind;
	bool eof, between; /* of the file; between two members or frames */
	uint8_t *buf;
	size_t at, len;
	z_stream zlib;
	bool zlib_open;
	ZSTD_DStream *zstd;
};

/* Looks at the first bytes. fd stays the caller's. 0 or -errno with in->error. */
int hl_input_open(struct hl_input *in, int fd);
void hl_input_close(struct hl_input *in);
/* Up to n bytes; *got 0 is the end. 0 or -errno with in->error. */
int hl_input_read(struct hl_input *in, void *to, size_t n, size_t *got);

/* So much memory may be taken for what came in so far. */
static inline uint64_t hl_input_budget(const struct hl_input *in)
{
	return (UINT64_C(64) << 20) + 256 * in->packed;
}

#endif
