/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_log.c - prints the snapshots of a trace: what each stack allocated and freed since the
 * snapshot before.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "cli/files/follow.h"
#include "cli/options/page_style.h"
#include "cli/options/symbol_options.h"
#include "util/mono_clock.h"
#include "util/safe_text.h"
#include "views/json/json.h"
#include "views/text/snapshots_text.h"

#define LIMIT       20
#define SORT_VALUES "live|growth|churn"

struct log_state {
	struct hl_trace_opts common;
	struct hl_symbol_options symbols;
	enum hl_snapshot_list_sort sort;
	size_t limit;
	bool compare, moved, follow, full_stacks;
	struct hl_text_opts style;
	bool legend_printed;                     /* the legend has been printed */
	struct hl_runtime_frames runtime_frames; /* frames to hide, of the current model */
	size_t last_shown;                       /* number of the last snapshot shown */
	struct hl_snapshot_list *log;
	struct hl_json json;
};
HL_SYMBOL_STATE_CHECK(struct log_state);

static void init_log(void *state)
{
	((struct log_state *)state)->limit = LIMIT;
}

static const char *set_sort(void *state, const char *value)
{
	int i = hl_word_find(SORT_VALUES, value);

	if (i < 0)
		return HL_OPT_NOT_LISTED;
	((struct log_state *)state)->sort = (enum hl_snapshot_list_sort)i;
	return NULL;
}

static bool parse_number(const char *text, uint64_t *n)
{
	char *end;

	errno = 0;
	*n = strtoull(text, &end, 10);
	return isdigit((unsigned char)text[0]) && !*end && !errno;
}

static const char *set_limit(void *state, const char *value)
{
	struct log_state *s = state;
	uint64_t n;

	if (!parse_number(value, &n) || n > UINT32_MAX)
		return "a number of sources; 0 for all";
	s->limit = n;
	return NULL;
}

static const char *set_compare(void *state, const char *value)
{
	((struct log_state *)state)->compare = true;
	return NULL;
}

static const char *set_full_stacks(void *state, const char *value)
{
	((struct log_state *)state)->full_stacks = true;
	return NULL;
}

/* Opens the list of snapshots and finds the runtime frames to hide. */
static int open_log(struct log_state *s, struct hl_model *m)
{
	int err = hl_snapshot_list_new(&s->log, m);

	if (!err && !s->full_stacks && !s->common.json)
		err = hl_runtime_frames_find_all(&s->runtime_frames, m);
	return err;
}

static void close_log(struct log_state *s)
{
	hl_runtime_frames_fini(&s->runtime_frames);
	hl_snapshot_list_free(s->log);
	s->log = NULL;
}

static const char *set_follow(void *state, const char *value)
{
	((struct log_state *)state)->follow = true;
	return NULL;
}

static void print_legend(struct log_state *s, const struct hl_model *m, size_t from)
{
	bool is_late = hl_snapshot_list_is_late(s->log);
	char since[64] = "since the snapshot before";

	if (s->compare && from == 0)
		snprintf(since, sizeof(since), "since the %s", is_late ? "base" : "start");
	else if (s->compare)
		snprintf(since, sizeof(since), "since snapshot %" PRIu64,
			from + hl_snapshot_list_before(s->log));
	else if (is_late)
		snprintf(since, sizeof(since), "since the snapshot before or the base");
	hl_text_log_legend(stdout, m, since, &s->style);
}

/* Prints one snapshot, compared with snapshot `from`. *shown is false if its data is lost, except
 * for the end of the trace, of which everything known is printed. */
static int print_snapshot(
	struct log_state *s, struct hl_model *m, size_t from, size_t to, bool *shown)
{
	struct hl_snapshot_changes page;
	int err = hl_snapshot_list_changes(s->log, from, to, s->sort, &page);

	if (err)
		return err;
	s->moved |= page.before_damage;
	*shown = !page.before_damage || to == hl_snapshot_list_n(s->log);
	if (!*shown) {
		hl_cli_error("snapshot %" PRIu64
			     " is lost: a part of the file that it depends on is damaged",
			to + hl_snapshot_list_before(s->log));
		return 0;
	}
	if (!s->common.json && !s->legend_printed)
		print_legend(s, m, from);
	s->legend_printed = true;
	return s->common.json ? hl_json_log_changes(&s->json, m, s->log, from, to, &page)
			      : hl_text_log_changes(stdout, m, s->log, from, to, &page,
					s->runtime_frames.depth ? &s->runtime_frames : NULL,
					s->limit, &s->style);
}

/* Prints the snapshots that are new since the last call. While the recording runs, its end is not a
 * snapshot. */
