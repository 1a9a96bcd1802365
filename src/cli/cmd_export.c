/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_export.c - converts a trace to the format of another program: options and output files.
 *
 * The query options are the same as for `report`. Formats are rows in src/views/export.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/files/process_names.h"
#include "cli/files/session_choice.h"
#include "cli/report/request_options.h"
#include "request/filter_check.h"
#include "util/path_suffix.h"
#include "util/strbuf.h"
#include "util/safe_text.h"
#include "views/export/export.h"
#include "views/export/output_set.h"

struct export
{
	struct hl_request_options options; /* must be the first member */
	const struct hl_export_format *format;
	const char *format_name, *output, *table_name;
	struct hl_output_set files;
	bool list, by_blocks, grouped, quiet;
	enum hl_group group;
	FILE *out;        /* of several processes: the file is open */
	bool has_several; /* processes in one file */
	bool is_last;
	int n_processes, n_nameless; /* n_nameless: of them lack names of functions */
	uint64_t start_unix_ns;      /* the earliest start of several processes */
	void *kept;                  /* of the format, from one of several processes to the next */
};

#define TABLE_VALUES "allocations|stacks|frames"
#define COST_VALUES  "bytes|blocks"

static const char *set_format(void *state, const char *value)
{
	struct export *e = state;

	e->format_name = value;
	e->format = hl_export_find(value);
	return NULL; /* run_export reports an unknown format, because the list is long */
}

static const char *set_output(void *state, const char *value)
{
	((struct export *)state)->output = value;
	return value[0] ? NULL : "the name of a file, or - for stdout";
}

static const char *set_list(void *state, const char *value)
{
	((struct export *)state)->list = true;
	return NULL;
}

static const char *set_quiet(void *state, const char *value)
{
	((struct export *)state)->quiet = true;
	return NULL;
}

static const char *set_table(void *state, const char *value)
{
	((struct export *)state)->table_name = value;
	return hl_word_find(TABLE_VALUES, value) < 0 ? HL_OPT_NOT_LISTED : NULL;
}

static const char *set_cost(void *state, const char *value)
{
	int i = hl_word_find(COST_VALUES, value);

	((struct export *)state)->by_blocks = i == 1;
	return i < 0 ? HL_OPT_NOT_LISTED : NULL;
}

static const char *set_group(void *state, const char *value)
{
	struct export *e = state;

	e->grouped = true;
	return hl_group_find(value, &e->group) ? HL_OPT_NOT_LISTED : NULL;
}

static int list_formats(void)
{
	for (const struct hl_export_format *f = hl_export_formats; f->name; f++)
		printf("%-11s %-17s %s\n", f->name, f->suffix, f->viewer);
	return HL_EXIT_OK;
}

static int reject_format(const struct export *e)
{
	struct hl_strbuf all = {0};
	int status;

	for (const struct hl_export_format *f = hl_export_formats; f->name; f++)
		hl_strbuf_printf(&all, "%s%s", all.len ? ", " : "", f->name);
	if (e->format_name)
		status = hl_cli_usage("unknown format \"%s\"; formats are: %s", e->format_name,
			hl_strbuf_str(&all));
	else
		status = hl_cli_usage("which format? --format is one of: %s", hl_strbuf_str(&all));
	hl_strbuf_fini(&all);
	return status;
}

/* The message lists the formats that support the group. */
static int reject_group(const struct export *e)
{
	struct hl_strbuf supported = {0};
	int status;

	for (const struct hl_export_format *f = hl_export_formats; f->name; f++) {
		if (f->groups & 1u << e->group)
			hl_strbuf_printf(&supported, "%s%s", supported.len ? ", " : "", f->name);
	}
	status = hl_cli_usage("%s cannot be grouped by %s; formats that can: %s", e->format->name,
		hl_group_name(e->group), hl_strbuf_str(&supported));
	hl_strbuf_fini(&supported);
	return status;
}

