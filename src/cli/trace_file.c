/*
 * trace_file.c - what all commands that read a trace do alike; see trace_file.h.
 */
#include "cli/trace_file.h"

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

#include "model/slice.h"
#include "util/progress.h"
#include "util/strbuf.h"
#include "util/text.h"
#include "views/text/text.h"

const char *hl_set_json(void *state, const char *value)
{
	((struct hl_trace_opts *)state)->json = true;
	hl_progress_never(); /* it is for programs, and so may be stderr */
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

/* The one of these that was written last; NULL when none is a file. */
static const char *newest(const glob_t *found)
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

#define FINISH_LOOKS 200 /* of 10 ms */

/* Has the program ended while its collector still writes? In another pid namespace this may be
 * wrong, and costs a short wait. */
static bool is_finishing(const struct hl_trace_info *i)
{
	return i->end.kind == HL_END_RUNNING && i->meta.pid &&
	       kill((pid_t)i->meta.pid, 0) < 0 && errno == ESRCH;
}

/* Is it so new that it has no contents yet? */
static bool is_beginning(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	bool busy = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;

	if (fd >= 0)
		close(fd);
	return busy;
}

int hl_trace_file_model(const char *path, struct hl_model **m, struct hl_reader_refusal *why)
{
	const struct timespec pause = {.tv_nsec = 10000000};
	int err = hl_model_open(m, path, why);

	for (int i = 0; i < FINISH_LOOKS; i++) {
		if (err ? !is_beginning(path) : !is_finishing(hl_model_info(*m)))
			break;
		if (!err)
			hl_model_close(*m);
		nanosleep(&pause, NULL);
		err = hl_model_open(m, path, why);
	}
	return err;
}

/* The one trace of this command, for messages about it; several are told apart by hl_cli_about. */
static char opened[4096];

/* 0, or an exit status with a message. */
static int open_path(const char *path, struct hl_model **m)
{
	struct hl_reader_refusal why = {0};

	if (hl_trace_file_model(path, m, &why) == 0) {
		snprintf(opened, sizeof(opened), "%s", path);
		return 0;
	}
	hl_cli_error("%s", why.text);
	return HL_EXIT_IO;
}

static int open_newest(struct hl_model **m)
{
	glob_t found = {0};
	const char *path;
	int status;

	glob("*.hlt", 0, NULL, &found);
	path = newest(&found);
	if (path) {
		hl_cli_error("showing %s, the newest trace here", path);
		status = open_path(path, m);
	} else {
		status = hl_cli_usage(
			"which trace? there is no *.hlt in this folder; name one, or write one "
			"with heaplapse record ./program");
	}
	globfree(&found);
	return status;
}

int hl_trace_file_open(int argc, char **argv, struct hl_model **m)
{
	if (argc > 1)
		return hl_cli_usage("takes one trace, but \"%s\" follows \"%s\"", argv[1], argv[0]);
	return argc == 0 ? open_newest(m) : open_path(argv[0], m);
}
void hl_trace_file_verify(struct hl_model *m, uint64_t limit)
{
	int err;

	if (hl_model_info(m)->file_bytes > limit)
		return;
	hl_progress_begin("checking the trace");
	err = hl_reader_verify(hl_model_reader(m));
	hl_progress_end();
	if (err < 0)
		hl_cli_error("the trace cannot be read to its end");
}

/* Made-up names alone change no number. */
static void say_cut(const struct hl_trace_info *i)
{
	struct hl_strbuf b = {0};

	if (i->meta.cut.flags & ~(HL_CUT_NAMES | HL_CUT_ALL)) {
		hl_cut_describe(&i->meta.cut, &b);
		hl_cli_error("this is a part of a recording: %s", hl_strbuf_str(&b));
	}
	hl_strbuf_fini(&b);
}

static void say_unwritten(const struct hl_trace_info *i)
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

	say_cut(i);
	if (i->damaged)
		hl_cli_error("the trace is damaged: %s", i->damage);
	if (i->counters.dropped_events)
		hl_cli_error("%s events were dropped while recording: the numbers are not exact",
			hl_text_count(n, i->counters.dropped_events));
	if (!i->has_end && i->end.kind == HL_END_RUNNING)
		hl_cli_error("the trace is still being written: what follows is its state so far");
	else if (!i->has_end && i->unwritten.error)
		say_unwritten(i);
	else if (!i->has_end)
		hl_cli_error("the end of the recording is missing");
}

