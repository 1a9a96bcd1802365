/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_file.c - functions shared by all commands that read a trace; see trace_file.h.
 */
#include "cli/files/trace_file.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/files/session_choice.h"
#include "cli/report/request_options.h"
#include "model/slice/slice.h"
#include "request/filter_check.h"
#include "util/terminal/progress.h"
#include "util/strbuf.h"
#include "util/safe_text.h"
#include "util/work/work.h"
#include "views/text/text.h"

const char *hl_set_json(void *state, const char *value)
{
	((struct hl_trace_opts *)state)->json = true;
	hl_progress_disable(); /* JSON is for programs, and they may read stderr, too */
	return NULL;
}

const char *hl_set_strict(void *state, const char *value)
{
	((struct hl_trace_opts *)state)->strict = true;
	return NULL;
}

const char *hl_set_verbose(void *state, const char *value)
{
	((struct hl_trace_opts *)state)->verbose = true;
	return NULL;
}

const char *hl_set_all(void *state, const char *value)
{
	((struct hl_trace_opts *)state)->all = true;
	return NULL;
}

const char *hl_set_process(void *state, const char *value)
{
	((struct hl_trace_opts *)state)->process = value;
	return *value ? NULL : "the name of a program or a pid";
}

/* Returns the regular file that was modified last; NULL if there is none. */
static const char *find_newest(const glob_t *found)
{
	struct timespec latest = {0};
	const char *best = NULL;
	struct stat st;

	for (size_t i = 0; i < found->gl_pathc; i++) {
		if (stat(found->gl_pathv[i], &st) < 0 || !S_ISREG(st.st_mode))
			continue;
		if (best && (st.st_mtim.tv_sec < latest.tv_sec ||
				    (st.st_mtim.tv_sec == latest.tv_sec &&
					    st.st_mtim.tv_nsec <= latest.tv_nsec)))
			continue;
		best = found->gl_pathv[i];
		latest = st.st_mtim;
	}
	return best;
}

#define MAX_RETRIES 200 /* of 10 ms each */

/* Returns whether the file is locked by its collector. */
static bool is_being_written(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	bool busy = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;

	if (fd >= 0)
		close(fd);
	return busy;
}

/* Returns whether the program has ended while its collector still writes. In another pid namespace
 * this may be wrong, which costs a short wait. */
static bool is_finishing(const struct hl_trace_info *i)
{
	return i->end.kind == HL_END_RUNNING && kill((pid_t)i->meta.pid, 0) < 0 && errno == ESRCH;
}

/* Returns whether the trace will soon have more contents. A new trace may be empty, or have only a
 * header, which names no process. */
static bool is_unready(const char *path, int err, const struct hl_model *m)
{
	const struct hl_trace_info *info = err ? NULL : hl_model_info(m);

	return !info || !info->meta.pid ? is_being_written(path) : is_finishing(info);
}

int hl_trace_file_open_model(const char *path, struct hl_model **m, struct hl_reader_refusal *why)
{
	const struct timespec pause = {.tv_nsec = 10000000};
	int err = hl_model_open(m, path, why);

	for (int i = 0; i < MAX_RETRIES && is_unready(path, err, *m); i++) {
		if (!err)
			hl_model_close(*m);
		nanosleep(&pause, NULL);
		err = hl_model_open(m, path, why);
	}
	if (!err)
		hl_model_work(*m)->progress = hl_progress_show;
	return err;
}

/* The only trace of this command, for messages. Commands with several traces use
 * hl_cli_set_subject. */
static char opened_path[4096];

int hl_trace_file_open_path(const char *path, struct hl_model **m)
{
	struct hl_reader_refusal why = {0};

	if (hl_trace_file_open_model(path, m, &why) == 0) {
		snprintf(opened_path, sizeof(opened_path), "%s", path);
		return 0;
	}
	hl_cli_error("%s", why.text);
	return HL_EXIT_IO;
}