static int check_options(struct export *e)
{
	const struct hl_export_format *f = e->format;
	struct hl_request *r = &e->options.request;
	struct hl_request_error why;
	int err = hl_request_finish_query(r, &why);

	if (err)
		return hl_request_print_error(err, &why);
	if (f->whole_run && (r->quantity_option.option || r->range_option.option))
		return hl_cli_usage("%s shows the whole run: %s does not apply; use --filter",
			f->name,
			r->quantity_option.option ? r->quantity_option.option
						  : r->range_option.option);
	if (r->pool && f->heap_only)
		return hl_cli_usage("%s shows the heap over time: --pool does not apply", f->name);
	if (e->grouped && (err = hl_request_check_group(r, e->group, &why)) != 0)
		return hl_request_print_error(err, &why);
	if (r->pool && e->grouped && e->group == HL_GROUP_SNAPSHOT)
		return hl_cli_usage(
			"--pool cannot be combined with --group=snapshot, which is about the heap");
	if (e->grouped && !(f->groups & 1u << e->group))
		return reject_group(e);
	if (e->table_name && hl_export_find_table(f, e->table_name) < 0)
		return hl_cli_usage("%s has no table %s; leave out --table, or use -f parquet",
			f->name, e->table_name);
	if (f->binary && strcmp(e->output, "-") == 0 && isatty(STDOUT_FILENO))
		return hl_cli_usage("%s is not printed to a terminal; name a file: -o heap%s",
			f->name, f->suffix);
	return 0;
}

/* Returns a suffix of the output name that promises compression that a binary format does not have;
 * NULL if there is none. */
static const char *find_wrong_suffix(const struct export *e)
{
	static const char *const packers[] = {".gz", ".zst"};

	for (size_t i = 0; e->format->binary && i < 2; i++) {
		if (hl_path_has_suffix(e->output, packers[i]) &&
			!hl_path_has_suffix(e->format->suffix, packers[i]))
			return packers[i];
	}
	return NULL;
}

/* Refuses to overwrite the trace if the two names are swapped. */
static int check_output(const struct export *e, int argc, char **argv)
{
	const char *packer = find_wrong_suffix(e);
	struct stat to, from;

	if (hl_path_has_suffix(e->output, ".hlt"))
		return hl_cli_usage("-o %s: .hlt is the suffix of traces; name an export *%s",
			e->output, e->format->suffix);
	if (packer)
		return hl_cli_usage("-o %s: %s cannot be compressed with %s; name it *%s",
			e->output, e->format->name, packer, e->format->suffix);
	if (argc == 0 || stat(argv[0], &from) < 0)
		return 0;
	for (int i = 0; i < HL_EXPORT_TABLES; i++) {
		const char *path = e->files.paths[i];

		if (path && stat(path, &to) == 0 && to.st_dev == from.st_dev &&
			to.st_ino == from.st_ino)
			return hl_cli_usage(
				"-o %s is the trace itself and would be overwritten", path);
	}
	return 0;
}

static int print_write_error(const char *path, int err)
{
	hl_cli_error("%s cannot be written: %s", strcmp(path, "-") == 0 ? "stdout" : path,
		strerror(-err));
	return HL_EXIT_IO;
}

/* Sets up the output files. Returns 0 or an exit status. */
static int init_output_files(struct export *e)
{
	int table = e->table_name ? hl_export_find_table(e->format, e->table_name) : -1;
	int err = hl_output_set_init(&e->files, e->format, e->output, table);

	return err ? print_write_error(e->output, err) : 0;
}

/* Prints what is live at the end and not in the file. A page says so itself. */
static void print_suppressed(const struct hl_export_job *x)
{
	struct hl_value v = hl_suppressions_total(x->query.suppressions);
	char bytes[HL_TEXT_SIZE_MAX], blocks[HL_TEXT_SIZE_MAX];

	if (v.blocks)
		hl_cli_info("suppressed, not exported: %s in %s block%s "
			    "(--no-default-suppressions includes them)",
			hl_text_bytes(bytes, v.bytes), hl_text_count(blocks, v.blocks),
			v.blocks == 1 ? "" : "s");
}

