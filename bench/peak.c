/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peak.c - a preload library that writes the program's peak memory at exit.
 *
 * Appends one line "VmHWM-in-bytes program" to $BENCH_PEAK. It measures the program and not the
 * tool that runs it: a tool's own processes have other names. VmHWM is the right figure; that of
 * getrusage includes the process before exec. Nothing here allocates, so that a recording has only
 * the program's own events.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static unsigned long long peak_rss(void)
{
	char text[4096];
	int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	ssize_t n = read(fd, text, sizeof(text) - 1);
	const char *line;

	close(fd);
	text[n > 0 ? n : 0] = '\0';
	line = strstr(text, "VmHWM:");
	return line ? strtoull(line + 6, NULL, 10) * 1024 : 0;
}

__attribute__((destructor)) static void write_peak(void)
{
	const char *path = getenv("BENCH_PEAK");
	int fd = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
	char line[300];
	int n;

	if (fd < 0)
		return;
	n = snprintf(
		line, sizeof(line), "%llu %.200s\n", peak_rss(), program_invocation_short_name);
	if (write(fd, line, (size_t)n) != n)
		_exit(97);
	close(fd);
}
