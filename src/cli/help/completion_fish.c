/* SPDX-License-Identifier: Apache-2.0 */
/*
 * completion_fish.c - prints a list of `complete` lines for fish.
 */
#include <string.h>

#include "cli/help/completion.h"

static void put_quoted(FILE *out, const char *text)
{
	putc('\'', out);
	for (; *text; text++) {
		if (*text == '\'' || *text == '\\')
			putc('\\', out);
		putc(*text, out);
	}
	putc('\'', out);
}

static void put_option(FILE *out, const struct hl_cmd *cmd, const struct hl_opt *o)
{
	char words[256];

	fprintf(out, "complete -c heaplapse -n '__heaplapse_is %s'", cmd->name);
	if (o->short_name)
		fprintf(out, " -s %c", o->short_name);
	if (o->long_name)
		fprintf(out, " -l %s", o->long_name);
	/* fish would take the next word as an optional value, so none is declared. */
	switch (hl_opt_arg_optional(o) ? HL_VALUE_NONE : hl_value_kind(o)) {
	case HL_VALUE_NONE:
		break;
	case HL_VALUE_WORDS:
		hl_value_words(o, words, sizeof(words));
		fprintf(out, " -x -a '%s'", words);
		break;
	case HL_VALUE_ANY:
		fputs(" -x", out);
		break;
	case HL_VALUE_FILE:
		fputs(" -r -F", out);
		break;
	case HL_VALUE_DIRECTORY:
		fputs(" -x -a '(__fish_complete_directories)'", out);
	}
	fputs(" -d ", out);
	put_quoted(out, o->help);
	putc('\n', out);
}

static void put_operand(FILE *out, const struct hl_cmd *cmd)
{
	const char *word;

	if (cmd->operand == HL_OPERAND_NONE)
		return;
	fprintf(out, "complete -c heaplapse -n '%s %s'",
		cmd->operand == HL_OPERAND_PROGRAM ? "__heaplapse_runs" : "__heaplapse_is",
		cmd->name);
	switch (cmd->operand) {
	case HL_OPERAND_TRACE:
		fputs(" -k -a '(__fish_complete_suffix .hlt)'", out);
		break;
	case HL_OPERAND_PROGRAM:
		fputs(" -F -a '(__heaplapse_program)'", out);
		break;
	default:
		fputs(" -a '", out);
		for (size_t i = 0; (word = cmd->word_at(i)) != NULL; i++)
			fprintf(out, "%s%s", i ? " " : "", word);
		fputs("'", out);
	}
	putc('\n', out);
}

/* Prints the options with a required value, of commands that run a program. */
static void put_valued_options(FILE *out)
{
	const struct hl_cmd *cmd;
	const struct hl_opt *o;

	for (size_t i = 0; (cmd = hl_completion_next(&i)) != NULL;) {
		if (cmd->operand != HL_OPERAND_PROGRAM)
			continue;
		for (size_t k = 0; (o = hl_cmd_listed_opt(cmd, k)) != NULL; k++) {
			if (!o->arg || hl_opt_arg_optional(o))
				continue;
			if (o->short_name)
				fprintf(out, " -%c", o->short_name);
			if (o->long_name)
				fprintf(out, " --%s", o->long_name);
		}
	}
}

static void put_programs(FILE *out)
{
	const struct hl_cmd *cmd;

	for (size_t i = 0; (cmd = hl_completion_next(&i)) != NULL;) {
		if (cmd->operand == HL_OPERAND_PROGRAM)
			fprintf(out, " %s", cmd->name);
	}
}

/*
 * From the program of `record PROGRAM ...` on, the words are completed as if the command line began
 * there.
 */
static void put_functions(FILE *out)
{
	fputs("# Prints the position of the program among the words before the cursor; nothing if "
	      "there is none\n"
	      "function __heaplapse_program_at\n"
	      "\tset -l words (commandline -opc)\n"
	      "\tset -l i 3\n"
	      "\twhile test $i -le (count $words)\n"
	      "\t\tswitch $words[$i]\n"
	      "\t\t\tcase --\n"
	      "\t\t\t\techo (math $i + 1)\n"
	      "\t\t\t\treturn\n"
	      "\t\t\tcase",
		out);
	put_valued_options(out);
	fputs("\n"
	      "\t\t\t\tset i (math $i + 2)\n"
	      "\t\t\tcase '-*'\n"
	      "\t\t\t\tset i (math $i + 1)\n"
	      "\t\t\tcase '*'\n"
	      "\t\t\t\techo $i\n"
	      "\t\t\t\treturn\n"
	      "\t\tend\n"
	      "\tend\n"
	      "end\n"
	      "\n"
	      "function __heaplapse_runs\n"
	      "\tset -l words (commandline -opc)\n"
	      "\ttest (count $words) -ge 2; and test $words[2] = $argv[1]\n"
	      "end\n"
	      "\n"
	      "function __heaplapse_is\n"
	      "\t__heaplapse_runs $argv[1]; or return 1\n"
	      "\tcontains -- $argv[1]",
		out);
	put_programs(out);
	fputs("; or return 0\n"
	      "\ttest -z (__heaplapse_program_at | string collect --allow-empty)\n"
	      "end\n"
	      "\n"
	      "function __heaplapse_program\n"
	      "\tset -l words (commandline -opc)\n"
	      "\tset -l at (__heaplapse_program_at)\n"
	      "\tset -l rest\n"
	      "\tif test -n \"$at\"; and test $at -le (count $words)\n"
	      "\t\tset rest (string escape -- $words[$at..-1])\n"
	      "\tend\n"
	      "\tcomplete -C (string join ' ' -- $rest (commandline -ct))\n"
	      "end\n"
	      "\n",
		out);
}

void hl_completion_fish(FILE *out)
{
	const struct hl_cmd *cmd;
	const struct hl_opt *o;

	fputs("# fish completion for heaplapse; made by: heaplapse completion fish\n"
	      "\n",
		out);
	put_functions(out);
	fputs("complete -c heaplapse -f\n", out);
	for (size_t i = 0; (cmd = hl_completion_next(&i)) != NULL;) {
		fprintf(out, "complete -c heaplapse -n __fish_use_subcommand -a %s -d ", cmd->name);
		put_quoted(out, cmd->summary);
		putc('\n', out);
	}
	for (size_t i = 0; (cmd = hl_completion_next(&i)) != NULL;) {
		for (size_t k = 0; (o = hl_cmd_listed_opt(cmd, k)) != NULL; k++)
			put_option(out, cmd, o);
		put_operand(out, cmd);
	}
}