/* The output has a maximum, which is lower than the peak of the run. */
static void print_lacking_peak(struct hl_model *m)
{
	const struct hl_totals *t = &hl_model_info(m)->totals;
	char bytes[HL_TEXT_SIZE_MAX], at[HL_TEXT_SIZE_MAX], begin[HL_TEXT_SIZE_MAX];

	hl_cli_info("the peak of the run, %s at %s, is not in the output: the highest value there "
		    "is that since %s, where this trace begins; report --peak shows the peak",
		hl_text_bytes(bytes, t->peak_bytes), hl_text_duration(at, t->peak_time_ns),
		hl_text_duration_up(begin, hl_model_base(m)->time_ns));
}

/* Of several processes only their number, because most of them lack the same. */
static void print_missing_symbols(struct export *e, struct hl_model *m)
{
	struct hl_strbuf text = {0};

	if (hl_export_put_missing_symbols(&text, m))
		e->n_nameless++;
	if (text.len && (e->n_processes <= 1 || e->options.common.verbose))
		hl_cli_error("%s", hl_strbuf_str(&text));
	hl_strbuf_fini(&text);
}

static void print_nameless_processes(const struct export *e)
{
	if (e->n_nameless && e->n_processes > 1 && !e->options.common.verbose)
		hl_cli_error("%d of %d processes have frames without a name (--verbose lists "
			     "their modules); " HL_MISSING_SYMBOLS_ADVICE,
			e->n_nameless, e->n_processes);
}

/* A table of sites has no place for them. */
static void print_wrappers(const struct export *e, const struct hl_export_job *x)
{
	struct hl_strbuf text = {0};

	if (e->format->table_if_grouped && x->grouped && x->group == HL_GROUP_SITE)
		hl_model_put_wrappers(&text, x->m);
	if (text.len > 0)
		hl_cli_info("%s", hl_strbuf_str(&text));
	hl_strbuf_fini(&text);
}

/* Prints what a reader of the file must know about it. */
static void print_warnings(struct export *e, struct hl_plan *p, const struct hl_export_job *x)
{
	struct hl_model *m = p->m;
	char got[HL_TEXT_SIZE_MAX];

	struct hl_filter_check c;

	hl_plan_note_base_limit(p);
	hl_request_warn(m);
	hl_plan_check_filter(p, false, &c);
	hl_filter_check_note(&c, &p->notes);
	hl_filter_check_fini(&c);
	if (x->lacks_peak)
		print_lacking_peak(m);
	if (!e->quiet) {
		print_wrappers(e, x);
		print_suppressed(x);
		print_missing_symbols(e, m);
	}
	if (x->before_damage && hl_model_has_aggregated(m))
		hl_plan_note_moved(p, &x->query.to, x->to_ns, true);
	else if (x->before_damage)
		hl_cli_error("part of the trace cannot be read; the export ends at %s",
			hl_text_duration(got, x->to_ns));
	else if (x->quantity_given)
		hl_plan_note_moved(p, &x->query.to, x->to_ns, false);
}

/* Writes the output files. On failure no file is left. Returns 0 or an exit status; *err is an
 * error of the model. */
static int write_output(struct export *e, struct hl_export_job *x, int *err)
{
	struct hl_output_set *files = &e->files;
	int failed = e->out ? 0 : hl_output_set_open(files, e->format, x);

	x->is_first = !e->out;
	x->is_last = !e->has_several || e->is_last;
	x->out = e->out ? e->out : x->out;
	e->out = x->out;

	if (failed)
		return print_write_error(files->failed, failed);
	*err = hl_export_write(e->format, x);
	if (*err && !hl_output_set_failed(files)) {
		hl_output_set_drop(files);
		return 0;
	}
	*err = 0;
	if (!x->is_last)
		return 0;
	failed = hl_output_set_finish(files);
	/* Errors on stdout are reported by hl_cli_finish(). */
	return failed && strcmp(e->output, "-") != 0 ? print_write_error(files->failed, failed) : 0;
}

