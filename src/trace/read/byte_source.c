/* SPDX-License-Identifier: Apache-2.0 */
/* byte_source.c - see byte_source.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/format/format_internal.h"
#include "trace/read/byte_source.h"
#include "util/fd_io.h"

/* No limit of the format depends on more bytes than this. */
#define DATA_LIMIT (UINT64_C(2) * HL_NODES_MAX)

void hl_byte_source_close(struct hl_byte_source *s)
{
	if (s)
		s->ops->close(s);
}

/* ---- a file ---- */

struct file_source {
	struct hl_byte_source base; /* must be the first member */
	int fd;
	char *path;
	bool has_name; /* a file of this name was opened */
	dev_t dev;
	ino_t ino;
};

static int fd_of(const struct hl_byte_source *s)
{
	return ((const struct file_source *)s)->fd;
}

/* The writer holds an exclusive lock on the file for its whole life. */
static bool is_being_written(int fd)
{
	if (flock(fd, LOCK_SH | LOCK_NB) < 0)
		return errno == EWOULDBLOCK;
	flock(fd, LOCK_UN);
	return false;
}

/* The number of bytes that are not in holes. Counting stops at DATA_LIMIT, so few calls are
 * needed. */
static uint64_t count_data(int fd, uint64_t file_bytes)
{
	uint64_t bytes = 0;
	off_t at = 0;

	while (bytes < DATA_LIMIT && (uint64_t)at < file_bytes) {
		off_t data = lseek(fd, at, SEEK_DATA);

		if (data < 0)
			return errno == ENXIO ? bytes : file_bytes; /* holes unknown */
		at = lseek(fd, data, SEEK_HOLE);
		if (at <= data)
			return file_bytes;
		bytes += (uint64_t)(at - data);
	}
	return bytes < file_bytes ? bytes : file_bytes;
}

static int read_file(const struct hl_byte_source *s, void *to, size_t len, uint64_t at)
{
	return hl_fd_read_at(fd_of(s), to, len, at);
}

/* Sets the size and the state of the writer. */
static int measure_file(struct hl_byte_source *s)
{
	/* Test the lock before reading the size: if the writer ends in between, the size is
	 * final. */
	const bool growing = is_being_written(fd_of(s));
	struct stat st;

	if (fstat(fd_of(s), &st) < 0)
		return -errno;
	s->growing = growing;
	s->bytes = (uint64_t)st.st_size;
	s->data_bytes = count_data(fd_of(s), s->bytes);
	return 0;
}

/* The writer of a file without a name still writes, but no other reader can open it. */
static int check_name(const struct file_source *s)
{
	struct stat st;

	if (!s->has_name)
		return 0;
	if (stat(s->path, &st) < 0)
		return errno == ENOENT || errno == ENOTDIR ? -ENOENT : 0;
	return st.st_dev == s->dev && st.st_ino == s->ino ? 0 : -ESTALE;
}

static int refresh_file(struct hl_byte_source *s)
{
	int err = check_name((const struct file_source *)s);

	return err ? err : measure_file(s);
}

static uint64_t skip_hole_of_file(const struct hl_byte_source *s, uint64_t at)
{
	off_t data = lseek(fd_of(s), (off_t)at, SEEK_DATA);

	if (data < 0)
		return errno == ENXIO ? s->bytes : at; /* holes unknown */
	return (uint64_t)data;
}

static void close_file(struct hl_byte_source *s)
{
	struct file_source *f = (struct file_source *)s;

	if (f->fd >= 0)
		close(f->fd);
	free(f->path);
	free(f);
}

static const struct hl_byte_source_ops file_ops = {
	read_file, refresh_file, skip_hole_of_file, close_file};

/* Returns a sentence with one %s, the path, if the file cannot be a trace; else NULL. */
static const char *refuse_kind(const struct stat *st, int *err)
{
	if (S_ISDIR(st->st_mode)) {
		*err = -EISDIR;
		return "%.300s is a directory; pass the path of a trace in it.";
	}
	if (!S_ISREG(st->st_mode)) {
		*err = -ESPIPE;
		return "%.300s is not a regular file; copy the trace into one first.";
	}
	if (st->st_size == 0) {
		*err = -ENODATA;
		return "%.300s is empty: nothing was recorded; record again.";
	}
	return NULL;
}

static int open_file(struct file_source *s, const char *path, struct hl_reader_refusal *why)
{
	const char *sentence;
	struct stat st;
	int err;

	/* O_NONBLOCK: open() must not block on a FIFO, which is refused below */
	s->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	err = s->fd < 0 ? -errno : measure_file(&s->base);
	if (!err && fstat(s->fd, &st) < 0)
		err = -errno;
	if (!err) {
		s->has_name = st.st_nlink > 0;
		s->dev = st.st_dev;
		s->ino = st.st_ino;
	}
	if (err == -ENOENT) {
		snprintf(why->text, sizeof(why->text),
			"%.300s does not exist; pass the path of a trace, heaplapse.PROG.PID.hlt.",
			path);
		return err;
	}
	if (err) {
		snprintf(why->text, sizeof(why->text), "%.300s cannot be opened: %s.", path,
			strerror(-err));
		return err;
	}
	sentence = refuse_kind(&st, &err);
	if (sentence)
		snprintf(why->text, sizeof(why->text), sentence, path);
	return err;
}

int hl_byte_source_open(
	struct hl_byte_source **out, const char *path, struct hl_reader_refusal *why)
{
	struct file_source *s = calloc(1, sizeof(*s));
	int err;

	why->text[0] = '\0';
	if (!s) {
		snprintf(why->text, sizeof(why->text),
			"There is not enough memory to open a trace.");
		return -ENOMEM;
	}
	s->base.ops = &file_ops;
	s->fd = -1;
	s->path = strdup(path);
	if (s->path) {
		err = open_file(s, path, why);
	} else {
		snprintf(why->text, sizeof(why->text),
			"There is not enough memory to open a trace.");
		err = -ENOMEM;
	}
	if (err)
		close_file(&s->base);
	else
		*out = &s->base;
	return err;
}

/* ---- memory ---- */

struct memory_source {
	struct hl_byte_source base; /* must be the first member */
	const uint8_t *data;
};

static int read_memory(const struct hl_byte_source *s, void *to, size_t len, uint64_t at)
{
	if (at > s->bytes || len > s->bytes - at)
		return -ENODATA;
	memcpy(to, ((const struct memory_source *)s)->data + at, len);
	return 0;
}

static int refresh_memory(struct hl_byte_source *s)
{
	return 0;
}

static uint64_t skip_no_hole(const struct hl_byte_source *s, uint64_t at)
{
	return at;
}

static void close_memory(struct hl_byte_source *s)
{
	free(s);
}

int hl_byte_source_from_memory(struct hl_byte_source **out, const void *data, size_t len)
{
	static const struct hl_byte_source_ops ops = {
		read_memory, refresh_memory, skip_no_hole, close_memory};
	struct memory_source *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->base = (struct hl_byte_source){.ops = &ops, .bytes = len, .data_bytes = len};
	s->data = data;
	*out = &s->base;
	return 0;
}
