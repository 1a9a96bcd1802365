/*
 * help_scdoc.c - help as the source of a manual page, for scdoc(1); see help.h.
 */
#include <stdio.h>
#include <string.h>

#include "cli/help.h"

/* Plain text: what scdoc would take for markup gets a backslash. */
static void put(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (strchr("\\*_[]|<>#~`+", text[i]) || (i == 0 && strchr("-.'", text[i])))
			putchar('\\');
		putchar(text[i]);
	}
}

static void put_words(const char *text, size_t len)
{
	put(text, len);
	putchar('\n');
}

static void put_line(const char *text)
{
	put_words(text, strlen(text));
}

static void section(const char *name)
{
	printf("\n# %s\n\n", name);
}

static void marked(char mark, const char *text)
{
	putchar(mark);
	put(text, strlen(text));
	putchar(mark);
}

/* *-n*, *--limit*=_N_ */
static void put_option(const struct hl_opt *o)
{
	if (o->short_name)
		printf("*-%c*%s", o->short_name, o->long_name ? ", " : "");
	if (o->long_name) {
		fputs("*--", stdout);
		put(o->long_name, strlen(o->long_name));
		putchar('*');
	}
	if (hl_opt_arg_optional(o)) {
		fputs("\\[=", stdout);
		putchar('_');
		put(o->arg + 1, (size_t)hl_opt_arg_len(o) - 2);
		fputs("_\\]", stdout);
	} else if (o->arg) {
		printf("%c_", o->long_name ? '=' : ' ');
		put(o->arg, (size_t)hl_opt_arg_len(o));
		putchar('_');
	}
	fputs("\n\t", stdout);
	put_line(hl_help_of(o));
	putchar('\n');
}

/* Paragraphs as they are; lines that begin with a space are shown as they stand. */
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
			put_words(text, len);
		text += len + (text[len] == '\n');
	}
	if (literal)
		puts("```");
}

static void put_examples(const struct hl_cmd *cmd)
{
	section("EXAMPLES");
	for (const struct hl_example *e = cmd->examples; e->args; e++) {
		printf("*heaplapse %s%s", cmd->name, e->args[0] ? " " : "");
		put(e->args, strlen(e->args));
		fputs("*\n\t", stdout);
		put_line(e->what);
		putchar('\n');
	}
}

static void put_environment(void)
{
	struct hl_env_row row;

	section("ENVIRONMENT");
	puts("The names of record's options hold for *heaplapse record*, where the command line "
	     "wins, and "
	     "for programs that are run with LD\\_PRELOAD=libheaplapse.so. Empty is as good as not "
	     "set, and "
	     "0 switches off what takes no value.\n");
	for (size_t i = 0; hl_env_row(i, &row); i++) {
		marked('*', row.name);
		putchar('=');
		marked('_', row.value ? row.value : "1");
		fputs("\n\t", stdout);
		put_line(row.help);
		putchar('\n');
	}
}

static void put_see_also(const struct hl_cmd *cmd)
{
	section("SEE ALSO");
	if (cmd)
		fputs("*heaplapse*(1)", stdout);
	for (size_t i = 0, n = cmd != NULL; hl_commands[i]; i++) {
		if (!hl_commands[i]->hidden && hl_commands[i] != cmd)
			printf("%s*heaplapse-%s*(1)", n++ ? ", " : "", hl_commands[i]->name);
	}
	putchar('\n');
}

static void scdoc_command(const struct hl_cmd *cmd)
{
	const struct hl_opt *o;

	printf("heaplapse-%s(1) \"heaplapse " HL_VERSION "\" \"heaplapse\"\n", cmd->name);
	section("NAME");
	printf("heaplapse-%s - %s\n", cmd->name, cmd->summary);
	section("SYNOPSIS");
	printf("*heaplapse %s*%s", cmd->name, cmd->usage[0] ? " " : "");
	put_line(cmd->usage);
	section("DESCRIPTION");
	put_line(cmd->summary);
	section("OPTIONS");
	for (size_t i = 0; (o = hl_cmd_listed_opt(cmd, i)) != NULL; i++)
		put_option(o);
	if (cmd->about)
		put_about(cmd->about);
	if (cmd->examples)
		put_examples(cmd);
	if (cmd->options_in_environment)
		put_environment();
}

static void scdoc_whole(void)
{
	puts("heaplapse(1) \"heaplapse " HL_VERSION "\" \"heaplapse\"");
	section("NAME");
	puts("heaplapse - record every allocation of a program and show its heap at any moment");
	section("SYNOPSIS");
	puts("*heaplapse* _COMMAND_ \\[options\\] ...");
	section("DESCRIPTION");
	puts("heaplapse records every allocation of a program and shows its heap at any moment.");
	section("COMMANDS");
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
		scdoc_command(cmd);
	else
		scdoc_whole();
	section("EXIT STATUS");
	put_line(hl_help_exit_status(cmd));
	put_see_also(cmd);
}
