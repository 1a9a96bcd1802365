/*
 * cmd_export.c - a trace in another program's format: the options, and the file that it goes to.
 *
 * What is asked is asked in the words of `report`, and formats are rows of src/views/export.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/report.h"
#include "util/strbuf.h"
#include "util/text.h"
#include "views/export/export.h"
#include "views/export/files.h"

struct export
{
	struct hl_report question; /* first */
	const struct hl_export_format *format;
	const char *format_name, *output, *table_name;
	struct hl_export_files files;
	bool list, by_blocks, grouped, quiet;
	enum hl_group group;
};

#define TABLE_VALUES "allocations|stacks|frames"
#define COST_VALUES  "bytes|blocks"

static const char *set_format(void *state, const char *value)
{
	struct export *e = state;

	e->format_name = value;
	e->format = hl_export_find(value);
	return NULL; /* the list is long: see run_export */
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

/* Full names, and nothing left out that was not asked for: it is for programs. */
static void init(void *state)
{
	((struct export *)state)->question.common.json = true;
}

static int list_formats(void)
{
	for (const struct hl_export_format *f = hl_export_formats; f->name; f++)
		printf("%-11s %-17s %s\n", f->name, f->suffix, f->viewer);
	return HL_EXIT_OK;
}

static int no_format(const struct export *e)
{
	struct hl_strbuf all = {0};
	int status;

	for (const struct hl_export_format *f = hl_export_formats; f->name; f++)
		hl_strbuf_printf(&all, "%s%s", all.len ? ", " : "", f->name);
	if (e->format_name)
		status = hl_cli_usage("there is no format \"%s\"; there are: %s", e->format_name,
			hl_strbuf_str(&all));
	else
		status = hl_cli_usage("which format? --format is one of: %s", hl_strbuf_str(&all));
	hl_strbuf_fini(&all);
	return status;
}

/* Names the formats that can. */
static int no_group(const struct export *e)
{
	struct hl_strbuf can = {0};
	int status;

	for (const struct hl_export_format *f = hl_export_formats; f->name; f++) {
		if (f->groups & 1u << e->group)
			hl_strbuf_printf(&can, "%s%s", can.len ? ", " : "", f->name);
	}
	status = hl_cli_usage("%s cannot be grouped by %s; these can: %s", e->format->name,
		hl_group_name(e->group), hl_strbuf_str(&can));
	hl_strbuf_fini(&can);
	return status;
}

static int check_options(struct export *e)
{
	const struct hl_export_format *f = e->format;
	int status = hl_question_check(&e->question);

	if (status)
		return status;
	if (f->course && (e->question.quantity.option || e->question.range.option))
		return hl_cli_usage("%s shows the whole run: %s does not apply, only a filter does",
			f->name,
			e->question.quantity.option ? e->question.quantity.option
						    : e->question.range.option);
	if (e->question.pool && f->heap)
		return hl_cli_usage("%s shows the heap over time: --pool does not apply", f->name);
	if (e->grouped)
		status = hl_question_check_group(&e->question, e->group);
	if (status)
		return status;
	if (e->question.pool && e->grouped && e->group == HL_GROUP_SNAPSHOT)
		return hl_cli_usage(
			"--pool does not go with --group=snapshot, which is the heap's");
	if (e->grouped && !(f->groups & 1u << e->group))
		return no_group(e);
	if (e->table_name && hl_export_find_table(f, e->table_name) < 0)
		return hl_cli_usage("%s has no table %s; leave out --table, or use -f parquet",
			f->name, e->table_name);
	if (f->binary && strcmp(e->output, "-") == 0 && isatty(STDOUT_FILENO))
		return hl_cli_usage(
			"%s is nothing for a terminal; name a file: -o heap%s", f->name, f->suffix);
	return 0;
}

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);

	return n >= m && strcmp(s + n - m, end) == 0;
}

/* The end of the name that promises what a binary format does not keep; NULL: it has none. */
static const char *unwanted_packer(const struct export *e)
{
	static const char *const packers[] = {".gz", ".zst"};

	for (size_t i = 0; e->format->binary && i < 2; i++) {
		if (ends_with(e->output, packers[i]) && !ends_with(e->format->suffix, packers[i]))
			return packers[i];
	}
	return NULL;
}

