/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_traces.c - runs `report` for no, one or several traces.
 *
 * Several traces are the processes of one run. A problem with one of them is printed, counted and
 * reflected in the exit status, and the others are still shown. A process that ended before the
 * requested time, or that does not have the mark, counts as 0.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/report/report_request.h"
#include "cli/files/trace_file.h"
#include "util/safe_text.h"

/* Verifying this much takes about half a second, which the word "leaked" is worth. Larger traces
 * are not verified as a whole. */
#define LEAKS_VERIFY_BYTES (UINT64_C(1) << 30)

/* Prints warnings that apply to all results. */
void hl_report_warn(struct hl_model *m)
{
	const char *why = hl_model_empty_reason(m);

	hl_trace_file_warn(m);
	if (why)
		hl_cli_error("%s", why);
}

/* Mappings exist without allocations, so a trace without allocations needs no warning. */
static bool shows_mmaps_alone(const struct hl_report *r)
{
	bool alone = r->parts.len > 0;

	for (size_t i = 0; i < r->parts.len; i++)
		alone &= r->parts.data[i].view == HL_REPORT_MMAPS;
	return alone;
}

static void print_warnings(const struct hl_report *r, struct hl_model *m)
{
	if (shows_mmaps_alone(r))
		hl_trace_file_warn(m);
	else
		hl_report_warn(m);
}

/* --- does the trace have the requested times? --- */

/* A range must be within the run and begin before its end. */
static bool has_range(struct hl_report *r, struct hl_model *m, struct hl_strbuf *why)
{
	uint64_t from = hl_time_spec_ns(&r->from, m), to = hl_time_spec_ns(&r->to, m);
	uint64_t end = hl_model_end_ns(m);
	char a[HL_TEXT_SIZE_MAX], b[HL_TEXT_SIZE_MAX];

	if (from > end)
		hl_strbuf_printf(why, "the range begins at %s, after the end of the recording (%s)",
			hl_text_duration(a, from), hl_text_duration(b, end));
	else if (from > to)
		hl_strbuf_printf(why, "the range begins at %s, after its end (%s)",
			hl_text_duration(a, from), hl_text_duration(b, to));
	return from <= end && from <= to;
}

/* False if the requested moment is after the end of this trace. A single trace is shown at its end
 * instead, with a warning. With several traces, its values would be added to values of another
 * time. */
static bool has_moment(struct hl_report *r, struct hl_model *m, struct hl_strbuf *why)
{
	uint64_t at = hl_time_spec_ns(&r->at, m), end = hl_model_end_ns(m);
	char a[HL_TEXT_SIZE_MAX], b[HL_TEXT_SIZE_MAX];

	if (r->what != HL_REPORT_AT || !r->several_traces || at <= end)
		return true;
	hl_strbuf_printf(why, "%s is after the end of the recording (%s)", hl_text_duration(a, at),
		hl_text_duration(b, end));
	return false;
}

/* Returns false, with a sentence in *why, if a time of the request or of its filter does not
 * exist. */
bool hl_report_has_times(struct hl_report *r, struct hl_model *m, struct hl_strbuf *why)
{
	hl_strbuf_reset(why);
	if (hl_time_spec_check(&r->from, m) || hl_time_spec_check(&r->to, m) ||
		hl_time_spec_check(&r->at, m) ||
		(r->filter && hl_filter_bind(r->filter, m) == -ENOENT)) {
		hl_strbuf_puts(why, hl_model_error(m));
		return false;
	}
	return has_moment(r, m, why) && (!r->ranged || has_range(r, m, why));
}

static bool needs_times(const struct hl_report *r)
{
	return r->ranged || r->what == HL_REPORT_AT ||
	       (r->filter && hl_filter_subjects(r->filter) &
				     (HL_FILTER_TIME | HL_FILTER_ALIVE | HL_FILTER_CHAIN_ALIVE));
}

/* A time that no process has is a usage error, found before any output. Returns 0 or an exit
 * status. */
static int check_times(struct hl_report *r, int n, char **files)
{
	struct hl_strbuf why = {0};
	bool found = false;
	int status = 0, tried = 0;

	if (!needs_times(r))
		return 0;
	for (int i = 0; i < n && !found; i++) {
		struct hl_reader_refusal refusal;
		struct hl_model *m;

		if (hl_trace_file_open_model(files[i], &m, &refusal))
			continue;
		found = hl_report_has_times(r, m, &why);
		hl_model_close(m);
		tried++;
	}
	if (!found && tried > 0)
		status = hl_cli_usage(
			"%s%s", tried > 1 ? "no process matches: " : "", hl_strbuf_str(&why));
	hl_strbuf_fini(&why);
	return status;
}

/* --- begin and end of the output --- */

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
		return; /* its row has the same information */
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

/* Prepares symbols and suppressions. Returns 0 or an exit status. */
static int prepare_trace(struct hl_report *r, struct hl_model *m)
{
	int status = hl_symbol_options_apply(&r->symbols, m, r->common.json);

	r->before_damage = false;
	if (!status)
		status = hl_report_make_suppressions(r);
	if (!status &&
		r->what == HL_REPORT_LEAKS) /* a trace with missing chunks must not report leaks */
		hl_trace_file_verify(m, LEAKS_VERIFY_BYTES);
	return status;
}

