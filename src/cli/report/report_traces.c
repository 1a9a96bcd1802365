/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_traces.c - runs `report` for no, one or several traces.
 *
 * Several traces are the processes of one run. A problem with one of them is printed, counted and
 * reflected in the exit status, and the others are still shown. A process that ended before the
 * requested time, or that does not have the mark, counts as 0. Each trace is opened once.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/files/trace_file.h"
#include "cli/report/report.h"
#include "util/safe_text.h"
#include "util/terminal/wrap.h"
#include "views/json/json.h"
#include "views/text/text.h"

/* Verifying this much takes about half a second, which the word "leaked" is worth. Larger traces
 * are not verified as a whole. */
#define LEAKS_VERIFY_BYTES (UINT64_C(1) << 30)

/* One trace: the model, and the plan for it. */
struct process {
	const char *file;
	struct hl_model *m; /* NULL: not open */
	struct hl_plan *plan;
	bool partial; /* its answer is partial, or not of the requested time */
};

static bool is_json(const struct hl_report *r)
{
	return r->options.common.json;
}

/* --group process collects a row of each trace. */
static bool collects_rows(const struct hl_report *r)
{
	const struct hl_request *q = &r->options.request;

	return q->parts.len == 1 && q->parts.data[0].view == &hl_view_process;
}

/* Text is limited by default; lists of processes and modules are complete unless --min is given. */
static struct hl_text_opts list_style(const struct hl_report *r)
{
	const struct hl_request *q = &r->options.request;
	struct hl_text_opts style = r->style;

	style.limits = (struct hl_limits){.min_percent = q->min_given ? q->min : 0,
		.limited = q->limit_given && q->limit > 0,
		.limit = q->limit,
		.by_blocks = q->sorted && q->sort == HL_SORT_BLOCKS};
	return style;
}

/* --- begin and end of the output --- */

static void begin_document(struct hl_report *r)
{
	if (!is_json(r))
		return;
	hl_json_init(&r->json, stdout);
	hl_json_begin_object(&r->json);
	hl_json_key_u64(&r->json, "schema", 1);
}

static void end_document(struct hl_report *r)
{
	if (!is_json(r))
		return;
	hl_json_end_object(&r->json);
	putchar('\n');
}

static void begin_process(struct hl_report *r, const struct process *x)
{
	const struct hl_trace_info *i = hl_model_info(x->m);
	struct hl_strbuf b = {0};

	if (is_json(r)) {
		hl_json_begin_object(&r->json);
		hl_json_key_string(&r->json, "trace", x->file);
		hl_json_key_string(&r->json, "program", i->meta.program);
		hl_json_key_u64(&r->json, "pid", i->meta.pid);
		hl_json_key_u64(&r->json, "parent_pid", i->meta.parent_pid);
		return;
	}
	if (collects_rows(r))
		return; /* its row has the same information */
	hl_text_escape(&b, i->meta.program);
	hl_strbuf_printf(&b, " (pid %" PRIu64 "), ", i->meta.pid);
	hl_text_escape(&b, x->file);
	printf("=== %s\n", hl_strbuf_str(&b));
	hl_strbuf_fini(&b);
}

static void end_process(struct hl_report *r)
{
	if (is_json(r))
		hl_json_end_object(&r->json);
	else if (!collects_rows(r))
		putchar('\n');
}

/* --- rows of --group process --- */

/* Returns the lines about suppressed blocks of a process, to print below the list; NULL if there
 * are none, or no memory. */
static char *suppressed_lines(
	const struct hl_report *r, const struct hl_suppressions *s, const struct hl_meta *meta)
{
	struct hl_strbuf prefix = {0};
	char *text = NULL;
	size_t n;
	FILE *out = s ? open_memstream(&text, &n) : NULL;

	if (!out)
		return NULL;
	hl_text_escape(&prefix, meta->program);
	hl_strbuf_printf(&prefix, " (pid %" PRIu64 "): ", meta->pid);
	hl_text_suppressed_lines(out, s, hl_strbuf_str(&prefix), &r->style);
	hl_strbuf_fini(&prefix);
	fclose(out);
	return text;
}

