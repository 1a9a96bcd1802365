/*
 * writer_chunk.c - packs columns into one chunk and puts it into the file with one write.
 *
 * After any failure the file is cut back to its last whole chunk, if it can be cut.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/varint.h"
#include "trace/crc32c.h"
#include "trace/writer_internal.h"

int hl_bytes_put(hl_bytes *b, const void *data, size_t len)
{
	if (hl_vec_reserve(b, b->len + len) < 0)
		return -ENOMEM;
	if (len > 0)
		memcpy(b->data + b->len, data, len);
	b->len += len;
	return 0;
}

int hl_bytes_varint(hl_bytes *b, uint64_t v)
{
	if (hl_vec_reserve(b, b->len + HL_VARINT_MAX) < 0)
		return -ENOMEM;
	b->len = (size_t)(hl_varint_put(b->data + b->len, v) - b->data);
	return 0;
}

int hl_packer_init(struct hl_packer *p)
{
	/* Room for the worst column after all others, so that zstd takes its fast path. */
	p->cap = HL_CHUNK_HEADS_MAX + HL_RAW_MAX + ZSTD_compressBound(HL_RAW_MAX) + 8;
	p->buf = malloc(p->cap);
	p->zstd = ZSTD_createCCtx();
	if (!p->buf || !p->zstd) {
		hl_packer_fini(p);
		return -ENOMEM;
	}
	return 0;
}

void hl_packer_fini(struct hl_packer *p)
{
	free(p->buf);
	ZSTD_freeCCtx(p->zstd);
	p->buf = NULL;
	p->zstd = NULL;
}

/* Every chunk says where in the run it stands. */
void hl_chunk_begin(struct hl_writer *w, uint16_t type)
{
	struct hl_packer *p = &w->packer;

	p->fill = HL_CHUNK_HEADS_MAX;
	p->head = w->open;
	p->head.type = type;
	p->head.seq = w->seq;
	p->head.n_columns = 0;
	if (type != HL_CHUNK_EVENTS) {
		p->head.flags = 0;
		p->head.max_live_bytes = p->head.live_bytes;
	}
}

void hl_chunk_column(struct hl_writer *w, uint16_t id, const void *raw, size_t len, bool pack)
{
	struct hl_packer *p = &w->packer;
	struct hl_column *c = &p->columns[p->head.n_columns];
	uint8_t *to = p->buf + p->fill;
	size_t packed = len;

	if (len == 0)
		return;
	if (pack)
		packed = ZSTD_compressCCtx(p->zstd, to, p->cap - p->fill, raw, len, 1);
	*c = (struct hl_column){.id = id, .codec = HL_CODEC_ZSTD, .raw = (uint32_t)len};
	if (ZSTD_isError(packed) || packed >= len) {
		memcpy(to, raw, len);
		packed = len;
		c->codec = HL_CODEC_STORED;
	}
	c->packed = (uint32_t)packed;
	c->crc = hl_crc32c(0, to, packed);
	p->fill += packed;
	p->head.n_columns++;
}

void hl_chunk_drop_column(struct hl_writer *w)
{
	struct hl_packer *p = &w->packer;

	p->fill -= p->columns[--p->head.n_columns].packed;
}

int hl_writer_write_all(struct hl_writer *w, const void *data, size_t len)
{
	const uint8_t *p = data;
	size_t left = len;

	while (left > 0) {
		ssize_t n = write(w->fd, p, left);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			int err = n < 0 ? -errno : -EIO;

			/* whole chunks stay valid; a cut one would only be called damage later */
			if (ftruncate(w->fd, (off_t)w->size) == 0)
				lseek(w->fd, (off_t)w->size, SEEK_SET);
			return err;
		}
		p += n;
		left -= (size_t)n;
	}
	w->size += len;
	return 0;
}

int hl_chunk_write(struct hl_writer *w)
{
	struct hl_packer *p = &w->packer;
	size_t heads = HL_CHUNK_HEAD_LEN + p->head.n_columns * HL_COLUMN_ENTRY_LEN;
	uint8_t *start = p->buf + HL_CHUNK_HEADS_MAX - heads;
	size_t end = heads + p->fill - HL_CHUNK_HEADS_MAX;
	int err;

	p->head.length = (uint32_t)hl_align_up(end, 8);
	memset(start + end, 0, p->head.length - end);
	hl_chunk_head_encode(start, w->sync, &p->head, p->columns);
	if (hl_vec_push(&w->index, p->head) < 0)
		return -ENOMEM;
	err = hl_writer_write_all(w, start, p->head.length);
	if (err < 0)
		return err;
	w->seq++;
	return 0;
}