/* Checks what the format needs of the trace. Returns 0 or an exit status. */
static int check_trace(const struct export *e, struct hl_plan *p)
{
	struct hl_strbuf why = {0};
	int status = 0;

	/* A trace without an order of events is refused by the model, with a better message. */
	if (e->format->unweighted && hl_model_has_event_order(p->m) &&
		hl_model_info(p->m)->totals.samples > 0) {
		hl_cli_error("%s cannot represent sampled data (no weight per sample); use pprof, "
			     "dhat or svg",
			e->format->name);
		status = HL_EXIT_IO;
	} else if (!hl_plan_has_times(p, &why)) {
		status = hl_cli_usage("%s", hl_strbuf_str(&why));
	}
	hl_strbuf_fini(&why);
	return status;
}

/* Fills the job and writes the output. *err is an error of the model. */
static int run_job(struct export *e, struct hl_plan *p, struct hl_export_job *x, int *err)
{
	const struct hl_request *r = p->request;
	struct hl_strbuf title = {0};
	char heading[256];
	char process[256];
	int status = 0;

	x->query = hl_plan_query(p, r->quantity);
	x->own_peak = hl_plan_has_own_peak(p, r->quantity);
	x->quantity_given = r->quantity != HL_REQUEST_DEFAULT;
	x->full_stacks = r->full_stacks;
	hl_plan_heading(p, r->quantity, heading, sizeof(heading));
	hl_strbuf_puts(&title, heading);
	if (e->grouped)
		hl_strbuf_printf(&title, ", by %s", hl_group_name(e->group));
	x->title = hl_strbuf_str(&title);
	x->filter_text = hl_strbuf_str(&p->filter_text);
	x->pool = r->pool_name;
	if (e->has_several) {
		const struct hl_meta *meta = &hl_model_info(p->m)->meta;

		snprintf(process, sizeof(process), "%s (pid %" PRIu64 ")",
			hl_session_base(meta->program), meta->pid);
		x->process = process;
		x->start_unix_ns = e->start_unix_ns;
		x->kept = &e->kept;
	}
	*err = hl_request_make_suppressions(r, &x->suppressions);
	if (!*err)
		status = write_output(e, x, err);
	if (!status && !*err)
		print_warnings(e, p, x);
	hl_suppressions_free(x->suppressions);
	hl_strbuf_fini(&title);
	return status;
}

static int export_trace(struct export *e, struct hl_model *m)
{
	struct hl_export_job x = {
		.m = m, .by_blocks = e->by_blocks, .grouped = e->grouped, .group = e->group};
	struct hl_request_error why;
	struct hl_plan *p = NULL;
	int err = hl_plan_new(&p, &e->options.request, m, &hl_cli_notes, &why), status;

	status = err ? hl_request_print_error(err, &why) : check_trace(e, p);
	err = 0;
	if (!status)
		status = hl_symbol_options_apply(&e->options.symbols, m, !e->format->for_people);
	if (!status)
		status = run_job(e, p, &x, &err);
	hl_plan_free(p);
	return hl_request_close(
		&e->options, m, status, err, x.before_damage ? "part of the requested data" : NULL);
}

/* Checks the filter and reads the suppressions. Returns 0 or an exit status. */
static int finish_request(struct hl_request_options *o)
{
	struct hl_request_error why;
	int err = hl_request_finish_filter(&o->request, &why);

	return err ? hl_request_print_error(err, &why) : hl_request_read_suppressions(o);
}

/* The message lists the formats that can have several processes. */
static int reject_several(const struct export *e, const struct hl_session_choice *c)
{
	struct hl_strbuf formats = {0}, what = {0}, instead = {0};
	int status;

	for (const struct hl_export_format *f = hl_export_formats; f->name; f++) {
		if (f->several)
			hl_strbuf_printf(&formats, "%s%s", formats.len ? ", " : "", f->name);
	}
	hl_strbuf_printf(&what, "be exported into one file of %s, only of %s", e->format->name,
		hl_strbuf_str(&formats));
	hl_strbuf_printf(&instead, "write a file of each with -o NAME-%%p%s, or choose one",
		e->format->suffix);
	status = hl_session_require_one(c, hl_strbuf_str(&what), hl_strbuf_str(&instead));
	hl_strbuf_fini(&instead);
	hl_strbuf_fini(&formats);
	hl_strbuf_fini(&what);
	return status;
}