/* Whoever mixes up the two names must not lose the recording. */
static int check_output(const struct export *e, int argc, char **argv)
{
	size_t n = strlen(e->output);
	const char *packer = unwanted_packer(e);
	struct stat to, from;

	if (n > 4 && strcmp(e->output + n - 4, ".hlt") == 0)
		return hl_cli_usage(
			"-o %s: that is what traces are called, and an export is none; name "
			"it *%s",
			e->output, e->format->suffix);
	if (packer)
		return hl_cli_usage("-o %s: %s is not packed by %s; name it *%s", e->output,
			e->format->name, packer, e->format->suffix);
	if (argc == 0 || stat(argv[0], &from) < 0)
		return 0;
	for (int i = 0; i < HL_EXPORT_TABLES; i++) {
		const char *path = e->files.paths[i];

		if (path && stat(path, &to) == 0 && to.st_dev == from.st_dev &&
			to.st_ino == from.st_ino)
			return hl_cli_usage("-o %s is the trace itself, which would be lost", path);
	}
	return 0;
}

static int cannot_write(const char *path, int err)
{
	hl_cli_error("%s cannot be written: %s", strcmp(path, "-") == 0 ? "stdout" : path,
		strerror(-err));
	return HL_EXIT_IO;
}

/* Where it goes. 0 or an exit status. */
static int find_files(struct export *e)
{
	int table = e->table_name ? hl_export_find_table(e->format, e->table_name) : -1;
	int err = hl_export_files_init(&e->files, e->format, e->output, table);

	return err ? cannot_write(e->output, err) : 0;
}

/* What the reader of the file must know about it. */
static void warn(struct export *e, struct hl_model *m, const struct hl_export_job *x)
{
	char got[HL_TEXT_SIZE_MAX];

	hl_report_warn(m);
	if (!e->quiet)
		hl_export_say_nameless(m);
	if (x->moved && hl_model_withholds(m))
		hl_report_warn_moved(&e->question, m, &x->query, x->to_ns, true);
	else if (x->moved)
		hl_cli_error("a part of the trace cannot be read; what was exported goes up to %s",
			hl_text_duration(got, x->to_ns));
	else if (x->asked)
		hl_report_warn_moved(&e->question, m, &x->query, x->to_ns, false);
	e->question.moved |= x->moved;
}

/* Into the file, which is there afterwards or is not. 0 or an exit status; *err of the model. */
static int write_output(struct export *e, struct hl_export_job *x, int *err)
{
	struct hl_export_files *files = &e->files;
	int failed = hl_export_files_open(files, e->format, x);

	if (failed)
		return cannot_write(files->failed, failed);
	*err = hl_export_write(e->format, x);
	if (*err && !hl_export_files_failed(files)) {
		hl_export_files_drop(files);
		return 0;
	}
	*err = 0;
	failed = hl_export_files_finish(files);
	/* stdout is the command line's to judge. */
	return failed && strcmp(e->output, "-") != 0 ? cannot_write(files->failed, failed) : 0;
}

static void add_choice(struct hl_strbuf *b, const char *option, const hl_report_names *names)
{
	for (size_t i = 0; i < names->len; i++)
		hl_strbuf_printf(b, "%s%s%s", b->len ? " " : "", option, names->data[i]);
}

/* The filter as it was asked for, in one line. */
static void put_choice(struct hl_strbuf *b, const struct hl_report *r)
{
	add_choice(b, "", &r->filter_exprs);
	add_choice(b, "--include-function=", &r->include_function);
	add_choice(b, "--exclude-function=", &r->exclude_function);
	add_choice(b, "--include-module=", &r->include_module);
	add_choice(b, "--exclude-module=", &r->exclude_module);
}

static int export_trace(struct export *e, struct hl_model *m)
{
	struct hl_report *r = &e->question;
	struct hl_export_job x = {
		.m = m, .by_blocks = e->by_blocks, .grouped = e->grouped, .group = e->group};
	struct hl_strbuf why = {0}, choice = {0}, title = {0};
	int err = 0, status = 0;

	/* What has no order is refused for that, by the model. */
	if (e->format->unweighted && hl_model_has_order(m) &&
		hl_model_info(m)->totals.samples > 0) {
		hl_cli_error("the recording is of samples, and %s has no place for how many "
			     "blocks each of them stands for; pprof, dhat and svg have",
			e->format->name);
		status = HL_EXIT_IO;
	} else if (!hl_report_has_times(r, m, &why))
		status = hl_cli_usage("%s", hl_strbuf_str(&why));
	hl_strbuf_fini(&why);
	if (!status)
		status = hl_symbol_options_apply(&r->symbols, m, !e->format->people);
	if (!status)
		status = hl_report_make_suppressions(r);
	if (!status) {
		r->peak = (struct hl_when){.kind = HL_WHEN_PEAK};
		x.query = hl_report_query(r);
		x.own_peak = hl_report_has_own_peak(r);
		x.asked = r->what != HL_REPORT_NOTHING;
		hl_strbuf_puts(&title, hl_report_heading(r, m));
		if (e->grouped)
			hl_strbuf_printf(&title, ", by %s", hl_group_name(e->group));
		x.what = hl_strbuf_str(&title);
		put_choice(&choice, r);
		x.choice = hl_strbuf_str(&choice);
		x.pool = r->pool_name;
		status = write_output(e, &x, &err);
	}
	if (!status && !err)
		warn(e, m, &x);
	hl_strbuf_fini(&choice);
	hl_strbuf_fini(&title);
	return hl_report_finish(r, m, status, err, x.moved ? "a part of what was asked for" : NULL);
}