int hl_trace_file_find_newest(char **path)
{
	glob_t found = {0};
	const char *newest;
	int status = 0;

	glob("*.hlt", 0, NULL, &found);
	newest = find_newest(&found);
	*path = newest ? strdup(newest) : NULL;
	if (*path) {
		hl_cli_info("showing %s, the newest trace in this directory", *path);
	} else if (newest) {
		hl_cli_error("%s", strerror(ENOMEM));
		status = HL_EXIT_IO;
	} else {
		status = hl_cli_usage("which trace? there is no *.hlt in this directory; name one, "
				      "or write one with heaplapse record ./program");
	}
	globfree(&found);
	return status;
}

int hl_trace_file_open(int argc, char **argv, struct hl_model **m)
{
	const struct hl_trace_opts none = {0};
	struct hl_session_choice c;
	int status;

	if (argc > 1)
		return hl_cli_usage("takes one trace, but \"%s\" follows \"%s\"", argv[1], argv[0]);
	status = hl_session_choose(&c, &none, argc, argv, HL_SESSION_FILE);
	if (!status)
		status = hl_session_require_one(&c, "be read together", NULL);
	if (!status)
		status = hl_trace_file_open_path(c.files[0], m);
	hl_session_choice_fini(&c);
	return status;
}

void hl_trace_file_verify(struct hl_model *m, uint64_t limit)
{
	int err;

	if (hl_model_info(m)->file_bytes > limit)
		return;
	err = hl_reader_verify(hl_model_reader(m), hl_model_work(m));
	if (err == -ETIME)
		hl_cli_info("the trace was not checked for damage, because that takes longer than "
			    "--max-time");
	else if (err < 0)
		hl_cli_error("the trace could not be read completely");
}

/* Made-up names alone do not change any value, so they need no warning. */
static void print_cut(const struct hl_trace_info *i)
{
	struct hl_strbuf b = {0};

	if (i->meta.slice.flags & ~(HL_SLICE_NAMES | HL_SLICE_ALL)) {
		hl_slice_describe(&i->meta.slice, &b);
		hl_cli_info("this is a part of a recording: %s", hl_strbuf_str(&b));
	}
	hl_strbuf_fini(&b);
}

static void print_base(const struct hl_base *base)
{
	struct hl_strbuf b = {0};

	if (base->is_late) {
		hl_text_base(&b, base);
		hl_cli_info("the trace %s", hl_strbuf_str(&b));
	}
	hl_strbuf_fini(&b);
}

static void print_unwritten(const struct hl_trace_info *i)
{
	struct hl_strbuf b = {0};

	hl_text_unwritten(&b, &i->unwritten);
	hl_cli_error("%s", hl_strbuf_str(&b));
	hl_strbuf_fini(&b);
}

void hl_trace_file_warn(struct hl_model *m)
{
	const struct hl_trace_info *i = hl_model_info(m);
	char n[HL_TEXT_SIZE_MAX];

	print_cut(i);
	print_base(&i->meta.base);
	if (i->damaged)
		hl_cli_error("the trace is damaged: %s", i->damage);
	if (i->counters.dropped_events)
		hl_cli_error("%s events were dropped while recording: the numbers are not exact",
			hl_text_count(n, i->counters.dropped_events));
	if (!i->has_end && i->end.kind == HL_END_RUNNING)
		hl_cli_info("the trace is still being written: this is its state so far");
	else if (!i->has_end && i->unwritten.error)
		print_unwritten(i);
	else if (!i->has_end)
		hl_cli_error("the end of the recording is missing");
}

static void add_reason(struct hl_strbuf *b, bool condition, const char *reason)
{
	if (condition)
		hl_strbuf_printf(b, "%s%s", b->len ? "; " : "", reason);
}

/* Appends each reason why hl_model_is_complete returns false. */
static void append_missing(struct hl_strbuf *b, const struct hl_trace_info *i)
{
	bool running = i->end.kind == HL_END_RUNNING;

	add_reason(b, i->damaged, i->damage);
	add_reason(b, running, "the rest of a recording that is still running");
	add_reason(b, !running && !i->has_end,
		i->unwritten.error ? "the end of the recording, which was not written"
				   : "the end of the recording");
	add_reason(b, i->has_end && i->end.kind == HL_END_LOST, "how the program ended");
	add_reason(b, i->counters.dropped_events, "events that were dropped while recording");
	add_reason(b, i->meta.taken_over, "events of an earlier collector");
	add_reason(b, i->meta.started_off,
		"events before the program started recording (--start=off)");
	add_reason(b, i->stops, "events while the program had stopped recording");
	add_reason(b, i->pauses, "allocations while recording was paused");
}

