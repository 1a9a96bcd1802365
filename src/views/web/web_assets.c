/* SPDX-License-Identifier: Apache-2.0 */
/*
 * web_assets.c - the files of the page. They are those of web/dist, packed into web_assets.inc by
 * pack_assets.py.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "views/web/web_internal.h"
#include "views/web/web_assets.inc"

const struct hl_web_asset *hl_web_asset_of(const struct hl_web_endpoint *e)
{
	for (size_t i = 0; i < sizeof(assets) / sizeof(assets[0]); i++) {
		if (e->run == hl_web_run_asset && strcmp(e->path, assets[i].path) == 0)
			return &assets[i];
	}
	return NULL;
}

char *hl_web_asset_unpack(const struct hl_web_asset *a)
{
	char *text = malloc(a->len + 1);
	z_stream z = {.next_in = (unsigned char *)(uintptr_t)a->packed,
		.avail_in = (unsigned)a->packed_len,
		.next_out = (unsigned char *)text,
		.avail_out = (unsigned)a->len};

	/* 16: the header is that of gzip. */
	if (!text || inflateInit2(&z, 16 + MAX_WBITS) != Z_OK) {
		free(text);
		return NULL;
	}
	if (inflate(&z, Z_FINISH) != Z_STREAM_END) {
		free(text);
		text = NULL;
	}
	inflateEnd(&z);
	return text;
}

int hl_web_run_asset(struct hl_web_query *q)
{
	const struct hl_web_asset *a = hl_web_asset_of(q->endpoint);
	char *text = a ? hl_web_asset_unpack(a) : NULL;

	if (!text)
		return -ENOMEM;
	fwrite(text, 1, a->len, q->out);
	free(text);
	return 0;
}
