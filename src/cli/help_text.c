/*
 * help_text.c - help for people at a terminal; see help.h.
 */
#include <stdio.h>
#include <string.h>

#include "cli/help.h"
#include "util/terminal.h"
#include "util/wrap.h"

#define SCREEN_LINES 23 /* of 24: the prompt comes after it */
#define LEFT         26 /* where the explanations begin */
#define NAME_LEFT    14 /* the same in the list of commands */

static const struct hl_example first_steps[] = {
	{"record ./program", "run it and write heaplapse.program.PID.hlt"},
	{"report", "who held the memory at its peak"},
	{"report --leaks FILE.hlt", "what was never freed"},
	{0},
};

/* Lines longer than a hundred columns are hard to read on any screen. */
static unsigned width(void)
{
	unsigned w = hl_term_width(1);

	return w == 0 ? 80 : w > 100 ? 100 : w < 40 ? 40 : w;
}

void hl_help_option(char *buf, size_t n, const struct hl_opt *o)
{
	char name[5] = "    ";
	const char *before = "";

	if (o->short_name)
		snprintf(name, sizeof(name), "-%c%s", o->short_name, o->long_name ? ", " : "");
	if (hl_opt_arg_optional(o))
		before = "[=";
	else if (o->arg)
		before = o->long_name ? "=" : " ";
	snprintf(buf, n, "%s%s%s%s%.*s", name, o->long_name ? "--" : "",
		o->long_name ? o->long_name : "", before,
		o->arg ? hl_opt_arg_len(o) - hl_opt_arg_optional(o) : 0,
		!o->arg ? "" : o->arg + hl_opt_arg_optional(o));
}

const char *hl_help_of(const struct hl_opt *o)
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

#define FINE   "0 fine, 2 wrong usage, "
#define INPUT  "3 input that cannot be read or output that cannot be written"
#define OUTPUT "3 output that cannot be written"
#define STRICT ", 4 with --strict when something was missing"

const char *hl_help_exit_status(const struct hl_cmd *cmd)
{
	if (cmd && cmd->exit_status)
		return cmd->exit_status;
	if (!cmd || has_strict(cmd))
		return FINE INPUT STRICT ".";
	return cmd->operand == HL_OPERAND_TRACE ? FINE INPUT "." : FINE OUTPUT ".";
}

static void heading(const char *text)
{
	printf("%s%s%s\n", hl_term_style(1, HL_STYLE_BOLD), text, hl_term_style(1, HL_STYLE_PLAIN));
}

/* Up to the first aside, and no longer than what is left of the line. */
static void put_clause(const char *help, unsigned column)
{
	static const char *const ends[] = {" (", "; ", ", see "};
	unsigned room = width() > column + 8 ? width() - column : 8;
	size_t len = strlen(help);

	for (size_t i = 0; i < HL_ARRAY_LEN(ends); i++) {
		const char *end = strstr(help, ends[i]);

		if (end && end < help + len)
			len = (size_t)(end - help);
	}
	if (len > room)
		printf("%.*s...\n", (int)(room - 3), help);
	else
		printf("%.*s\n", (int)len, help);
}

static unsigned widest_example(const struct hl_example *e)
{
	size_t most = 0;

	for (; e->args; e++)
		most = strlen(e->args) > most ? strlen(e->args) : most;
	return (unsigned)most;
}

/* one_line: a screen is small. On a narrow terminal the explanation goes to the next line. */
static void put_examples(const struct hl_cmd *cmd, bool one_line)
{
	const struct hl_example *e = cmd ? cmd->examples : first_steps;
	const char *name = cmd ? cmd->name : "", *gap = cmd ? " " : "";
	unsigned left = widest_example(e);
	unsigned column = (unsigned)(strlen("  heaplapse   ") + strlen(name) + strlen(gap)) + left;
	bool narrow = !one_line && column + 24 > width();

	for (; e->args; e++) {
		printf("  heaplapse %s%s%-*s%s", name, narrow && !e->args[0] ? "" : gap,
			narrow ? 0 : (int)left, e->args, narrow ? "\n        " : "  ");
		if (one_line)
			put_clause(e->what, column);
		else
			hl_wrap(stdout, e->what, narrow ? 8 : column, narrow ? 8 : column, width());
	}
}

static void put_usage(const struct hl_cmd *cmd)
{
	if (!cmd) {
		puts("usage: heaplapse COMMAND [options] ...");
		hl_wrap(stdout,
			"records every allocation of a program and shows its heap at any moment", 0,
			0, width());
		return;
	}
	printf("usage: heaplapse %s%s%s\n%s\n", cmd->name, cmd->usage[0] ? " " : "", cmd->usage,
		cmd->summary);
}

static void put_short_row(const struct hl_opt *o)
{
	char left[HL_HELP_OPTION_MAX];
	int n;

	hl_help_option(left, sizeof(left), o);
	if (strlen(left) > LEFT - 3) /* the values are in the long help */
		left[strcspn(left, "[=")] = 0;
	n = printf("  %-*s ", LEFT - 3, left);
	put_clause(o->help, (unsigned)n);
}

