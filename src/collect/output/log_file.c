/* SPDX-License-Identifier: Apache-2.0 */
/* log_file.c - see log_file.h. */
#include "collect/output/log_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define LINE_MAX_BYTES 2048
#define APPEND         (O_WRONLY | O_APPEND | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)

/* Returns fd if it is a regular file of this user, else closes it. */
static int check_own_file(int fd)
{
	struct stat st;

	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid())
		return fd;
	close(fd);
	return -EEXIST;
}

static int open_log(const struct hl_trace_output_settings *out, const char *name)
{
	int fd, dir = hl_trace_output_dir(out, name);

	if (dir < 0)
		return dir;
	fd = openat(dir, hl_trace_output_base(name), APPEND | O_CREAT, 0600);
	fd = fd < 0 ? -errno : check_own_file(fd);
	close(dir);
	return fd;
}

/* The recorder has another current directory and needs the absolute path. */
static int absolute_path(char path[HL_LOG_PATH_MAX], int fd)
{
	char link[64];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, HL_LOG_PATH_MAX);
	if (n < 0)
		return -errno;
	if (n >= (ssize_t)HL_LOG_PATH_MAX)
		return -ENAMETOOLONG;
	path[n] = '\0';
	return 0;
}

static int make_name(char *name, size_t n, const struct hl_log_file_settings *set,
	const char *program, uint64_t pid)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return hl_trace_output_name(
		name, n, set->pattern, program, pid, (uint64_t)now.tv_sec * 1000000000, 0);
}

/* A file that was created by this check is removed again: its name may contain a time. */
static int try_create(int dir, const char *base)
{
	int fd = openat(dir, base, APPEND | O_CREAT | O_EXCL, 0600);

	if (fd >= 0)
		unlinkat(dir, base, 0);
	else if (errno == EEXIST)
		fd = openat(dir, base, APPEND);
	if (fd < 0)
		return -errno;
	fd = check_own_file(fd);
	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

int hl_log_file_check(const struct hl_log_file_settings *set,
	const struct hl_trace_output_settings *out, const char *program, uint64_t pid)
{
	char name[PATH_MAX];
	int err, dir;

	if (!set->level || !set->pattern)
		return 0;
	err = make_name(name, sizeof(name), set, program, pid);
	if (err)
		return err;
	dir = hl_trace_output_dir(out, name);
	if (dir < 0)
		return dir;
	err = try_create(dir, hl_trace_output_base(name));
	close(dir);
	return err;
}

int hl_log_file_open(struct hl_log_file *log, const struct hl_log_file_settings *set,
	const struct hl_trace_output_settings *out, const char *program, uint64_t pid)
{
	char name[PATH_MAX];
	int fd, err;

	*log = (struct hl_log_file){.level = set->level};
	if (!set->level || !set->pattern)
		return 0;
	err = make_name(name, sizeof(name), set, program, pid);
	if (!err) {
		fd = open_log(out, name);
		err = fd < 0 ? fd : absolute_path(log->path, fd);
		if (fd >= 0)
			close(fd);
	}
	if (err)
		*log = (struct hl_log_file){.level = HL_LEVEL_OFF};
	return err;
}

/* Names come from programs: control characters must not reach a terminal. */
static void sanitize_text(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			*text = '?';
}

static void append_line(const struct hl_log_file *log, const char *line, size_t len)
{
	int fd = log->path[0] ? open(log->path, APPEND) : STDERR_FILENO;
	ssize_t ignored;

	if (fd < 0)
		return;
	if (fd != STDERR_FILENO)
		fd = check_own_file(fd);
	if (fd < 0)
		return;
	ignored = write(fd, line, len);
	(void)ignored;
	if (fd != STDERR_FILENO)
		close(fd);
}

void hl_log_file_write(const struct hl_log_file *log, enum hl_level level, const char *format, ...)
{
	char line[LINE_MAX_BYTES];
	struct timespec now;
	va_list args;
	size_t len;

	if (!log || log->level < level)
		return;
	clock_gettime(CLOCK_REALTIME, &now);
	snprintf(line, sizeof(line) - 1,
		"heaplapse: %lld.%03ld %ld %ld %s collector: ", (long long)now.tv_sec,
		now.tv_nsec / 1000000, (long)getpid(), (long)syscall(SYS_gettid),
		hl_level_mark(level));
	len = strlen(line);
	va_start(args, format);
	vsnprintf(line + len, sizeof(line) - 1 - len, format, args);
	va_end(args);
	sanitize_text(line + len);
	len = strlen(line);
	line[len++] = '\n';
	append_line(log, line, len);
}
