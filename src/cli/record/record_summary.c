/* SPDX-License-Identifier: Apache-2.0 */
/* record_summary.c - see record_summary.h. */
#include "cli/record/record_summary.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bits.h"
#include "cli/cli.h"
#include "cli/record/record_overview.h"
#include "model/views/interpreter.h"
#include "util/terminal/shell_word.h"
#include "util/strbuf.h"
#include "util/terminal/terminal.h"
#include "util/safe_text.h"
#include "util/terminal/progress.h"
#include "util/terminal/wrap.h"
#include "util/work/work.h"

#define COST_MIN_NS UINT64_C(100000000)
#define STACK_BYTES (8u << 20)

static const char *style(enum hl_style s)
{
	return hl_cli_style(2, s);
}

static const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

#define DETAIL_COLUMN 28

/* The width of the terminal; 0: there is none. */
static unsigned page_width(void)
{
	return isatty(STDERR_FILENO) ? hl_term_width(STDERR_FILENO) : 0;
}

/* Prints " peak 12.4 MiB in 162 blocks, at 30.7 ms". */
static void print_row(const char *name, const char *value, const char *detail)
{
	fprintf(stderr, "  %-12s%s%12s%s%s", name, style(HL_STYLE_BOLD), value,
		style(HL_STYLE_PLAIN), detail[0] ? "  " : "");
	hl_wrap(stderr, detail, DETAIL_COLUMN, DETAIL_COLUMN, page_width());
}

static void print_title(const struct hl_trace_info *info)
{
	struct hl_strbuf name = {0};
	const char *base = info->meta.program ? strrchr(info->meta.program, '/') : NULL;
	char took[HL_TEXT_SIZE_MAX];

	hl_text_escape(&name, base ? base + 1 : info->meta.program ? info->meta.program : "?");
	fprintf(stderr, "%sheaplapse:%s recorded %s for %s\n", style(HL_STYLE_BOLD),
		style(HL_STYLE_PLAIN), hl_strbuf_str(&name),
		hl_text_duration(took, info->end.duration_ns));
	hl_strbuf_fini(&name);
}

static void print_dropped(const struct hl_trace_info *info)
{
	char value[HL_TEXT_SIZE_MAX];

	if (info->counters.dropped_events)
		print_row("DROPPED", hl_text_count(value, info->counters.dropped_events),
			"events: the collector was killed or could not keep up");
}

/* Prints the share of the run that recording took. Only for runs that are long enough for
 * meaningful samples. */
static void print_cost(const struct hl_trace_info *info)
{
	const struct hl_cost *c = &info->cost;
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t parallelism = hl_min_u64(info->threads, cpus > 0 ? (uint64_t)cpus : 1);
	double run = (double)info->end.duration_ns,
	       all = run * (double)(parallelism ? parallelism : 1);
	char value[HL_TEXT_SIZE_MAX], detail[128];
	double share;

	if (!info->has_end || c->hook_ns == 0 || info->end.duration_ns < COST_MIN_NS)
		return;
	/* An estimate from samples: on a busy machine the sum may exceed the whole. */
	share = (double)(c->hook_ns + c->wait_ns) * 100 / all;
	snprintf(value, sizeof(value), "~%.1f%%", share < 99.9 ? share : 99.9);
	snprintf(detail, sizeof(detail), "of the run (%.1f%% waiting); collector: %.0f%% of a CPU",
		(double)c->wait_ns * 100 / all, (double)c->collector_ns * 100 / run);
	print_row("overhead", value, detail);
}

/* The line about an interpreter, in short; `report` has the whole sentence. */
static void print_interpreter(struct hl_model *m)
{
	struct hl_interpreter_found found;
	struct hl_strbuf library = {0};

	if (hl_interpreter_find(m, &found) || !found.is)
		return;
	if (found.library)
		hl_text_escape(&library, found.library);
	fprintf(stderr, "  %-12s%s%s\n", found.is->language,
		found.library ? hl_strbuf_str(&library) : found.is->brief,
		found.library ? "; report says what of it is recorded" : "");
	hl_strbuf_fini(&library);
}

