/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_traces.c - runs `report` for no, one or several traces.
 *
 * Several traces are the processes of one run. A problem with one of them is printed, counted and
 * reflected in the exit status, and the others are still shown. A process that ended before the
 * requested time, or that does not have the mark, counts as 0. Each trace is opened once. Files
 * that continue one another are parts of one process (report_parts.h).
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/files/session_choice.h"
#include "cli/report/report.h"
#include "cli/report/report_parts.h"
#include "request/filter_check.h"
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
	bool partial;      /* its answer is partial, or not of the requested time */
	bool missing_name; /* the filter has a name that the trace does not have */
	bool found;        /* a part has blocks, or has no total */
	bool late;         /* a part is not answered, because the time of the budget ended */
	struct hl_part part;
	size_t row; /* in r->processes; SIZE_MAX: none */
};

static bool is_json(const struct hl_report *r)
{
	return r->options.common.json;
}

/* Rows that are too long, and parts that end in the middle, are removed from the document. */
static bool needs_memory(const struct hl_report *r)
{
	const struct hl_budget *b = &r->options.request.budget;

	return b->max_bytes || (is_json(r) && b->max_ns);
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
	hl_json_init(&r->json, r->out);
	hl_json_begin_object(&r->json);
	hl_json_key_u64(&r->json, "schema", 1);
}

static void end_document(struct hl_report *r)
{
	if (!is_json(r))
		return;
	hl_json_end_object(&r->json);
	putc('\n', r->out);
}

static void begin_process(struct hl_report *r, const struct process *x)
{
	const struct hl_trace_info *i = hl_model_info(x->m);
	struct hl_strbuf b = {0};
	struct hl_rss_sample rss;

	if (is_json(r)) {
		hl_json_begin_object(&r->json);
		hl_json_key_string(&r->json, "trace", x->file);
		hl_json_key_string(&r->json, "program", i->meta.program);
		hl_json_key_u64(&r->json, "pid", i->meta.pid);
		hl_json_key_u64(&r->json, "parent_pid", i->meta.parent_pid);
		if (collects_rows(r)) {
			(void)hl_reader_peak_rss(hl_model_reader(x->m), &rss);
			hl_json_key_u64(&r->json, "resident_bytes", rss.rss_bytes);
		}
		return;
	}
	if (collects_rows(r))
		return; /* its row has the same information */
	hl_text_escape(&b, i->meta.program);
	hl_strbuf_printf(&b, " (pid %" PRIu64 "), ", i->meta.pid);
	hl_text_escape(&b, x->file);
	fprintf(r->out, "=== %s\n", hl_strbuf_str(&b));
	hl_strbuf_fini(&b);
}

static void end_process(struct hl_report *r)
{
	if (is_json(r))
		hl_json_end_object(&r->json);
	else if (!collects_rows(r))
		putc('\n', r->out);
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
	struct hl_rss_sample rss;
	int err;

	(void)hl_reader_peak_rss(hl_model_reader(m), &rss);
	row.resident_bytes = rss.rss_bytes;
	err = row.program && row.what ? hl_vec_push(&r->processes, row) : -ENOMEM;

	if (err)
		free_row(&row);
	return err;
}

static void put_rows(struct hl_report *r)
{
	struct hl_text_opts style = list_style(r);
	struct hl_strbuf filter = {0};

	hl_request_describe_filter(&r->options.request, &filter);
	style.filter_text = hl_strbuf_str(&filter);
	style.rows = &r->rows;
	hl_row_limit_reset(&r->rows);
	if (!is_json(r))
		hl_text_processes(r->out, r->processes.data, r->processes.len, &r->total, &style);
	else if (collects_rows(r) && !r->explain)
		hl_json_ranking(&r->json, r->processes.data, r->processes.len, &r->total,
			style.limits.by_blocks);
	for (size_t i = 0; i < r->processes.len; i++)
		free_row(&r->processes.data[i]);
	hl_vec_free(&r->processes);
	hl_strbuf_fini(&filter);
}

/* --- one trace --- */

static void drop_note(void *arg, enum hl_note_kind kind, const char *text)
{
}

static const struct hl_notes no_notes = {.put = drop_note};

