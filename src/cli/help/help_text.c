/* SPDX-License-Identifier: Apache-2.0 */
/*
 * help_text.c - prints help for a terminal; see help.h.
 */
#include <stdio.h>
#include <string.h>

#include "cli/help/help.h"
#include "util/terminal/terminal.h"
#include "util/terminal/wrap.h"

#define SCREEN_LINES   23 /* of 24: one line is for the prompt */
#define HELP_COLUMN    26 /* column of the explanations */
#define SUMMARY_COLUMN 14 /* the same in the list of commands */

static const struct hl_example first_steps[] = {
	{"record ./program", "run it and write heaplapse.program.PID.hlt"},
	{"report", "the overview of the newest trace"},
	{"report --leaks FILE.hlt", "memory that was never freed"},
	{0},
};

/* Lines longer than 100 columns are hard to read. */
static unsigned text_width(void)
{
	unsigned w = hl_term_width(1);

	return w == 0 ? 80 : w > 100 ? 100 : w < 40 ? 40 : w;
}

void hl_help_option(char *buf, size_t n, const struct hl_opt *o)
{
	char name[5] = "    ";
	const char *prefix = "";

	if (o->short_name)
		snprintf(name, sizeof(name), "-%c%s", o->short_name, o->long_name ? ", " : "");
	if (hl_opt_arg_optional(o))
		prefix = "[=";
	else if (o->arg)
		prefix = o->long_name ? "=" : " ";
	snprintf(buf, n, "%s%s%s%s%.*s", name, o->long_name ? "--" : "",
		o->long_name ? o->long_name : "", prefix,
		o->arg ? hl_opt_arg_len(o) - hl_opt_arg_optional(o) : 0,
		!o->arg ? "" : o->arg + hl_opt_arg_optional(o));
}

const char *hl_help_option_text(const struct hl_opt *o)
{
	static char text[512];
	const char *values = hl_opt_values(o);
	size_t at;

	if (!values || values == o->arg)
		return o->help;
	at = (size_t)snprintf(text, sizeof(text), "%s: ", o->help);
	for (const char *c = values; *c && at + 3 < sizeof(text); c++) {
		text[at++] = *c == '|' ? ',' : *c;
		if (*c == '|')
			text[at++] = ' ';
	}
	text[at] = 0;
	return text;
}

static bool has_strict(const struct hl_cmd *cmd)
{
	const struct hl_opt *o;

	for (size_t i = 0; (o = hl_cmd_listed_opt(cmd, i)) != NULL; i++) {
		if (o->long_name && strcmp(o->long_name, "strict") == 0)
			return true;
	}
	return false;
}

#define FINE   "0 success, 2 wrong usage, "
#define INPUT  "3 input cannot be read or output cannot be written"
#define OUTPUT "3 output cannot be written"
#define STRICT ", 4 with --strict if data is missing"

const char *hl_help_exit_status(const struct hl_cmd *cmd)
{
	if (cmd && cmd->exit_status)
		return cmd->exit_status;
	if (!cmd || has_strict(cmd))
		return FINE INPUT STRICT ".";
	return cmd->operand == HL_OPERAND_TRACE ? FINE INPUT "." : FINE OUTPUT ".";
}

static void put_heading(const char *text)
{
	printf("%s%s%s\n", hl_cli_style(1, HL_STYLE_BOLD), text, hl_cli_style(1, HL_STYLE_PLAIN));
}

/* Returns the first clause of a help text, valid until the next call. */
static const char *first_clause(const char *help)
{
	static const char *const ends[] = {" (", "; ", ", see "};
	static char clause[512];
	size_t len = strlen(help);

	for (size_t i = 0; i < HL_ARRAY_LEN(ends); i++) {
		const char *end = strstr(help, ends[i]);

		if (end && end < help + len)
			len = (size_t)(end - help);
	}
	snprintf(clause, sizeof(clause), "%.*s", (int)len, help);
	return clause;
}

static unsigned widest_example(const struct hl_example *e)
{
	size_t max = 0;

	for (; e->args; e++)
		max = strlen(e->args) > max ? strlen(e->args) : max;
	return (unsigned)max;
}

static unsigned example_column(const struct hl_cmd *cmd)
{
	const char *name = cmd ? cmd->name : "", *gap = cmd ? " " : "";

	return (unsigned)(strlen("  heaplapse   ") + strlen(name) + strlen(gap)) +
	       widest_example(cmd ? cmd->examples : first_steps);
}

/* The explanation of an example is beside it or, on a narrow terminal, on the next line. The short
 * help is content with less room beside it, to save lines. */
