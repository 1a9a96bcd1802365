/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conform.h - test cases for an allocator, with one line of output each.
 *
 * A line is "ok N - NAME # FACTS" or "not ok N - NAME # WHY". Facts are results that C and POSIX do
 * not specify (for example of realloc(p, 0)). They contain no addresses and no times, so that a
 * program prints the same lines bare and recorded; any difference was caused by the recorder. For C
 * and C++.
 */
#ifndef CONFORM_H
#define CONFORM_H

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct conform_case {
	const char *name;
	/* Returns NULL, or the error. */
	const char *(*run)(void);
	/* Runs in a child process: it may crash, and the line then says how. */
	bool apart;
};

#define CONFORM_CASE(name, run)  \
	{                        \
		name, run, false \
	}
#define CONFORM_APART(name, run) \
	{                        \
		name, run, true  \
	}

static char conform_facts[2000];
static int conform_number, conform_failed;

/* Adds to the facts of the current case. */
__attribute__((format(printf, 1, 2))) static inline void fact(const char *format, ...)
{
	size_t at = strlen(conform_facts);
	va_list ap;

	va_start(ap, format);
	if (at > 0 && at + 2 < sizeof(conform_facts)) {
		strcpy(conform_facts + at, ", ");
		at += 2;
	}
	vsnprintf(conform_facts + at, sizeof(conform_facts) - at, format, ap);
	va_end(ap);
}

#define CHECK(condition)                              \
	do {                                          \
		if (!(condition))                     \
			return "not so: " #condition; \
	} while (0)

/* No stdio: a case may have used up all memory, or run in a child. */
static inline void conform_say(const char *name, const char *wrong)
{
	static char line[4096];
	const char *more = wrong ? wrong : conform_facts;
	int n = snprintf(line, sizeof(line), "%s %d - %s%s%s\n", wrong ? "not ok" : "ok",
		++conform_number, name, *more ? " # " : "", more);

	conform_failed += wrong != NULL;
	if (write(1, line, (size_t)n) != n)
		_exit(99);
}

/* The result that a child printed, or how it died. */
static inline const char *conform_apart(const struct conform_case *c)
{
	static char text[2000];
	size_t n = 0;
	ssize_t got;
	int fds[2], status;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return "no pipe";
	pid = fork();
	if (pid == 0) {
		const char *wrong;

		alarm(30); /* a hang is a result too */
		wrong = c->run();
		if (!wrong)
			wrong = conform_facts;
		_exit(write(fds[1], wrong, strlen(wrong)) < 0 ? 98 : wrong != conform_facts);
	}
	close(fds[1]);
	while (n < sizeof(text) - 1 && (got = read(fds[0], text + n, sizeof(text) - 1 - n)) > 0)
		n += (size_t)got;
	text[n] = 0;
	close(fds[0]);
	if (waitpid(pid, &status, 0) != pid)
		return "its child is gone";
	if (WIFSIGNALED(status)) {
		snprintf(text, sizeof(text), "died of signal %d", WTERMSIG(status));
		return text;
	}
	if (WEXITSTATUS(status))
		return text;
	strcpy(conform_facts, text);
	return NULL;
}

/* Runs the cases whose names are given, or all. */
static inline int conform_main(const struct conform_case *cases, size_t n, int argc, char **argv)
{
	for (size_t i = 0; i < n; i++) {
		bool wanted = argc < 2;

		for (int k = 1; k < argc; k++)
			wanted |= !strcmp(argv[k], cases[i].name);
		if (!wanted)
			continue;
		conform_facts[0] = 0;
		conform_say(
			cases[i].name, cases[i].apart ? conform_apart(&cases[i]) : cases[i].run());
	}
	return conform_failed > 0;
}

#endif
