/*
 * reader.c - opening a trace, or refusing with one sentence that says what to do.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/reader_internal.h"

static int refuse(struct hl_reader_refusal *why, int err, const char *fmt, ...) hl_printf(3, 4);
static int refuse(struct hl_reader_refusal *why, int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why->text, sizeof(why->text), fmt, ap);
	va_end(ap);
	return err;
}

/* The writer holds an exclusive lock for as long as it lives. */
static bool is_being_written(int fd)
{
	if (flock(fd, LOCK_SH | LOCK_NB) < 0)
		return errno == EWOULDBLOCK;
	flock(fd, LOCK_UN);
	return false;
}

/* No limit grows beyond that of so many bytes. */
#define DATA_ENOUGH (UINT64_C(2) * HL_NODES_MAX)

/* How much of the file was written, at most DATA_ENOUGH of it: so few places are asked for. */
static uint64_t count_data(int fd, uint64_t file_bytes)
{
	uint64_t bytes = 0;
	off_t at = 0;

	while (bytes < DATA_ENOUGH && (uint64_t)at < file_bytes) {
		off_t data = lseek(fd, at, SEEK_DATA);

		if (data < 0)
			return errno == ENXIO ? bytes
					      : file_bytes; /* not every file system can tell */
		at = lseek(fd, data, SEEK_HOLE);
		if (at <= data)
			return file_bytes;
		bytes += (uint64_t)(at - data);
	}
	return bytes < file_bytes ? bytes : file_bytes;
}

static int open_file(struct hl_reader *r, const char *path, struct hl_reader_refusal *why)
{
	struct stat st;

	/* O_NONBLOCK: a FIFO must not hold us up before it is refused */
	r->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (r->fd < 0 && errno == ENOENT)
		return refuse(why, -ENOENT,
			"%.300s does not exist; give the path of a trace, heaplapse.PROG.PID.hlt.",
			path);
	/* The lock before the size: a writer that ends between the two has then written all of it.
	 */
	r->running = r->fd >= 0 && is_being_written(r->fd);
	if (r->fd < 0 || fstat(r->fd, &st) < 0) {
		int err = errno;
		return refuse(why, -err, "%.300s cannot be opened: %s.", path, strerror(err));
	}
	if (S_ISDIR(st.st_mode))
		return refuse(why, -EISDIR,
			"%.300s is a directory; give the path of a trace in it.", path);
	if (!S_ISREG(st.st_mode))
		return refuse(why, -ESPIPE,
			"%.300s is not a regular file; copy the trace into one first.", path);
	if (st.st_size == 0)
		return refuse(why, -ENODATA,
			"%.300s is empty: nothing was ever recorded into it; record again.", path);
	r->file_bytes = (uint64_t)st.st_size;
	r->data_bytes = count_data(r->fd, r->file_bytes);
	return 0;
}

/* With a damaged head the sync word may still be had from the first chunk, which follows it. */
static bool recover_sync(struct hl_reader *r)
{
	uint8_t buf[HL_CHUNK_HEADS_MAX];
	struct hl_chunk_head head;
	size_t len = sizeof(buf);

	if (r->file_bytes - HL_FILE_HEAD_LEN < len)
		len = (size_t)(r->file_bytes - HL_FILE_HEAD_LEN);
	if (len < HL_CHUNK_HEAD_LEN || hl_pread(r, buf, len, HL_FILE_HEAD_LEN) < 0)
		return false;
	r->sync = hl_get64(buf);
	return hl_chunk_head_decode(buf, len, r->sync, &head, NULL) == 0 &&
	       head.type == HL_CHUNK_META && head.seq == 0;
}