static void free_row(struct hl_process_row *row)
{
	free(row->program);
	free(row->what);
	free(row->suppressed);
}

/* Rows are printed together when all are known, because only then the large ones are known. */
static int add_row(struct hl_report *r, struct hl_model *m, const char *what,
	const struct hl_value *v, const struct hl_suppressions *s)
{
	const struct hl_meta *meta = &hl_model_info(m)->meta;
	struct hl_process_row row = {.program = strdup(meta->program),
		.pid = meta->pid,
		.what = strdup(what),
		.value = *v,
		.suppressed = suppressed_lines(r, s, meta)};
	int err = row.program && row.what ? hl_vec_push(&r->processes, row) : -ENOMEM;

	if (err)
		free_row(&row);
	return err;
}

static void put_rows(struct hl_report *r)
{
	struct hl_text_opts style = list_style(r);

	hl_text_processes(stdout, r->processes.data, r->processes.len, &r->total, &style);
	for (size_t i = 0; i < r->processes.len; i++)
		free_row(&r->processes.data[i]);
	hl_vec_free(&r->processes);
}

/* --- one trace --- */

/* Returns 0 or an exit status. */
static int make_plan(struct hl_report *r, struct process *x, bool several)
{
	struct hl_request_error why;
	int err = hl_plan_new(&x->plan, &r->options.request, x->m, &hl_cli_notes, &why);

	if (err)
		return hl_request_print_error(err, &why);
	x->plan->several_traces = several;
	return 0;
}

/* Mappings exist without allocations, so a trace without allocations needs no warning. */
static bool shows_blocks(const struct hl_plan *p)
{
	bool any = false;

	for (size_t i = 0; i < p->parts.len; i++)
		any |= p->parts.data[i].view->flags & HL_VIEW_BLOCKS;
	return any;
}

static int prepare_trace(struct hl_report *r, struct process *x)
{
	int status = hl_symbol_options_apply(&r->options.symbols, x->m, is_json(r));

	if (status)
		return status;
	/* a trace with missing chunks must not report leaks */
	if (r->options.request.quantity == HL_REQUEST_LEAKS)
		hl_trace_file_verify(x->m, LEAKS_VERIFY_BYTES);
	if (shows_blocks(x->plan))
		hl_request_warn(x->m);
	else
		hl_trace_file_warn(x->m);
	return 0;
}

static int render(struct hl_report *r, struct process *x, struct hl_result *result)
{
	if (is_json(r))
		return hl_json_result(&r->json, result);
	if (collects_rows(r))
		return add_row(r, x->m, result->heading, &result->total, result->suppressions);
	return hl_text_result(stdout, result, &r->style);
}

static int show_part(struct hl_report *r, struct process *x, size_t i)
{
	struct hl_result *result;
	int err = hl_plan_run(x->plan, i, &result);

	if (err)
		return err;
	r->total.bytes += result->total.bytes;
	r->total.blocks += result->total.blocks;
	err = render(r, x, result);
	x->partial |= result->before_damage;
	hl_result_free(result);
	return err;
}

/* Prints the plan: a line for each part, or in JSON an array of strings. */
static void explain_trace(struct hl_report *r, struct process *x)
{
	struct hl_strbuf b = {0};
	char *rest, *line;

	hl_plan_explain(x->plan, &b);
	rest = b.data;
	if (is_json(r)) {
		hl_json_key(&r->json, "plan");
		hl_json_begin_array(&r->json);
	}
	while (rest && *(line = strsep(&rest, "\n"))) {
		if (is_json(r))
			hl_json_string(&r->json, line);
		else
			hl_wrap(stdout, line, 0, 2,
				r->style.shorten ? (unsigned)r->style.width : 0);
	}
	if (is_json(r))
		hl_json_end_array(&r->json);
	hl_strbuf_fini(&b);
}

