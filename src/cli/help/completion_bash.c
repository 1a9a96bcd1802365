/* SPDX-License-Identifier: Apache-2.0 */
/*
 * completion_bash.c - prints a function for bash's `complete`.
 *
 * The function does not need the bash-completion package. Bash splits --color=al at the =, so that
 * the value is a separate word; the function looks two words back for its option.
 */
#include "cli/help/completion.h"

static void put_operand_words(FILE *out, const struct hl_cmd *cmd)
{
	const char *word;

	for (size_t i = 0; cmd->word_at && (word = cmd->word_at(i)) != NULL; i++)
		fprintf(out, "%s%s", i ? " " : "", word);
}

static void put_options(FILE *out, const struct hl_cmd *cmd)
{
	const struct hl_opt *o;

	for (size_t i = 0; (o = hl_cmd_listed_opt(cmd, i)) != NULL; i++) {
		if (o->short_name)
			fprintf(out, "-%c ", o->short_name);
		if (o->long_name)
			fprintf(out, "--%s%s ", o->long_name,
				o->arg && !hl_opt_arg_optional(o) ? "=" : "");
	}
}

/* Prints "record:-o|record:--output|record:--output=) ...". An optional value comes only after a
 * =. */
static void put_value(FILE *out, const struct hl_cmd *cmd, const struct hl_opt *o)
{
	char words[256];
	enum hl_value_kind kind = hl_value_kind(o);

	if (kind == HL_VALUE_NONE)
		return;
	fputs("\t\t", out);
	if (o->short_name && !hl_opt_arg_optional(o))
		fprintf(out, "%s:-%c%s", cmd->name, o->short_name, o->long_name ? "|" : "");
	if (o->long_name && !hl_opt_arg_optional(o))
		fprintf(out, "%s:--%s|", cmd->name, o->long_name);
	if (o->long_name)
		fprintf(out, "%s:--%s=", cmd->name, o->long_name);
	fputs(") ", out);
	if (kind == HL_VALUE_WORDS) {
		hl_value_words(o, words, sizeof(words));
		fprintf(out, "_heaplapse_words '%s'", words);
	} else if (kind == HL_VALUE_ANY) {
		fputs("COMPREPLY=()", out);
	} else {
		fprintf(out, "_heaplapse_files -%c", kind == HL_VALUE_FILE ? 'f' : 'd');
	}
	fputs("; return ;;\n", out);
}

static void put_values(FILE *out)
{
	const struct hl_cmd *cmd;
	const struct hl_opt *o;

	fputs("\tcase $cmd:$opt in\n", out);
	for (size_t i = 0; (cmd = hl_completion_next(&i)) != NULL;) {
		for (size_t k = 0; (o = hl_cmd_listed_opt(cmd, k)) != NULL; k++)
			put_value(out, cmd, o);
	}
	fputs("\tesac\n", out);
}

static void put_operands(FILE *out, const struct hl_cmd *cmd)
{
	fprintf(out, "\t%s)\n\t\t[[ $cur == -* ]] && { _heaplapse_words '", cmd->name);
	put_options(out, cmd);
	fputs("'; return; }\n\t\t", out);
	switch (cmd->operand) {
	case HL_OPERAND_TRACE:
		fputs("_heaplapse_files -d -f -X '!*.hlt'", out);
		break;
	case HL_OPERAND_PROGRAM:
		fputs("_heaplapse_files -c -f", out);
		break;
	case HL_OPERAND_WORD:
		fputs("_heaplapse_words '", out);
		put_operand_words(out, cmd);
		fputs("'", out);
		break;
	case HL_OPERAND_NONE:
		fputs(":", out);
	}
	fputs(" ;;\n", out);
}

