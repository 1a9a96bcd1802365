/*
 * report_traces.c - `report` over no, one or several traces.
 *
 * Several are the processes of one run. Whatever is wrong with one of them is said, counted and
 * told by the exit status, and the others are shown all the same. A process that was over before
 * the time that is asked for, or that lacks the mark, has nothing there: it counts as 0.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/report.h"
#include "cli/trace_file.h"
#include "util/text.h"

/* Half a second or so: the word is worth it. Larger traces are believed where they are read. */
#define LEAKS_VERIFY_BYTES (UINT64_C(1) << 30)

/* What the reader of the numbers must know about all of them. */
void hl_report_warn(struct hl_model *m)
{
	const char *why = hl_model_why_empty(m);

	hl_trace_file_warn(m);
	if (why)
		hl_cli_error("%s", why);
}

/* Mappings are there without an allocation. */
static bool shows_mmaps_alone(const struct hl_report *r)
{
	bool alone = r->parts.len > 0;

	for (size_t i = 0; i < r->parts.len; i++)
		alone &= r->parts.data[i].view == HL_REPORT_MMAPS;
	return alone;
}

static void warn_for(const struct hl_report *r, struct hl_model *m)
{
	if (shows_mmaps_alone(r))
		hl_trace_file_warn(m);
	else
		hl_report_warn(m);
}

/* --- does it have the times that are asked for? --- */

/* A range must lie in the run and be no riddle. */
static bool has_range(struct hl_report *r, struct hl_model *m, struct hl_strbuf *why)
{
	uint64_t from = hl_when_ns(&r->from, m), to = hl_when_ns(&r->to, m);
	uint64_t end = hl_model_end_ns(m);
	char a[HL_TEXT_SIZE_MAX], b[HL_TEXT_SIZE_MAX];

	if (from > end)
		hl_strbuf_printf(why, "the range begins at %s, after the end of the recording (%s)",
			hl_text_duration(a, from), hl_text_duration(b, end));
	else if (from > to)
		hl_strbuf_printf(why, "the range begins at %s, after its own end (%s)",
			hl_text_duration(a, from), hl_text_duration(b, to));
	return from <= end && from <= to;
}

/* One process alone is shown at its end instead, which is said; among others it would be added to
 * what they had at another time. */
static bool has_moment(struct hl_report *r, struct hl_model *m, struct hl_strbuf *why)
{
	uint64_t at = hl_when_ns(&r->at, m), end = hl_model_end_ns(m);
	char a[HL_TEXT_SIZE_MAX], b[HL_TEXT_SIZE_MAX];

	if (r->what != HL_REPORT_AT || !r->among || at <= end)
		return true;
	hl_strbuf_printf(why, "%s is after the end of the recording (%s)", hl_text_duration(a, at),
		hl_text_duration(b, end));
	return false;
}

/* Times of the filter count, too. False with a sentence. */
bool hl_report_has_times(struct hl_report *r, struct hl_model *m, struct hl_strbuf *why)
{
	hl_strbuf_reset(why);
	if (hl_when_check(&r->from, m) || hl_when_check(&r->to, m) || hl_when_check(&r->at, m) ||
		(r->filter && hl_filter_bind(r->filter, m) == -ENOENT)) {
		hl_strbuf_puts(why, hl_model_error(m));
		return false;
	}
	return has_moment(r, m, why) && (!r->ranged || has_range(r, m, why));
}

static bool asks_for_times(const struct hl_report *r)
{
	return r->ranged || r->what == HL_REPORT_AT ||
	       (r->filter && hl_filter_subjects(r->filter) &
				     (HL_FILTER_TIME | HL_FILTER_ALIVE | HL_FILTER_CHAIN_ALIVE));
}

/* What nobody has is a mistake, and no answer may begin. 0 or an exit status. */
static int check_times(struct hl_report *r, int n, char **files)
{
	struct hl_strbuf why = {0};
	bool found = false;
	int status = 0, tried = 0;

	if (!asks_for_times(r))
		return 0;
	for (int i = 0; i < n && !found; i++) {
		struct hl_reader_refusal refusal;
		struct hl_model *m;

		if (hl_trace_file_model(files[i], &m, &refusal))
			continue;
		found = hl_report_has_times(r, m, &why);
		hl_model_close(m);
		tried++;
	}
	if (!found && tried > 0)
		status = hl_cli_usage(
			"%s%s", tried > 1 ? "of no process: " : "", hl_strbuf_str(&why));
	hl_strbuf_fini(&why);
	return status;
}

/* --- the frame around what is shown --- */

static void begin_document(struct hl_report *r)
{
	if (!r->common.json)
		return;
	hl_json_init(&r->json, stdout);
	hl_json_begin_object(&r->json);
	hl_json_key_u64(&r->json, "schema", 1);
}

