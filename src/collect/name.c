/*
 * name.c - file names from patterns: %p pid, %e program, %t time, %n number, %h host, %% itself.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "collect/output.h"

/* What the program is called, without its folder; no character of it may lead elsewhere. */
static void program_name(char *buf, size_t n, const char *program)
{
	const char *slash = strrchr(program, '/');

	snprintf(buf, n, "%s", slash ? slash + 1 : program);
	for (char *c = buf; *c; c++)
		if ((unsigned char)*c < 0x20 || *c == '/' || *c == 0x7f)
			*c = '_';
	if (!buf[0] || !strcmp(buf, ".") || !strcmp(buf, ".."))
		snprintf(buf, n, "program");
}

static int expand(char *buf, size_t n, char c, const char *program, uint64_t pid, uint64_t unix_ns,
	uint32_t number)
{
	time_t t = (time_t)(unix_ns / 1000000000);
	struct tm tm;

	switch (c) {
	case 'p':
		snprintf(buf, n, "%llu", (unsigned long long)pid);
		return 0;
	case 'e':
		program_name(buf, n, program);
		return 0;
	case 't':
		strftime(buf, n, "%Y%m%d-%H%M%S", gmtime_r(&t, &tm));
		return 0;
	case 'n':
		snprintf(buf, n, "%u", number);
		return 0;
	case 'h':
		if (gethostname(buf, n) < 0)
			snprintf(buf, n, "host");
		buf[n - 1] = '\0';
		return 0;
	case '%':
		snprintf(buf, n, "%%");
		return 0;
	}
	return -EINVAL;
}

int hl_output_name(char *buf, size_t n, const char *pattern, const char *program, uint64_t pid,
	uint64_t unix_ns, uint32_t number)
{
	size_t at = 0;

	for (const char *p = pattern; *p; p++) {
		char part[256] = {*p, '\0'};
		size_t len;

		if (*p == '%' &&
			expand(part, sizeof(part), *++p, program, pid, unix_ns, number) < 0)
			return -EINVAL;
		len = strlen(part);
		if (at + len + 1 > n)
			return -ENAMETOOLONG;
		memcpy(buf + at, part, len);
		at += len;
	}
	buf[at] = '\0';
	return at ? 0 : -EINVAL;
}

bool hl_output_may_replace(int dir_fd, const char *name)
{
	struct stat st;

	return fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       (S_ISREG(st.st_mode) || S_ISLNK(st.st_mode));
}

/* May names be made and removed in the folder that this one lies in? */
static int check_folder(int dir_fd, char *name)
{
	char *slash = strrchr(name, '/');

	if (slash == name)
		slash++;
	if (slash)
		*slash = '\0';
	return faccessat(dir_fd, slash ? name : ".", W_OK | X_OK, 0) < 0 ? -errno : 0;
}

int hl_output_check(const struct hl_output_settings *s, const char *program, uint64_t pid)
{
	struct timespec now;
	char name[PATH_MAX];
	int err, fd;

	clock_gettime(CLOCK_REALTIME, &now);
	err = hl_output_name(
		name, sizeof(name), s->pattern, program, pid, (uint64_t)now.tv_sec * 1000000000, 1);
	if (err)
		return err;
	if (s->overwrite && hl_output_may_replace(s->dir_fd, name))
		return check_folder(s->dir_fd, name);
	/* Not all that can be wrong with a place shows before one tries. */
	fd = openat(s->dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return errno == EISDIR ? -EEXIST : -errno;
	close(fd);
	unlinkat(s->dir_fd, name, 0);
	return 0;
}
