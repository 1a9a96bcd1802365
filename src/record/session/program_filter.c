/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program_filter.c - see program_filter.h.
 *
 * A program has the name of its file and the name that it was called by, if that leads to the file:
 * python3 is a link to python3.11. For a script both are names of its interpreter.
 */
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/auxv.h>

#include "base/glob_match.h"
#include "record/arch/syscall.h"
#include "record/session/program_filter.h"

#define PATH_BYTES 4096

static const char *base_name(const char *path)
{
	const char *base = path;

	for (; *path; path++)
		if (path[0] == '/' && path[1])
			base = path + 1;
	return base;
}

static bool is_script(const char *path)
{
	long fd = hl_sys4(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
	char start[2] = {0};

	if (fd < 0)
		return false;
	hl_sys3(SYS_read, fd, start, sizeof(start));
	hl_sys1(SYS_close, fd);
	return start[0] == '#' && start[1] == '!';
}

/* The name that the program was called by; "" if that is the name of a script. */
static const char *called_name(void)
{
	const char *path = (const char *)getauxval(AT_EXECFN);

	return path && !is_script(path) ? base_name(path) : "";
}

bool hl_program_filter_wants(const char *only, const char *skip)
{
	bool has_only = only && *only, has_skip = skip && *skip;
	char path[PATH_BYTES];
	const char *called, *file;
	long n;

	if (!has_only && !has_skip)
		return true;
	n = hl_sys4(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", path, sizeof(path) - 1);
	path[n > 0 ? n : 0] = '\0';
	file = base_name(path);
	called = called_name();
	if (has_only && !hl_glob_list_match(only, file) && !hl_glob_list_match(only, called))
		return false;
	return !has_skip || (!hl_glob_list_match(skip, file) && !hl_glob_list_match(skip, called));
}