static int show_trace(struct hl_report *r, struct hl_model *m)
{
	struct hl_text_opts opts = hl_report_list_opts(r);
	int err = hl_report_show(r, m);

	if (!err && !r->common.json && hl_report_needs_names(r))
		hl_text_missing_names(stdout, m, &opts);
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

static int finish_trace(struct hl_report *r, struct hl_model *m, int status, int err)
{
	return hl_report_finish(
		r, m, status, err, r->before_damage ? "the requested moment" : NULL);
}

static int report_one(struct hl_report *r, struct hl_model *m)
{
	struct hl_strbuf why = {0};
	int err = 0,
	    status = hl_report_has_times(r, m, &why) ? 0 : hl_cli_usage("%s", hl_strbuf_str(&why));

	hl_strbuf_fini(&why);
	if (!status)
		status = prepare_trace(r, m);
	if (!status) {
		print_warnings(r, m);
		begin_document(r);
		err = show_trace(r, m);
		if (err && r->common.json)
			hl_json_key_string(&r->json, "error", hl_model_error(m));
		end_document(r);
	}
	return finish_trace(r, m, status, err);
}

/* --- several traces --- */

/* Prints that the process has no data for the request. */
static int show_no_data(struct hl_report *r, struct hl_model *m, const char *why)
{
	static const struct hl_value none;

	hl_cli_error("%s; it counts as 0", why);
	r->before_damage = true;
	if (r->common.json) {
		hl_json_key_string(&r->json, "error", why);
		hl_json_key_u64(&r->json, "total_bytes", 0);
		hl_json_key_u64(&r->json, "total_blocks", 0);
	} else if (r->view == HL_REPORT_PROCESSES) {
		return hl_report_add_process(r, m, "not running at the requested time", &none);
	} else {
		puts("no data for the requested time: 0 B in 0 blocks");
	}
	return 0;
}

static int report_process(struct hl_report *r, struct hl_model *m, const char *file)
{
	struct hl_value before = r->total;
	struct hl_strbuf why = {0};
	int err = 0, status = prepare_trace(r, m);

	if (!status) {
		print_warnings(r, m);
		begin_process(r, m, file);
		err = hl_report_has_times(r, m, &why) ? show_trace(r, m)
						      : show_no_data(r, m, hl_strbuf_str(&why));
		if (err && r->common.json)
			hl_json_key_string(&r->json, "error", hl_model_error(m));
		end_process(r);
	}
	if (err)
		r->total = before;
	hl_strbuf_fini(&why);
	return finish_trace(r, m, status, err);
}

static int open_process(struct hl_report *r, const char *file, struct hl_model **m)
{
	struct hl_reader_refusal why = {0};

	if (hl_trace_file_open_model(file, m, &why) == 0)
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

/* Compares inodes, because a.hlt and ./a.hlt are one process. Returns the number of remaining
 * files. */
static int drop_duplicates(int n, char **files)
{
	struct stat *known = calloc((size_t)n, sizeof(*known));
	int kept = 0;

	for (int i = 0; known && i < n; i++) {
		int k = 0;

		if (stat(files[i], &known[kept]) < 0)
			k = kept; /* opening it reports the error */
		while (k < kept && (known[k].st_ino != known[kept].st_ino ||
					   known[k].st_dev != known[kept].st_dev))
			k++;
		if (k < kept)
			hl_cli_info("%s is the same file as %s and is counted once", files[i],
				files[k]);
		else
			files[kept++] = files[i];
	}
	free(known);
	return known ? kept : n;
}

/* Snapshots of one process count the same memory several times, and a plot has no single value. */
static bool has_total(const struct hl_report *r)
{
	if (r->parts.len > 1)
		return false; /* each view has its own total */
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

/* --- rows of --group process --- */

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

/* Reports on a parent and its children, each separately, and on their sum. */
static int report_processes(struct hl_report *r, int n, char **files)
{
	int status = 0, read = 0;

	begin_document(r);
	if (r->common.json) {
		hl_json_key(&r->json, "processes");
		hl_json_begin_array(&r->json);
	}
	for (int i = 0; i < n; i++) {
		struct hl_model *m;
		int result = open_process(r, files[i], &m);

		if (!result) {
			hl_cli_set_subject(files[i]);
			result = report_process(r, m, files[i]);
			hl_cli_set_subject(NULL);
		}
		read += result == 0 || result == HL_EXIT_INCOMPLETE;
		/* A read error takes precedence over incomplete data. */
		if (result && (status == 0 || status == HL_EXIT_INCOMPLETE))
			status = result;
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

	/* --group process has its row format for a single process, too. */
	if (n == 0 || (n == 1 && r->view != HL_REPORT_PROCESSES)) {
		status = hl_trace_file_open(n, files, &m);
		if (!status)
			status = report_one(r, m);
		put_processes(r);
		return status;
	}
	n = drop_duplicates(n, files);
	r->several_traces = n > 1;
	status = check_times(r, n, files);
	return status ? status : report_processes(r, n, files);
}
