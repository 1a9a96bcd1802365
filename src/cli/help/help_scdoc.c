/* SPDX-License-Identifier: Apache-2.0 */
/*
 * help_scdoc.c - prints help as the source of a manual page, for scdoc(1); see help.h.
 */
#include <stdio.h>
#include <string.h>

#include "cli/help/help.h"

/* Prints plain text. Characters that scdoc would treat as markup get a backslash. */
static void put_escaped(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (strchr("\\*_[]|<>#~`+", text[i]) || (i == 0 && strchr("-.'", text[i])))
			putchar('\\');
		putchar(text[i]);
	}
}

static void put_text_line(const char *text, size_t len)
{
	put_escaped(text, len);
	putchar('\n');
}

static void put_line(const char *text)
{
	put_text_line(text, strlen(text));
}

static void put_section(const char *name)
{
	printf("\n# %s\n\n", name);
}

static void put_marked(char mark, const char *text)
{
	putchar(mark);
	put_escaped(text, strlen(text));
	putchar(mark);
}

/* Prints *-n*, *--limit*=_N_. */
static void put_option(const struct hl_opt *o)
{
	if (o->short_name)
		printf("*-%c*%s", o->short_name, o->long_name ? ", " : "");
	if (o->long_name) {
		fputs("*--", stdout);
		put_escaped(o->long_name, strlen(o->long_name));
		putchar('*');
	}
	if (hl_opt_arg_optional(o)) {
		fputs("\\[=", stdout);
		putchar('_');
		put_escaped(o->arg + 1, (size_t)hl_opt_arg_len(o) - 2);
		fputs("_\\]", stdout);
	} else if (o->arg) {
		printf("%c_", o->long_name ? '=' : ' ');
		put_escaped(o->arg, (size_t)hl_opt_arg_len(o));
		putchar('_');
	}
	fputs("\n\t", stdout);
	put_line(hl_help_option_text(o));
	putchar('\n');
}

/* Prints paragraphs as text, and lines that begin with a space verbatim. */
static void put_about(const char *text)
{
	bool literal = false;

	while (*text) {
		size_t len = strcspn(text, "\n");

		if ((*text == ' ') != literal) {
			puts(literal ? "```\n" : "\n```");
			literal = !literal;
		}
		if (literal)
			printf("%.*s\n", (int)len, text);
		else
			put_text_line(text, len);
		text += len + (text[len] == '\n');
	}
	if (literal)
		puts("```");
}

static void put_examples(const struct hl_cmd *cmd)
{
	put_section("EXAMPLES");
	for (const struct hl_example *e = cmd->examples; e->args; e++) {
		printf("*heaplapse %s%s", cmd->name, e->args[0] ? " " : "");
		put_escaped(e->args, strlen(e->args));
		fputs("*\n\t", stdout);
		put_line(e->help);
		putchar('\n');
	}
}

static void put_environment(void)
{
	struct hl_env_row row;

	put_section("ENVIRONMENT");
	puts("Variables for options of record apply to *heaplapse record*, where the command line "
	     "takes precedence, and to programs that are run with LD\\_PRELOAD=libheaplapse.so. An "
	     "empty variable counts as not set; 0 switches off an option that takes no value.\n");
	for (size_t i = 0; hl_env_row(i, &row); i++) {
		put_marked('*', row.name);
		putchar('=');
		put_marked('_', row.value ? row.value : "1");
		fputs("\n\t", stdout);
		put_line(row.help);
		putchar('\n');
	}
}

static void put_see_also(const struct hl_cmd *cmd)
{
	put_section("SEE ALSO");
	if (cmd)
		fputs("*heaplapse*(1)", stdout);
	for (size_t i = 0, n = cmd != NULL; hl_commands[i]; i++) {
		if (!hl_commands[i]->hidden && hl_commands[i] != cmd)
			printf("%s*heaplapse-%s*(1)", n++ ? ", " : "", hl_commands[i]->name);
	}
	putchar('\n');
}

static void put_command_page(const struct hl_cmd *cmd)
{
	const struct hl_opt *o;

	printf("heaplapse-%s(1) \"heaplapse " HL_VERSION "\" \"heaplapse\"\n", cmd->name);
	put_section("NAME");
	printf("heaplapse-%s - %s\n", cmd->name, cmd->summary);
	put_section("SYNOPSIS");
	printf("*heaplapse %s*%s", cmd->name, cmd->usage[0] ? " " : "");
	put_line(cmd->usage);
	put_section("DESCRIPTION");
	put_line(cmd->summary);
	put_section("OPTIONS");
	for (size_t i = 0; (o = hl_cmd_listed_opt(cmd, i)) != NULL; i++)
		put_option(o);
	if (cmd->about)
		put_about(cmd->about);
	if (cmd->examples)
		put_examples(cmd);
	if (cmd->options_in_environment)
		put_environment();
}

static void put_main_page(void)
{
	puts("heaplapse(1) \"heaplapse " HL_VERSION "\" \"heaplapse\"");
	put_section("NAME");
	puts("heaplapse - record every allocation of a program and show its heap at any moment");
	put_section("SYNOPSIS");
	puts("*heaplapse* _COMMAND_ \\[options\\] ...");
	put_section("DESCRIPTION");
	puts("heaplapse records every allocation of a program and shows its heap at any moment.");
	put_section("COMMANDS");
	for (size_t i = 0; hl_commands[i]; i++) {
		if (hl_commands[i]->hidden)
			continue;
		printf("*heaplapse-%s*(1)\n\t", hl_commands[i]->name);
		put_line(hl_commands[i]->summary);
		putchar('\n');
	}
	put_environment();
}

void hl_help_scdoc(const struct hl_cmd *cmd)
{
	if (cmd)
		put_command_page(cmd);
	else
		put_main_page();
	put_section("EXIT STATUS");
	put_line(hl_help_exit_status(cmd));
	put_see_also(cmd);
}
