/* SPDX-License-Identifier: Apache-2.0 */
/* bmp.c - see bmp.h. Rows of a PNG are filtered and compressed, from top to bottom. Rows of a BMP
 * are plain, from bottom to top, with blue first. Transparent pixels are blended with white. */
#include "cli/tags/bmp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define SIDE_MAX    65535u
#define HEADER_SIZE 54u

struct png {
	uint32_t width, height, channels; /* 3 or 4 bytes per pixel */
	uint8_t *packed;                  /* all IDAT chunks concatenated */
	size_t packed_len;
};

static uint32_t be32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static int read_header(struct png *g, const uint8_t *d, uint32_t len)
{
	if (len != 13 || d[8] != 8 || (d[9] != 2 && d[9] != 6) || d[12] != 0)
		return -EINVAL;
	g->width = be32(d);
	g->height = be32(d + 4);
	g->channels = d[9] == 6 ? 4 : 3;
	return g->width && g->height && g->width <= SIDE_MAX && g->height <= SIDE_MAX ? 0 : -EINVAL;
}

/* g->packed must have room for n bytes. */
static int read_chunks(struct png *g, const uint8_t *png, size_t n)
{
	size_t at = 8;
	int err = 0;

	if (n < at || memcmp(png, "\x89PNG\r\n\x1a\n", 8) != 0)
		return -EINVAL;
	while (!err && n - at >= 12) {
		uint32_t len = be32(png + at);
		const uint8_t *type = png + at + 4, *data = type + 4;

		if (len > n - at - 12)
			return -EINVAL;
		if (!memcmp(type, "IHDR", 4))
			err = read_header(g, data, len);
		if (!memcmp(type, "IDAT", 4)) {
			memcpy(g->packed + g->packed_len, data, len);
			g->packed_len += len;
		}
		at += 12 + len;
	}
	return err ? err : g->width && g->packed_len ? 0 : -EINVAL;
}

static uint8_t paeth(int a, int b, int c)
{
	int pa = abs(b - c), pb = abs(a - c), pc = abs(a + b - 2 * c);

	return (uint8_t)(pa <= pb && pa <= pc ? a : pb <= pc ? b : c);
}

/* Undoes the filter of a row. above: the previous row; zeros for the first. */
static int unfilter(uint8_t *row, const uint8_t *above, size_t len, uint32_t bpp, uint8_t filter)
{
	for (size_t i = 0; i < len; i++) {
		uint8_t left = i < bpp ? 0 : row[i - bpp], up = above[i];
		uint8_t up_left = i < bpp ? 0 : above[i - bpp];

		switch (filter) {
		case 0:
			break;
		case 1:
			row[i] = (uint8_t)(row[i] + left);
			break;
		case 2:
			row[i] = (uint8_t)(row[i] + up);
			break;
		case 3:
			row[i] = (uint8_t)(row[i] + (left + up) / 2);
			break;
		case 4:
			row[i] = (uint8_t)(row[i] + paeth(left, up, up_left));
			break;
		default:
			return -EINVAL;
		}
	}
	return 0;
}

static void put_le(FILE *out, uint32_t v, int bytes)
{
	for (; bytes > 0; bytes--, v >>= 8)
		putc((int)(v & 0xff), out);
}

static void put_header(FILE *out, const struct png *g, uint32_t row_bytes)
{
	fputs("BM", out);
	put_le(out, HEADER_SIZE + row_bytes * g->height, 4);
	put_le(out, 0, 4);
	put_le(out, HEADER_SIZE, 4);
	put_le(out, 40, 4);
	put_le(out, g->width, 4);
	put_le(out, g->height, 4);
	put_le(out, 1, 2);
	put_le(out, 24, 2);
	for (int i = 0; i < 6; i++)
		put_le(out, 0, 4);
}

static void put_row(FILE *out, const struct png *g, const uint8_t *row, uint32_t row_bytes)
{
	for (uint32_t x = 0; x < g->width; x++) {
		const uint8_t *p = row + (size_t)x * g->channels;
		unsigned alpha = g->channels == 4 ? p[3] : 255;

		for (int c = 2; c >= 0; c--)
			putc((int)((p[c] * alpha + 255 * (255 - alpha)) / 255), out);
	}
	for (uint32_t i = g->width * 3; i < row_bytes; i++)
		putc(0, out);
}

static int write_image(FILE *out, const struct png *g)
{
	size_t len = (size_t)g->width * g->channels, all = (len + 1) * g->height;
	uint32_t row_bytes = (g->width * 3 + 3) & ~3u;
	uint8_t *rows = malloc(all), *zeros = calloc(1, len);
	uLongf got = all;
	int err = rows && zeros ? 0 : -ENOMEM;

	if (!err && (uncompress(rows, &got, g->packed, g->packed_len) != Z_OK || got != all))
		err = -EINVAL;
	for (uint32_t y = 0; !err && y < g->height; y++) {
		uint8_t *row = rows + y * (len + 1);

		err = unfilter(row + 1, y ? row - len : zeros, len, g->channels, row[0]);
	}
	if (!err)
		put_header(out, g, row_bytes);
	for (uint32_t y = g->height; !err && y > 0; y--)
		put_row(out, g, rows + (y - 1) * (len + 1) + 1, row_bytes);
	free(rows);
	free(zeros);
	return err;
}

int hl_bmp_from_png(FILE *out, const uint8_t *png, size_t n)
{
	struct png g = {.packed = malloc(n + 1)};
	int err = g.packed ? read_chunks(&g, png, n) : -ENOMEM;

	/* The size field of a BMP has 32 bits. */
	if (!err && (uint64_t)g.width * g.height > UINT32_MAX / 4)
		err = -EINVAL;
	if (!err)
		err = write_image(out, &g);
	free(g.packed);
	return err;
}
