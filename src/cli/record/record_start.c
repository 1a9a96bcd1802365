/* SPDX-License-Identifier: Apache-2.0 */
/* record_start.c - see record_start.h. */
#include "cli/record/record_start.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "collect/output/trace_output.h"
#include "util/safe_text.h"
#include "util/terminal/shell_word.h"
#include "util/terminal/terminal.h"

/* The name that the trace gets if no file has it. Returns 0 or -errno. */
static int name_trace(const struct record_session *s, char name[PATH_MAX])
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return hl_trace_output_name(name, PATH_MAX, s->o->collect.output.pattern, s->target.path,
		(uint64_t)s->child, (uint64_t)now.tv_sec * UINT64_C(1000000000), 1);
}

void hl_record_print_start(const struct record_session *s)
{
	const char *slash = strrchr(s->target.path, '/');
	char name[PATH_MAX];
	struct hl_strbuf program = {0}, file = {0}, word = {0};

	/* Under gdb the process is not known yet, and mode tags has no trace. */
	if (s->o->quiet || s->o->gdb || s->o->collect.output.disabled || !isatty(STDERR_FILENO) ||
		name_trace(s, name))
		return;
	hl_text_escape(&program, slash ? slash + 1 : s->target.path);
	hl_shell_put_word(&word, name);
	hl_text_escape(&file, hl_strbuf_str(&word));
	fprintf(stderr, "%sheaplapse:%s recording %s (pid %d) to %s\n",
		hl_cli_style(2, HL_STYLE_BOLD), hl_cli_style(2, HL_STYLE_PLAIN),
		hl_strbuf_str(&program), (int)s->child, hl_strbuf_str(&file));
	fprintf(stderr, "  while it runs: heaplapse report %s; heaplapse ctl %d status\n",
		hl_strbuf_str(&file), (int)s->child);
	hl_strbuf_fini(&program);
	hl_strbuf_fini(&file);
	hl_strbuf_fini(&word);
}