/* The output of a format with compressed data may be incomplete until `kept` is gone. */
static void drop_output(struct export *e)
{
	if (e->kept && e->format->drop)
		e->format->drop(e->kept);
	e->kept = NULL;
	hl_output_set_drop(&e->files);
}

static int export_next(struct export *e, const char *trace)
{
	struct hl_model *m;
	int status;

	hl_cli_set_subject(trace);
	status = hl_trace_file_open_path(trace, &m);
	if (!status)
		status = export_trace(e, m);
	hl_cli_set_subject(NULL);
	return status;
}

static bool can_continue(int status)
{
	return !status || status == HL_EXIT_INCOMPLETE;
}

/* Peaks of several processes cannot be added: each has its own part of the file. */
static int export_session(struct export *e, const struct hl_session_choice *c)
{
	int status = 0, result;

	e->has_several = true;
	e->start_unix_ns = hl_session_start(c->session);
	for (int i = 0; i < c->n && can_continue(status); i++) {
		e->is_last = i + 1 == c->n;
		result = export_next(e, c->files[i]);
		status = result ? result : status;
	}
	if (!can_continue(status))
		drop_output(e);
	return status;
}

/* Each process has its own output, named by the pattern -o. A failure does not stop the others. */
static int export_each(struct export *e, const struct hl_session_choice *c)
{
	const char *pattern = e->output;
	char **names;
	int status = hl_process_names_make(&names, pattern, c), result;

	if (status)
		return status;
	for (int i = 0; i < c->n; i++) {
		hl_output_set_fini(&e->files);
		e->output = names[i];
		e->out = NULL;
		result = init_output_files(e);
		if (!result)
			result = check_output(e, 1, &c->files[i]);
		if (!result)
			result = export_next(e, c->files[i]);
		status = can_continue(status) && result ? result : status;
	}
	e->output = pattern;
	hl_process_names_free(names, c);
	return status;
}

/* -o NAME-%p: only for several processes is -o a pattern. */
static bool has_file_of_each(const struct export *e, const struct hl_session_choice *c)
{
	return c->is_session && hl_process_names_differ(e->output);
}

/* A file of most viewers has one process. */
static int choose_trace(const struct export *e, struct hl_session_choice *c, int argc, char **argv)
{
	int status = hl_session_choose(c, &e->options.common, argc, argv, HL_SESSION_PROGRAM);

	if (!status && !e->format->several && !has_file_of_each(e, c))
		status = reject_several(e, c);
	if (!status && c->n > 1 && !c->is_session)
		status = hl_cli_usage(
			"takes one trace, but \"%s\" follows \"%s\"", c->files[1], c->files[0]);
	return status;
}

static int export_chosen(struct export *e, const struct hl_session_choice *c)
{
	struct hl_model *m;
	int status;

	e->n_processes = c->n;
	if (has_file_of_each(e, c))
		return export_each(e, c);
	if (c->n > 1)
		return export_session(e, c);
	status = hl_trace_file_open_path(c->files[0], &m);
	return status ? status : export_trace(e, m);
}

static int run_export(void *state, int argc, char **argv)
{
	struct export *e = state;
	struct hl_session_choice c = {0};
	int status = 0;

	if (e->list)
		return list_formats();
	if (!e->output)
		e->output = "-";
	signal(SIGXFSZ, SIG_IGN); /* write then reports the file size limit as an error */
	status = e->format ? check_options(e) : reject_format(e);
	if (!status)
		status = init_output_files(e);
	if (!status)
		status = choose_trace(e, &c, argc, argv);
	if (!status)
		status = check_output(e, c.n, c.files);
	if (!status)
		status = finish_request(&e->options);
	if (!status)
		status = export_chosen(e, &c);
	print_nameless_processes(e);
	if (!status && !e->quiet)
		hl_session_print_rest(&c);
	status = hl_session_choice_status(&c, status);
	hl_session_choice_fini(&c);
	hl_output_set_fini(&e->files);
	return status;
}

