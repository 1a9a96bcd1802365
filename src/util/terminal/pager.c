/* SPDX-License-Identifier: Apache-2.0 */
/* pager.c - see pager.h. */
#include "util/terminal/pager.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/fd_io.h"
#include "util/strbuf.h"
#include "util/terminal/progress.h"
#include "util/terminal/terminal.h"

#define WORDS_MAX 32

static struct {
	bool forbidden;
	FILE *terminal; /* the original stdout; NULL: stdout is not replaced */
	const char *command;
	bool is_user_choice; /* the command is from the environment, not the default */
	struct hl_strbuf held_output;
	unsigned rows, columns; /* screen size */
	unsigned row, column;   /* cursor position after the output so far */
	bool in_escape;         /* inside an escape sequence, which has no width */
	bool direct;            /* write to the terminal: the pager cannot be run */
	int pipe;
	pid_t pid;
} pager;

void hl_pager_disable(void)
{
	pager.forbidden = true;
}

/* A variable that is set wins even if it is empty: an empty one means no pager. */
static const char *choose_command(void)
{
	const char *command = getenv("HEAPLAPSE_PAGER");

	if (!command)
		command = getenv("PAGER");
	pager.is_user_choice = command != NULL;
	return command ? command : "less -FRX";
}

/* Returns true if c starts a character that occupies a column. An escape sequence, from ESC to the
 * letter that ends it, has no width. */
static bool occupies_column(char c)
{
	bool inside = pager.in_escape || c == '\033';

	pager.in_escape = inside && !((c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'));
	return !inside && c != '\n' && ((unsigned char)c & 0xc0) != 0x80;
}

static bool moves_past_screen(const char *buf, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		bool is_visible = occupies_column(buf[i]);

		if (buf[i] == '\n' ||
			(is_visible && pager.columns && pager.column >= pager.columns)) {
			pager.row++;
			pager.column = 0;
		}
		pager.column += is_visible;
	}
	return pager.row >= pager.rows;
}

/* Runs in the child. A command with shell metacharacters is run by the shell. */
static void exec_pager(int in, int failed)
{
	char *words[WORDS_MAX + 1] = {0}, *copy = strdup(pager.command);
	size_t n = 0;
	int err;

	dup2(in, 0);
	signal(SIGPIPE, SIG_DFL);
	setenv("LESS", "FRX", 0);
	if (!copy)
		_exit(127);
	if (strpbrk(copy, "|&;<>()$`\\\"'*?[#~=%")) {
		execl("/bin/sh", "sh", "-c", copy, (char *)NULL);
	} else {
		for (char *w = strtok(copy, " \t"); w && n < WORDS_MAX; w = strtok(NULL, " \t"))
			words[n++] = w;
		execvp(words[0], words);
	}
	err = errno;
	hl_fd_write_all(failed, &err, sizeof(err));
	_exit(127);
}

/* Returns 0, or -errno if the pager cannot be run. */
static int start_pager(void)
{
	int data[2], failed[2], err = 0;

	if (pipe2(data, O_CLOEXEC) < 0)
		return -errno;
	if (pipe2(failed, O_CLOEXEC) < 0) {
		close(data[0]);
		close(data[1]);
		return -errno;
	}
	fflush(pager.terminal);
	pager.pid = fork();
	if (pager.pid == 0)
		exec_pager(data[0], failed[1]);
	close(data[0]);
	close(failed[1]);
	if (pager.pid < 0 || read(failed[0], &err, sizeof(err)) == sizeof(err)) {
		err = pager.pid < 0 ? errno : err;
		if (pager.pid > 0)
			waitpid(pager.pid, NULL, 0);
		close(data[1]);
		pager.pid = 0;
	} else {
		pager.pipe = data[1];
	}
	close(failed[0]);
	return -err;
}

static void switch_to_pager(void)
{
	int err = start_pager();

	hl_progress_disable(); /* the pager owns the screen now */
	if (err) {
		pager.direct = true;
		if (pager.is_user_choice)
			fprintf(stderr, "heaplapse: the pager \"%s\" cannot be run: %s\n",
				pager.command, strerror(-err));
		return;
	}
	/* When the user quits the pager, writes fail with EPIPE and we stop. The pager handles
	 * ^C. */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
}

static ssize_t write_through(const char *buf, size_t n)
{
	/* On error this returns 0, not -1, as fopencookie requires of a write function. */
	if (hl_fd_write_all(pager.direct ? 1 : pager.pipe, buf, n) < 0)
		return 0;
	return (ssize_t)n;
}

static ssize_t on_write(void *cookie, const char *buf, size_t n)
{
	if (pager.direct || pager.pid > 0)
		return write_through(buf, n);
	hl_strbuf_add(&pager.held_output, buf, n);
	if (hl_strbuf_error(&pager.held_output)) {
		errno = ENOMEM;
		return 0;
	}
	if (!moves_past_screen(buf, n))
		return (ssize_t)n;
	switch_to_pager();
	if (write_through(pager.held_output.data, pager.held_output.len) == 0)
		return 0;
	hl_strbuf_fini(&pager.held_output);
	return (ssize_t)n;
}

void hl_pager_start(void)
{
	const char *command = choose_command();
	unsigned rows = hl_term_height(1);
	FILE *f;

	if (pager.forbidden || pager.terminal || !isatty(1) || rows < 2)
		return;
	command += strspn(command, " \t");
	if (!*command || strcmp(command, "cat") == 0)
		return;
	f = fopencookie(NULL, "w", (cookie_io_functions_t){.write = on_write});
	if (!f)
		return;
	pager.command = command;
	pager.rows = rows;
	pager.columns = hl_term_width(1);
	pager.terminal = stdout;
	stdout = f;
}

bool hl_pager_end(void)
{
	FILE *ours = stdout;
	bool paged;

	if (!pager.terminal)
		return false;
	fflush(ours);
	stdout = pager.terminal;
	pager.terminal = NULL;
	fclose(ours);
	paged = pager.pid > 0;
	if (paged) {
		close(pager.pipe);
		while (waitpid(pager.pid, NULL, 0) < 0 && errno == EINTR)
			;
		pager.pid = 0;
	} else {
		fwrite(hl_strbuf_str(&pager.held_output), 1, pager.held_output.len, stdout);
	}
	hl_strbuf_fini(&pager.held_output);
	return paged;
}
