/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz.c - see fuzz.h. */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>

#include "base/bits.h"
#include "sample.h"
#include "trace/format/crc32c.h"

uint64_t fuzz_take(struct fuzz_input *in, unsigned bytes)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < bytes && in->p < in->end; i++)
		v |= (uint64_t)*in->p++ << 8 * i;
	return v;
}

const uint8_t *fuzz_take_bytes(struct fuzz_input *in, size_t *n)
{
	const uint8_t *p = in->p;

	*n = hl_min_u64(*n, (uint64_t)(in->end - p));
	in->p += *n;
	return p;
}

const char *fuzz_file(const uint8_t *data, size_t size)
{
	static char path[32];
	static int fd = -1;

	if (fd < 0) {
		fd = memfd_create("fuzz", MFD_CLOEXEC);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	}
	FUZZ_MUST(ftruncate(fd, 0) == 0 && pwrite(fd, data, size, 0) == (ssize_t)size);
	return path;
}

void fuzz_trace_append(struct fuzz_trace *t, const void *data, size_t len)
{
	if (t->len + len > t->cap) {
		t->cap = 2 * (t->len + len);
		t->data = realloc(t->data, t->cap);
		FUZZ_MUST(t->data);
	}
	if (len)
		memcpy(t->data + t->len, data, len);
	t->len += len;
}

void fuzz_trace_begin(struct fuzz_trace *t)
{
	uint8_t head[HL_FILE_HEADER_LEN];

	t->len = 0;
	t->seq = 0;
	hl_file_header_encode(head, SAMPLE_SYNC, &(struct hl_unwritten){0});
	fuzz_trace_append(t, head, sizeof(head));
}

static struct hl_chunk_column pack_column(
	uint8_t *to, const struct fuzz_column *c, size_t len, bool pack)
{
	struct hl_chunk_column out = {.id = c->id, .raw = (uint32_t)len, .codec = HL_CODEC_ZSTD};
	size_t packed = len;

	if (pack)
		packed = ZSTD_compress(to, ZSTD_compressBound(len), c->raw, len, 1);
	if (packed >= len) {
		memcpy(to, c->raw, len);
		packed = len;
		out.codec = HL_CODEC_STORED;
	}
	out.packed = (uint32_t)packed;
	out.crc = hl_crc32c(0, to, packed);
	return out;
}

void fuzz_trace_chunk(struct fuzz_trace *t, const struct hl_chunk_header *head,
	const struct fuzz_column *columns, size_t n, bool pack)
{
	static uint8_t heads[HL_CHUNK_HEADERS_MAX], body[3 * HL_RAW_MAX];
	struct hl_chunk_column packed[HL_COLUMNS_MAX];
	struct hl_chunk_header h = *head;
	size_t fill = 0, raw = 0, len;

	n = hl_min_u64(n, HL_COLUMNS_MAX);
	for (size_t i = 0; i < n; i++) {
		size_t take = hl_min_u64(columns[i].len, HL_RAW_MAX - raw);

		packed[i] = pack_column(body + fill, &columns[i], take, pack);
		raw += take;
		fill += packed[i].packed;
	}
	h.seq = t->seq++;
	h.n_columns = (uint32_t)n;
	len = HL_CHUNK_HEADER_LEN + n * HL_COLUMN_ENTRY_LEN + fill;
	h.length = (uint32_t)hl_align_up(len, 8);
	memset(body + fill, 0, h.length - len);
	len = hl_chunk_header_encode(heads, SAMPLE_SYNC, &h, packed);
	fuzz_trace_append(t, heads, len);
	fuzz_trace_append(t, body, h.length - len);
}

void fuzz_trace_tables(struct fuzz_trace *t)
{
	static const uint8_t meta[] = {0, 1, 2, 3, 0x1f};
	static const uint8_t numbers[] = {0, 2, 0, 4, 0, 2};
	static const uint8_t modules[] = "\x03/a0\x02id\x03/b0\x00";
	static const uint8_t parents[] = {0, 1, 1, 2}, module[] = {1, 2, 0, 1};
	static const uint8_t offsets[] = {2, 4, 6, 8}, threads[] = {1, 2};
	const struct fuzz_column of_meta[] = {
		{HL_COL_NUMBERS, meta, sizeof(meta)}, {HL_COL_PROGRAM, modules + 1, 3}};
	const struct fuzz_column of_table[] = {{HL_COL_NUMBERS, numbers, sizeof(numbers)},
		{HL_COL_MODULES, modules, sizeof(modules) - 1}, {HL_COL_NODE_PARENT, parents, 4},
		{HL_COL_NODE_MODULE, module, 4}, {HL_COL_NODE_OFFSET, offsets, 4},
		{HL_COL_THREADS, threads, 2}};
	struct hl_chunk_header head = {.type = HL_CHUNK_META};

	fuzz_trace_chunk(t, &head, of_meta, 2, false);
	head.type = HL_CHUNK_TABLE;
	fuzz_trace_chunk(t, &head, of_table, 6, false);
}

void fuzz_trace_free(struct fuzz_trace *t)
{
	free(t->data);
	memset(t, 0, sizeof(*t));
}
