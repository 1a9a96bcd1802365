/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chunk_file.c - see chunk_file.h. The index is made here, because only here is the length of each
 * packed chunk known. All bytes go through the list of sinks (packed_sink.h); the functions
 * append_header(), append_chunk() and append_trailer() are the sink that is the file.
 */
#include "trace/write/chunk_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/hash.h"
#include "trace/format/crc32c.h"
#include "trace/format/column_pack_internal.h"
#include "trace/write/packed_sink.h"
#include "trace/write/seal_internal.h"
#include "util/fd_io.h"
#include "util/pages.h"

struct hl_chunk_packer {
	struct hl_packer packer;
	uint8_t *buf;
};

/* Enough for the worst column behind all others, so that zstd takes its fast path. */
#define BUF_BYTES (HL_CHUNK_HEADERS_MAX + HL_RAW_MAX + hl_pack_bound(HL_RAW_MAX) + 8)

struct hl_chunk_file {
	int fd;
	bool hurry;
	uint64_t sync, size; /* size: bytes of complete chunks written */
	struct hl_file_status *status;
	struct hl_packed_sinks sinks;  /* the first one is the file */
	struct hl_unwritten unwritten; /* as in the file header */
	uint64_t nodes, threads;       /* defined so far */
	HL_VEC(struct hl_chunk_header) index;
	struct hl_sealer sealer; /* seals the chunks of the index */
	/* The chunk being packed: packed columns are in buf from HL_CHUNK_HEADERS_MAX on, the
	 * headers directly before them. */
	struct hl_chunk_packer *bench;
	bool own_bench;
	struct hl_packer packer;
	uint8_t *buf; /* belongs to the bench */
	size_t cap, fill;
	struct hl_chunk_header head;
	struct hl_chunk_column columns[HL_COLUMNS_MAX];
};

/* A word that is unlikely to occur in any other file or data. */
static uint64_t make_sync(void)
{
	uint64_t sync = 0;
	struct timespec now;

	if (getrandom(&sync, sizeof(sync), GRND_NONBLOCK) != (ssize_t)sizeof(sync)) {
		clock_gettime(CLOCK_REALTIME, &now);
		sync = hl_hash_pair(
			(uint64_t)now.tv_sec << 30 ^ (uint64_t)now.tv_nsec, (uint64_t)getpid());
	}
	return sync | 1; /* never 0, which is common in files */
}

static int append_bytes(struct hl_chunk_file *f, const void *data, size_t len)
{
	int err = hl_fd_write_all(f->fd, data, len);

	if (err) {
		/* complete chunks stay valid; readers would report a partial one as damage */
		if (ftruncate(f->fd, (off_t)f->size) == 0)
			lseek(f->fd, (off_t)f->size, SEEK_SET);
		return err;
	}
	f->size += len;
	atomic_store_explicit(&f->status->bytes, f->size, memory_order_relaxed);
	return 0;
}

/* The first header is appended. Later ones replace it, which needs no disk space. */
static int append_header(void *arg, const void *bytes, size_t len)
{
	struct hl_chunk_file *f = arg;

	if (!f->size)
		return append_bytes(f, bytes, len);
	return pwrite(f->fd, bytes, len, 0) == (ssize_t)len ? 0 : -EIO;
}

static int append_chunk(void *arg, uint64_t n, const void *bytes, size_t len)
{
	(void)n;
	return append_bytes(arg, bytes, len);
}

static int append_trailer(void *arg, const void *bytes, size_t len)
{
	return append_bytes(arg, bytes, len);
}

static int send_header(struct hl_chunk_file *f)
{
	uint8_t head[HL_FILE_HEADER_LEN];

	hl_file_header_encode(head, f->sync, &f->unwritten);
	return hl_packed_sinks_header(&f->sinks, head, sizeof(head));
}

struct hl_chunk_packer *hl_chunk_packer_new(void)
{
	struct hl_chunk_packer *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->buf = hl_pages_new(BUF_BYTES);
	if (hl_packer_init(&b->packer) == 0 && b->buf)
		return b;
	hl_chunk_packer_free(b);
	return NULL;
}

