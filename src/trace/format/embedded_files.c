/* SPDX-License-Identifier: Apache-2.0 */
/*
 * embedded_files.c - writes and reads embedded files (FILE chunks): programs, libraries and debug
 * files.
 *
 * A file is stored in consecutive pieces. A file with a missing piece is ignored.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "base/bits.h"
#include "trace/read/reader_internal.h"
#include "trace/write/writer_internal.h"
#include "util/fd_io.h"

/* ---- writing ---- */

/* With the longest path and build-id a piece is still below the size limit of a chunk. */
#define PIECE_BYTES (896u << 10)
#define ID_MAX      255u

static int seal_piece(struct hl_sealer *s, const struct hl_chunk_header *position,
	const uint64_t v[4], const struct hl_embedded_file *file, const uint8_t *data, size_t len)
{
	size_t path = hl_min_u64(strlen(file->path), HL_TEXT_MAX);

	s->scratch.len = 0;
	for (int i = 0; i < 4; i++)
		if (hl_byte_buffer_varint(&s->scratch, v[i]) < 0)
			return -ENOMEM;
	hl_seal_begin(s, HL_CHUNK_FILE, position);
	hl_seal_column(s, HL_COL_NUMBERS, s->scratch.data, s->scratch.len);
	if (v[1] == 0) {
		hl_seal_column(s, HL_COL_FILE_PATH, file->path, path);
		hl_seal_column(
			s, HL_COL_FILE_ID, file->build_id, hl_min_u64(file->build_id_len, ID_MAX));
	}
	hl_seal_column(s, HL_COL_FILE_DATA, data, len);
	return 0;
}

int hl_seal_file(struct hl_sealer *s, const struct hl_chunk_header *position, uint64_t number,
	const struct hl_embedded_file *file, int fd, int (*put)(void *arg), void *arg)
{
	uint8_t *data = malloc(PIECE_BYTES);
	int err = data ? 0 : -ENOMEM;

	for (uint64_t at = 0; at < file->size && !err; at += PIECE_BYTES) {
		const uint64_t v[] = {number, at, file->size, file->kind};
		size_t len = hl_min_u64(file->size - at, PIECE_BYTES);

		err = hl_fd_read_at(fd, data, len, at);
		if (err == -ENODATA) /* the file has become shorter */
			err = -EIO;
		if (!err)
			err = seal_piece(s, position, v, file, data, len);
		if (!err)
			err = put(arg);
	}
	free(data);
	return err;
}

static int put_sealed(void *arg)
{
	return hl_writer_put(arg);
}

int hl_writer_add_file(struct hl_writer *w, const struct hl_embedded_file *file, int fd)
{
	if (!w->error && w->ended)
		w->error = -EINVAL;
	if (!w->error)
		w->error =
			hl_seal_file(&w->sealer, &w->open, w->n_files++, file, fd, put_sealed, w);
	return w->error;
}

/* ---- reading ---- */

/* Compression ratios have no bound, so a forged file could fill any disk. Real programs compress to
 * about a third. */
#define BYTES_MAX(file_bytes) ((UINT64_C(64) << 20) + 64 * (file_bytes))

void hl_files_fini(struct hl_files *f)
{
	for (size_t i = 0; i < f->v.len; i++) {
		free(f->v.data[i].path);
		free(f->v.data[i].id);
	}
	hl_vec_free(&f->v);
}

/* Loads one column of a piece without the others: the data column may be long. */
static int load_piece_column(
	struct hl_reader *r, size_t row, uint16_t id, struct hl_column_cursor *cur)
{
	struct hl_chunk c;
	int err = hl_load_column(r, row, &c, id);

	return err ? err : hl_chunk_column(r, &c, id, cur);
}

/* The length of the data column, from the directory. */
static uint32_t get_data_len(const struct hl_chunk *c)
{
	for (uint32_t i = 0; i < c->head.n_columns; i++)
		if (c->columns[i].id == HL_COL_FILE_DATA)
			return c->columns[i].raw;
	return 0;
}

