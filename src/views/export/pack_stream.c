/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pack_stream.c - compressing streams, gzip and zstd; see output_file.h.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>

#include "views/export/output_file.h"

#define BUFFER_SIZE (1 << 16)

struct packer {
	FILE *to;
	z_stream gzip;
	ZSTD_CStream *zstd;
	unsigned char buffer[BUFFER_SIZE];
};

static int write_buffer(struct packer *p, size_t n)
{
	return fwrite(p->buffer, 1, n, p->to) == n ? 0 : -1;
}

static int gzip_data(struct packer *p, const char *data, size_t n, int flush)
{
	int rc;

	/* zlib does not write to it, but the pointer is not const. */
	p->gzip.next_in = (Bytef *)(uintptr_t)data;
	p->gzip.avail_in = (uInt)n;
	do {
		p->gzip.next_out = p->buffer;
		p->gzip.avail_out = BUFFER_SIZE;
		rc = deflate(&p->gzip, flush);
		if (rc == Z_STREAM_ERROR || write_buffer(p, BUFFER_SIZE - p->gzip.avail_out))
			return -1;
	} while (p->gzip.avail_out == 0);
	return 0;
}

static ssize_t gzip_write(void *cookie, const char *data, size_t n)
{
	/* avail_in is smaller than size_t. */
	if (n > BUFFER_SIZE)
		n = BUFFER_SIZE;
	return gzip_data(cookie, data, n, Z_NO_FLUSH) ? -1 : (ssize_t)n;
}

static int gzip_close(void *cookie)
{
	struct packer *p = cookie;
	int rc = gzip_data(p, NULL, 0, Z_FINISH);

	deflateEnd(&p->gzip);
	free(p);
	return rc;
}

static ssize_t zstd_write(void *cookie, const char *data, size_t n)
{
	struct packer *p = cookie;
	ZSTD_inBuffer in = {.src = data, .size = n};

	while (in.pos < in.size) {
		ZSTD_outBuffer out = {.dst = p->buffer, .size = BUFFER_SIZE};

		if (ZSTD_isError(ZSTD_compressStream2(p->zstd, &out, &in, ZSTD_e_continue)) ||
			write_buffer(p, out.pos))
			return -1;
	}
	return (ssize_t)n;
}

static int zstd_close(void *cookie)
{
	struct packer *p = cookie;
	ZSTD_inBuffer in = {0};
	size_t left = 1;
	int rc = 0;

	while (left > 0 && !rc) {
		ZSTD_outBuffer out = {.dst = p->buffer, .size = BUFFER_SIZE};

		left = ZSTD_compressStream2(p->zstd, &out, &in, ZSTD_e_end);
		rc = ZSTD_isError(left) ? -1 : write_buffer(p, out.pos);
	}
	ZSTD_freeCStream(p->zstd);
	free(p);
	return rc;
}

FILE *hl_pack_gzip(FILE *to, int level)
{
	cookie_io_functions_t io = {.write = gzip_write, .close = gzip_close};
	struct packer *p = calloc(1, sizeof(*p));
	FILE *f = NULL;

	if (!p)
		return NULL;
	p->to = to;
	/* 16: with the header and checksum of gzip */
	if (deflateInit2(&p->gzip, level, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY) ==
		Z_OK) {
		f = fopencookie(p, "w", io);
		if (!f)
			deflateEnd(&p->gzip);
	}
	if (!f)
		free(p);
	else
		setvbuf(f, NULL, _IOFBF, BUFFER_SIZE);
	return f;
}

FILE *hl_pack_zstd(FILE *to, int level)
{
	cookie_io_functions_t io = {.write = zstd_write, .close = zstd_close};
	struct packer *p = calloc(1, sizeof(*p));
	FILE *f = NULL;

	if (!p)
		return NULL;
	p->to = to;
	p->zstd = ZSTD_createCStream();
	if (p->zstd && !ZSTD_isError(ZSTD_initCStream(p->zstd, level)))
		f = fopencookie(p, "w", io);
	if (!f) {
		ZSTD_freeCStream(p->zstd);
		free(p);
	} else {
		setvbuf(f, NULL, _IOFBF, BUFFER_SIZE);
	}
	return f;
}
