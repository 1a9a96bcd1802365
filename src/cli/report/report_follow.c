/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_follow.c - `report --follow`: an answer each second until the program ends, and the final
 * one.
 *
 * An answer is printed only when it is whole: on a terminal in the place of the one before, else
 * below it, after a heading. In JSON each answer is a document in a line of its own.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/files/follow.h"
#include "cli/report/report.h"
#include "util/mono_clock.h"
#include "util/safe_text.h"

#define PERIOD_NS UINT64_C(1000000000)

struct follower {
	struct hl_report *r;
	struct hl_follow trace;
	bool is_json, redraws, said_slow;
	uint64_t n; /* answers so far */
};

static int refuse_options(const struct hl_report *r)
{
	const struct hl_request *q = &r->options.request;

	if (r->explain)
		return hl_cli_usage("--follow cannot be combined with --explain");
	if (r->options.common.all)
		return hl_cli_usage("--follow takes one process; choose it with --process");
	if (q->parts.len == 1 && q->parts.data[0].view == &hl_view_process)
		return hl_cli_usage("--follow takes one process, and --group process is about all");
	return 0;
}

static int refuse_several(const struct hl_session_choice *c)
{
	if (c->n > 1 && !c->is_session)
		return hl_cli_usage("--follow takes one trace, but \"%s\" follows \"%s\"",
			c->files[1], c->files[0]);
	return hl_session_require_one(c, "be followed together", NULL);
}

static void put_heading(const struct follower *f, bool is_final)
{
	char at[HL_TEXT_SIZE_MAX];

	if (f->is_json)
		return;
	if (f->redraws)
		fputs("\033[H\033[J", stdout);
	else if (f->n > 0)
		putchar('\n');
	printf("=== %s after %s\n", is_final ? "final answer," : "still running,",
		hl_text_duration(at, hl_model_end_ns(f->trace.m)));
}

/* An answer that was interrupted is not printed. */
static void put_answer(const char *text, size_t len)
{
	if (!hl_follow_is_interrupted())
		fwrite(text, 1, len, stdout);
	fflush(stdout);
}

/* Says once that the answers are slower than the clock. */
static void note_slowness(struct follower *f)
{
	uint64_t took = hl_mono_ns() - f->trace.began_ns;
	char text[HL_TEXT_SIZE_MAX];

	if (f->said_slow || took < PERIOD_NS)
		return;
	f->said_slow = true;
	hl_cli_info("an answer takes %s: what happens meanwhile is in the next one",
		hl_text_duration(text, took));
}

/* The first answer prints the warnings, and the final one those of a complete trace. */
static int answer(struct follower *f, bool is_final, bool close)
{
	struct hl_report *r = f->r;
	char *text = NULL;
	size_t len = 0;
	int status;

	r->out = open_memstream(&text, &len);
	if (!r->out) {
		hl_cli_error("%s", strerror(errno));
		hl_model_close(f->trace.m);
		return HL_EXIT_IO;
	}
	r->repeated = f->n > 0 && !is_final;
	put_heading(f, is_final);
	status = hl_report_answer(r, f->trace.path, f->trace.m, close);
	fclose(r->out);
	r->out = stdout;
	put_answer(text, len);
	free(text);
	f->n++;
	return status;
}

/* After the end: the last answer, and whether another file continues. *status: of the command. */
static bool follow_next(struct follower *f, int *status)
{
	bool is_continued = hl_follow_is_continued(&f->trace);

	*status = answer(f, true, !is_continued);
	if (*status || !is_continued)
		return false;
	f->r->configured = false;
	if (!ferror(stdout) && hl_follow_next(&f->trace) > 0)
		return true;
	*status = hl_request_close(&f->r->options, f->trace.m, 0, 0, NULL);
	return false;
}

static int follow_trace(struct follower *f)
{
	int status = 0, more = 1;

	while (more > 0) {
		if (hl_follow_is_over(&f->trace)) {
			if (!follow_next(f, &status))
				return status;
			continue;
		}
		status = answer(f, false, false);
		if (status)
			return status;
		note_slowness(f);
		more = ferror(stdout) ? 0 : hl_follow_wait(&f->trace, PERIOD_NS);
	}
	hl_model_close(f->trace.m);
	return more < 0 ? HL_EXIT_IO : HL_EXIT_OK;
}

int hl_report_follow(struct hl_report *r, int n, char **files)
{
	struct follower f = {.r = r,
		.is_json = r->options.common.json,
		.redraws = isatty(STDOUT_FILENO) && !r->options.common.json};
	struct hl_session_choice c = {0};
	int status = refuse_options(r);

	if (!status)
		status = hl_session_choose(&c, &r->options.common, n, files, HL_SESSION_PROGRAM);
	if (!status)
		status = refuse_several(&c);
	if (!status)
		status = hl_follow_open(&f.trace, &c);
	if (!status) {
		status = follow_trace(&f);
		status = status == -ECANCELED ? HL_EXIT_OK : status;
		hl_follow_fini(&f.trace);
	}
	hl_session_choice_fini(&c);
	return status;
}