static void end_document(struct hl_report *r)
{
	if (!r->common.json)
		return;
	hl_json_end_object(&r->json);
	putchar('\n');
}

static void begin_process(struct hl_report *r, struct hl_model *m, const char *file)
{
	const struct hl_trace_info *i = hl_model_info(m);
	struct hl_strbuf b = {0};

	if (r->common.json) {
		hl_json_begin_object(&r->json);
		hl_json_key_string(&r->json, "trace", file);
		hl_json_key_string(&r->json, "program", i->meta.program);
		hl_json_key_u64(&r->json, "pid", i->meta.pid);
		hl_json_key_u64(&r->json, "parent_pid", i->meta.parent_pid);
		return;
	}
	if (r->view == HL_REPORT_PROCESSES)
		return; /* its line says it */
	hl_text_escape(&b, i->meta.program);
	hl_strbuf_printf(&b, " (pid %" PRIu64 "), ", i->meta.pid);
	hl_text_escape(&b, file);
	printf("=== %s\n", hl_strbuf_str(&b));
	hl_strbuf_fini(&b);
}

static void end_process(struct hl_report *r)
{
	if (r->common.json)
		hl_json_end_object(&r->json);
	else if (r->view != HL_REPORT_PROCESSES)
		putchar('\n');
}

/* --- one trace --- */

/* The symbols and suppressions that it needs. 0 or an exit status. */
static int prepare(struct hl_report *r, struct hl_model *m)
{
	int status = hl_symbol_options_apply(&r->symbols, m, r->common.json);

	r->moved = false;
	if (!status)
		status = hl_report_make_suppressions(r);
	if (!status && r->what == HL_REPORT_LEAKS) /* a trace with a hole never says leaked */
		hl_trace_file_verify(m, LEAKS_VERIFY_BYTES);
	return status;
}

static int show(struct hl_report *r, struct hl_model *m)
{
	struct hl_text_opts opts = hl_report_list_opts(r);
	int err = hl_report_show(r, m);

	if (!err && !r->common.json && hl_report_needs_names(r))
		hl_text_notes(stdout, m, &opts);
	return err;
}

int hl_report_finish(
	struct hl_report *r, struct hl_model *m, int status, int err, const char *missing)
{
	hl_suppressions_free(r->suppressions);
	r->suppressions = NULL;
	if (err == -ENOENT)
		status = hl_cli_usage("%s", hl_model_error(m));
	else if (err)
		return hl_trace_file_failed(m);
	if (!status)
		return hl_trace_file_close(m, &r->common, missing);
	hl_model_close(m);
	return status;
}

static int finish(struct hl_report *r, struct hl_model *m, int status, int err)
{
	return hl_report_finish(
		r, m, status, err, r->moved ? "the very moment that was asked for" : NULL);
}

static int report_one(struct hl_report *r, struct hl_model *m)
{
	struct hl_strbuf why = {0};
	int err = 0,
	    status = hl_report_has_times(r, m, &why) ? 0 : hl_cli_usage("%s", hl_strbuf_str(&why));

	hl_strbuf_fini(&why);
	if (!status)
		status = prepare(r, m);
	if (!status) {
		warn_for(r, m);
		begin_document(r);
		err = show(r, m);
		if (err && r->common.json)
			hl_json_key_string(&r->json, "error", hl_model_error(m));
		end_document(r);
	}
	return finish(r, m, status, err);
}

/* --- several --- */

/* It has nothing of what is asked for. */
static int show_nothing(struct hl_report *r, struct hl_model *m, const char *why)
{
	static const struct hl_value none;

	hl_cli_error("%s; it counts as 0", why);
	r->moved = true;
	if (r->common.json) {
		hl_json_key_string(&r->json, "error", why);
		hl_json_key_u64(&r->json, "total_bytes", 0);
		hl_json_key_u64(&r->json, "total_blocks", 0);
	} else if (r->view == HL_REPORT_PROCESSES) {
		return hl_report_add_process(r, m, "not at the time that was asked for", &none);
	} else {
		puts("nothing of it is from the time that was asked for: 0 B in 0 blocks");
	}
	return 0;
}

static int report_among(struct hl_report *r, struct hl_model *m, const char *file)
{
	struct hl_value before = r->total;
	struct hl_strbuf why = {0};
	int err = 0, status = prepare(r, m);

	if (!status) {
		warn_for(r, m);
		begin_process(r, m, file);
		err = hl_report_has_times(r, m, &why) ? show(r, m)
						      : show_nothing(r, m, hl_strbuf_str(&why));
		if (err && r->common.json)
			hl_json_key_string(&r->json, "error", hl_model_error(m));
		end_process(r);
	}
	if (err)
		r->total = before;
	hl_strbuf_fini(&why);
	return finish(r, m, status, err);
}