static const struct hl_opt output_rows[] = {
	{'f', "format", "FORMAT", "the format; --list shows all", set_format},
	{'o', "output", "FILE",
		"write to FILE; text is compressed if it ends in .gz or .zst (-: stdout, the "
		"default); with --all and %p (pid) in FILE, a file of each process",
		set_output},
	{0, "table", "TABLE:" TABLE_VALUES,
		"write only one table; by default all, in files beside FILE (parquet)", set_table},
	{0, "list", NULL, "list the formats and the programs that read them", set_list},
	{'q', "quiet", NULL, "do not list modules without names", set_quiet},
	{0},
};

static const struct hl_opt peak_rows[] = {HL_REQUEST_PEAK_ROW("(the default, see below)"), {0}};

static const struct hl_opt group_rows[] = {
	{0, "cost", "COST:" COST_VALUES, "the unit of flame graphs and graphs (default bytes)",
		set_cost},
	{'g', "group",
		"GROUP:stack|function|site|file|module|thread|call|size|life|snapshot|tag|pool",
		"split flame graphs, trees and stacks by GROUP first; csv: the table of report",
		set_group},
	{0},
};

static const struct hl_opt export_opts[] = {
	HL_SESSION_OPTS,
	HL_SYMBOL_OPTS,
	HL_OPT_STRICT,
	HL_OPT_VERBOSE,
	{0},
};

static const struct hl_opt_table export_tables[] = {
	{output_rows, 0},
	{peak_rows, HL_REQUEST_OFFSET},
	{hl_request_quantity_rows, HL_REQUEST_OFFSET},
	{group_rows, 0},
	{hl_request_stack_rows, HL_REQUEST_OFFSET},
	{hl_request_filter_rows, HL_REQUEST_OFFSET},
	{hl_suppression_file_rows, 0},
	{hl_request_suppression_rows, HL_REQUEST_OFFSET},
	{0},
};

static const struct hl_example export_examples[] = {
	{"-f pprof -o app.pb.gz app.hlt", "for go tool pprof"},
	{"-f heaptrack -o app.zst app.hlt", "for heaptrack_gui"},
	{"-f svg --leaks -o leaks.svg app.hlt", "a flame graph of leaks"},
	{"-f parquet -o app.parquet app.hlt", "tables for SQL"},
	{"-f replay -o app.replay app.hlt", "for heaplapse-replay"},
	{"-f html -o app.html app.hlt", "a report as one page"},
	{"--list", "list all formats"},
	{0},
};

const struct hl_cmd hl_cmd_export = {
	.name = "export",
	.summary = "convert a trace to the format of another viewer",
	.usage = "-f FORMAT [options] [FILE]",
	.examples = export_examples,
	.about = HL_REQUEST_ABOUT
	"json, csv, parquet, heaptrack, dhat and replay contain the allocation and the free of\n"
	"each selected block, by default of all blocks. If a trace has only sums of some blocks\n"
	"(--mode=count or cull), json, csv and dhat contain these sums; the other three refuse\n"
	"the trace. massif and chrome show the whole run; only a filter applies. Samples are\n"
	"scaled to estimates; heaptrack and replay cannot represent them and refuse the trace.\n"
	"parquet writes three tables: app.parquet, app.stacks.parquet and app.frames.parquet.\n"
	"FILE is replaced only when the export is complete; a failure leaves it unchanged.\n",
	.tables = export_tables,
	.opts = export_opts,
	.operand = HL_OPERAND_TRACE,
	.state_size = sizeof(struct export),
	.run = run_export,
	.fini = hl_request_options_fini,
};
