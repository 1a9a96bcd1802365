/*
 * message.c - what we say on stderr, and the end of stdout.
 *
 * A message is one write, so that lines of several processes do not mix, and holds no control
 * character that a file name or a symbol could have brought in.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "util/pager.h"
#include "util/progress.h"
#include "util/strbuf.h"
#include "util/terminal.h"
#include "util/text.h"

const struct hl_cmd *hl_command_current;
static const char *about;

void hl_cli_about(const char *subject)
{
	about = subject;
}

static void say(const char *who, const char *fmt, va_list args, const char *after)
{
	struct hl_strbuf raw = {0}, out = {0};

	hl_strbuf_vprintf(&raw, fmt, args);
	hl_strbuf_printf(&out, "%sheaplapse%s%s:%s ", hl_term_style(2, HL_STYLE_BOLD),
		who ? " " : "", who ? who : "", hl_term_style(2, HL_STYLE_PLAIN));
	if (about) {
		hl_text_escape(&out, about);
		hl_strbuf_puts(&out, ": ");
	}
	hl_text_escape(&out, hl_strbuf_str(&raw));
	hl_strbuf_puts(&out, "\n");
	hl_strbuf_puts(&out, after);
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
	say(NULL, fmt, args, "");
	va_end(args);
}

int hl_cli_usage(const char *fmt, ...)
{
	const char *name = hl_command_current ? hl_command_current->name : NULL;
	char after[128];
	va_list args;

	snprintf(after, sizeof(after), "  see: heaplapse help%s%s\n", name ? " " : "",
		name ? name : "");
	va_start(args, fmt);
	say(name, fmt, args, after);
	va_end(args);
	return hl_command_current && hl_command_current->usage_status
		       ? hl_command_current->usage_status
		       : HL_EXIT_USAGE;
}

/* Why something did not arrive earlier is long forgotten: it is asked for once more. */
static int why_not(void)
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
	/* Closing tells what a network file system held back. A stdout that was never open and
	 * never written to is no failure. */
	if (!failed && fclose(stdout) && errno != EBADF) {
		failed = 1;
		err = errno;
	}
	if (!failed)
		return status;
	err = err ? err : why_not();
	/* The reader had enough, as in `dump | head`, and SIGPIPE is ignored: nothing to say, but
	 * the output is not whole. */
	if (err == EPIPE)
		return HL_EXIT_IO;
	hl_cli_error(
		"the output could not be written%s%s", err ? ": " : "", err ? strerror(err) : "");
	return HL_EXIT_IO;
}