static void add_reason(struct hl_strbuf *b, bool holds, const char *reason)
{
	if (holds)
		hl_strbuf_printf(b, "%s%s", b->len ? "; " : "", reason);
}

/* Each reason for which hl_model_complete says no. */
static void what_is_missing(struct hl_strbuf *b, const struct hl_trace_info *i)
{
	bool running = i->end.kind == HL_END_RUNNING;

	add_reason(b, i->damaged, i->damage);
	add_reason(b, running, "the rest of a recording that still goes on");
	add_reason(b, !running && !i->has_end,
		i->unwritten.error ? "the end of the recording, which could not be written"
				   : "the end of the recording");
	add_reason(b, i->has_end && i->end.kind == HL_END_LOST, "how the program ended");
	add_reason(b, i->counters.dropped_events, "events that were dropped while recording");
	add_reason(b, i->meta.continued, "what a collector before this one knew");
	add_reason(b, i->meta.start_off,
		"what happened before the program switched recording on (--start=off)");
	add_reason(b, i->stops, "what happened while the program had switched recording off");
	add_reason(b, i->pauses, "what was allocated while recording was paused");
}

static void say_missing(struct hl_model *m, const char *more)
{
	struct hl_strbuf b = {0};

	what_is_missing(&b, hl_model_info(m));
	add_reason(&b, more != NULL, more);
	hl_cli_error("something is missing (--strict): %s", hl_strbuf_str(&b));
	hl_strbuf_fini(&b);
}

int hl_trace_file_close(struct hl_model *m, const struct hl_trace_opts *opts, const char *more)
{
	const struct hl_trace_info *i = hl_model_info(m);
	bool missing = more || !hl_model_complete(m);
	uint64_t read = hl_reader_bytes_read(hl_model_reader(m));

	if (opts->verbose && read <= i->file_bytes)
		hl_cli_error("read %" PRIu64 " of %" PRIu64 " bytes (%.2f%%)", read, i->file_bytes,
			i->file_bytes ? (double)read * 100 / (double)i->file_bytes : 0);
	else if (opts->verbose)
		hl_cli_error("read %" PRIu64 " of %" PRIu64
			     " bytes, parts of the file more than once",
			read, i->file_bytes);
	if (opts->strict && missing)
		say_missing(m, more);
	hl_model_close(m);
	return opts->strict && missing ? HL_EXIT_INCOMPLETE : HL_EXIT_OK;
}

int hl_trace_file_failed(struct hl_model *m)
{
	if (opened[0])
		hl_cli_about(opened);
	hl_cli_error("%s", hl_model_error(m));
	hl_cli_about(NULL);
	hl_model_close(m);
	return HL_EXIT_IO;
}

/* The expression with a mark under the place. Columns are characters, not bytes. */
int hl_filter_complain(const char *expr, size_t at, const char *text)
{
	struct hl_strbuf before = {0}, all = {0};
	size_t width = 0;

	hl_strbuf_add(&all, expr, at);
	hl_text_escape(&before, hl_strbuf_str(&all));
	for (size_t i = 0; i < before.len; i++)
		width += ((unsigned char)before.data[i] & 0xc0) != 0x80;
	hl_strbuf_reset(&all);
	hl_text_escape(&all, expr);
	hl_cli_usage("--filter: %s", text);
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
		return hl_filter_complain(expr, error.at, error.text);
	if (err) {
		hl_cli_error("%s", strerror(-err));
		return HL_EXIT_IO;
	}
	return 0;
}

/* Terms one after the other must all hold. Each expression must be one for itself, too: a comma at
 * the end of one must not reach the next. */
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
