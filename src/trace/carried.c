/*
 * carried.c - files that a trace carries (FILE chunks): programs, libraries and their debug files,
 * written and read.
 *
 * A file is cut into pieces that follow each other; one that lacks a piece is not there at all.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/attr.h"
#include "base/bits.h"
#include "trace/reader_internal.h"
#include "trace/writer_internal.h"

/* ---- writing ---- */

/* With a path and an id it is still below the limit of a chunk. */
#define PIECE_BYTES (896u << 10)
#define ID_MAX      255u

static int read_piece(int fd, uint8_t *to, size_t len, uint64_t at)
{
	while (len > 0) {
		ssize_t n = pread(fd, to, len, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		to += n;
		at += (uint64_t)n;
		len -= (size_t)n;
	}
	return 0;
}

static int seal_piece(struct hl_sealer *s, const struct hl_chunk_head *here, const uint64_t v[4],
	const struct hl_carried *file, const uint8_t *data, size_t len)
{
	size_t path = hl_min_u64(strlen(file->path), HL_TEXT_MAX);

	s->scratch.len = 0;
	for (int i = 0; i < 4; i++)
		if (hl_bytes_varint(&s->scratch, v[i]) < 0)
			return -ENOMEM;
	hl_seal_begin(s, HL_CHUNK_FILE, here);
	hl_seal_column(s, HL_COL_NUMBERS, s->scratch.data, s->scratch.len);
	if (v[1] == 0) {
		hl_seal_column(s, HL_COL_FILE_PATH, file->path, path);
		hl_seal_column(
			s, HL_COL_FILE_ID, file->build_id, hl_min_u64(file->build_id_len, ID_MAX));
	}
	hl_seal_column(s, HL_COL_FILE_DATA, data, len);
	return 0;
}

int hl_seal_file(struct hl_sealer *s, const struct hl_chunk_head *here, uint64_t number,
	const struct hl_carried *file, int fd, int (*put)(void *arg), void *arg)
{
	uint8_t *data = malloc(PIECE_BYTES);
	int err = data ? 0 : -ENOMEM;

	for (uint64_t at = 0; at < file->size && !err; at += PIECE_BYTES) {
		const uint64_t v[] = {number, at, file->size, file->kind};
		size_t len = hl_min_u64(file->size - at, PIECE_BYTES);

		err = read_piece(fd, data, len, at);
		if (!err)
			err = seal_piece(s, here, v, file, data, len);
		if (!err)
			err = put(arg);
	}
	free(data);
	return err;
}

static int put_writer(void *arg)
{
	return hl_writer_put(arg);
}

int hl_writer_add_file(struct hl_writer *w, const struct hl_carried *file, int fd)
{
	if (!w->error && w->ended)
		w->error = -EINVAL;
	if (!w->error)
		w->error =
			hl_seal_file(&w->sealer, &w->open, w->n_files++, file, fd, put_writer, w);
	return w->error;
}

/* ---- reading ---- */

/* Packing knows no bounds, so a forged file could fill any disk. Programs pack to a third or so. */
#define BYTES_MAX(file_bytes) ((UINT64_C(64) << 20) + 64 * (file_bytes))

void hl_files_fini(struct hl_files *f)
{
	for (size_t i = 0; i < f->v.len; i++) {
		free(f->v.data[i].path);
		free(f->v.data[i].id);
	}
	hl_vec_free(&f->v);
}

/* One column of a piece, read alone: its data may be long. */
static int piece_column(struct hl_reader *r, size_t row, uint16_t id, struct hl_cursor *cur)
{
	struct hl_chunk c;
	int err = hl_load_column(r, row, &c, id);

	return err ? err : hl_column(r, &c, id, cur);
}

/* How long its data are, by the directory. */
static uint32_t data_len(const struct hl_chunk *c)
{
	for (uint32_t i = 0; i < c->head.n_columns; i++)
		if (c->columns[i].id == HL_COL_FILE_DATA)
			return c->columns[i].raw;
	return 0;
}

static int first_piece(struct hl_reader *r, size_t row, struct hl_file_entry *f)
{
	struct hl_cursor cur;
	int err = piece_column(r, row, HL_COL_FILE_PATH, &cur);

	if (err && err != -ENOENT)
		return err;
	f->path = strndup((const char *)cur.p, (size_t)(cur.end - cur.p));
	f->what.path_cut = cur.p != cur.end && memchr(cur.p, 0, (size_t)(cur.end - cur.p));
	err = piece_column(r, row, HL_COL_FILE_ID, &cur);
	if (err && err != -ENOENT)
		return err;
	f->what.build_id_len = (uint32_t)hl_min_u64((size_t)(cur.end - cur.p), ID_MAX);
	f->id = malloc(f->what.build_id_len + 1);
	if (!f->path || !f->id)
		return -ENOMEM;
	memcpy(f->id, cur.p, f->what.build_id_len);
	f->what.path = f->path;
	f->what.build_id = f->id;
	return 0;
}

static int begin_file(struct hl_reader *r, size_t row, const uint64_t v[4], uint32_t len)
{
	struct hl_file_entry f = {.number = v[0], .have = len, .row = row, .n_rows = 1};
	int err = first_piece(r, row, &f);

	f.what.size = v[2];
	f.what.kind = (uint8_t)hl_min_u64(v[3], UINT8_MAX);
	if (!err)
		err = hl_vec_push(&r->files.v, f);
	if (err) {
		free(f.path);
		free(f.id);
	}
	return err;
}

static int take_piece(struct hl_reader *r, size_t row)
{
	struct hl_files *fs = &r->files;
	struct hl_file_entry *last = fs->v.len ? &fs->v.data[fs->v.len - 1] : NULL;
	struct hl_cursor cur;
	struct hl_chunk c;
	uint64_t v[4];
	uint32_t len;
	int err = hl_load_column(r, row, &c, HL_COL_NUMBERS);

	if (!err)
		err = hl_column(r, &c, HL_COL_NUMBERS, &cur);
	if (err)
		return -EBADMSG;
	for (int i = 0; i < 4; i++)
		v[i] = hl_cursor_varint(&cur);
	len = data_len(&c);
	if (cur.bad || len == 0 || v[1] > v[2] || len > v[2] - v[1])
		return -EBADMSG;
	if (v[1] == 0)
		return begin_file(r, row, v, len);
	if (!last || last->number != v[0] || last->have != v[1] || last->row + last->n_rows != row)
		return 0; /* one before it is lost, and so is the file */
	last->have += len;
	last->n_rows++;
	return 0;
}

/* What is not whole, or too much to be believed, is not there. */
static void drop_broken(struct hl_reader *r)
{
	struct hl_files *fs = &r->files;
	size_t n = 0;

	for (size_t i = 0; i < fs->v.len; i++) {
		struct hl_file_entry *f = &fs->v.data[i];

		if (f->have == f->what.size && f->what.kind <= HL_CARRIED_SHARED &&
			fs->bytes + f->have <= BYTES_MAX(r->data_bytes)) {
			fs->bytes += f->have;
			fs->v.data[n++] = *f;
		} else {
			free(f->path);
			free(f->id);
		}
	}
	fs->v.len = n;
}

static int read_files(struct hl_reader *r)
{
	int err = 0;

	if (r->files.state)
		return r->files.state < 0 ? r->files.state : 0;
	for (size_t i = 0; i < r->rows.len && err != -ENOMEM; i++) {
		if (r->rows.data[i].head.type != HL_CHUNK_FILE)
			continue;
		err = take_piece(r, i);
		if (err == -EBADMSG)
			hl_mark_bad(r, i);
	}
	drop_broken(r);
	r->files.state = err == -ENOMEM ? err : 1;
	return err == -ENOMEM ? err : 0;
}

int hl_reader_n_files(struct hl_reader *r, size_t *n)
{
	int err = read_files(r);

	*n = err ? 0 : r->files.v.len;
	return err;
}

int hl_reader_file(struct hl_reader *r, size_t i, struct hl_carried *file)
{
	int err = read_files(r);

	if (!err && i >= r->files.v.len)
		err = -EINVAL;
	if (!err)
		*file = r->files.v.data[i].what;
	return err;
}

static int write_all(int fd, const uint8_t *p, size_t len)
{
	while (len > 0) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

int hl_reader_copy_file(struct hl_reader *r, size_t i, int fd)
{
	int err = read_files(r);
	const struct hl_file_entry *f;

	if (err || i >= r->files.v.len)
		return err ? err : -EINVAL;
	f = &r->files.v.data[i];
	for (size_t k = 0; k < f->n_rows && !err; k++) {
		struct hl_cursor cur;
		struct hl_chunk c;

		err = hl_load(r, f->row + k, &c);
		if (!err && hl_column(r, &c, HL_COL_FILE_DATA, &cur) < 0)
			err = hl_mark_bad(r, f->row + k);
		if (!err)
			err = write_all(fd, cur.p, (size_t)(cur.end - cur.p));
	}
	return err;
}