/* Prints all parts. In JSON they are members of the object that is open. Returns 0, or -errno with
 * hl_model_error(). */
static int show_trace(struct hl_report *r, struct process *x)
{
	struct hl_text_opts style = list_style(r);
	int err;

	if (r->explain) {
		explain_trace(r, x);
		return 0;
	}
	err = hl_plan_prepare(x->plan);
	x->partial |= x->plan->before_damage;
	for (size_t i = 0; i < x->plan->parts.len && !err; i++) {
		if (i > 0)
			putchar('\n');
		err = show_part(r, x, i);
	}
	if (!err && !is_json(r) && hl_plan_shows_names(x->plan))
		hl_text_missing_names(stdout, x->m, &style);
	if (err && is_json(r))
		hl_json_key_string(&r->json, "error", hl_model_error(x->m));
	return err;
}

static int close_process(struct hl_report *r, struct process *x, int status, int err)
{
	hl_plan_free(x->plan);
	return hl_request_close(
		&r->options, x->m, status, err, x->partial ? "the requested moment" : NULL);
}

static int report_one(struct hl_report *r, struct process *x)
{
	struct hl_strbuf why = {0};
	int err = 0, status = make_plan(r, x, false);

	if (!status && !hl_plan_has_times(x->plan, &why))
		status = hl_cli_usage("%s", hl_strbuf_str(&why));
	hl_strbuf_fini(&why);
	if (!status)
		status = prepare_trace(r, x);
	if (!status) {
		begin_document(r);
		err = show_trace(r, x);
		end_document(r);
	}
	status = close_process(r, x, status, err);
	if (collects_rows(r))
		put_rows(r);
	return status;
}

/* --- several traces --- */

/* Prints that the process has no data for the request. */
static int show_no_data(struct hl_report *r, struct process *x, const char *why)
{
	static const struct hl_value none;

	hl_cli_error("%s; it counts as 0", why);
	x->partial = true;
	if (is_json(r)) {
		hl_json_key_string(&r->json, "error", why);
		hl_json_key_u64(&r->json, "total_bytes", 0);
		hl_json_key_u64(&r->json, "total_blocks", 0);
	} else if (collects_rows(r)) {
		return add_row(
			r, x->m, "not running at the requested time", &none, x->plan->suppressions);
	} else {
		puts("no data for the requested time: 0 B in 0 blocks");
	}
	return 0;
}

/* Opens the trace, unless find_times() has. Returns 0 or an exit status. */
static int open_process(struct hl_report *r, struct process *x, bool several)
{
	struct hl_reader_refusal why = {0};

	if (x->m)
		return 0;
	if (hl_trace_file_open_model(x->file, &x->m, &why) == 0)
		return make_plan(r, x, several);
	hl_cli_error("%s", why.text);
	if (is_json(r)) {
		hl_json_begin_object(&r->json);
		hl_json_key_string(&r->json, "trace", x->file);
		hl_json_key_string(&r->json, "error", why.text);
		hl_json_end_object(&r->json);
	}
	return HL_EXIT_IO;
}

static int report_process(struct hl_report *r, struct process *x)
{
	struct hl_value before = r->total;
	struct hl_strbuf why = {0};
	int err = 0, status = prepare_trace(r, x);

	if (!status) {
		begin_process(r, x);
		err = hl_plan_has_times(x->plan, &why) ? show_trace(r, x)
						       : show_no_data(r, x, hl_strbuf_str(&why));
		end_process(r);
	}
	if (err)
		r->total = before;
	hl_strbuf_fini(&why);
	return close_process(r, x, status, err);
}

/*
 * A time that no process has is a usage error, found before any output. Opens traces until one has
 * the times of the request; they stay open. Returns 0 or an exit status.
 */
