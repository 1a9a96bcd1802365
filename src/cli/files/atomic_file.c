/* SPDX-License-Identifier: Apache-2.0 */
/* atomic_file.c - see atomic_file.h. */
#include "cli/files/atomic_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/record/record_output.h"

const char *hl_atomic_file_check_name(const char *path)
{
	if (!strcmp(path, "-"))
		return "the name of a file; a trace cannot be written to stdout";
	return *path ? NULL : "the name of a file";
}

static int print_refusal(const struct hl_atomic_file *f, int err)
{
	struct record_options o = {.output = f->path, .overwrite = f->overwrite};
	char why[HL_RECORD_SENTENCE];

	hl_record_format_output_error(why, sizeof(why), &o, err, "-o");
	hl_cli_error("%s", why);
	return HL_EXIT_IO;
}

/* Checks whether the name can be used. Returns 0: a file has the name and may be replaced; -ENOENT:
 * no file has it. */
static int check_name(const struct hl_atomic_file *f)
{
	const char *base = hl_trace_output_base(f->path);
	struct stat st;

	if (f->overwrite)
		return hl_trace_output_may_replace(f->dir, base);
	if (fstatat(f->dir, base, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return -EEXIST;
	return -errno;
}

/* Creates a nameless file, which disappears if we end. If that is not supported, creates a file
 * with a temporary name. */
static int create_file(struct hl_atomic_file *f)
{
	char self[64];
	uint64_t random;

	f->fd = hl_trace_output_create_unnamed(f->dir);
	snprintf(self, sizeof(self), "/proc/self/fd/%d", f->fd);
	if (f->fd >= 0 && access(self, F_OK) == 0)
		return 0;
	if (f->fd >= 0)
		close(f->fd); /* it could not get a name later */
	if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return -EIO;
	snprintf(f->temp, sizeof(f->temp), ".heaplapse-%016" PRIx64, random);
	f->fd = hl_trace_output_link_name(f->dir, f->temp, -1);
	return f->fd < 0 ? f->fd : 0;
}

int hl_atomic_file_open(struct hl_atomic_file *f)
{
	const struct hl_trace_output_settings s = {
		.dir_fd = AT_FDCWD, .allow_unsafe_dir = f->allow_unsafe_dir};
	int err;

	signal(SIGXFSZ, SIG_IGN); /* write then reports the file size limit as an error, and no
				     partial file is left */
	f->fd = -1;
	f->temp[0] = '\0';
	f->dir = f->path[0] ? hl_trace_output_dir(&s, f->path) : -ENOENT;
	if (f->dir < 0)
		return print_refusal(f, f->dir == -EISDIR ? -EEXIST : f->dir);
	err = check_name(f);
	if (err == -ENOENT)
		err = 0;
	if (!err)
		err = create_file(f);
	if (err) {
		close(f->dir);
		return print_refusal(f, err);
	}
	return 0;
}

static int rename_temporary(struct hl_atomic_file *f, const char *base)
{
	if (f->overwrite)
		return renameat(f->dir, f->temp, f->dir, base) < 0 ? -errno : 0;
	if (linkat(f->dir, f->temp, f->dir, base, 0) < 0)
		return -errno;
	unlinkat(f->dir, f->temp, 0);
	return 0;
}

int hl_atomic_file_commit(struct hl_atomic_file *f)
{
	const char *base = hl_trace_output_base(f->path);
	int err = check_name(f), got = 0; /* another process may have used the name meanwhile */
	bool exists = !err;

	if (err == -ENOENT)
		err = 0;
	if (!err && f->temp[0])
		err = rename_temporary(f, base);
	else if (!err)
		got = exists ? hl_trace_output_replace_name(f->dir, base, f->fd)
			     : hl_trace_output_link_name(f->dir, base, f->fd);
	if (got < 0)
		err = got;
	if (err) {
		hl_atomic_file_discard(f, 0);
		return print_refusal(f, err);
	}
	close(f->fd);
	close(f->dir);
	return 0;
}

int hl_atomic_file_discard(struct hl_atomic_file *f, int err)
{
	bool exists = check_name(f) == 0;

	if (f->temp[0])
		unlinkat(f->dir, f->temp, 0);
	close(f->fd);
	close(f->dir);
	if (err)
		hl_cli_error("cannot write %s: %s; %s", f->path, strerror(-err),
			exists ? "the existing file is unchanged" : "no file was left");
	return HL_EXIT_IO;
}