static const char head[] =
	"# bash completion for heaplapse; made by: heaplapse completion bash\n"
	"\n"
	"_heaplapse_words() {\n"
	"\tCOMPREPLY=($(compgen -W \"$1\" -- \"$cur\"))\n"
	"\t[[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace\n"
	"}\n"
	"\n"
	"_heaplapse_files() {\n"
	"\tcompopt -o filenames\n"
	"\tmapfile -t COMPREPLY < <(compgen \"$@\" -- \"$cur\")\n"
	"}\n"
	"\n"
	"_heaplapse() {\n"
	"\tlocal cur=${COMP_WORDS[COMP_CWORD]} cmd=${COMP_WORDS[1]} opt=\n"
	"\tlocal IFS=$' \\t\\n'\n"
	"\tCOMPREPLY=()\n"
	"\t[[ $cur == = ]] && cur=\n"
	"\tif [[ $COMP_CWORD -eq 1 ]]; then\n";

static const char find_option[] = "\topt=${COMP_WORDS[COMP_CWORD-1]}\n"
				  "\tif [[ ${COMP_WORDS[COMP_CWORD]} == = ]]; then\n"
				  "\t\topt+==\n"
				  "\telif [[ $opt == = ]]; then\n"
				  "\t\topt=${COMP_WORDS[COMP_CWORD-2]}=\n"
				  "\tfi\n";

/* `record PROGRAM ...`: from the program on, the words are completed as if the command line began
 * there. */
static void put_programs(FILE *out)
{
	const struct hl_cmd *cmd;

	for (size_t i = 0; (cmd = hl_completion_next(&i)) != NULL;) {
		if (cmd->operand != HL_OPERAND_PROGRAM)
			continue;
		fprintf(out,
			"\tif [[ $cmd == %s ]]; then\n"
			"\t\tlocal i=2 valued=' ",
			cmd->name);
		for (size_t k = 0; hl_cmd_listed_opt(cmd, k); k++) {
			const struct hl_opt *o = hl_cmd_listed_opt(cmd, k);

			if (o->arg && !hl_opt_arg_optional(o) && o->short_name)
				fprintf(out, "-%c ", o->short_name);
			if (o->arg && !hl_opt_arg_optional(o) && o->long_name)
				fprintf(out, "--%s ", o->long_name);
		}
		fputs("'\n"
		      "\t\twhile [[ $i -lt $COMP_CWORD && ${COMP_WORDS[i]} == -* ]]; do\n"
		      "\t\t\tif [[ ${COMP_WORDS[i]} == -- ]]; then i=$((i + 1)); break; fi\n"
		      "\t\t\tif [[ ${COMP_WORDS[i+1]} == = ]]; then i=$((i + 2))\n"
		      "\t\t\telif [[ $valued == *\" ${COMP_WORDS[i]} \"* ]]; then i=$((i + 1)); "
		      "fi\n"
		      "\t\t\ti=$((i + 1))\n"
		      "\t\tdone\n"
		      "\t\tif [[ $i -lt $COMP_CWORD ]]; then\n"
		      "\t\t\tif declare -F _command_offset >/dev/null; then _command_offset $i\n"
		      "\t\t\telse _heaplapse_files -f; fi\n"
		      "\t\t\treturn\n"
		      "\t\tfi\n"
		      "\tfi\n",
			out);
	}
}

void hl_completion_bash(FILE *out)
{
	const struct hl_cmd *cmd;

	fputs(head, out);
	fputs("\t\t_heaplapse_words '", out);
	for (size_t i = 0; (cmd = hl_completion_next(&i)) != NULL;)
		fprintf(out, "%s ", cmd->name);
	fputs("--help --version'\n\t\treturn\n\tfi\n", out);
	put_programs(out);
	fputs(find_option, out);
	put_values(out);
	fputs("\tcase $cmd in\n", out);
	for (size_t i = 0; (cmd = hl_completion_next(&i)) != NULL;)
		put_operands(out, cmd);
	fputs("\tesac\n}\n\ncomplete -F _heaplapse heaplapse\n", out);
}