static int find_times(struct hl_report *r, struct process *all, int n)
{
	struct hl_strbuf why = {0};
	bool found = !r->options.request.needs_times;
	int status = 0, tried = 0;

	for (int i = 0; i < n && !found && !status; i++) {
		struct hl_reader_refusal refusal;

		if (hl_trace_file_open_model(all[i].file, &all[i].m, &refusal)) {
			all[i].m = NULL;
			continue;
		}
		tried++;
		status = make_plan(r, &all[i], n > 1);
		found = !status && hl_plan_has_times(all[i].plan, &why);
	}
	if (!status && !found && tried > 0)
		status = hl_cli_usage(
			"%s%s", tried > 1 ? "no process matches: " : "", hl_strbuf_str(&why));
	hl_strbuf_fini(&why);
	return status;
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

/* Snapshots of one process count the same memory several times, a plot has no single value, and
 * each of several views has its own total. */
static bool has_total(const struct hl_report *r)
{
	const struct hl_request *q = &r->options.request;

	return q->parts.len == 0 ||
	       (q->parts.len == 1 && q->parts.data[0].view->flags & HL_VIEW_TOTAL);
}

static void put_total(struct hl_report *r, int read, int n)
{
	char bytes[HL_TEXT_SIZE_MAX], blocks[HL_TEXT_SIZE_MAX];
	struct hl_strbuf b = {0};

	if (is_json(r)) {
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
			r->style.exact_bytes ? hl_text_bytes_exact(bytes, r->total.bytes)
					     : hl_text_bytes(bytes, r->total.bytes),
			hl_text_count(blocks, r->total.blocks), r->total.blocks == 1 ? "" : "s");
	else if (read < n)
		printf("%s could be read\n", hl_strbuf_str(&b));
	hl_strbuf_fini(&b);
}

/* Reports on all processes. A read error takes precedence over incomplete data. */
static int report_each(struct hl_report *r, struct process *all, int n, int *read)
{
	int status = 0;

	for (int i = 0; i < n; i++) {
		int result = open_process(r, &all[i], n > 1);

		if (!result) {
			hl_cli_set_subject(all[i].file);
			result = report_process(r, &all[i]);
			hl_cli_set_subject(NULL);
			all[i].m = NULL;
		}
		*read += result == 0 || result == HL_EXIT_INCOMPLETE;
		if (result && (status == 0 || status == HL_EXIT_INCOMPLETE))
			status = result;
	}
	return status;
}

/* Reports on a parent and its children, each separately, and on their sum. */
static int report_processes(struct hl_report *r, struct process *all, int n)
{
	int status, read = 0;

	begin_document(r);
	if (is_json(r)) {
		hl_json_key(&r->json, "processes");
		hl_json_begin_array(&r->json);
	}
	status = report_each(r, all, n, &read);
	if (is_json(r))
		hl_json_end_array(&r->json);
	else
		put_rows(r);
	put_total(r, read, n);
	end_document(r);
	return status;
}

int hl_report_traces(struct hl_report *r, int n, char **files)
{
	struct process one = {0}, *all;
	int status;

	/* --group process has its row format for a single process, too. */
	if (n == 0 || (n == 1 && !collects_rows(r))) {
		status = hl_trace_file_open(n, files, &one.m);
		return status ? status : report_one(r, &one);
	}
	n = drop_duplicates(n, files);
	all = calloc((size_t)n, sizeof(*all));
	if (!all) {
		hl_cli_error("%s", strerror(ENOMEM));
		return HL_EXIT_IO;
	}
	for (int i = 0; i < n; i++)
		all[i].file = files[i];
	status = find_times(r, all, n);
	if (!status)
		status = report_processes(r, all, n);
	for (int i = 0; i < n; i++) {
		if (all[i].m) {
			hl_plan_free(all[i].plan);
			hl_model_close(all[i].m);
		}
	}
	free(all);
	return status;
}