static int print_new_snapshots(struct log_state *s, struct hl_model *m)
{
	bool running = hl_model_info(m)->end.kind == HL_END_RUNNING, shown;
	size_t n = hl_snapshot_list_n(s->log) - (s->follow && running);
	int err = 0;

	for (size_t i = s->last_shown + 1; i <= n && !err && !ferror(stdout); i++) {
		err = print_snapshot(s, m, s->last_shown, i, &shown);
		s->last_shown = !err && shown ? i : s->last_shown;
	}
	return err;
}

static int print_log(struct log_state *s, struct hl_model *m, size_t from, size_t to)
{
	bool shown;
	int err = 0;

	if (s->common.json) {
		hl_json_init(&s->json, stdout);
		hl_json_begin_object(&s->json);
		hl_json_key_u64(&s->json, "schema", 1);
		hl_json_key_string(&s->json, "program", hl_model_info(m)->meta.program);
		hl_json_key_u64(&s->json, "pid", hl_model_info(m)->meta.pid);
		hl_json_key_string(&s->json, "mode", hl_model_info(m)->meta.mode);
		hl_json_key_bool(&s->json, "estimated", hl_model_has_samples(m));
		hl_json_key(&s->json, "snapshots");
		hl_json_begin_array(&s->json);
	}
	if (s->compare)
		err = print_snapshot(s, m, from, to, &shown);
	else
		err = print_new_snapshots(s, m);
	if (s->common.json) {
		hl_json_end_array(&s->json);
		if (err)
			hl_json_key_string(&s->json, "error", hl_model_error(m));
		hl_json_end_object(&s->json);
		putchar('\n');
	}
	return err;
}

/* Parses a number of --compare. Returns 0, or prints a message and returns an exit status. */
static int parse_snapshot(const struct log_state *s, const char *text, size_t *n)
{
	uint64_t v, before = hl_snapshot_list_before(s->log), all = hl_snapshot_list_n(s->log);

	if (!parse_number(text, &v) || v > all + before || (v > 0 && v <= before)) {
		if (before > 0)
			return hl_cli_usage("--compare: there is no snapshot \"%s\" in this file; "
					    "use 0 (the base) or %" PRIu64 " to %" PRIu64,
				text, before + 1, all + before);
		return hl_cli_usage(
			"--compare: there is no snapshot \"%s\"; use 0 (the %s) to %" PRIu64, text,
			hl_snapshot_list_is_late(s->log) ? "base" : "start", all);
	}
	*n = v ? v - before : 0;
	return 0;
}

static int check_order(size_t a, size_t b)
{
	return a < b ? 0
		     : hl_cli_usage(
			       "--compare: the earlier snapshot comes first, as in %zu %zu", b, a);
}

#define PAUSE_NS      UINT64_C(100000000)
#define READING_SHARE 10 /* at most this part of the time is spent reading */

/* Prints the snapshots that the trace has now. Returns 0, or -errno with hl_model_error(). */
static int print_current(struct log_state *s, struct hl_model *m)
{
	int err = open_log(s, m);

	if (!err)
		err = print_new_snapshots(s, m);
	close_log(s);
	fflush(stdout);
	return err;
}

/* Numbers of snapshots go on in a file that continues another one. */
static int begin_file(struct log_state *s, struct hl_model *m)
{
	s->last_shown = 0;
	return hl_symbol_options_apply(&s->symbols, m, false);
}

static int follow_files(struct log_state *s, struct hl_follow *f)
{
	int err = 0, more = 1, status = begin_file(s, f->m);

	while (!status && !err && more > 0) {
		bool is_over = hl_follow_is_over(f);
		uint64_t began = hl_mono_ns();

		err = print_current(s, f->m);
		if (err || ferror(stdout))
			break;
		if (!is_over) {
			more = hl_follow_wait(
				f, hl_max_u64((hl_mono_ns() - began) * READING_SHARE, PAUSE_NS));
			continue;
		}
		more = hl_follow_is_continued(f) ? hl_follow_next(f) : 0;
		if (more > 0)
			status = begin_file(s, f->m);
	}
	if (err && err != -ECANCELED)
		return hl_trace_file_failed(f->m);
	if (!err && !status && more == 0 && !hl_follow_is_interrupted())
		return hl_trace_file_close(f->m, &s->common, NULL);
	hl_model_close(f->m);
	return more < 0 ? HL_EXIT_IO : status;
}

static int follow_trace(struct log_state *s, const struct hl_session_choice *c)
{
	struct hl_follow f;
	int status = hl_follow_open(&f, c);

	if (status)
		return status;
	status = follow_files(s, &f);
	hl_follow_fini(&f);
	return status;
}

