/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output_file.c - see output_file.h.
 */
#include "views/export/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/path_suffix.h"

#define BUFFER (1 << 16)
/* Fast enough to keep up with events, with most of the possible compression. */
#define GZIP_LEVEL 3
#define ZSTD_LEVEL 3

struct hl_output_file {
	FILE *file;      /* the file itself, or stdout */
	FILE *packed;    /* compressing stream in front of it; NULL: not compressed */
	char *path;      /* the final name; NULL: it needs none, or already has it */
	char *temp_name; /* the temporary name; NULL: none */
};

static void free_output(struct hl_output_file *o)
{
	free(o->path);
	free(o->temp_name);
	free(o);
}

/* Returns a name pattern next to the final name, in the same directory. */
static char *make_temp_pattern(const char *path)
{
	char *name;

	return asprintf(&name, "%s.part-XXXXXX", path) < 0 ? NULL : name;
}

/* Opens a file without a name if the file system supports that. Returns a descriptor or -errno. */
static int open_nameless(struct hl_output_file *o)
{
	char *slash = strrchr(o->path, '/'),
	     *directory = slash ? strndup(o->path, (size_t)(slash - o->path) + 1) : strdup(".");
	int fd = directory ? open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0666) : -1;
	mode_t mask;

	free(directory);
	if (fd >= 0)
		return fd;
	o->temp_name = make_temp_pattern(o->path);
	fd = o->temp_name ? mkostemp(o->temp_name, O_CLOEXEC) : -1;
	if (fd < 0) {
		free(o->temp_name);
		o->temp_name = NULL;
		return errno ? -errno : -ENOMEM;
	}
	mask = umask(0);
	umask(mask);
	fchmod(fd, 0666 & ~mask);
	return fd;
}

static int open_path(struct hl_output_file *o, const char *path)
{
	struct stat st;
	int fd, stat_rc = stat(path, &st);

	if (stat_rc == 0 && S_ISDIR(st.st_mode))
		return -EISDIR;
	if (stat_rc == 0 && !S_ISREG(st.st_mode)) {
		fd = open(path, O_WRONLY | O_CLOEXEC);
		return fd < 0 ? -errno : fd;
	}
	if (stat_rc == 0 && access(path, W_OK) < 0)
		return -errno; /* a file that may not be written may not be replaced either */
	/* A symbolic link stays: its target is replaced. */
	o->path = stat_rc == 0 ? realpath(path, NULL) : strdup(path);
	fd = o->path ? open_nameless(o) : -ENOMEM;
	/* The new file must not be readable for more users than the old one. */
	if (fd >= 0 && stat_rc == 0)
		fchmod(fd, st.st_mode & 0777);
	return fd;
}

static int open_packer(struct hl_output_file *o, const char *path)
{
	if (hl_path_has_suffix(path, ".gz"))
		o->packed = hl_pack_gzip(o->file, GZIP_LEVEL);
	else if (hl_path_has_suffix(path, ".zst"))
		o->packed = hl_pack_zstd(o->file, ZSTD_LEVEL);
	else
		return 0;
	return o->packed ? 0 : -ENOMEM;
}

int hl_output_file_open(struct hl_output_file **out, const char *path, bool pack)
{
	struct hl_output_file *o = calloc(1, sizeof(*o));
	int fd, err = 0;

	if (!o)
		return -ENOMEM;
	*out = o;
	if (strcmp(path, "-") == 0) {
		o->file = stdout;
		return 0;
	}
	fd = open_path(o, path);
	if (fd < 0) {
		free_output(o);
		return fd;
	}
	o->file = fdopen(fd, "w");
	if (!o->file) {
		close(fd);
		err = -ENOMEM;
	} else {
		setvbuf(o->file, NULL, _IOFBF, BUFFER);
		if (pack)
			err = open_packer(o, path);
	}
	if (err)
		hl_output_file_drop(o);
	return err;
}

FILE *hl_output_file_stream(struct hl_output_file *o)
{
	return o->packed ? o->packed : o->file;
}

/* Gives the nameless file a temporary name. */
static int link_temp_name(struct hl_output_file *o)
{
	char link[64], *name = make_temp_pattern(o->path);
	int fd = name ? mkstemp(name) : -1, err = fd < 0 ? -errno : 0;

	/* The file is created only to find an unused name. */
	if (!err) {
		close(fd);
		unlink(name);
		snprintf(link, sizeof(link), "/proc/self/fd/%d", fileno(o->file));
		if (linkat(AT_FDCWD, link, AT_FDCWD, name, AT_SYMLINK_FOLLOW) < 0)
			err = -errno;
	}
	if (err)
		free(name);
	else
		o->temp_name = name;
	return err;
}

static int close_packer(struct hl_output_file *o)
{
	int failed;

	if (!o->packed)
		return 0;
	failed = ferror(o->packed);
	errno = 0;
	failed |= fclose(o->packed);
	o->packed = NULL;
	return failed ? errno ? -errno : -EIO : 0;
}

/* The error of an earlier failed write is not known any more, so one more write is tried to get
 * it. */
static int find_write_error(struct hl_output_file *o)
{
	return write(fileno(o->file), "", 1) < 0 ? -errno : -EIO;
}

int hl_output_file_flush(struct hl_output_file *o)
{
	int failed = ferror(o->file);

	if (o->file == stdout)
		return 0;
	errno = 0;
	if (fflush(o->file) && errno)
		return -errno;
	return failed || ferror(o->file) ? find_write_error(o) : 0;
}

int hl_output_file_finish(struct hl_output_file *o)
{
	int err = close_packer(o), close_err = 0, flushed = hl_output_file_flush(o);

	err = flushed ? flushed : err;
	if (!err && o->path && !o->temp_name)
		err = link_temp_name(o);
	if (o->file != stdout && fclose(o->file) && !err)
		close_err = errno ? -errno : -EIO;
	o->file = NULL;
	err = err ? err : close_err;
	if (!err && o->path && rename(o->temp_name, o->path) < 0)
		err = -errno;
	if (err && o->temp_name)
		unlink(o->temp_name);
	free_output(o);
	return err;
}

void hl_output_file_drop(struct hl_output_file *o)
{
	if (o->packed)
		fclose(o->packed);
	if (o->file == stdout)
		__fpurge(stdout); /* discard output that is not written yet */
	else if (o->file)
		fclose(o->file);
	if (o->temp_name)
		unlink(o->temp_name);
	free_output(o);
}
