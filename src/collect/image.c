/* image.c - see image.h. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/image.h"

/* Reads /proc/PID/NAME whole, up to n bytes. */
static size_t read_proc(uint64_t pid, const char *name, char *buf, size_t n)
{
	char path[64];
	size_t at = 0;
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "/proc/%llu/%s", (unsigned long long)pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return 0;
	while (at < n && (got = read(fd, buf + at, n - at)) > 0)
		at += (size_t)got;
	close(fd);
	return at;
}

static void program_path(uint64_t pid, char *buf, size_t n)
{
	char link[64];
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/%llu/exe", (unsigned long long)pid);
	len = readlink(link, buf, n - 1);
	buf[len > 0 ? len : 0] = '\0';
}

/* The kernel escapes newlines in the name, so that no name can look like this line. */
static uint64_t parent_of(uint64_t pid)
{
	char text[2048];
	size_t len = read_proc(pid, "status", text, sizeof(text) - 1);
	const char *line;

	text[len] = '\0';
	line = strstr(text, "\nPPid:");
	return line ? strtoull(line + 6, NULL, 10) : 0;
}

void hl_image_read(struct hl_image *image, uint64_t pid)
{
	program_path(pid, image->program, sizeof(image->program));
	image->parent_pid = parent_of(pid);
	image->command_len =
		(uint32_t)read_proc(pid, "cmdline", image->command, sizeof(image->command));
}
