/* SPDX-License-Identifier: Apache-2.0 */
/*
 * path_pattern.c - file names from patterns: %p pid, %e program, %t seconds since the epoch, %n
 * number, %h host, %% a percent sign.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "collect/output/session_dir.h"
#include "collect/output/trace_output.h"

void hl_trace_output_program_name(char *buf, size_t n, const char *program)
{
	const char *slash = strrchr(program, '/');

	snprintf(buf, n, "%s", slash ? slash + 1 : program);
	for (char *c = buf; *c; c++)
		if ((unsigned char)*c < 0x20 || *c == '/' || *c == 0x7f)
			*c = '_';
	if (!buf[0] || !strcmp(buf, ".") || !strcmp(buf, ".."))
		snprintf(buf, n, "program");
}

static int expand_escape(char *buf, size_t n, char c, const char *program, uint64_t pid,
	uint64_t unix_ns, uint32_t number)
{
	switch (c) {
	case 'p':
		snprintf(buf, n, "%llu", (unsigned long long)pid);
		return 0;
	case 'e':
		hl_trace_output_program_name(buf, n, program);
		return 0;
	case 't':
		snprintf(buf, n, "%llu", (unsigned long long)(unix_ns / 1000000000));
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

int hl_trace_output_name(char *buf, size_t n, const char *pattern, const char *program,
	uint64_t pid, uint64_t unix_ns, uint32_t number)
{
	size_t at = 0;

	for (const char *p = pattern; *p; p++) {
		char part[256] = {*p, '\0'};
		size_t len;

		if (*p == '%' &&
			expand_escape(part, sizeof(part), *++p, program, pid, unix_ns, number) < 0)
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

bool hl_trace_output_names_differ(const char *pattern)
{
	for (const char *c = strchr(pattern, '%'); c && c[1]; c = strchr(c + 2, '%'))
		if (strchr("pen", c[1]))
			return true;
	return false;
}

/* Some errors can only be found by creating the file. */
static int try_create(int dir, const char *base)
{
	int fd = openat(dir, base, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return errno == EISDIR ? -EEXIST : -errno;
	close(fd);
	unlinkat(dir, base, 0);
	return 0;
}

int hl_trace_output_check(const struct hl_trace_output_settings *s, const char *program,
	uint64_t pid, char name[PATH_MAX])
{
	struct timespec now;
	char buf[PATH_MAX];
	const char *base;
	int err, dir;

	clock_gettime(CLOCK_REALTIME, &now);
	name = name ? name : buf;
	err = hl_trace_output_name(
		name, PATH_MAX, s->pattern, program, pid, (uint64_t)now.tv_sec * 1000000000, 1);
	if (err)
		return err;
	dir = hl_trace_output_dir(s, name);
	if (dir < 0)
		return dir == -EISDIR ? -EEXIST : dir;
	base = hl_trace_output_base(name);
	err = s->overwrite ? hl_trace_output_may_replace(dir, base) : -ENOENT;
	if (err == -ENOENT)
		err = try_create(dir, base);
	else if (!err && faccessat(dir, ".", W_OK | X_OK, 0) < 0)
		err = -errno;
	if (!err && !s->disabled)
		err = hl_session_check(dir, base, s->overwrite);
	close(dir);
	return err;
}