static bool examples_are_narrow(const struct hl_cmd *cmd, bool is_short)
{
	return example_column(cmd) + (is_short ? 16 : 24) > text_width();
}

static const char *example_help(const struct hl_example *e, bool is_short)
{
	return is_short ? first_clause(e->help) : e->help;
}

static void put_examples(const struct hl_cmd *cmd, bool is_short)
{
	const struct hl_example *e = cmd ? cmd->examples : first_steps;
	const char *name = cmd ? cmd->name : "", *gap = cmd ? " " : "";
	unsigned left = widest_example(e), column = example_column(cmd);
	bool narrow = examples_are_narrow(cmd, is_short);

	for (; e->args; e++) {
		printf("  heaplapse %s%s%-*s%s", name, narrow && !e->args[0] ? "" : gap,
			narrow ? 0 : (int)left, e->args, narrow ? "\n        " : "  ");
		hl_wrap(stdout, example_help(e, is_short), narrow ? 8 : column, narrow ? 8 : column,
			text_width());
	}
}

/* Returns how many lines the examples of the short help take. */
static unsigned count_example_lines(const struct hl_cmd *cmd)
{
	const struct hl_example *e = cmd ? cmd->examples : first_steps;
	bool narrow = examples_are_narrow(cmd, true);
	unsigned column = narrow ? 8 : example_column(cmd), lines = 0;

	for (; e->args; e++)
		lines +=
			narrow + hl_wrap_lines(example_help(e, true), column, column, text_width());
	return lines;
}

static void put_usage(const struct hl_cmd *cmd)
{
	if (!cmd) {
		puts("usage: heaplapse COMMAND [options] ...");
		hl_wrap(stdout,
			"records every allocation of a program and shows its heap at any moment", 0,
			0, text_width());
		return;
	}
	printf("usage: heaplapse %s%s%s\n%s\n", cmd->name, cmd->usage[0] ? " " : "", cmd->usage,
		cmd->summary);
}

static void put_short_row(const struct hl_opt *o)
{
	char left[HL_HELP_OPTION_MAX];

	hl_help_option(left, sizeof(left), o);
	if (strlen(left) > HELP_COLUMN - 3) /* the values are in the full help */
		left[strcspn(left, "[=")] = 0;
	printf("  %-*s ", HELP_COLUMN - 3, left);
	hl_wrap(stdout, first_clause(o->help), HELP_COLUMN, HELP_COLUMN, text_width());
}

/* A list for a small screen. Each item is printed in full or by name only. */
struct list {
	const struct hl_cmd *cmd; /* list its options; NULL: list the commands */
	size_t len;
};

static const struct hl_cmd *command_at(size_t i)
{
	for (size_t k = 0; hl_commands[k]; k++) {
		if (!hl_commands[k]->hidden && i-- == 0)
			return hl_commands[k];
	}
	return NULL;
}

static int format_item_name(const struct list *l, size_t i, char *buf, size_t n)
{
	const struct hl_opt *o = l->cmd ? hl_cmd_listed_opt(l->cmd, i) : NULL;

	if (!l->cmd)
		return snprintf(buf, n, "%s", command_at(i)->name);
	if (!o->long_name)
		return snprintf(buf, n, "-%c", o->short_name);
	return snprintf(buf, n, "--%s", o->long_name);
}

/* Returns how many lines the names from `first` on take; prints them if `print` is set. */
static unsigned put_names(const struct list *l, size_t first, bool print)
{
	unsigned column = 0, lines = 0;

	for (size_t i = first; i < l->len; i++) {
		char name[64];
		unsigned n = (unsigned)format_item_name(l, i, name, sizeof(name));

		if (lines == 0 || column + 1 + n > text_width()) {
			if (print)
				fputs(lines == 0 ? "  and" : "\n     ", stdout);
			column = 5;
			lines++;
		}
		if (print)
			printf(" %s", name);
		column += 1 + n;
	}
	if (print && lines)
		putchar('\n');
	return lines;
}

static void put_command(const struct hl_cmd *cmd)
{
	printf("  %-*s", SUMMARY_COLUMN - 2, cmd->name);
	hl_wrap(stdout, cmd->summary, SUMMARY_COLUMN, SUMMARY_COLUMN, text_width());
}

static void put_short_command(const struct hl_cmd *cmd)
{
	printf("  %-*s", SUMMARY_COLUMN - 2, cmd->name);
	hl_wrap(stdout, first_clause(cmd->summary), SUMMARY_COLUMN, SUMMARY_COLUMN, text_width());
}