static void print_missing(struct hl_model *m, const char *more)
{
	struct hl_strbuf b = {0};

	append_missing(&b, hl_model_info(m));
	add_reason(&b, more != NULL, more);
	hl_cli_error("incomplete (--strict): %s", hl_strbuf_str(&b));
	hl_strbuf_fini(&b);
}

int hl_trace_file_close(struct hl_model *m, const struct hl_trace_opts *opts, const char *more)
{
	const struct hl_trace_info *i = hl_model_info(m);
	bool missing = more || !hl_model_is_complete(m);
	uint64_t read = hl_reader_bytes_read(hl_model_reader(m));

	if (opts->verbose && read <= i->file_bytes)
		hl_cli_info("read %" PRIu64 " of %" PRIu64 " bytes (%.2f%%)", read, i->file_bytes,
			i->file_bytes ? (double)read * 100 / (double)i->file_bytes : 0);
	else if (opts->verbose)
		hl_cli_info("read %" PRIu64 " of %" PRIu64
			    " bytes, parts of the file more than once",
			read, i->file_bytes);
	if (opts->strict && missing)
		print_missing(m, more);
	hl_model_close(m);
	return opts->strict && missing ? HL_EXIT_INCOMPLETE : HL_EXIT_OK;
}

int hl_trace_file_failed(struct hl_model *m)
{
	if (opened_path[0])
		hl_cli_set_subject(opened_path);
	hl_cli_error("%s", hl_model_error(m));
	hl_cli_set_subject(NULL);
	hl_model_close(m);
	return HL_EXIT_IO;
}

/* Prints the expression with a mark under the position. Columns are characters, not bytes. */
int hl_filter_print_error(const char *option, const char *expr, size_t at, const char *text)
{
	struct hl_strbuf before = {0}, all = {0};
	size_t width = 0;

	hl_strbuf_add(&all, expr, at);
	hl_text_escape(&before, hl_strbuf_str(&all));
	for (size_t i = 0; i < before.len; i++)
		width += ((unsigned char)before.data[i] & 0xc0) != 0x80;
	hl_strbuf_reset(&all);
	hl_text_escape(&all, expr);
	hl_cli_usage("%s: %s", option, text);
	fprintf(stderr, "  %s\n  %*s^\n", hl_strbuf_str(&all), (int)width, "");
	hl_strbuf_fini(&before);
	hl_strbuf_fini(&all);
	return HL_EXIT_USAGE;
}

static int parse_filter(const char *expr, struct hl_filter **f)
{
	struct hl_filter_error error = {0};
	int err = hl_filter_parse(f, expr, &error);

	if (err == -EINVAL)
		return hl_filter_print_error("--filter", expr, error.at, error.text);
	if (err) {
		hl_cli_error("%s", strerror(-err));
		return HL_EXIT_IO;
	}
	return 0;
}

/* Adjacent terms are combined by "and". Each expression must also be valid alone: a comma at the
 * end of one must not reach into the next. */
int hl_filter_options(const char *const *exprs, size_t n, struct hl_filter **f)
{
	struct hl_strbuf all = {0};
	int status = 0;

	*f = NULL;
	for (size_t i = 0; i < n && !status; i++) {
		hl_filter_free(*f);
		*f = NULL;
		status = parse_filter(exprs[i], f);
		hl_strbuf_printf(&all, "%s%s", i ? " " : "", exprs[i]);
	}
	if (!status && n > 1) {
		hl_filter_free(*f);
		*f = NULL;
		status = parse_filter(hl_strbuf_str(&all), f);
	}
	hl_strbuf_fini(&all);
	return status;
}

void hl_filter_print_unmatched(struct hl_filter *f, struct hl_model *m)
{
	struct hl_filter_check c = {0};

	if (f)
		(void)hl_filter_find_unmatched(f, m, &c.unmatched);
	hl_filter_check_note(&c, &hl_cli_notes);
	hl_filter_check_fini(&c);
}