/* A list for a small screen: what is on line i, in full or by name alone. */
struct list {
	const struct hl_cmd *cmd; /* its options; NULL: the commands */
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

static int list_name(const struct list *l, size_t i, char *buf, size_t n)
{
	const struct hl_opt *o = l->cmd ? hl_cmd_listed_opt(l->cmd, i) : NULL;

	if (!l->cmd)
		return snprintf(buf, n, "%s", command_at(i)->name);
	if (!o->long_name)
		return snprintf(buf, n, "-%c", o->short_name);
	return snprintf(buf, n, "--%s", o->long_name);
}

/* The names from `first` on; returns how many lines they take, and prints them or not. */
static unsigned put_names(const struct list *l, size_t first, bool print)
{
	unsigned column = 0, lines = 0;

	for (size_t i = first; i < l->len; i++) {
		char name[64];
		unsigned n = (unsigned)list_name(l, i, name, sizeof(name));

		if (lines == 0 || column + 1 + n > width()) {
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
	printf("  %-*s", NAME_LEFT - 2, cmd->name);
	hl_wrap(stdout, cmd->summary, NAME_LEFT, NAME_LEFT, width());
}

static void put_short_command(const struct hl_cmd *cmd)
{
	printf("  %-*s", NAME_LEFT - 2, cmd->name);
	put_clause(cmd->summary, NAME_LEFT);
}

/* As many with their explanation as there is room for, the others by name. */
static void put_list(const struct list *l, size_t room)
{
	size_t n = l->len < room ? l->len : room;

	while (n > 0 && n + put_names(l, n, false) > room)
		n--;
	for (size_t i = 0; i < n; i++) {
		if (l->cmd)
			put_short_row(hl_cmd_listed_opt(l->cmd, i));
		else
			put_short_command(command_at(i));
	}
	put_names(l, n, true);
}

static size_t count_examples(const struct hl_cmd *cmd)
{
	const struct hl_example *e = cmd ? cmd->examples : first_steps;
	size_t n = 0;

	while (e && e[n].args)
		n++;
	return n;
}

void hl_help_short(const struct hl_cmd *cmd)
{
	struct list list = {.cmd = cmd};
	size_t examples = count_examples(cmd);

	while (cmd ? hl_cmd_listed_opt(cmd, list.len) != NULL : command_at(list.len) != NULL)
		list.len++;
	if (examples > 0) {
		heading("examples:");
		put_examples(cmd, true);
		putchar('\n');
	}
	put_usage(cmd);
	putchar('\n');
	/* Beside the list: a head and an empty line, usage, summary, and two empty lines and the
	 * foot. */
	put_list(&list, SCREEN_LINES - 5 - (examples ? examples + 2 : 0));
	if (cmd)
		printf("\nheaplapse %s --help explains them all.\n", cmd->name);
	else
		puts("\nheaplapse COMMAND -h shows one; heaplapse --help says more.");
}

static void put_row(const char *left, const char *help)
{
	unsigned n = (unsigned)printf("  %-*s", LEFT - 2, left);

	if (n > LEFT || left[LEFT - 3]) {
		printf("\n%*s", LEFT, "");
		n = LEFT;
	}
	hl_wrap(stdout, help, n, LEFT, width());
}

static void put_options(const struct hl_cmd *cmd)
{
	char left[HL_HELP_OPTION_MAX];
	const struct hl_opt *o;

	heading("\noptions:");
	for (size_t i = 0; (o = hl_cmd_listed_opt(cmd, i)) != NULL; i++) {
		memset(left, 0, sizeof(left));
		hl_help_option(left, sizeof(left), o);
		put_row(left, hl_help_of(o));
	}
	if (cmd->options_in_environment) {
		putchar('\n');
		hl_wrap_paragraphs(stdout,
			"Every option --foo-bar is also HEAPLAPSE_FOO_BAR in the environment, "
			"there also "
			"for programs that are run with LD_PRELOAD=libheaplapse.so: heaplapse help "
			"environment.\n",
			0, width());
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
		"Names in the environment. Those of record's options hold for heaplapse record, "
		"where "
		"the command line wins, and for programs that are run with "
		"LD_PRELOAD=libheaplapse.so. Empty is as good as not set, and 0 switches off what "
		"takes no value.\n",
		0, width());
	putchar('\n');
	put_environment();
}

void hl_help_full(const struct hl_cmd *cmd)
{
	put_usage(cmd);
	if (!cmd || cmd->examples) {
		heading("\nexamples:");
		put_examples(cmd, false);
	}
	if (cmd) {
		put_options(cmd);
	} else {
		heading("\ncommands:");
		for (size_t i = 0; command_at(i); i++)
			put_command(command_at(i));
		putchar('\n');
		hl_wrap(stdout,
			"heaplapse help COMMAND explains one, heaplapse COMMAND -h shows it in "
			"short.",
			0, 0, width());
		heading("\nenvironment:");
		put_environment();
	}
	if (cmd && cmd->about) {
		putchar('\n');
		hl_wrap_paragraphs(stdout, cmd->about, 0, width());
	}
	fputs("\nExit status: ", stdout);
	hl_wrap(stdout, hl_help_exit_status(cmd), 13, 0, width());
}