#define NEXT_STEP_COLUMNS 12 /* of "  next: " and "  # " */

/* The comment is left out if the terminal is too narrow: the command must stay whole, to
 * be copied. */
static void print_next_step(
	const char *label, const char *command, const char *path, const char *what)
{
	struct hl_strbuf raw = {0}, line = {0};

	hl_shell_put_word(&raw, program_invocation_name);
	hl_strbuf_printf(&raw, " %s ", command);
	hl_shell_put_path(&raw, path);
	hl_text_escape(&line, hl_strbuf_str(&raw));
	fprintf(stderr, "  %-6s%s", label, hl_strbuf_str(&line));
	if (page_width() == 0 || line.len + strlen(what) + NEXT_STEP_COLUMNS <= page_width())
		fprintf(stderr, "  %s# %s%s", style(HL_STYLE_DIM), what, style(HL_STYLE_PLAIN));
	putc('\n', stderr);
	hl_strbuf_fini(&raw);
	hl_strbuf_fini(&line);
}

static void print_trace_path(const struct hl_model *m, const char *path, uint32_t earlier_files)
{
	const struct hl_trace_info *info = hl_model_info(m);
	struct hl_strbuf shown = {0};
	char size[HL_TEXT_SIZE_MAX];

	hl_text_escape(&shown, path);
	fprintf(stderr, "  %-12s%s (%s)\n", "trace", hl_strbuf_str(&shown),
		hl_text_bytes(size, info->file_bytes));
	hl_strbuf_fini(&shown);
	if (earlier_files)
		fprintf(stderr, "  %-12sand %u earlier file%s of this run\n", "", earlier_files,
			plural(earlier_files));
	print_next_step("next:", "report", path, "the overview");
}

void hl_summary_print_tags(const char *program, uint64_t pid)
{
	const char *stats = getenv("HEAPLAPSE_STATS_JSON"), *slash = strrchr(program, '/'),
		   *place = stats ? strstr(stats, "%p") : NULL;
	struct hl_strbuf shown = {0};
	char path[PATH_MAX];

	if (place && snprintf(path, sizeof(path), "%.*s%" PRIu64 "%s", (int)(place - stats), stats,
			     pid, place + 2) < (int)sizeof(path))
		stats = path;
	hl_text_escape(&shown, slash ? slash + 1 : program);
	fprintf(stderr, "heaplapse: recorded %s in mode tags\n", hl_strbuf_str(&shown));
	hl_strbuf_fini(&shown);
	if (stats && *stats)
		print_next_step("next:", "tags", stats, "memory by scope");
}

struct summary {
	const char *path;
	uint32_t earlier_files;
};

static void *print_all(void *arg)
{
	const struct summary *s = arg;
	struct hl_reader_refusal why;
	struct hl_model *m;
	struct hl_overview overview;

	if (hl_model_open(&m, s->path, &why) < 0) {
		hl_cli_error("%s", why.text);
		return NULL;
	}
	hl_model_work(m)->progress = hl_progress_show;
	print_title(hl_model_info(m));
	hl_record_overview_make(&overview, m);
	hl_record_overview_print_numbers(m, &overview);
	print_dropped(hl_model_info(m));
	print_cost(hl_model_info(m));
	print_interpreter(m);
	hl_record_overview_print_sites(m, &overview, s->path);
	print_trace_path(m, s->path, s->earlier_files);
	hl_overview_fini(&overview);
	hl_model_close(m);
	return NULL;
}

/* Looking up names takes libdw about 100 KiB of stack. Our stack may be as small as the program's,
 * so a thread with its own stack size is used. */
void hl_summary_print(const char *path, uint32_t earlier_files)
{
	struct summary s = {path, earlier_files};
	pthread_attr_t attr;
	pthread_t thread;
	int err = pthread_attr_init(&attr);

	if (!err)
		err = pthread_attr_setstacksize(&attr, STACK_BYTES);
	if (!err)
		err = pthread_create(&thread, &attr, print_all, &s);
	if (err)
		print_all(&s);
	else
		pthread_join(thread, NULL);
}