/* Returns 0 or an exit status. */
static int make_plan(struct hl_report *r, struct process *x, bool several)
{
	struct hl_request_error why;
	const struct hl_notes *notes = r->repeated ? &no_notes : &hl_cli_notes;
	int err = hl_plan_new(&x->plan, &r->options.request, x->m, notes, &why);

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

static bool shows_overview(const struct hl_plan *p)
{
	for (size_t i = 0; i < p->parts.len; i++) {
		if (p->parts.data[i].view == &hl_view_overview)
			return true;
	}
	return false;
}

static bool verifies_file(const struct hl_report *r, const struct hl_plan *p)
{
	return r->options.request.quantity == HL_REQUEST_LEAKS || shows_overview(p);
}

static int prepare_trace(struct hl_report *r, struct process *x)
{
	bool is_partial = r->follow && hl_model_is_running(x->m);
	int status = 0;

	if (!r->configured)
		status = hl_symbol_options_apply(&r->options.symbols, x->m, is_json(r));
	if (status)
		return status;
	r->configured = r->follow;
	/* A trace with missing chunks must not report leaks. One that is followed is verified at
	 * its end: before it there are no leaks. */
	if (verifies_file(r, x->plan) && !is_partial)
		hl_trace_file_verify(x->m, LEAKS_VERIFY_BYTES);
	if (r->repeated)
		return 0;
	if (shows_blocks(x->plan))
		hl_request_warn(x->m);
	else
		hl_trace_file_warn(x->m);
	return 0;
}

static int render(struct hl_report *r, struct process *x, struct hl_result *result)
{
	struct hl_text_opts style = r->style;

	int err = collects_rows(r)
			  ? add_row(r, x->m, result->heading, &result->total, result->suppressions)
			  : 0;

	if (err || collects_rows(r))
		return err || !is_json(r) ? err : hl_json_result(&r->json, result);
	if (is_json(r))
		return hl_json_result(&r->json, result);
	style.file = x->file;
	style.language = &r->language;
	return hl_text_result(r->out, result, &style);
}

/* A renderer that reads the trace may be stopped in the middle of a value. A part of a JSON
 * document that is not whole is removed. */
static int render_whole(struct hl_report *r, struct process *x, size_t i, struct hl_result *result)
{
	struct hl_row_limit rows = r->rows;
	struct hl_json json = r->json;
	off_t begin = needs_memory(r) ? ftello(r->out) : 0;
	int err = hl_plan_check_stopped(x->plan, &x->plan->parts.data[i], render(r, x, result));

	if (err == -ETIME && is_json(r) && fseeko(r->out, begin, SEEK_SET) == 0) {
		r->rows = rows;
		r->json = json;
	}
	return err;
}

static int show_part(struct hl_report *r, struct process *x, size_t i)
{
	struct hl_result *result;
	int err = hl_plan_run(x->plan, i, &result);

	if (err)
		return err;
	r->total.bytes += result->total.bytes;
	r->total.blocks += result->total.blocks;
	result->rows = &r->rows;
	err = render_whole(r, x, i, result);
	x->partial |= result->before_damage;
	x->late |= result->late != NULL;
	x->found |= result->total.blocks > 0 || !(result->part.view->flags & HL_VIEW_TOTAL);

	hl_result_free(result);
	return err;
}

/* Prints the plan: a line for each part, or in JSON an array of strings. */
static void explain_trace(struct hl_report *r, struct process *x)
{
	struct hl_strbuf b = {0};
	char *rest, *line;

	hl_plan_explain(x->plan, &b);
	if (verifies_file(r, x->plan))
		hl_strbuf_printf(&b,
			"%s: before that, the checksums of the whole file are verified if it has "
			"at "
			"most 1 GiB, because a lost free would be a leak\n",
			shows_overview(x->plan) ? "--overview" : "--leaks");
	rest = b.data;
	if (is_json(r)) {
		hl_json_key(&r->json, "plan");
		hl_json_begin_array(&r->json);
	}
	while (rest && *(line = strsep(&rest, "\n"))) {
		if (is_json(r))
			hl_json_string(&r->json, line);
		else
			hl_wrap(r->out, line, 0, 2,
				r->style.shorten ? (unsigned)r->style.width : 0);
	}
	if (is_json(r))
		hl_json_end_array(&r->json);
	hl_strbuf_fini(&b);
}

/* Prints in place of a part that it is not answered. In JSON the part is the only one. */
static void show_refusal(struct hl_report *r, struct process *x)
{
	const char *why = hl_model_error(x->m);
	struct hl_strbuf b = {0};

	x->late = r->unanswered = true;
	if (is_json(r)) {
		hl_json_key_string(&r->json, "refused", "max-time");
		hl_json_key_string(&r->json, "error", why);
	} else {
		if (collects_rows(r)) { /* no title above it has the file */
			hl_text_escape(&b, x->file);
			hl_strbuf_puts(&b, ": ");
		}
		hl_strbuf_puts(&b, why);
		hl_wrap(r->out, hl_strbuf_str(&b), 0, 2,
			r->style.shorten ? (unsigned)r->style.width : 0);
	}
	hl_strbuf_fini(&b);
}

/* If the filter names a function or file that was not found, any missing name may be the reason. */
static void show_missing_names(struct hl_report *r, struct process *x)
{
	struct hl_text_opts style = list_style(r);

	if (!hl_row_begin(&r->rows, r->out, NULL))
		return;
	hl_text_wrappers(r->out, x->m, &style);
	hl_text_missing_names(r->out, x->m, r->options.common.verbose || x->missing_name, &style);
	hl_row_end(&r->rows);
}

static int show_interpreter(struct hl_report *r, struct process *x)
{
	struct hl_text_opts style = list_style(r);
	int err;

	if (!hl_row_begin(&r->rows, r->out, NULL))
		return 0;
	err = hl_text_interpreter(r->out, x->m, &r->language, &style);
	hl_row_end(&r->rows);
	return err;
}

/* Says why the filter may match less than expected. */
static void show_filter_check(struct hl_report *r, struct process *x)
{
	struct hl_filter_check c;

	hl_plan_check_filter(x->plan, !x->found, &c);
	hl_filter_check_note(&c, &x->plan->notes);
	x->missing_name = c.unmatched.len > 0;
	if (is_json(r))
		hl_json_filter_check(&r->json, &c);
	hl_filter_check_fini(&c);
}

/* Prints all parts. In JSON they are members of the object that is open. Returns 0, or -errno with
 * hl_model_error(). */
static int show_trace(struct hl_report *r, struct process *x)
{
	int err;

	if (r->explain) {
		explain_trace(r, x);
		return 0;
	}
	r->shown.paths.len = 0;
	err = hl_plan_prepare(x->plan);
	x->partial |= x->plan->before_damage;
	for (size_t i = 0; i < x->plan->parts.len && !err; i++) {
		if (i > 0)
			putc('\n', r->out);
		err = show_part(r, x, i);
		if (err == -ETIME) {
			show_refusal(r, x);
			err = 0;
		}
	}
	if (!err && (x->plan->filter || x->plan->rules.any) && !x->late)
		show_filter_check(r, x);
	if (!err && !is_json(r) && hl_plan_shows_names(x->plan)) {
		show_missing_names(r, x);
		err = show_interpreter(r, x);
	}
	if (err && is_json(r))
		hl_json_key_string(&r->json, "error", hl_model_error(x->m));
	return err;
}

static int close_process(struct hl_report *r, struct process *x, int status, int err)
{
	hl_plan_free(x->plan);
	status = hl_request_close(&r->options, x->m, status, err,
		x->late      ? "what did not fit into --max-time"
		: x->partial ? "the requested moment"
			     : NULL);
	return status ? status : x->late ? HL_EXIT_INCOMPLETE : HL_EXIT_OK;
}

static int keep_process(struct process *x, int status, int err)
{
	hl_plan_free(x->plan);
	if (err && err != -ECANCELED)
		return hl_trace_file_failed(x->m);
	if (err || status)
		hl_model_close(x->m);
	return err ? err : status;
}

static int report_one(struct hl_report *r, struct process *x, bool close)
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
	status = close && err != -ECANCELED ? close_process(r, x, status, err)
					    : keep_process(x, status, err);
	if (collects_rows(r) && !is_json(r))
		put_rows(r);
	return status;
}

