/*
 * output.c - see output.h.
 */
#include "views/export/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUFFER (1 << 16)
/* Fast enough to keep up with events, and most of what there is to gain. */
#define GZIP_LEVEL 3
#define ZSTD_LEVEL 3

struct hl_output {
	FILE *file;   /* of the file, or stdout */
	FILE *packed; /* NULL: not packed */
	char *path;   /* the final name; NULL: it has it already, or none */
	char *made;   /* a name that it has until then; NULL: none */
};

static void forget(struct hl_output *o)
{
	free(o->path);
	free(o->made);
	free(o);
}

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);

	return n > m && strcmp(s + n - m, end) == 0;
}

/* A name beside the final one, in the same folder. */
static char *name_beside(const char *path)
{
	char *name;

	return asprintf(&name, "%s.part-XXXXXX", path) < 0 ? NULL : name;
}

/* -errno or a descriptor; without a name if the file system can. */
static int open_nameless(struct hl_output *o)
{
	char *slash = strrchr(o->path, '/'),
	     *folder = slash ? strndup(o->path, (size_t)(slash - o->path) + 1) : strdup(".");
	int fd = folder ? open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0666) : -1;
	mode_t mask;

	free(folder);
	if (fd >= 0)
		return fd;
	o->made = name_beside(o->path);
	fd = o->made ? mkostemp(o->made, O_CLOEXEC) : -1;
	if (fd < 0) {
		free(o->made);
		o->made = NULL;
		return errno ? -errno : -ENOMEM;
	}
	mask = umask(0);
	umask(mask);
	fchmod(fd, 0666 & ~mask);
	return fd;
}

static int open_path(struct hl_output *o, const char *path)
{
	struct stat st;
	int fd, there = stat(path, &st);

	if (there == 0 && S_ISDIR(st.st_mode))
		return -EISDIR;
	if (there == 0 && !S_ISREG(st.st_mode)) {
		fd = open(path, O_WRONLY | O_CLOEXEC);
		return fd < 0 ? -errno : fd;
	}
	if (there == 0 && access(path, W_OK) < 0)
		return -errno; /* what may not be written may not be replaced either */
	/* A link stays one. */
	o->path = there == 0 ? realpath(path, NULL) : strdup(path);
	fd = o->path ? open_nameless(o) : -ENOMEM;
	/* Nor does what is replaced become readable for more than could read it. */
	if (fd >= 0 && there == 0)
		fchmod(fd, st.st_mode & 0777);
	return fd;
}

static int open_packer(struct hl_output *o, const char *path)
{
	if (ends_with(path, ".gz"))
		o->packed = hl_pack_gzip(o->file, GZIP_LEVEL);
	else if (ends_with(path, ".zst"))
		o->packed = hl_pack_zstd(o->file, ZSTD_LEVEL);
	else
		return 0;
	return o->packed ? 0 : -ENOMEM;
}

int hl_output_open(struct hl_output **out, const char *path, bool pack)
{
	struct hl_output *o = calloc(1, sizeof(*o));
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
		forget(o);
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
		hl_output_drop(o);
	return err;
}

FILE *hl_output_file(struct hl_output *o)
{
	return o->packed ? o->packed : o->file;
}

/* A name for what has none. */
static int make_name(struct hl_output *o)
{
	char link[64], *name = name_beside(o->path);
	int fd = name ? mkstemp(name) : -1, err = fd < 0 ? -errno : 0;

	/* Taken only to be known as free. */
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
		o->made = name;
	return err;
}

static int close_packer(struct hl_output *o)
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

/* Why something did not arrive earlier is long forgotten: it is asked for once more. */
static int why_not(struct hl_output *o)
{
	return write(fileno(o->file), "", 1) < 0 ? -errno : -EIO;
}

int hl_output_flush(struct hl_output *o)
{
	int failed = ferror(o->file);

	if (o->file == stdout)
		return 0;
	errno = 0;
	if (fflush(o->file) && errno)
		return -errno;
	return failed || ferror(o->file) ? why_not(o) : 0;
}

int hl_output_finish(struct hl_output *o)
{
	int err = close_packer(o), later = 0, flushed = hl_output_flush(o);

	err = flushed ? flushed : err;
	if (!err && o->path && !o->made)
		err = make_name(o);
	if (o->file != stdout && fclose(o->file) && !err)
		later = errno ? -errno : -EIO;
	o->file = NULL;
	err = err ? err : later;
	if (!err && o->path && rename(o->made, o->path) < 0)
		err = -errno;
	if (err && o->made)
		unlink(o->made);
	forget(o);
	return err;
}

void hl_output_drop(struct hl_output *o)
{
	if (o->packed)
		fclose(o->packed);
	if (o->file == stdout)
		__fpurge(stdout); /* what has not left yet need not */
	else if (o->file)
		fclose(o->file);
	if (o->made)
		unlink(o->made);
	forget(o);
}
