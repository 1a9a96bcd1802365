/* SPDX-License-Identifier: Apache-2.0 */
/* proc_image.c - see proc_image.h. */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/attr.h"
#include "collect/target/proc_image.h"
#include "util/procfs.h"

static void read_program_path(uint64_t pid, char *buf, size_t n)
{
	char link[64];
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/%llu/exe", (unsigned long long)pid);
	len = readlink(link, buf, n - 1);
	buf[len > 0 ? len : 0] = '\0';
}

static bool is_program_file(const char *path, uint64_t pid)
{
	struct stat a, b;
	char link[64];

	snprintf(link, sizeof(link), "/proc/%llu/exe", (unsigned long long)pid);
	return stat(path, &a) == 0 && stat(link, &b) == 0 && a.st_dev == b.st_dev &&
	       a.st_ino == b.st_ino;
}

/* One file may be several programs: redis-server is a link to redis-check-rdb, and users know it by
 * the name they invoked. The invoked name is used if it leads to the same file. */
static void use_invoked_name(struct hl_proc_image *image, uint64_t pid)
{
	static const char *const dirs[] = {NULL, "/usr/bin", "/usr/sbin", "/usr/local/bin"};
	const char *invoked = image->command, *slash, *file_name = strrchr(image->program, '/');
	char path[PATH_MAX];

	if (!file_name || !memchr(invoked, 0, image->command_len) || !*invoked)
		return;
	slash = strrchr(invoked, '/');
	if (strcmp(slash ? slash + 1 : invoked, file_name + 1) == 0)
		return;
	for (size_t i = 0; i < HL_ARRAY_LEN(dirs) + 1; i++) {
		int n;

		if (i == HL_ARRAY_LEN(dirs))
			n = snprintf(path, sizeof(path), "%s", *invoked == '/' ? invoked : "");
		else
			n = snprintf(path, sizeof(path), "%.*s/%s",
				dirs[i] ? (int)strlen(dirs[i]) : (int)(file_name - image->program),
				dirs[i] ? dirs[i] : image->program, slash ? slash + 1 : invoked);
		if (n > 0 && (size_t)n < sizeof(path) && is_program_file(path, pid)) {
			memcpy(image->program, path, (size_t)n + 1);
			return;
		}
	}
}

/* The kernel escapes newlines in the name, so no name can imitate this line. */
static uint64_t read_parent_pid(uint64_t pid)
{
	char text[2048];
	const char *line;

	hl_procfs_read(pid, "status", text, sizeof(text));
	line = strstr(text, "\nPPid:");
	return line ? strtoull(line + 6, NULL, 10) : 0;
}

/* More of an environment is not read. */
#define ENVIRONMENT_MAX (256u << 10)

/* The environment that the program was started with. */
static void read_environment(struct hl_proc_image *image, uint64_t pid)
{
	char *text = malloc(ENVIRONMENT_MAX);
	size_t n = text ? hl_procfs_read(pid, "environ", text, ENVIRONMENT_MAX) : 0;

	for (size_t at = 0; at < n; at += strlen(text + at) + 1) {
		const char *row = text + at;

		if (strncmp(row, "PYTHONMALLOC=", 13) == 0)
			image->python_malloc = strcmp(row + 13, "malloc") == 0 ||
					       strcmp(row + 13, "malloc_debug") == 0;
		else if (strncmp(row, "USE_ZEND_ALLOC=", 15) == 0)
			image->php_malloc = strcmp(row + 15, "0") == 0;
	}
	free(text);
}

void hl_proc_image_read(struct hl_proc_image *image, uint64_t pid)
{
	read_program_path(pid, image->program, sizeof(image->program));
	image->parent_pid = read_parent_pid(pid);
	image->command_len =
		(uint32_t)hl_procfs_read(pid, "cmdline", image->command, sizeof(image->command));
	use_invoked_name(image, pid);
	image->python_malloc = image->php_malloc = false;
	read_environment(image, pid);
}