int hl_report_answer(struct hl_report *r, const char *file, struct hl_model *m, bool close)
{
	struct process x = {.file = file, .m = m};

	hl_row_limit_init(&r->rows, &r->options.request.budget);
	r->total = (struct hl_value){0};
	r->language = NULL;
	r->unanswered = false;
	return report_one(r, &x, close);
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
	}
	if (collects_rows(r)) {
		return add_row(
			r, x->m, "not running at the requested time", &none, x->plan->suppressions);
	} else if (!is_json(r)) {
		fputs("no data for the requested time: 0 B in 0 blocks\n", r->out);
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
	struct hl_strbuf why = {0};
	size_t n_rows = r->processes.len;
	int err = hl_part_identify(&x->part, x->m), status = err ? 0 : prepare_trace(r, x);

	r->total = (struct hl_value){0};
	if (!status && !err) {
		begin_process(r, x);
		x->part.has_times = hl_plan_has_times(x->plan, &why);
		err = x->part.has_times ? show_trace(r, x)
					: show_no_data(r, x, hl_strbuf_str(&why));
		end_process(r);
	}
	x->row = r->processes.len > n_rows ? n_rows : SIZE_MAX;
	x->part.rule = hl_parts_rule(x->plan);
	if (!err)
		x->part.value = r->total;
	hl_strbuf_fini(&why);
	status = close_process(r, x, status, err);
	x->part.is_read = status == 0 || status == HL_EXIT_INCOMPLETE;
	return status;
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

	if (r->unanswered || r->explain)
		return false; /* it would be the sum of a part of them */
	return q->parts.len == 0 ||
	       (q->parts.len == 1 && q->parts.data[0].view->flags & HL_VIEW_TOTAL);
}