/* Returns how many lines the first n items take. */
static unsigned count_item_lines(const struct list *l, size_t n)
{
	unsigned column = l->cmd ? HELP_COLUMN : SUMMARY_COLUMN, lines = 0;

	for (size_t i = 0; i < n; i++)
		lines += hl_wrap_lines(first_clause(l->cmd ? hl_cmd_listed_opt(l->cmd, i)->help
							   : command_at(i)->summary),
			column, column, text_width());
	return lines;
}

/* Prints the first items with their explanation, as far as they fit, and the others by name. */
static void put_list(const struct list *l, unsigned room)
{
	size_t n = l->len;

	while (n > 0 && count_item_lines(l, n) + put_names(l, n, false) > room)
		n--;
	for (size_t i = 0; i < n; i++) {
		if (l->cmd)
			put_short_row(hl_cmd_listed_opt(l->cmd, i));
		else
			put_short_command(command_at(i));
	}
	put_names(l, n, true);
}

void hl_help_short(const struct hl_cmd *cmd)
{
	struct list list = {.cmd = cmd};
	bool examples = !cmd || cmd->examples;
	unsigned other_lines = 5; /* usage, summary, two empty lines, footer */

	while (cmd ? hl_cmd_listed_opt(cmd, list.len) != NULL : command_at(list.len) != NULL)
		list.len++;
	if (examples) {
		put_heading("examples:");
		put_examples(cmd, true);
		putchar('\n');
		other_lines += 2 + count_example_lines(cmd); /* and heading, empty line */
	}
	put_usage(cmd);
	putchar('\n');
	put_list(&list, other_lines < SCREEN_LINES ? SCREEN_LINES - other_lines : 0);
	if (cmd)
		printf("\nheaplapse %s --help describes all options.\n", cmd->name);
	else
		puts("\nheaplapse COMMAND -h shows its options; heaplapse --help shows more.");
}

static void put_row(const char *left, const char *help)
{
	unsigned n = (unsigned)printf("  %-*s", HELP_COLUMN - 2, left);

	if (n > HELP_COLUMN || left[HELP_COLUMN - 3]) {
		printf("\n%*s", HELP_COLUMN, "");
		n = HELP_COLUMN;
	}
	hl_wrap(stdout, help, n, HELP_COLUMN, text_width());
}

static void put_options(const struct hl_cmd *cmd)
{
	char left[HL_HELP_OPTION_MAX];
	const struct hl_opt *o;

	put_heading("\noptions:");
	for (size_t i = 0; (o = hl_cmd_listed_opt(cmd, i)) != NULL; i++) {
		memset(left, 0, sizeof(left));
		hl_help_option(left, sizeof(left), o);
		put_row(left, hl_help_option_text(o));
	}
	if (cmd->options_in_environment) {
		putchar('\n');
		hl_wrap_paragraphs(stdout,
			"Every option --foo-bar can also be set by the environment variable "
			"HEAPLAPSE_FOO_BAR, also for programs that are run with "
			"LD_PRELOAD=libheaplapse.so; see heaplapse help environment.\n",
			0, text_width());
	}
}

static void put_environment(void)
{
	struct hl_env_row row;

	for (size_t i = 0; hl_env_row(i, &row); i++) {
		char left[HL_HELP_OPTION_MAX] = {0};

		snprintf(left, sizeof(left), "%s=%s", row.name, row.value ? row.value : "1");
		put_row(left, row.help);
	}
}

void hl_help_environment(void)
{
	hl_wrap_paragraphs(stdout,
		"Environment variables. Variables for options of record apply to heaplapse record, "
		"where the command line takes precedence, and to programs that are run with "
		"LD_PRELOAD=libheaplapse.so. An empty variable counts as not set; 0 switches off "
		"an option that takes no value.\n",
		0, text_width());
	putchar('\n');
	put_environment();
}

void hl_help_full(const struct hl_cmd *cmd)
{
	put_usage(cmd);
	if (!cmd || cmd->examples) {
		put_heading("\nexamples:");
		put_examples(cmd, false);
	}
	if (cmd) {
		put_options(cmd);
	} else {
		put_heading("\ncommands:");
		for (size_t i = 0; command_at(i); i++)
			put_command(command_at(i));
		putchar('\n');
		hl_wrap(stdout,
			"heaplapse help COMMAND shows the complete help of a command, heaplapse "
			"COMMAND -h a short one.",
			0, 0, text_width());
		put_heading("\nenvironment:");
		put_environment();
	}
	if (cmd && cmd->about) {
		putchar('\n');
		hl_wrap_paragraphs(stdout, cmd->about, 0, text_width());
	}
	fputs("\nExit status: ", stdout);
	hl_wrap(stdout, hl_help_exit_status(cmd), 13, 0, text_width());
}