void hl_chunk_packer_free(struct hl_chunk_packer *b)
{
	if (!b)
		return;
	hl_packer_fini(&b->packer);
	hl_pages_free(b->buf, BUF_BYTES);
	free(b);
}

int hl_chunk_file_open(
	struct hl_chunk_file **out, int fd, uint64_t sync, struct hl_file_status *status)
{
	struct hl_chunk_packer *bench = hl_chunk_packer_new();
	int err = bench ? hl_chunk_file_open_with(out, bench, fd, sync, status) : -ENOMEM;

	if (err)
		hl_chunk_packer_free(bench);
	else
		(*out)->own_bench = true;
	return err;
}

int hl_chunk_file_open_with(struct hl_chunk_file **out, struct hl_chunk_packer *bench, int fd,
	uint64_t sync, struct hl_file_status *status)
{
	struct hl_chunk_file *f = calloc(1, sizeof(*f));
	int err;

	if (!f)
		return -ENOMEM;
	f->fd = fd;
	f->sync = sync ? sync : make_sync();
	f->status = status;
	f->bench = bench;
	f->cap = BUF_BYTES;
	f->buf = bench->buf;
	hl_packer_borrow(&f->packer, &bench->packer);
	/* The lock shows readers that the file is still being written. On a file system without
	 * locks this is ignored. */
	(void)flock(fd, LOCK_EX | LOCK_NB);
	err = hl_packed_sinks_add(&f->sinks, &(struct hl_packed_sink){.header = append_header,
						     .chunk = append_chunk,
						     .trailer = append_trailer,
						     .arg = f});
	if (!err)
		err = send_header(f);
	if (err) {
		f->fd = -1; /* still belongs to the caller */
		hl_chunk_file_close(f);
		return err;
	}
	*out = f;
	return 0;
}

int hl_chunk_file_add_sink(struct hl_chunk_file *f, const struct hl_packed_sink *sink)
{
	uint8_t head[HL_FILE_HEADER_LEN];
	int err;

	if (f->sinks.n_chunks)
		return -EBUSY;
	hl_file_header_encode(head, f->sync, &f->unwritten);
	err = sink->header(sink->arg, head, sizeof(head));
	return err ? err : hl_packed_sinks_add(&f->sinks, sink);
}

void hl_chunk_file_set_unwritten(struct hl_chunk_file *f, const struct hl_unwritten *u)
{
	f->unwritten = *u;
	/* An error is ignored: the trace has no END in any case. */
	(void)send_header(f);
}

void hl_chunk_file_move_status(struct hl_chunk_file *f, struct hl_file_status *status)
{
	atomic_store(&status->bytes, atomic_load(&f->status->bytes));
	atomic_store(&status->events, atomic_load(&f->status->events));
	atomic_store(&status->keyframe_row_size, atomic_load(&f->status->keyframe_row_size));
	atomic_store(&status->summaries_dropped, atomic_load(&f->status->summaries_dropped));
	atomic_store(&status->error, atomic_load(&f->status->error));
	f->status = status;
}

void hl_chunk_file_close(struct hl_chunk_file *f)
{
	if (!f)
		return;
	if (f->fd >= 0) {
		/* explicitly, since a duplicate of the descriptor would keep the lock */
		(void)flock(f->fd, LOCK_UN);
		close(f->fd);
	}
	if (f->own_bench)
		hl_chunk_packer_free(f->bench);
	hl_packed_sinks_fini(&f->sinks);
	hl_vec_free(&f->index);
	hl_sealer_fini(&f->sealer);
	free(f);
}

void hl_chunk_file_disown(struct hl_chunk_file *f)
{
	f->fd = -1;
}

void hl_chunk_file_set_uncompressed(struct hl_chunk_file *f, bool on)
{
	f->hurry = on;
}

static void pack_column(
	struct hl_chunk_file *f, uint16_t id, const uint8_t *raw, size_t len, bool pack)
{
	struct hl_chunk_column *c = &f->columns[f->head.n_columns++];
	uint8_t *to = f->buf + f->fill;
	size_t packed = pack ? hl_pack(&f->packer, id, to, f->cap - f->fill, raw, len) : len;