static int run_export(void *state, int argc, char **argv)
{
	struct export *e = state;
	struct hl_model *m;
	int status = 0;

	if (e->list)
		return list_formats();
	if (!e->output)
		e->output = "-";
	signal(SIGXFSZ, SIG_IGN); /* a limit is told by write, which has words for it */
	status = e->format ? check_options(e) : no_format(e);
	if (!status)
		status = find_files(e);
	if (!status)
		status = check_output(e, argc, argv);
	if (!status)
		status = hl_report_make_filter(&e->question);
	if (!status)
		status = hl_report_read_suppressions(&e->question);
	if (!status)
		status = hl_trace_file_open(argc, argv, &m);
	if (!status)
		status = export_trace(e, m);
	hl_export_files_fini(&e->files);
	return status;
}

static const struct hl_opt export_opts[] = {
	{'f', "format", "FORMAT", "the format; --list shows all", set_format},
	{'o', "output", "FILE",
		"write to FILE, text packed if it ends in .gz or .zst (-: stdout, the default)",
		set_output},
	{0, "table", "TABLE:" TABLE_VALUES,
		"one table alone; else all, in files beside FILE (parquet)", set_table},
	{0, "list", NULL, "the formats, and who reads them", set_list},
	{'q', "quiet", NULL, "do not say which modules have no names", set_quiet},
	HL_QUESTION_OPTS("what was live at the peak, with a filter at that of what fits (the "
			 "default, see below)"),
	{0, "cost", "COST:" COST_VALUES, "what flame graphs and graphs show the size of (bytes)",
		set_cost},
	{'g', "group",
		"GROUP:stack|function|site|file|module|thread|call|size|life|snapshot|tag|pool",
		"divide flame graphs, trees and stacks by GROUP first; csv: report's table",
		set_group},
	HL_CHOICE_OPTS,
	HL_SYMBOL_OPTS,
	HL_OPT_STRICT,
	HL_OPT_VERBOSE,
	{0},
};

static const struct hl_example export_examples[] = {
	{"-f pprof -o app.pb.gz app.hlt", "for go tool pprof"},
	{"-f heaptrack -o app.zst app.hlt", "for heaptrack_gui"},
	{"-f svg --leaks -o leaks.svg app.hlt", "a flame graph of what was never freed"},
	{"-f parquet -o app.parquet app.hlt", "tables for SQL: DuckDB, Spark"},
	{"-f replay -o app.replay app.hlt", "then: heaplapse-replay app.replay"},
	{"-f html -o app.html app.hlt", "a whole report as one page to mail"},
	{"--list", "all formats"},
	{0},
};

const struct hl_cmd hl_cmd_export = {
	.name = "export",
	.summary = "a trace in the format of another viewer",
	.usage = "-f FORMAT [options] [FILE]",
	.examples = export_examples,
	.about = HL_QUESTION_ABOUT
	"json, csv, parquet, heaptrack, dhat and replay have the whole lives of the blocks\n"
	"that count, by default all. Of a trace with some blocks in sums alone (--mode=count\n"
	"or cull) json, csv and dhat have these sums, too; the other three refuse it.\n"
	"massif and chrome show the whole run, and only a filter applies. A sample counts\n"
	"for what it stands for; only heaptrack and replay have no place for that: they\n"
	"refuse such a trace.\n"
	"parquet is three tables: app.parquet, app.stacks.parquet and app.frames.parquet.\n"
	"FILE gets its name when it is whole: a failure leaves what was there before.\n",
	.opts = export_opts,
	.operand = HL_OPERAND_TRACE,
	.state_size = sizeof(struct export),
	.init = init,
	.run = run_export,
	.fini = hl_question_fini,
};
