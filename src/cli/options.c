/*
 * options.c - command lines from option rows: parsing and help.
 *
 * -n5, -n 5, -vq, --name=value, --name value; `--` ends the options. Operands may stand between
 * options unless the command stops at the first. Long names are not abbreviated: a script must
 * not break because an option was added.
 */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

struct parse {
	const struct hl_cmd *cmd;
	void *state;
	int argc, at; /* at: the word being read */
	char **argv;
	int kept; /* operands so far, moved to argv[1..kept] */
	bool help;
};

static bool row_end(const struct hl_opt *o)
{
	return !o->short_name && !o->long_name;
}

static bool arg_optional(const struct hl_opt *o)
{
	return o->arg && o->arg[0] == '[';
}

static const char *long_name_at(const void *from, size_t i)
{
	const struct hl_opt *o = from;

	for (; o && !row_end(o); o++) {
		if (o->long_name && o->help && i-- == 0)
			return o->long_name;
	}
	return i == 0 ? "help" : NULL;
}

static const struct hl_opt *find_long(const struct hl_cmd *cmd, const char *name, size_t len)
{
	for (const struct hl_opt *o = cmd->opts; o && !row_end(o); o++) {
		if (o->long_name && strlen(o->long_name) == len &&
			memcmp(o->long_name, name, len) == 0)
			return o;
	}
	return NULL;
}

static const struct hl_opt *find_short(const struct hl_cmd *cmd, char c)
{
	for (const struct hl_opt *o = cmd->opts; o && !row_end(o); o++) {
		if (o->short_name == c)
			return o;
	}
	return NULL;
}

/* `shown` is the option as the user wrote it, for the message. */
static int set(struct parse *p, const struct hl_opt *o, const char *value, const char *shown,
	size_t shown_len)
{
	const char *expected = o->set(p->state, value);

	if (!expected)
		return 0;
	if (!value)
		return hl_cli_usage("%.*s: %s", (int)shown_len, shown, expected);
	return hl_cli_usage("%.*s: \"%s\" is not %s", (int)shown_len, shown, value, expected);
}

/* The value of an option that needs one and has none in its own word. */
static int next_value(struct parse *p, const struct hl_opt *o, const char *shown, size_t shown_len,
	const char **value)
{
	if (p->at + 1 >= p->argc)
		return hl_cli_usage("%.*s needs a value: %s", (int)shown_len, shown, o->arg);
	*value = p->argv[++p->at];
	return 0;
}

static int parse_long(struct parse *p, const char *word)
{
	const char *name = word + 2, *eq = strchr(name, '='), *value = eq ? eq + 1 : NULL;
	size_t len = eq ? (size_t)(eq - name) : strlen(name);
	const struct hl_opt *o = find_long(p->cmd, name, len);
	const char *near;
	char text[64];
	int err;

	if (!o && len == 4 && memcmp(name, "help", 4) == 0) {
		p->help = true;
		return 0;
	}
	if (!o) {
		snprintf(text, sizeof(text), "%.*s", (int)(len < 60 ? len : 60), name);
		near = hl_suggest(text, long_name_at, p->cmd->opts);
		if (near)
			return hl_cli_usage("unknown option --%s; did you mean --%s?", text, near);
		return hl_cli_usage("unknown option --%s", text);
	}
	if (!o->arg && eq)
		return hl_cli_usage("--%s takes no value", o->long_name);
	if (o->arg && !eq && !arg_optional(o)) {
		err = next_value(p, o, word, len + 2, &value);
		if (err)
			return err;
	}
	return set(p, o, value, word, len + 2);
}

static int parse_short(struct parse *p, const char *word)
{
	for (const char *c = word + 1; *c; c++) {
		char shown[3] = {'-', *c, 0};
		const struct hl_opt *o = find_short(p->cmd, *c);
		const char *value = NULL;
		int err;

		if (!o && *c == 'h') {
			p->help = true;
			continue;
		}
		if (!o)
			return hl_cli_usage("unknown option %s", shown);
		if (o->arg && !arg_optional(o)) {
			if (c[1])
				value = c + 1;
			else if ((err = next_value(p, o, shown, 2, &value)) != 0)
				return err;
			return set(p, o, value, shown, 2);
		}
		err = set(p, o, NULL, shown, 2);
		if (err)
			return err;
	}
	return 0;
}

static void keep_rest(struct parse *p, int from)
{
	for (int i = from; i < p->argc; i++)
		p->argv[++p->kept] = p->argv[i];
}

int hl_options_parse(const struct hl_cmd *cmd, void *state, int argc, char **argv, int *n_operands,
	char ***operands, bool *help)
{
	struct parse p = {.cmd = cmd, .state = state, .argc = argc, .argv = argv};
	int err = 0;

	for (p.at = 1; p.at < argc && !err; p.at++) {
		char *word = argv[p.at];

		if (strcmp(word, "--") == 0) {
			keep_rest(&p, p.at + 1);
			break;
		}
		if (word[0] == '-' && word[1] == '-') {
			err = parse_long(&p, word);
		} else if (word[0] == '-' && word[1]) {
			err = parse_short(&p, word);
		} else if (cmd->stops_at_operand) {
			keep_rest(&p, p.at);
			break;
		} else {
			argv[++p.kept] = word;
		}
	}
	argv[p.kept + 1] = NULL;
	*n_operands = p.kept;
	*operands = argv + 1;
	*help = p.help;
	/* Whoever asks for help gets it, whatever else is wrong. */
	return p.help ? 0 : err;
}

/* "  -n, --limit N        " */
static void help_row(const struct hl_opt *o)
{
	char left[64];
	int n = 0;

	if (o->short_name)
		n = snprintf(
			left, sizeof(left), "  -%c%s", o->short_name, o->long_name ? ", " : "");
	else
		n = snprintf(left, sizeof(left), "      ");
	if (o->long_name)
		n += snprintf(left + n, sizeof(left) - (size_t)n, "--%s", o->long_name);
	if (arg_optional(o))
		n += snprintf(left + n, sizeof(left) - (size_t)n, "[=%s", o->arg + 1);
	else if (o->arg)
		n += snprintf(left + n, sizeof(left) - (size_t)n, "%s%s", o->long_name ? "=" : " ",
			o->arg);
	printf("%-24s%s%s\n", left, n >= 24 ? "\n                        " : "", o->help);
}

void hl_options_help(const struct hl_cmd *cmd)
{
	static const struct hl_opt help = {'h', "help", NULL, "show this", NULL};

	printf("usage: heaplapse %s %s\n%s\n\n", cmd->name, cmd->usage, cmd->summary);
	for (const struct hl_opt *o = cmd->opts; o && !row_end(o); o++) {
		if (o->help)
			help_row(o);
	}
	help_row(&help);
	if (cmd->about)
		printf("\n%s", cmd->about);
}