	*c = (struct hl_chunk_column){.id = id, .codec = HL_CODEC_ZSTD, .raw = (uint32_t)len};
	if (packed == len) {
		memcpy(to, raw, len);
		c->codec = HL_CODEC_STORED;
	}
	c->packed = (uint32_t)packed;
	c->crc = hl_crc32c(0, to, packed);
	f->fill += packed;
}

/* Removes the summary if it is too large compared to the other columns. Readers work without it. */
static void drop_costly_summary(struct hl_chunk_file *f, uint32_t share)
{
	struct hl_chunk_column *c = &f->columns[f->head.n_columns - 1];

	if ((f->fill - HL_CHUNK_HEADERS_MAX - c->packed) < (size_t)c->packed * share) {
		f->fill -= c->packed;
		f->head.n_columns--;
		atomic_fetch_add_explicit(&f->status->summaries_dropped, 1, memory_order_relaxed);
	} else {
		f->head.flags |= HL_CHUNK_HAS_SUMMARY;
	}
}

/* A byte for each block of a base, so that the memory of a reader follows the size of the file. */
static bool is_stored(const struct hl_chunk_header *h, uint16_t id)
{
	return h->type == HL_CHUNK_LIVESET && h->flags & HL_CHUNK_BASE && id == HL_COL_LIVE_ORDINAL;
}

static void pack_columns(struct hl_chunk_file *f, const struct hl_sealed *c, bool store)
{
	const uint8_t *raw = c->data;

	f->fill = HL_CHUNK_HEADERS_MAX;
	f->head = c->head;
	f->head.n_columns = 0;
	for (uint32_t i = 0; i < c->n_columns; i++) {
		bool hurry = f->hurry && c->head.type == HL_CHUNK_EVENTS &&
			     c->columns[i].id != HL_COL_SUMMARY;

		pack_column(f, c->columns[i].id, raw, c->columns[i].len,
			!hurry && !store && !is_stored(&c->head, c->columns[i].id));
		raw += c->columns[i].len;
		if (c->columns[i].id == HL_COL_SUMMARY)
			drop_costly_summary(f, c->summary_share);
	}
}

/* The number of nodes or threads that a TABLE defines: each has one varint in this column. */
static uint64_t count_varints(const struct hl_sealed *c, uint16_t column)
{
	const uint8_t *raw = c->data;
	uint64_t n = 0;

	for (uint32_t i = 0; i < c->n_columns; raw += c->columns[i++].len)
		for (uint32_t k = 0; c->columns[i].id == column && k < c->columns[i].len; k++)
			n += raw[k] < 0x80;
	return n;
}

/*
 * Readers accept only as many nodes and roles as hl_nodes_limit and hl_threads_limit allow for the
 * size of the file; if packing goes below that, the columns are stored. Tags need no check: a tag
 * takes more bytes than a role, and there are no more tags than roles.
 */
static void pack_table(struct hl_chunk_file *f, const struct hl_sealed *c)
{
	uint64_t size;

	f->nodes += count_varints(c, HL_COL_NODE_MODULE);
	f->threads += count_varints(c, HL_COL_THREADS);
	pack_columns(f, c, false);
	size = f->size + f->fill - HL_CHUNK_HEADERS_MAX;
	if (f->nodes > hl_nodes_limit(size) || f->threads > hl_threads_limit(size))
		pack_columns(f, c, true);
}

static int write_chunk(struct hl_chunk_file *f, const struct hl_sealed *c)
{
	uint8_t *start;
	size_t headers_len, end;

	if (c->head.type == HL_CHUNK_TABLE)
		pack_table(f, c);
	else
		pack_columns(f, c, c->is_stored);
	headers_len = HL_CHUNK_HEADER_LEN + f->head.n_columns * HL_COLUMN_ENTRY_LEN;
	start = f->buf + HL_CHUNK_HEADERS_MAX - headers_len;
	end = headers_len + f->fill - HL_CHUNK_HEADERS_MAX;
	f->head.length = (uint32_t)hl_align_up(end, 8);
	memset(start + end, 0, f->head.length - end);
	hl_chunk_header_encode(start, f->sync, &f->head, f->columns);
	if (hl_vec_push(&f->index, f->head) < 0)
		return -ENOMEM;
	return hl_packed_sinks_chunk(&f->sinks, start, f->head.length);
}

