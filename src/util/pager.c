/* pager.c - see pager.h. */
#include "util/pager.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/progress.h"
#include "util/strbuf.h"
#include "util/terminal.h"

#define WORDS_MAX 32

static struct {
	bool forbidden;
	FILE *terminal; /* what stdout was; NULL: we are not in its place */
	const char *command;
	bool asked; /* the command was not our own idea */
	struct hl_strbuf held;
	unsigned rows, columns; /* of the screen */
	unsigned row, column;   /* where the cursor would be */
	bool escape;            /* inside a sequence that takes no room */
	bool direct;            /* to the terminal: the pager cannot be run */
	int pipe;
	pid_t pid;
} pager;

void hl_pager_forbid(void)
{
	pager.forbidden = true;
}

/* A name that is set wins even if it is empty: that is how one says "none". */
static const char *choose_command(void)
{
	const char *command = getenv("HEAPLAPSE_PAGER");

	if (!command)
		command = getenv("PAGER");
	pager.asked = command != NULL;
	return command ? command : "less -FRX";
}

/* Styles take no room: from ESC to the letter that ends them. */
static bool takes_room(char c)
{
	bool inside = pager.escape || c == '\033';

	pager.escape = inside && !((c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'));
	return !inside && c != '\n' && ((unsigned char)c & 0xc0) != 0x80;
}

static bool moves_past_screen(const char *buf, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		bool room = takes_room(buf[i]);

		if (buf[i] == '\n' || (room && pager.columns && pager.column >= pager.columns)) {
			pager.row++;
			pager.column = 0;
		}
		pager.column += room;
	}
	return pager.row >= pager.rows;
}

static ssize_t write_all(int fd, const char *buf, size_t n)
{
	for (size_t done = 0; done < n;) {
		ssize_t k = write(fd, buf + done, n - done);

		if (k < 0 && errno != EINTR)
			return -1;
		done += k < 0 ? 0 : (size_t)k;
	}
	return (ssize_t)n;
}

/* In the child. A command with shell's characters in it is the shell's. */
static void run(int in, int failed)
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
	write_all(failed, (char *)&err, sizeof(err));
	_exit(127);
}

/* 0 or -errno when it cannot be run. */
static int start(void)
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
		run(data[0], failed[1]);
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

static void begin_pages(void)
{
	int err = start();

	hl_progress_never(); /* the screen is the pager's now */
	if (err) {
		pager.direct = true;
		if (pager.asked)
			fprintf(stderr, "heaplapse: the pager \"%s\" cannot be run: %s\n",
				pager.command, strerror(-err));
		return;
	}
	/* Quitting is our sign to stop, and ^C the pager's business. */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
}

static ssize_t pass_on(const char *buf, size_t n)
{
	/* 0, not -1: that is how a stream made of functions is told of an error. */
	if (write_all(pager.direct ? 1 : pager.pipe, buf, n) < 0)
		return 0;
	return (ssize_t)n;
}

static ssize_t take(void *cookie, const char *buf, size_t n)
{
	if (pager.direct || pager.pid > 0)
		return pass_on(buf, n);
	hl_strbuf_add(&pager.held, buf, n);
	if (hl_strbuf_error(&pager.held)) {
		errno = ENOMEM;
		return 0;
	}
	if (!moves_past_screen(buf, n))
		return (ssize_t)n;
	begin_pages();
	if (pass_on(pager.held.data, pager.held.len) == 0)
		return 0;
	hl_strbuf_fini(&pager.held);
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
	f = fopencookie(NULL, "w", (cookie_io_functions_t){.write = take});
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
		fwrite(hl_strbuf_str(&pager.held), 1, pager.held.len, stdout);
	}
	hl_strbuf_fini(&pager.held);
	return paged;
}
