/* image.c - see image.h. */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/attr.h"
#include "collect/image.h"
#include "util/procfs.h"

static void program_path(uint64_t pid, char *buf, size_t n)
{
	char link[64];
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/%llu/exe", (unsigned long long)pid);
	len = readlink(link, buf, n - 1);
	buf[len > 0 ? len : 0] = '\0';
}

static bool is_the_program(const char *path, uint64_t pid)
{
	struct stat a, b;
	char link[64];

	snprintf(link, sizeof(link), "/proc/%llu/exe", (unsigned long long)pid);
	return stat(path, &a) == 0 && stat(link, &b) == 0 && a.st_dev == b.st_dev &&
	       a.st_ino == b.st_ino;
}

/*
 * One file may be several programs: redis-server is a link to redis-check-rdb, and people know it
 * by the name they called. It counts if it leads to this very file.
 */
static void called_name(struct hl_image *image, uint64_t pid)
{
	static const char *const folders[] = {NULL, "/usr/bin", "/usr/sbin", "/usr/local/bin"};
	const char *called = image->command, *slash, *own = strrchr(image->program, '/');
	char path[PATH_MAX];

	if (!own || !memchr(called, 0, image->command_len) || !*called)
		return;
	slash = strrchr(called, '/');
	if (strcmp(slash ? slash + 1 : called, own + 1) == 0)
		return;
	for (size_t i = 0; i < HL_ARRAY_LEN(folders) + 1; i++) {
		int n;

		if (i == HL_ARRAY_LEN(folders))
			n = snprintf(path, sizeof(path), "%s", *called == '/' ? called : "");
		else
			n = snprintf(path, sizeof(path), "%.*s/%s",
				folders[i] ? (int)strlen(folders[i]) : (int)(own - image->program),
				folders[i] ? folders[i] : image->program,
				slash ? slash + 1 : called);
		if (n > 0 && (size_t)n < sizeof(path) && is_the_program(path, pid)) {
			memcpy(image->program, path, (size_t)n + 1);
			return;
		}
	}
}

/* The kernel escapes newlines in the name, so that no name can look like this line. */
static uint64_t parent_of(uint64_t pid)
{
	char text[2048];
	const char *line;

	hl_procfs_read(pid, "status", text, sizeof(text));
	line = strstr(text, "\nPPid:");
	return line ? strtoull(line + 6, NULL, 10) : 0;
}

void hl_image_read(struct hl_image *image, uint64_t pid)
{
	program_path(pid, image->program, sizeof(image->program));
	image->parent_pid = parent_of(pid);
	image->command_len =
		(uint32_t)hl_procfs_read(pid, "cmdline", image->command, sizeof(image->command));
	called_name(image, pid);
}
