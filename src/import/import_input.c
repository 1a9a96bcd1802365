/* SPDX-License-Identifier: Apache-2.0 */
/* import_input.c - see import_input.h. */
#include "import/import_input.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd_errors.h>

#include "base/attr.h"
#include "base/bits.h"

#define BUF_SIZE (UINT64_C(256) << 10)
/* Limit of zstd's memory (64 MiB). Its normal levels need at most 8 MiB, --long needs 128. */
#define WINDOW_LOG 26
/* Limit of the decompressed size. Recordings of loops with few stacks compress well, but less than
 * a decompression bomb: no real input of either format reaches the limit. */
#define UNPACKED_FREE  (UINT64_C(256) << 20)
#define UNPACKED_RATIO 8192

static int fail(struct hl_import_input *in, int err, const char *fmt, ...) hl_printf(3, 4);
static int fail(struct hl_import_input *in, int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(in->error, sizeof(in->error), fmt, ap);
	va_end(ap);
	return err;
}

/* Reads more of the file, after the unused bytes in buf. */
static int fill_buffer(struct hl_import_input *in)
{
	memmove(in->buf, in->buf + in->at, in->len - in->at);
	in->len -= in->at;
	in->at = 0;
	while (!in->eof && in->len < BUF_SIZE) {
		ssize_t n = read(in->fd, in->buf + in->len, BUF_SIZE - in->len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return fail(in, -errno, "it cannot be read: %s", strerror(errno));
		in->eof = n == 0;
		in->len += (size_t)n;
		in->packed += (size_t)n;
	}
	return 0;
}

int hl_import_input_open(struct hl_import_input *in, int fd)
{
	static const uint8_t zstd[] = {0x28, 0xb5, 0x2f, 0xfd};
	int err;

	*in = (struct hl_import_input){.fd = fd, .buf = malloc(BUF_SIZE)};
	if (!in->buf)
		return fail(in, -ENOMEM, "out of memory");
	err = fill_buffer(in);
	if (err)
		return err;
	if (in->len >= sizeof(zstd) && !memcmp(in->buf, zstd, sizeof(zstd))) {
		in->kind = HL_IMPORT_INPUT_ZSTD;
		in->zstd = ZSTD_createDStream();
		if (!in->zstd || ZSTD_isError(ZSTD_DCtx_setParameter(
					 in->zstd, ZSTD_d_windowLogMax, WINDOW_LOG)))
			return fail(in, -ENOMEM, "out of memory");
	} else if (in->len >= 2 && in->buf[0] == 0x1f && in->buf[1] == 0x8b) {
		in->kind = HL_IMPORT_INPUT_GZIP;
		in->zlib_open = inflateInit2(&in->zlib, 16 + MAX_WBITS) == Z_OK;
		if (!in->zlib_open)
			return fail(in, -ENOMEM, "out of memory");
	}
	return 0;
}

void hl_import_input_close(struct hl_import_input *in)
{
	free(in->buf);
	if (in->zlib_open)
		inflateEnd(&in->zlib);
	ZSTD_freeDStream(in->zstd);
}

/* Both decompressors read from buf and write to `to`. They return 0 or -errno. */
static int decompress_zstd(struct hl_import_input *in, uint8_t *to, size_t n, size_t *got)
{
	ZSTD_inBuffer from = {in->buf + in->at, in->len - in->at, 0};
	ZSTD_outBuffer out = {to, n, 0};
	size_t left = ZSTD_decompressStream(in->zstd, &out, &from);

	in->at += from.pos;
	*got = out.pos;
	if (!ZSTD_isError(left)) {
		in->between = left == 0;
		return 0;
	}
	if (ZSTD_getErrorCode(left) == ZSTD_error_frameParameter_windowTooLarge)
		return fail(in, -EFBIG,
			"decompressing it takes more than 64 MiB of memory; decompress it with "
			"zstd -d first");
	return fail(in, -EBADMSG, "it cannot be decompressed: damaged after %llu bytes",
		(unsigned long long)(in->packed - in->len + in->at));
}

static int decompress_gzip(struct hl_import_input *in, uint8_t *to, size_t n, size_t *got)
{
	int err;

	in->zlib.next_in = in->buf + in->at;
	in->zlib.avail_in = (uInt)(in->len - in->at);
	in->zlib.next_out = to;
	in->zlib.avail_out = (uInt)hl_min_u64(n, 1u << 30);
	err = inflate(&in->zlib, Z_NO_FLUSH);
	in->at = in->len - in->zlib.avail_in;
	*got = (size_t)(in->zlib.next_out - to);
	in->between = err == Z_STREAM_END;
	if (in->between)
		inflateReset(&in->zlib);
	if (err == Z_OK || err == Z_BUF_ERROR || err == Z_STREAM_END)
		return 0;
	return fail(in, -EBADMSG, "it cannot be decompressed: damaged after %llu bytes",
		(unsigned long long)(in->packed - in->len + in->at));
}

static int check_ratio(struct hl_import_input *in)
{
	if (in->kind == HL_IMPORT_INPUT_PLAIN ||
		in->unpacked <= UNPACKED_FREE + UNPACKED_RATIO * in->packed)
		return 0;
	return fail(in, -EFBIG, "its %llu bytes decompress to over %llu MiB, which is implausible",
		(unsigned long long)in->packed, (unsigned long long)(in->unpacked >> 20));
}

int hl_import_input_read(struct hl_import_input *in, void *to, size_t n, size_t *got)
{
	int err = 0;

	*got = 0;
	while (!err && *got == 0) {
		if (in->at == in->len && !in->eof)
			err = fill_buffer(in);
		if (err ||
			(in->at == in->len && (in->kind == HL_IMPORT_INPUT_PLAIN || in->between)))
			break;
		if (in->kind == HL_IMPORT_INPUT_PLAIN) {
			*got = hl_min_u64(n, in->len - in->at);
			memcpy(to, in->buf + in->at, *got);
			in->at += *got;
		} else {
			size_t before = in->at;

			err = in->kind == HL_IMPORT_INPUT_ZSTD ? decompress_zstd(in, to, n, got)
							       : decompress_gzip(in, to, n, got);
			if (!err && *got == 0 && in->at == before && in->at == in->len && in->eof) {
				in->truncated = true;
				break;
			}
		}
	}
	in->unpacked += *got;
	return err ? err : check_ratio(in);
}
