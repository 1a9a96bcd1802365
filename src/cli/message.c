/* SPDX-License-Identifier: Apache-2.0 */
/*
 * message.c - messages on stderr, and flushing of stdout.
 *
 * A message is one write, so that lines of several processes do not mix. It contains no control
 * characters, which could come from a file name or a symbol.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "util/terminal/pager.h"
#include "util/terminal/progress.h"
#include "util/strbuf.h"
#include "util/terminal/terminal.h"
#include "util/safe_text.h"
#include "util/terminal/wrap.h"

const struct hl_cmd *hl_command_current;
static const char *message_subject;

void hl_cli_set_subject(const char *subject)
{
	message_subject = subject;
}

/* Appends the lines of a text that begins at a column. */
static void put_wrapped(struct hl_strbuf *out, const char *text, unsigned column)
{
	char *lines = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&lines, &n);

	if (f) {
		hl_wrap(f, text, column, 2, hl_term_width(STDERR_FILENO));
		fclose(f);
	}
	hl_strbuf_puts(out, lines ? lines : text);
	free(lines);
}

#define PREFIX "heaplapse: "

/* Information on a terminal is wrapped at its width. */
static void print_info(const char *fmt, va_list args, const char *hint)
{
	struct hl_strbuf raw = {0}, text = {0}, out = {0};

	hl_strbuf_vprintf(&raw, fmt, args);
	if (message_subject) {
		hl_text_escape(&text, message_subject);
		hl_strbuf_puts(&text, ": ");
	}
	hl_text_escape(&text, hl_strbuf_str(&raw));
	hl_strbuf_puts(&out, PREFIX);
	if (isatty(STDERR_FILENO))
		put_wrapped(&out, hl_strbuf_str(&text), strlen(PREFIX));
	else
		hl_strbuf_printf(&out, "%s\n", hl_strbuf_str(&text));
	hl_strbuf_puts(&out, hint);
	hl_progress_clear();
	fputs(hl_strbuf_str(&out), stderr);
	fflush(stderr);
	hl_strbuf_fini(&raw);
	hl_strbuf_fini(&text);
	hl_strbuf_fini(&out);
}

static void print_message(
	enum hl_style style, const char *command, const char *fmt, va_list args, const char *hint)
{
	struct hl_strbuf raw = {0}, out = {0};

	hl_strbuf_vprintf(&raw, fmt, args);
	hl_strbuf_printf(&out, "%sheaplapse%s%s:%s ", hl_cli_style(2, style), command ? " " : "",
		command ? command : "", hl_cli_style(2, HL_STYLE_PLAIN));
	if (message_subject) {
		hl_text_escape(&out, message_subject);
		hl_strbuf_puts(&out, ": ");
	}
	hl_text_escape(&out, hl_strbuf_str(&raw));
	hl_strbuf_puts(&out, "\n");
	hl_strbuf_puts(&out, hint);
	hl_progress_clear();
	fputs(hl_strbuf_str(&out), stderr);
	fflush(stderr);
	hl_strbuf_fini(&raw);
	hl_strbuf_fini(&out);
}

void hl_cli_error(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	print_message(HL_STYLE_BOLD, NULL, fmt, args, "");
	va_end(args);
}

void hl_cli_info(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	print_info(fmt, args, "");
	va_end(args);
}

void hl_cli_info_command(const char *command, const char *fmt, ...)
{
	struct hl_strbuf hint = {0};
	va_list args;

	hl_strbuf_puts(&hint, "  ");
	hl_text_escape(&hint, command);
	hl_strbuf_putc(&hint, '\n');
	va_start(args, fmt);
	print_info(fmt, args, hl_strbuf_str(&hint));
	va_end(args);
	hl_strbuf_fini(&hint);
}

static int print_usage(const char *try, const char *fmt, va_list args)
{
	const char *name = hl_command_current ? hl_command_current->name : NULL;
	struct hl_strbuf hint = {0};

	hl_strbuf_puts(&hint, try);
	hl_strbuf_printf(&hint, "  see: heaplapse help%s%s\n", name ? " " : "", name ? name : "");
	print_message(HL_STYLE_BOLD, name, fmt, args, hl_strbuf_str(&hint));
	hl_strbuf_fini(&hint);
	return hl_command_current && hl_command_current->usage_status
		       ? hl_command_current->usage_status
		       : HL_EXIT_USAGE;
}

int hl_cli_usage(const char *fmt, ...)
{
	va_list args;
	int status;

	va_start(args, fmt);
	status = print_usage("", fmt, args);
	va_end(args);
	return status;
}

int hl_cli_usage_try(const char *try, const char *fmt, ...)
{
	va_list args;
	int status;

	va_start(args, fmt);
	status = print_usage(try, fmt, args);
	va_end(args);
	return status;
}

/* The error of an earlier failed write is not known any more, so one more write is tried to get
 * it. */
static int find_write_error(void)
{
	return write(STDOUT_FILENO, "\n", 1) < 0 ? errno : 0;
}

int hl_cli_finish(int status)
{
	int failed, err;

	hl_progress_clear();
	if (hl_pager_end())
		return status;
	failed = ferror(stdout);
	errno = 0;
	failed |= fflush(stdout);
	err = errno;
	/* Closing reports errors that a network file system delayed. A stdout that was never open
	 * and never written to is not an error. */
	if (!failed && fclose(stdout) && errno != EBADF) {
		failed = 1;
		err = errno;
	}
	if (!failed)
		return status;
	err = err ? err : find_write_error();
	/* The reader has closed the pipe, as in `dump | head`, and SIGPIPE is ignored. No message
	 * is printed, but the output is incomplete. */
	if (err == EPIPE)
		return HL_EXIT_IO;
	hl_cli_error("cannot write the output%s%s", err ? ": " : "", err ? strerror(err) : "");
	return HL_EXIT_IO;
}