static int read_head(struct hl_reader *r, const char *path, struct hl_reader_refusal *why)
{
	static const char foreign[] =
		"%.300s is not a heaplapse trace; give a file that `heaplapse record` wrote.";
	static const char tags[] = "{\"heaplapse_tags\":";
	uint8_t head[HL_FILE_HEAD_LEN] = {0};
	uint32_t version = 0;

	if (hl_pread(r, head, r->file_bytes < sizeof(head) ? (size_t)r->file_bytes : sizeof(head),
		    0) < 0)
		return refuse(why, -EIO, "%.300s cannot be read; check the disk.", path);
	switch (hl_file_head_decode(head, &r->sync, &version)) {
	case HL_HEAD_GOOD:
		r->info.unwritten = hl_file_head_unwritten(head);
		return 0;
	case HL_HEAD_NEWER:
		return refuse(why, -EPROTONOSUPPORT,
			"%.300s is of format version %u and this heaplapse reads up to %u; use a "
			"newer heaplapse.",
			path, version, HL_FORMAT_VERSION);
	case HL_HEAD_MANGLED:
		return refuse(why, -EBADMSG,
			"%.300s was changed by a text-mode transfer; copy the trace again in "
			"binary mode.",
			path);
	case HL_HEAD_DAMAGED:
		if (r->file_bytes < HL_FILE_HEAD_LEN)
			return refuse(why, -EBADMSG,
				"%.300s ends before its first chunk: nothing was recorded; record "
				"again.",
				path);
		r->head_damaged = true;
		if (recover_sync(r))
			return 0;
		return refuse(why, -EBADMSG,
			"%.300s is a trace whose beginning is destroyed; use another copy of it.",
			path);
	case HL_HEAD_FOREIGN:
		if (!memcmp(head, tags, sizeof(tags) - 1))
			return refuse(why, -EBADMSG,
				"%.300s holds the counters of record --mode=tags, which are no "
				"trace; `heaplapse tags FILE` shows them.",
				path);
		break;
	}
	return refuse(why, -EBADMSG, foreign, path);
}

static int make_buffers(struct hl_reader *r)
{
	r->packed = malloc(HL_CHUNK_LEN_MAX);
	r->raw = malloc(HL_RAW_MAX + HL_COLUMNS_MAX * 16);
	r->zstd = ZSTD_createDCtx();
	return r->packed && r->raw && r->zstd ? 0 : -ENOMEM;
}

int hl_reader_open(struct hl_reader **out, const char *path, struct hl_reader_refusal *why)
{
	struct hl_reader *r = calloc(1, sizeof(*r));
	int err;

	why->text[0] = '\0';
	if (!r)
		return refuse(why, -ENOMEM, "There is not enough memory to open a trace.");
	r->fd = -1;
	err = open_file(r, path, why);
	if (err)
		goto fail;
	err = make_buffers(r);
	if (!err)
		err = read_head(r, path, why);
	if (err)
		goto fail;
	err = hl_find_chunks(r);
	if (!err)
		err = hl_list_chunks(r);
	if (!err)
		err = hl_read_meta(r);
	if (err)
		goto fail;
	hl_describe_damage(r);
	*out = r;
	return 0;
fail:
	if (!why->text[0])
		refuse(why, err, "%.300s cannot be opened: %s.", path, strerror(-err));
	hl_reader_close(r);
	return err;
}

void hl_reader_close(struct hl_reader *r)
{
	if (!r)
		return;
	if (r->fd >= 0)
		close(r->fd);
	hl_vec_free(&r->rows);
	hl_vec_free(&r->chunks);
	hl_vec_free(&r->chunk_rows);
	hl_vec_free(&r->keys);
	hl_vec_free(&r->key_places);
	hl_vec_free(&r->sets);
	hl_vec_free(&r->set_places);
	hl_tables_free(&r->tables);
	hl_stored_names_fini(&r->names);
	hl_files_fini(&r->files);
	for (int i = 0; i < HL_META_STRINGS; i++)
		free(r->meta_strings[i]);
	free(r->cut_filter);
	ZSTD_freeDCtx(r->zstd);
	free(r->packed);
	free(r->raw);
	free(r);
}

uint64_t hl_reader_data_bytes(const struct hl_reader *r)
{
	return r->data_bytes;
}

uint64_t hl_reader_bytes_read(const struct hl_reader *r)
{
	return r->bytes_read;
}

const char *hl_reader_error(const struct hl_reader *r)
{
	return r->error;
}

size_t hl_reader_n_chunks(const struct hl_reader *r)
{
	return r->chunks.len;
}

const struct hl_chunk_info *hl_reader_chunk(const struct hl_reader *r, size_t i)
{
	return i < r->chunks.len ? &r->chunks.data[i] : NULL;
}
