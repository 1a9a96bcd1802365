/* SPDX-License-Identifier: Apache-2.0 */
/*
 * browser.c - see browser.h.
 *
 * Arguments of programs are visible to all users of the machine, and the address has the token. So
 * the browser opens a file that only this user can read, which leads to the address.
 */
#include "cli/serve/browser.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

extern char **environ;

/* Not over ssh: the browser would be on another machine. */
static bool is_desktop(void)
{
	return isatty(STDERR_FILENO) && (getenv("DISPLAY") || getenv("WAYLAND_DISPLAY")) &&
	       !getenv("SSH_CONNECTION") && !getenv("CI");
}

static char *write_page(const char *url)
{
	const char *directory = getenv("XDG_RUNTIME_DIR");
	char *path;
	int fd;

	if (asprintf(&path, "%s/heaplapse-XXXXXX.html",
		    directory && directory[0] == '/' ? directory : "/tmp") < 0)
		return NULL;
	fd = mkostemps(path, 5, O_CLOEXEC);
	if (fd < 0) {
		free(path);
		return NULL;
	}
	dprintf(fd, "<!doctype html><meta http-equiv=\"refresh\" content=\"0;url=%s\">\n", url);
	close(fd);
	return path;
}

char *hl_browser_open(const char *url)
{
	char *path = is_desktop() ? write_page(url) : NULL;
	char *argv[] = {(char[]){"xdg-open"}, path, NULL};
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t none;
	pid_t pid;

	if (!path)
		return NULL;
	sigemptyset(&none);
	posix_spawn_file_actions_init(&files);
	for (int fd = 0; fd <= 2; fd++)
		posix_spawn_file_actions_addopen(&files, fd, "/dev/null", O_RDWR, 0);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
	posix_spawnp(&pid, argv[0], &files, &attr, argv, environ);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&files);
	return path;
}

void hl_browser_forget(char *path)
{
	if (path)
		unlink(path);
	free(path);
}
