/* SPDX-License-Identifier: Apache-2.0 */
/* record_processes.c - see record_processes.h. */
#include "cli/record/record_processes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/files/session_choice.h"
#include "model/session/session.h"
#include "util/safe_text.h"
#include "util/terminal/shell_word.h"
#include "views/text/session_text.h"

#define ROWS 10

static void print_table(const struct hl_session_list *s)
{
	char n[HL_TEXT_SIZE_MAX];
	struct hl_strbuf raw = {0}, shown = {0};

	fprintf(stderr, "%sheaplapse:%s recorded %s process%s\n", hl_cli_style(2, HL_STYLE_BOLD),
		hl_cli_style(2, HL_STYLE_PLAIN), hl_text_count(n, s->processes.len),
		s->processes.len == 1 ? "" : "es");
	(void)hl_text_session(stderr, s, ROWS, "  ");
	if (s->processes.len == 1) {
		hl_session_put_command(&raw, s, hl_session_largest(s, 0));
	} else {
		hl_shell_put_word(&raw, program_invocation_name);
		hl_strbuf_puts(&raw, " report --process NAME|PID ");
		hl_shell_put_path(&raw, s->has_first ? s->first : s->dir);
	}
	hl_text_escape(&shown, hl_strbuf_str(&raw));
	fprintf(stderr, "  next: %s\n", hl_strbuf_str(&shown));
	hl_strbuf_fini(&raw);
	hl_strbuf_fini(&shown);
}

/* The summary is about the last program of the only process. */
static bool hides_largest(const struct hl_session_list *s)
{
	return s->processes.len && !hl_session_largest(s, 0)->continues &&
	       s->processes.data[0].largest != s->processes.data[0].last;
}

/* The only process executed a program that was not recorded: `env -i sort` shows env. */
static bool lacks_program(const struct hl_session_list *s)
{
	return s->processes.len && hl_session_last(s, 0)->end.kind == HL_END_EXEC;
}

struct hl_session_list *hl_record_read_processes(const char *first_trace)
{
	struct hl_session_list *s = NULL;
	int err = first_trace[0] ? hl_session_list_open(&s, first_trace) : -ENOENT;

	if (!err)
		err = hl_session_list_read(s);
	if (err && err != -ENOENT)
		hl_cli_error("the processes cannot be listed: %s", strerror(-err));
	if (err) {
		hl_session_list_free(s);
		s = NULL;
	}
	return s;
}

/* NULL: there is none. A rotated program has several files, of which the last is shown. */
static const struct hl_session_file *find_largest(const struct hl_session_list *s)
{
	size_t *order = s->processes.len ? hl_session_by_peak(s) : NULL;
	const struct hl_session_file *f = order ? hl_session_largest(s, order[0]) : NULL;

	free(order);
	return f && !f->continues ? f : NULL;
}

static void print_choice(const struct hl_session_list *s, const struct hl_session_file *largest)
{
	const struct hl_session_file *first = &s->files.data[0];
	struct hl_strbuf command = {0};
	char n[HL_TEXT_SIZE_MAX];

	hl_session_put_command(&command, s, first);
	hl_cli_info_command(hl_strbuf_str(&command),
		"of %s %s, %s (pid %" PRIu64 ") has the highest peak and is shown here; %s, which "
		"was started:",
		hl_text_count(n, s->processes.len), s->processes.len == 1 ? "process" : "processes",
		hl_session_base(largest->program), largest->pid, hl_session_base(first->program));
	hl_strbuf_fini(&command);
}

const char *hl_record_choose_summary(const struct hl_session_list *s, const char *started)
{
	const struct hl_session_file *largest = s ? find_largest(s) : NULL;
	const struct hl_session_file *first = largest ? hl_session_largest(s, 0) : NULL;

	/* The last program of the process that was started. */
	if (!largest ||
		(largest == first && s->processes.data[0].largest == s->processes.data[0].last))
		return started;
	if (s->has_first && largest != &s->files.data[0])
		print_choice(s, largest);
	return largest->path;
}

void hl_record_print_processes(const struct hl_session_list *s)
{
	if (s->processes.len > s->has_first || hides_largest(s) || lacks_program(s))
		print_table(s);
}
