/*
 * completion_fish.c - a list of `complete` lines for fish.
 */
#include <string.h>

#include "cli/completion.h"

static void put(FILE *out, const char *text)
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

	fprintf(out, "complete -c heaplapse -n '__fish_seen_subcommand_from %s'", cmd->name);
	if (o->short_name)
		fprintf(out, " -s %c", o->short_name);
	if (o->long_name)
		fprintf(out, " -l %s", o->long_name);
	/* fish would take the next word for a value that may be left out. */
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
	case HL_VALUE_FOLDER:
		fputs(" -x -a '(__fish_complete_directories)'", out);
	}
	fputs(" -d ", out);
	put(out, o->help);
	putc('\n', out);
}

static void put_operand(FILE *out, const struct hl_cmd *cmd)
{
	const char *word;

	if (cmd->operand == HL_OPERAND_NONE)
		return;
	fprintf(out, "complete -c heaplapse -n '__fish_seen_subcommand_from %s'", cmd->name);
	switch (cmd->operand) {
	case HL_OPERAND_TRACE:
		fputs(" -k -a '(__fish_complete_suffix .hlt)'", out);
		break;
	case HL_OPERAND_PROGRAM:
		fputs(" -F -a '(__fish_complete_subcommand --fcs-skip=2)'", out);
		break;
	default:
		fputs(" -a '", out);
		for (size_t i = 0; (word = cmd->word_at(i)) != NULL; i++)
			fprintf(out, "%s%s", i ? " " : "", word);
		fputs("'", out);
	}
	putc('\n', out);
}

void hl_completion_fish(FILE *out)
{
	const struct hl_cmd *cmd;
	const struct hl_opt *o;

	fputs("# fish completion for heaplapse; made by: heaplapse completion fish\n"
	      "\n"
	      "complete -c heaplapse -f\n",
		out);
	for (size_t i = 0; (cmd = hl_completion_next(&i)) != NULL;) {
		fprintf(out, "complete -c heaplapse -n __fish_use_subcommand -a %s -d ", cmd->name);
		put(out, cmd->summary);
		putc('\n', out);
	}
	for (size_t i = 0; (cmd = hl_completion_next(&i)) != NULL;) {
		for (size_t k = 0; (o = hl_cmd_listed_opt(cmd, k)) != NULL; k++)
			put_option(out, cmd, o);
		put_operand(out, cmd);
	}
}