/* One trace. numbers: of --compare; NULL without it. */
static int log_trace(struct log_state *s, const char *path, char **numbers)
{
	size_t from = 0, to = 0;
	struct hl_model *m;
	int err = 0, status = hl_trace_file_open_path(path, &m);

	if (status)
		return status;
	status = hl_symbol_options_apply(&s->symbols, m, s->common.json);
	if (!status)
		err = open_log(s, m);
	if (!status && !err && s->compare) {
		status = parse_snapshot(s, numbers[0], &from);
		if (!status)
			status = parse_snapshot(s, numbers[1], &to);
		if (!status)
			status = check_order(from, to);
	}
	if (!status && !err) {
		hl_trace_file_warn(m);
		err = print_log(s, m, from, to);
	}
	close_log(s);
	if (err)
		return hl_trace_file_failed(m);
	if (!status)
		return hl_trace_file_close(m, &s->common, s->moved ? "a snapshot" : NULL);
	hl_model_close(m);
	return status;
}

/* Each process has its own snapshots, so they follow one another. */
static int log_session(struct log_state *s, const struct hl_session_list *session)
{
	int status = 0, result;

	if (s->follow || s->compare || s->common.json)
		return hl_cli_usage("the snapshots of several processes cannot be combined: %s "
				    "needs --process",
			s->follow    ? "--follow"
			: s->compare ? "--compare"
				     : "--json");
	for (size_t i = 0; i < session->processes.len; i++) {
		const struct hl_session_file *f = hl_session_largest(session, i);
		struct hl_strbuf name = {0};

		hl_text_escape(&name, f->program);
		printf("%s=== %s (pid %" PRIu64 ")\n", i ? "\n" : "", hl_strbuf_str(&name), f->pid);
		hl_strbuf_fini(&name);
		s->last_shown = 0;
		result = log_trace(s, f->path, NULL);
		status = status ? status : result;
	}
	return status;
}

static int run_log(void *state, int argc, char **argv)
{
	struct log_state *s = state;
	struct hl_session_choice c = {0};
	int status, files = argc - 2 * s->compare;

	hl_cli_page_style(&s->style);
	s->style.color = false; /* the form of pmem's log has none */
	if (s->follow && (s->compare || s->common.json))
		return hl_cli_usage("--follow cannot be combined with --compare or --json");
	if (files < 0)
		return hl_cli_usage(
			"--compare takes two numbers of snapshots after the trace, as in "
			"heaplapse log --compare app.hlt 3 7");
	status = hl_session_choose(&c, &s->common, files, argv, HL_SESSION_PROGRAM);
	if (!status && c.n > 1 && !c.is_session)
		status = hl_cli_usage(
			"takes one trace, but \"%s\" follows \"%s\"", c.files[1], c.files[0]);
	else if (!status && c.is_session)
		status = log_session(s, c.session);
	else if (!status && s->follow)
		status = follow_trace(s, &c);
	else if (!status)
		status = log_trace(s, c.files[0], argv + files);
	status = hl_session_choice_status(&c, status);
	hl_session_choice_fini(&c);
	hl_symbol_options_fini(&s->symbols);
	return status;
}

static const struct hl_opt log_opts[] = {
	HL_SESSION_OPTS,
	{0, "sort", SORT_VALUES, "sort the sources of a snapshot (default live)", set_sort},
	{'n', "limit", "N", "print at most N sources per snapshot; 0: all (default 20)", set_limit},
	{0, "compare", NULL,
		"print only changes between two snapshots: FILE A B, where 0 is the start",
		set_compare},
	{0, "full-stacks", NULL,
		"show the frames of libc before main and before a thread's function",
		set_full_stacks},
	{0, "follow", NULL, "continue while the trace is being written", set_follow},
	{0, "json", NULL, "print JSON, with all sources", hl_set_json},
	HL_SYMBOL_OPTS,
	HL_OPT_STRICT,
	HL_OPT_VERBOSE,
	{0},
};

static const struct hl_example log_examples[] = {
	{"app.hlt", "changes at each snapshot, by stack"},
	{"--sort churn -n 5 app.hlt", "the five sources with most churn"},
	{"--compare app.hlt 3 7", "changes from snapshot 3 to snapshot 7"},
	{0},
};

const struct hl_cmd hl_cmd_log = {
	.name = "log",
	.summary = "show the snapshots of a trace and the changes between them",
	.usage = "[options] [FILE [A B]]",
	.examples = log_examples,
	.opts = log_opts,
	.shared = hl_view_opts,
	.operand = HL_OPERAND_TRACE,
	.state_size = sizeof(struct log_state),
	.init = init_log,
	.run = run_log,
};