static void put_total_json(struct hl_report *r, const struct hl_parts_sum *s)
{
	hl_json_key_u64(&r->json, "processes_read", s->processes_read);
	hl_json_key_u64(&r->json, "files_read", s->files_read);
	if (has_total(r) && s->is_exact) {
		hl_json_key_u64(&r->json, "total_bytes", s->total.bytes);
		hl_json_key_u64(&r->json, "total_blocks", s->total.blocks);
	}
}

static void put_total_text(struct hl_report *r, const struct hl_parts_sum *s)
{
	char bytes[HL_TEXT_SIZE_MAX], blocks[HL_TEXT_SIZE_MAX];
	size_t read = s->processes_read, n = s->processes;
	struct hl_strbuf b = {0};

	if (read == n)
		hl_strbuf_printf(&b, "%s%zu process%s", s->missing_traces ? "" : "all ", n,
			n == 1 ? "" : "es");
	else
		hl_strbuf_printf(&b, "%zu of %zu process%s", read, n, n == 1 ? "" : "es");
	if (s->files > n)
		hl_strbuf_printf(&b, " in %zu files", s->files);
	if (s->missing_traces)
		hl_strbuf_printf(&b, " without %" PRIu64 " missing trace%s", s->missing_traces,
			s->missing_traces == 1 ? "" : "s");
	if (has_total(r) && read > 0 && s->is_exact)
		fprintf(r->out, "%s, %s: %s in %s block%s\n", hl_strbuf_str(&b),
			hl_parts_rule_words(s),
			r->style.exact_bytes ? hl_text_bytes_exact(bytes, s->total.bytes)
					     : hl_text_bytes(bytes, s->total.bytes),
			hl_text_count(blocks, s->total.blocks), s->total.blocks == 1 ? "" : "s");
	else if (has_total(r) && read > 0)
		fprintf(r->out, "%s, %s\n", hl_strbuf_str(&b), hl_parts_rule_words(s));
	else if (read < n)
		fprintf(r->out, "%s could be read\n", hl_strbuf_str(&b));
	else if (r->unanswered)
		fprintf(r->out, "no sum: not all processes are answered within --max-time\n");
	hl_strbuf_fini(&b);
}

/* --- files of one process --- */

/* --group process has one row for each process, if its files have a sum. */
static void join_rows(struct hl_report *r, struct process *all, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		struct hl_process_row *row =
			all[i].row == SIZE_MAX ? NULL : &r->processes.data[all[i].row];

		if (!row)
			continue;
		if (all[i].part.joined) {
			free_row(row);
			continue;
		}
		row->value = all[i].part.shown;
		r->processes.data[kept++] = *row;
	}
	r->processes.len = kept;
}

static int add_up(struct hl_report *r, struct process *all, size_t n, struct hl_parts_sum *s)
{
	struct hl_part **parts = calloc(n + 1, sizeof(*parts));

	if (!parts)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		parts[i] = &all[i].part;
	hl_parts_add_up(parts, n, s);
	free(parts);
	r->total = s->total;
	join_rows(r, all, n);
	return 0;
}

/* Reports on all processes. A read error takes precedence over incomplete data. */
static int report_each(struct hl_report *r, struct process *all, int n)
{
	int status = 0;

	for (int i = 0; i < n; i++) {
		int result = open_process(r, &all[i], n > 1);

		all[i].row = SIZE_MAX;
		if (!result) {
			hl_cli_set_subject(all[i].file);
			result = report_process(r, &all[i]);
			hl_cli_set_subject(NULL);
			all[i].m = NULL;
		}
		if (result && (status == 0 || status == HL_EXIT_INCOMPLETE))
			status = result;
	}
	return status;
}

