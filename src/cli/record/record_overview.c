/* SPDX-License-Identifier: Apache-2.0 */
/* record_overview.c - see record_overview.h. */
#include "cli/record/record_overview.h"

#include <errno.h>
#include <langinfo.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "model/query/suppress.h"
#include "util/terminal/terminal.h"
#include "util/work/work.h"
#include "views/text/text.h"

/* A user waits for the prompt. */
#define MAX_NS UINT64_C(300000000)
/* A scan of 20 million events takes most of that time. */
#define EVENTS_MAX UINT64_C(20000000)
#define ROWS       2

/* Processor time: what is left out does not depend on how busy the machine is. */
static uint64_t cpu_ns(void *arg)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

void hl_record_overview_make(struct hl_overview *o, struct hl_model *m)
{
	struct hl_overview_options options = {
		.rows = ROWS, .events_max = EVENTS_MAX, .brief = true};
	struct hl_work *work = hl_model_work(m);
	int err = hl_suppressions_new(&options.suppressions);

	work->clock = cpu_ns;
	hl_work_limit(work, MAX_NS);
	if (!err)
		err = hl_suppressions_add_defaults(options.suppressions);
	err = hl_overview(o, m, &options);
	hl_work_limit(work, 0);
	hl_work_resume(work);
	work->clock = NULL;
	if (err)
		hl_cli_error("%s", hl_model_error(m));
	hl_suppressions_free(options.suppressions);
}

static struct hl_text_opts make_style(void)
{
	unsigned width = hl_term_width(STDERR_FILENO);

	return (struct hl_text_opts){.color = hl_cli_colors(STDERR_FILENO),
		.unicode = strcmp(nl_langinfo(CODESET), "UTF-8") == 0,
		.width = width ? width : 80,
		.shorten = isatty(STDERR_FILENO)};
}

void hl_record_overview_print_numbers(struct hl_model *m, const struct hl_overview *o)
{
	const struct hl_text_opts style = make_style();

	hl_text_headline(stderr, m, o, &style);
}

void hl_record_overview_print_sites(
	struct hl_model *m, const struct hl_overview *o, const char *trace)
{
	struct hl_text_opts style = make_style();

	style.command = program_invocation_name;
	style.file = trace;
	hl_text_overview_short(stderr, m, o, &style);
}