static int read_first_piece(struct hl_reader *r, size_t row, struct hl_file_entry *f)
{
	struct hl_column_cursor cur;
	int err = load_piece_column(r, row, HL_COL_FILE_PATH, &cur);

	if (err && err != -ENOENT)
		return err;
	f->path = strndup((const char *)cur.p, (size_t)(cur.end - cur.p));
	f->file.path_truncated = cur.p != cur.end && memchr(cur.p, 0, (size_t)(cur.end - cur.p));
	err = load_piece_column(r, row, HL_COL_FILE_ID, &cur);
	if (err && err != -ENOENT)
		return err;
	f->file.build_id_len = (uint32_t)hl_min_u64((size_t)(cur.end - cur.p), ID_MAX);
	f->id = malloc(f->file.build_id_len + 1);
	if (!f->path || !f->id)
		return -ENOMEM;
	memcpy(f->id, cur.p, f->file.build_id_len);
	f->file.path = f->path;
	f->file.build_id = f->id;
	return 0;
}

static int begin_file(struct hl_reader *r, size_t row, const uint64_t v[4], uint32_t len)
{
	struct hl_file_entry f = {.number = v[0], .n_have = len, .row = row, .n_rows = 1};
	int err = read_first_piece(r, row, &f);

	f.file.size = v[2];
	f.file.kind = (uint8_t)hl_min_u64(v[3], UINT8_MAX);
	if (!err)
		err = hl_vec_push(&r->files.v, f);
	if (err) {
		free(f.path);
		free(f.id);
	}
	return err;
}

static int add_piece(struct hl_reader *r, size_t row)
{
	struct hl_files *fs = &r->files;
	struct hl_file_entry *last = fs->v.len ? &fs->v.data[fs->v.len - 1] : NULL;
	struct hl_column_cursor cur;
	struct hl_chunk c;
	uint64_t v[4];
	uint32_t len;
	int err = hl_load_column(r, row, &c, HL_COL_NUMBERS);

	if (!err)
		err = hl_chunk_column(r, &c, HL_COL_NUMBERS, &cur);
	if (err)
		return -EBADMSG;
	for (int i = 0; i < 4; i++)
		v[i] = hl_column_cursor_varint(&cur);
	len = get_data_len(&c);
	if (cur.bad || len == 0 || v[1] > v[2] || len > v[2] - v[1])
		return -EBADMSG;
	if (v[1] == 0)
		return begin_file(r, row, v, len);
	if (!last || last->number != v[0] || last->n_have != v[1] ||
		last->row + last->n_rows != row)
		return 0; /* an earlier piece is missing, so the file is lost */
	last->n_have += len;
	last->n_rows++;
	return 0;
}

/* Removes files that are incomplete, of unknown kind, or larger than the limit allows. */
static void drop_invalid_files(struct hl_reader *r)
{
	struct hl_files *fs = &r->files;
	size_t n = 0;

	for (size_t i = 0; i < fs->v.len; i++) {
		struct hl_file_entry *f = &fs->v.data[i];

		if (f->n_have == f->file.size && f->file.kind <= HL_EMBEDDED_SHARED &&
			fs->bytes + f->n_have <= BYTES_MAX(r->data_bytes)) {
			fs->bytes += f->n_have;
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
		err = add_piece(r, i);
		if (err == -EBADMSG)
			hl_mark_bad(r, i);
	}
	drop_invalid_files(r);
	r->files.state = err == -ENOMEM ? err : 1;
	return err == -ENOMEM ? err : 0;
}

int hl_reader_n_files(struct hl_reader *r, size_t *n)
{
	int err = read_files(r);

	*n = err ? 0 : r->files.v.len;
	return err;
}

int hl_reader_file(struct hl_reader *r, size_t i, struct hl_embedded_file *file)
{
	int err = read_files(r);

	if (!err && i >= r->files.v.len)
		err = -EINVAL;
	if (!err)
		*file = r->files.v.data[i].file;
	return err;
}

int hl_reader_copy_file(struct hl_reader *r, size_t i, int fd)
{
	int err = read_files(r);
	const struct hl_file_entry *f;

	if (err || i >= r->files.v.len)
		return err ? err : -EINVAL;
	f = &r->files.v.data[i];
	for (size_t k = 0; k < f->n_rows && !err; k++) {
		struct hl_column_cursor cur;
		struct hl_chunk c;

		err = hl_load_chunk(r, f->row + k, &c);
		if (!err && hl_chunk_column(r, &c, HL_COL_FILE_DATA, &cur) < 0)
			err = hl_mark_bad(r, f->row + k);
		if (!err)
			err = hl_fd_write_all(fd, cur.p, (size_t)(cur.end - cur.p));
	}
	return err;
}