/* Traces of the session that cannot be read, which hl_session_choose() has named. */
static void count_lost(struct hl_parts_sum *sum, const struct hl_session_list *s)
{
	size_t partial = s->partial_processes;

	sum->missing_traces = hl_session_missing(s);
	sum->processes += s->lost_processes;
	sum->files += s->lost_processes;
	sum->processes_read -= partial < sum->processes_read ? partial : sum->processes_read;
}

/* Reports on a parent and its children, each separately, and on their sum. */
static int report_processes(
	struct hl_report *r, struct process *all, int n, const struct hl_session_list *session)
{
	struct hl_parts_sum sum;
	int status;

	begin_document(r);
	if (is_json(r)) {
		hl_json_key(&r->json, "processes");
		hl_json_begin_array(&r->json);
	}
	status = report_each(r, all, n);
	if (is_json(r))
		hl_json_end_array(&r->json);
	if (add_up(r, all, (size_t)n, &sum)) {
		hl_cli_error("%s", strerror(ENOMEM));
		return HL_EXIT_IO;
	}
	if (session)
		count_lost(&sum, session);
	if (is_json(r)) {
		put_total_json(r, &sum);
		put_rows(r);
	} else {
		put_rows(r);
		put_total_text(r, &sum);
	}
	end_document(r);
	return status;
}

static int report_operands(struct hl_report *r, const struct hl_session_choice *c)
{
	struct process one = {0}, *all;
	char **files = c->files;
	int status, n = c->n;

	/* --group process has its row format for a single process, too. */
	if (n == 1 && !collects_rows(r) && !(c->is_session && c->is_lossy)) {
		status = hl_trace_file_open_path(files[0], &one.m);
		one.file = files[0];
		return status ? status : report_one(r, &one, true);
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
		status = report_processes(r, all, n, c->is_session ? c->session : NULL);
	for (int i = 0; i < n; i++) {
		if (all[i].m) {
			hl_plan_free(all[i].plan);
			hl_model_close(all[i].m);
		}
		hl_part_fini(&all[i].part);
	}
	free(all);
	return status;
}

/* --group process is about all processes of a session. */
static int report_chosen(struct hl_report *r, int n, char **files)
{
	struct hl_session_choice c;
	int status = hl_session_choose(&c, &r->options.common, n, files,
		collects_rows(r) ? HL_SESSION_ALL : HL_SESSION_PROGRAM);

	if (!status)
		status = hl_session_choose_parts(&c);
	if (!status)
		status = report_operands(r, &c);
	if (!is_json(r) && (!status || status == HL_EXIT_INCOMPLETE))
		hl_session_print_rest(&c);
	status = hl_session_choice_status(&c, status);
	hl_session_choice_fini(&c);
	return status;
}

/* --- the budget of bytes --- */

static void put_too_long(struct hl_report *r)
{
	char size[HL_TEXT_SIZE_MAX];

	hl_cli_error("the answer without its rows is longer than --max-bytes=%s; allow more",
		hl_text_bytes(size, r->options.request.budget.max_bytes));
	r->out = stdout;
	begin_document(r);
	if (is_json(r)) {
		hl_json_key_string(&r->json, "refused", "max-bytes");
		hl_json_key_string(&r->json, "error", "the answer without its rows is too long");
	}
	end_document(r);
}

int hl_report_traces(struct hl_report *r, int n, char **files)
{
	uint64_t most = r->options.request.budget.max_bytes;
	char *text = NULL;
	size_t len = 0;
	int status;

	if (r->follow)
		return hl_report_follow(r, n, files);
	hl_row_limit_init(&r->rows, &r->options.request.budget);
	r->out = needs_memory(r) ? open_memstream(&text, &len) : stdout;
	if (!r->out) {
		hl_cli_error("%s", strerror(errno));
		return HL_EXIT_IO;
	}
	status = report_chosen(r, n, files);
	if (r->out == stdout)
		return status;
	if (fclose(r->out)) {
		hl_cli_error("%s", strerror(ENOMEM));
		status = HL_EXIT_IO;
	} else if (most && len > most) {
		put_too_long(r);
		status = HL_EXIT_IO;
	} else {
		fwrite(text, 1, len, stdout);
	}
	free(text);
	return status;
}