static int open_among(struct hl_report *r, const char *file, struct hl_model **m)
{
	struct hl_reader_refusal why = {0};

	if (hl_trace_file_model(file, m, &why) == 0)
		return 0;
	hl_cli_error("%s", why.text);
	if (r->common.json) {
		hl_json_begin_object(&r->json);
		hl_json_key_string(&r->json, "trace", file);
		hl_json_key_string(&r->json, "error", why.text);
		hl_json_end_object(&r->json);
	}
	return HL_EXIT_IO;
}

/* Whatever its name: a.hlt and ./a.hlt are one process. Returns how many are left. */
static int drop_repeated(int n, char **files)
{
	struct stat *known = calloc((size_t)n, sizeof(*known));
	int kept = 0;

	for (int i = 0; known && i < n; i++) {
		int k = 0;

		if (stat(files[i], &known[kept]) < 0)
			k = kept; /* opening it says why */
		while (k < kept && (known[k].st_ino != known[kept].st_ino ||
					   known[k].st_dev != known[kept].st_dev))
			k++;
		if (k < kept)
			hl_cli_error(
				"%s is the same file as %s: it counts once", files[i], files[k]);
		else
			files[kept++] = files[i];
	}
	free(known);
	return known ? kept : n;
}

/* Snapshots of one process are one memory seen several times, and a plot is no number. */
static bool has_total(const struct hl_report *r)
{
	if (r->parts.len > 1)
		return false; /* each view has its own */
	switch (r->view) {
	case HL_REPORT_TIMELINE:
	case HL_REPORT_SNAPSHOTS:
	case HL_REPORT_DELTAS:
	case HL_REPORT_CUMULATIVE:
	case HL_REPORT_MMAPS:
		return false;
	default:
		return true;
	}
}

static void put_total(struct hl_report *r, int read, int n)
{
	char bytes[HL_TEXT_SIZE_MAX], blocks[HL_TEXT_SIZE_MAX];
	struct hl_strbuf b = {0};

	if (r->common.json) {
		hl_json_key_u64(&r->json, "processes_read", (uint64_t)read);
		if (has_total(r)) {
			hl_json_key_u64(&r->json, "total_bytes", r->total.bytes);
			hl_json_key_u64(&r->json, "total_blocks", r->total.blocks);
		}
		return;
	}
	if (read == n)
		hl_strbuf_printf(&b, "all %d process%s", n, n == 1 ? "" : "es");
	else
		hl_strbuf_printf(&b, "%d of %d process%s", read, n, n == 1 ? "" : "es");
	if (has_total(r) && read > 0)
		printf("%s, each as above: %s in %s block%s\n", hl_strbuf_str(&b),
			hl_text_bytes(bytes, r->total.bytes),
			hl_text_count(blocks, r->total.blocks), r->total.blocks == 1 ? "" : "s");
	else if (read < n)
		printf("%s could be read\n", hl_strbuf_str(&b));
	hl_strbuf_fini(&b);
}

/* --- the rows of --group process --- */

static void put_processes(struct hl_report *r)
{
	struct hl_text_opts opts = hl_report_list_opts(r);

	hl_text_processes(stdout, r->processes.data, r->processes.len, &r->total, &opts);
	for (size_t i = 0; i < r->processes.len; i++) {
		free(r->processes.data[i].program);
		free(r->processes.data[i].suppressed);
	}
	hl_vec_free(&r->processes);
}

/* The parent and its children: each for itself, and what they have together. */
static int report_many(struct hl_report *r, int n, char **files)
{
	int status = 0, read = 0;

	begin_document(r);
	if (r->common.json) {
		hl_json_key(&r->json, "processes");
		hl_json_begin_array(&r->json);
	}
	for (int i = 0; i < n; i++) {
		struct hl_model *m;
		int one = open_among(r, files[i], &m);

		if (!one) {
			hl_cli_about(files[i]);
			one = report_among(r, m, files[i]);
			hl_cli_about(NULL);
		}
		read += one == 0 || one == HL_EXIT_INCOMPLETE;
		/* What could not be read is worse than what was not recorded. */
		if (one && (status == 0 || status == HL_EXIT_INCOMPLETE))
			status = one;
	}
	if (r->common.json)
		hl_json_end_array(&r->json);
	else
		put_processes(r);
	put_total(r, read, n);
	end_document(r);
	return status;
}

int hl_report_traces(struct hl_report *r, int n, char **files)
{
	struct hl_model *m = NULL;
	int status = 0;

	/* One process is told from others, however many there are. */
	if (n == 0 || (n == 1 && r->view != HL_REPORT_PROCESSES)) {
		status = hl_trace_file_open(n, files, &m);
		if (!status)
			status = report_one(r, m);
		put_processes(r);
		return status;
	}
	n = drop_repeated(n, files);
	r->among = n > 1;
	status = check_times(r, n, files);
	return status ? status : report_many(r, n, files);
}
