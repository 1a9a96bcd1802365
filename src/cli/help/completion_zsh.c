/* SPDX-License-Identifier: Apache-2.0 */
/*
 * completion_zsh.c - prints a function for zsh's completion system, with _arguments.
 */
#include <string.h>

#include "cli/help/completion.h"

/* Escapes text for use inside '...' and inside the brackets and colons of an _arguments word. */
static void put_escaped(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '\'')
			fputs("'\\''", out);
		else if (strchr("[]:\\", *text))
			fprintf(out, "\\%c", *text);
		else
			putc(*text, out);
	}
}

/* Prints ":FILE:_files". */
static void put_value(FILE *out, const struct hl_opt *o)
{
	char words[256];

	switch (hl_value_kind(o)) {
	case HL_VALUE_NONE:
		return;
	case HL_VALUE_WORDS:
		hl_value_words(o, words, sizeof(words));
		fprintf(out, ":%s:(%s)", o->long_name ? o->long_name : "value", words);
		return;
	case HL_VALUE_FILE:
		fputs(":file:_files", out);
		return;
	case HL_VALUE_DIRECTORY:
		fputs(":directory:_files -/", out);
		return;
	case HL_VALUE_ANY:
		fputs(":", out);
		put_escaped(out, o->arg);
		fputs(": ", out);
	}
}

static void put_option(FILE *out, const struct hl_opt *o)
{
	if (o->short_name) {
		fprintf(out, " \\\n\t\t\t'-%c%s[", o->short_name,
			o->arg && !hl_opt_arg_optional(o) ? "+" : "");
		put_escaped(out, o->help);
		fputs("]", out);
		if (!hl_opt_arg_optional(o))
			put_value(out, o);
		fputs("'", out);
	}
	if (o->long_name) {
		fprintf(out, " \\\n\t\t\t'--%s%s[", o->long_name,
			!o->arg                  ? ""
			: hl_opt_arg_optional(o) ? "=-"
						 : "=");
		put_escaped(out, o->help);
		fputs("]", out);
		if (hl_opt_arg_optional(o))
			fputs(":", out); /* two colons: the value is optional */
		put_value(out, o);
		fputs("'", out);
	}
}

static void put_operand(FILE *out, const struct hl_cmd *cmd)
{
	const char *word;

	switch (cmd->operand) {
	case HL_OPERAND_TRACE:
		fputs(" \\\n\t\t\t'*:trace:_files -g \"*.hlt(-.)\"'", out);
		break;
	case HL_OPERAND_PROGRAM:
		fputs(" \\\n\t\t\t'(-):program:_command_names -e' \\\n\t\t\t'*::arguments:_normal'",
			out);
		break;
	case HL_OPERAND_WORD:
		fputs(" \\\n\t\t\t'1:word:(", out);
		for (size_t i = 0; (word = cmd->word_at(i)) != NULL; i++)
			fprintf(out, "%s%s", i ? " " : "", word);
		fputs(")'", out);
		break;
	case HL_OPERAND_NONE:
		break;
	}
}

static void put_command(FILE *out, const struct hl_cmd *cmd)
{
	const struct hl_opt *o;

	fprintf(out, "\t%s)\n\t\t_arguments -s -S%s", cmd->name,
		cmd->stops_at_operand ? " -A '-*'" : "");
	for (size_t i = 0; (o = hl_cmd_listed_opt(cmd, i)) != NULL; i++)
		put_option(out, o);
	put_operand(out, cmd);
	fputs(" ;;\n", out);
}

void hl_completion_zsh(FILE *out)
{
	const struct hl_cmd *cmd;

	fputs("#compdef heaplapse\n"
	      "# zsh completion for heaplapse; made by: heaplapse completion zsh\n"
	      "\n"
	      "_heaplapse() {\n"
	      "\tlocal -a commands=(\n",
		out);
	for (size_t i = 0; (cmd = hl_completion_next(&i)) != NULL;) {
		fprintf(out, "\t\t'%s:", cmd->name);
		put_escaped(out, cmd->summary);
		fputs("'\n", out);
	}
	fputs("\t)\n"
	      "\tif (( CURRENT == 2 )); then\n"
	      "\t\t_describe command commands\n"
	      "\t\treturn\n"
	      "\tfi\n"
	      "\tshift words\n"
	      "\t(( CURRENT-- ))\n"
	      "\tcase $words[1] in\n",
		out);
	for (size_t i = 0; (cmd = hl_completion_next(&i)) != NULL;)
		put_command(out, cmd);
	fputs("\tesac\n"
	      "}\n"
	      "\n"
	      "if [[ $funcstack[1] == _heaplapse ]]; then _heaplapse \"$@\"; else compdef "
	      "_heaplapse heaplapse; fi\n",
		out);
}
