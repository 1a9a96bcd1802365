/* new_file.c - see new_file.h. */
#include "cli/new_file.h"

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
#include "cli/record_options.h"

const char *hl_new_file_wrong_name(const char *path)
{
	if (!strcmp(path, "-"))
		return "the name of a file; a trace cannot go to stdout";
	return *path ? NULL : "the name of a file";
}

static int refuse(const struct hl_new_file *f, int err)
{
	struct record_options o = {.output = f->path, .overwrite = f->overwrite};
	char why[HL_RECORD_SENTENCE];

	hl_record_no_output(why, sizeof(why), &o, err, "-o");
	hl_cli_error("%s", why);
	return HL_EXIT_IO;
}

/* May the name be taken? 0: something has it that may be replaced; -ENOENT: nothing has it. */
static int look(const struct hl_new_file *f)
{
	const char *base = hl_output_base(f->path);
	struct stat st;

	if (f->overwrite)
		return hl_output_may_replace(f->dir, base);
	if (fstatat(f->dir, base, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return -EEXIST;
	return -errno;
}

/* A nameless file is gone when we are; where there is none, one with a name that nobody looks for.
 */
static int make(struct hl_new_file *f)
{
	char self[64];
	uint64_t random;

	f->fd = hl_output_nameless(f->dir);
	snprintf(self, sizeof(self), "/proc/self/fd/%d", f->fd);
	if (f->fd >= 0 && access(self, F_OK) == 0)
		return 0;
	if (f->fd >= 0)
		close(f->fd); /* it could get no name later */
	if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return -EIO;
	snprintf(f->temp, sizeof(f->temp), ".heaplapse-%016" PRIx64, random);
	f->fd = hl_output_take_name(f->dir, f->temp, -1);
	return f->fd < 0 ? f->fd : 0;
}

int hl_new_file_open(struct hl_new_file *f)
{
	const struct hl_output_settings s = {.dir_fd = AT_FDCWD, .anywhere = f->anywhere};
	int err;

	signal(SIGXFSZ, SIG_IGN); /* a limit is told by write, and nothing is left behind */
	f->fd = -1;
	f->temp[0] = '\0';
	f->dir = f->path[0] ? hl_output_folder(&s, f->path) : -ENOENT;
	if (f->dir < 0)
		return refuse(f, f->dir == -EISDIR ? -EEXIST : f->dir);
	err = look(f);
	if (err == -ENOENT)
		err = 0;
	if (!err)
		err = make(f);
	if (err) {
		close(f->dir);
		return refuse(f, err);
	}
	return 0;
}

static int name_temporary(struct hl_new_file *f, const char *base)
{
	if (f->overwrite)
		return renameat(f->dir, f->temp, f->dir, base) < 0 ? -errno : 0;
	if (linkat(f->dir, f->temp, f->dir, base, 0) < 0)
		return -errno;
	unlinkat(f->dir, f->temp, 0);
	return 0;
}

int hl_new_file_keep(struct hl_new_file *f)
{
	const char *base = hl_output_base(f->path);
	int err = look(f), got = 0; /* somebody may have taken the name meanwhile */
	bool there = !err;

	if (err == -ENOENT)
		err = 0;
	if (!err && f->temp[0])
		err = name_temporary(f, base);
	else if (!err)
		got = there ? hl_output_replace_name(f->dir, base, f->fd)
			    : hl_output_take_name(f->dir, base, f->fd);
	if (got < 0)
		err = got;
	if (err) {
		hl_new_file_drop(f, 0);
		return refuse(f, err);
	}
	close(f->fd);
	close(f->dir);
	return 0;
}

int hl_new_file_drop(struct hl_new_file *f, int err)
{
	bool there = look(f) == 0;

	if (f->temp[0])
		unlinkat(f->dir, f->temp, 0);
	close(f->fd);
	close(f->dir);
	if (err)
		hl_cli_error("%s could not be written: %s; %s", f->path, strerror(-err),
			there ? "what was there is unchanged" : "nothing was left there");
	return HL_EXIT_IO;
}