/* Encodes one field of n rows as differences. */
static int put_index_column(
	struct hl_sealer *s, const struct hl_chunk_header *rows, size_t n, int field)
{
	uint64_t f[HL_INDEX_FIELDS], prev = 0;

	s->scratch.len = 0;
	for (size_t i = 0; i < n; i++) {
		hl_header_to_fields(&rows[i], f);
		if (hl_byte_buffer_varint(&s->scratch, hl_zigzag((int64_t)(f[field] - prev))) < 0)
			return -ENOMEM;
		prev = f[field];
	}
	hl_seal_column(s, (uint16_t)(HL_COL_INDEX + field), s->scratch.data, s->scratch.len);
	return 0;
}

/* Writes the INDEX chunks and the trailer, which has the offset of the first one. */
static int write_index(struct hl_chunk_file *f, const struct hl_sealed *first)
{
	struct hl_chunk_header position = first->head;
	uint8_t trailer[HL_TRAILER_LEN];
	uint64_t index_at = f->size;
	size_t rows = f->index.len;
	int err = 0;

	for (size_t i = 0; i < rows && !err; i += HL_INDEX_ROWS, position.seq++) {
		size_t n = hl_min_u64(rows - i, HL_INDEX_ROWS);

		hl_seal_begin(&f->sealer, HL_CHUNK_INDEX, &position);
		f->sealer.chunk.head.n_rows = (uint32_t)n;
		f->sealer.chunk.head.aux = i;
		for (int k = 0; k < HL_INDEX_FIELDS && !err; k++)
			err = put_index_column(&f->sealer, f->index.data + i, n, k);
		if (!err)
			err = hl_seal_end(&f->sealer);
		if (!err)
			err = write_chunk(f, &f->sealer.chunk);
	}
	if (err)
		return err;
	hl_trailer_encode(trailer, f->sync, index_at);
	return hl_packed_sinks_trailer(&f->sinks, trailer, sizeof(trailer));
}

/* Publishes progress. The writer needs the size of keyframe rows to decide when a keyframe pays. */
static void update_status(
	struct hl_chunk_file *f, const struct hl_chunk_header *h, uint64_t durable)
{
	if (durable > 0)
		atomic_fetch_add_explicit(&f->status->events, durable, memory_order_relaxed);
	if (h->type == HL_CHUNK_KEYFRAME && h->n_rows >= 64)
		atomic_store_explicit(&f->status->keyframe_row_size,
			(uint32_t)((uint64_t)h->length * 256 / h->n_rows), memory_order_relaxed);
}

int hl_chunk_file_put(struct hl_chunk_file *f, const struct hl_sealed *chunk)
{
	int err = atomic_load_explicit(&f->status->error, memory_order_relaxed);

	if (err)
		return err;
	if (chunk->head.type == HL_CHUNK_INDEX)
		err = write_index(f, chunk);
	else
		err = write_chunk(f, chunk);
	if (err)
		atomic_store_explicit(&f->status->error, err, memory_order_relaxed);
	else
		update_status(f, &f->head, chunk->durable);
	return err;
}

int hl_chunk_file_copy(
	struct hl_chunk_file *f, const struct hl_chunk_header *head, const void *bytes)
{
	int err = atomic_load_explicit(&f->status->error, memory_order_relaxed);

	if (!err)
		err = hl_vec_push(&f->index, *head);
	if (!err)
		err = hl_packed_sinks_chunk(&f->sinks, bytes, head->length);
	if (err)
		atomic_store_explicit(&f->status->error, err, memory_order_relaxed);
	else
		update_status(f, head, head->n_events);
	return err;
}
