/*
 * last_look.c - a preload that writes down a process's name, descriptors and environment as it
 * exits.
 *
 * Into the file $LAST_LOOK/PID, by system calls alone. What is written can be compared from one run
 * to the next: numbers of pipes and sockets are left out.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

static void put(int fd, const char *a, const char *b)
{
	if (write(fd, a, strlen(a)) < 0 || write(fd, b, strlen(b)) < 0 || write(fd, "\n", 1) < 0)
		_exit(97);
}

static void put_descriptor(int out, int fd)
{
	char path[64], target[4096];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	n = readlink(path, target, sizeof(target) - 1);
	if (n < 0)
		return;
	target[n] = 0;
	if (!strncmp(target, "pipe:", 5) || !strncmp(target, "socket:", 7))
		*strchr(target, '[') = 0;
	snprintf(path, sizeof(path), "fd %d ", fd);
	put(out, path, target);
}

__attribute__((destructor)) static void look(void)
{
	const char *folder = getenv("LAST_LOOK");
	char path[4096];
	ssize_t n;
	int out;

	if (!folder)
		return;
	snprintf(path, sizeof(path), "%s/%d", folder, (int)getpid());
	out = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (out < 0)
		return;
	n = readlink("/proc/self/exe", path, sizeof(path) - 1);
	path[n > 0 ? n : 0] = 0;
	put(out, "exe ", path);
	for (int fd = 0; fd < 256; fd++)
		if (fd != out)
			put_descriptor(out, fd);
	for (char **e = environ; e && *e; e++)
		put(out, "env ", *e);
	close(out);
}
