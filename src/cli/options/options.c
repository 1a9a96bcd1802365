/* SPDX-License-Identifier: Apache-2.0 */
/*
 * options.c - parses command lines by the option rows.
 *
 * Accepted are -n5, -n 5, -vq, --name=value and --name value; `--` ends the options. Operands may
 * come between options unless the command stops at the first operand. Long names cannot be
 * abbreviated: a script must not break because an option was added.
 */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

struct parse {
	const struct hl_cmd *cmd;
	void *state;
	int argc, at; /* at: index of the current word */
	char **argv;
	int n_found; /* number of operands so far, moved to argv[1..n_found] */
	enum hl_help help;
};

static const struct hl_opt help_row = {
	'h', "help", NULL, "show the complete help; -h is shorter", NULL};

static bool is_end_row(const struct hl_opt *o)
{
	return !o->short_name && !o->long_name;
}

bool hl_opt_arg_optional(const struct hl_opt *o)
{
	return o->arg && o->arg[0] == '[';
}

const struct hl_opt *hl_cmd_opt(const struct hl_cmd *cmd, size_t i)
{
	const struct hl_opt *const tables[] = {cmd->opts, cmd->shared};

	for (size_t t = 0; t < HL_ARRAY_LEN(tables); t++) {
		for (const struct hl_opt *o = tables[t]; o && !is_end_row(o); o++) {
			if (i-- == 0)
				return o;
		}
	}
	return i == 0 ? &help_row : NULL;
}

const struct hl_opt *hl_cmd_listed_opt(const struct hl_cmd *cmd, size_t i)
{
	const struct hl_opt *o;

	for (size_t k = 0; (o = hl_cmd_opt(cmd, k)) != NULL; k++) {
		if (o->help && i-- == 0)
			return o;
	}
	return NULL;
}

static const char *long_name_at(const void *from, size_t i)
{
	const struct hl_opt *o;

	for (size_t k = 0; (o = hl_cmd_listed_opt(from, k)) != NULL; k++) {
		if (o->long_name && i-- == 0)
			return o->long_name;
	}
	return NULL;
}

static const struct hl_opt *find_long(const struct hl_cmd *cmd, const char *name, size_t len)
{
	const struct hl_opt *o;

	for (size_t i = 0; (o = hl_cmd_opt(cmd, i)) != NULL; i++) {
		if (o->long_name && strlen(o->long_name) == len &&
			memcmp(o->long_name, name, len) == 0)
			return o;
	}
	return NULL;
}

static const struct hl_opt *find_short(const struct hl_cmd *cmd, char c)
{
	const struct hl_opt *o;

	for (size_t i = 0; (o = hl_cmd_opt(cmd, i)) != NULL; i++) {
		if (o->short_name == c)
			return o;
	}
	return NULL;
}

int hl_word_find(const char *list, const char *word)
{
	return hl_word_find_n(list, word, strlen(word));
}

int hl_word_find_n(const char *list, const char *word, size_t len)
{
	size_t n;

	for (int i = 0;; i++) {
		n = strcspn(list, "|");
		if (n == len && memcmp(list, word, n) == 0)
			return i;
		if (!list[n])
			return -1;
		list += n + 1;
	}
}

const char *hl_opt_values(const struct hl_opt *o)
{
	const char *colon = o->arg ? strchr(o->arg, ':') : NULL;

	return colon ? colon + 1 : o->arg && strchr(o->arg, '|') ? o->arg : NULL;
}

int hl_opt_arg_len(const struct hl_opt *o)
{
	return (int)strcspn(o->arg, ":");
}

/* Returns "always, auto or never", or for more than three words "one of bytes, blocks, ...". */
static const char *describe_values(const char *list)
{
	static char text[256];
	size_t at = 0, len, words = 1;

	for (const char *c = list; *c; c++)
		words += *c == '|';
	if (words > 3)
		at = (size_t)snprintf(text, sizeof(text), "one of ");
	for (; words > 0 && at < sizeof(text); words--, list += len + (list[len] == '|')) {
		len = strcspn(list, "|");
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%.*s%s", (int)len, list,
			words == 1                                       ? ""
			: words == 2 && strncmp(text, "one of ", 7) != 0 ? " or "
									 : ", ");
	}
	return text;
}

const char *hl_opt_store_value(const struct hl_opt *o, void *state, const char *value)
{
	const char *expected = o->set(state, value), *values = hl_opt_values(o);

	return expected && values ? describe_values(values) : expected;
}

/* Stores a value. `shown` is the option as the user wrote it, for the message. */
static int store_value(struct parse *p, const struct hl_opt *o, const char *value,
	const char *shown, size_t shown_len)
{
	const char *expected = hl_opt_store_value(o, p->state, value);

	if (!expected && p->cmd->option_stored)
		p->cmd->option_stored(p->state, o);
	if (!expected)
		return 0;
	if (!value)
		return hl_cli_usage("%.*s: %s", (int)shown_len, shown, expected);
	return hl_cli_usage("%.*s: \"%s\" is not %s", (int)shown_len, shown, value, expected);
}

/* Takes the next word as the value of an option. */
static int take_next_word(struct parse *p, const struct hl_opt *o, const char *shown,
	size_t shown_len, const char **value)
{
	if (p->at + 1 >= p->argc)
		return hl_cli_usage("%.*s needs a value: %.*s", (int)shown_len, shown,
			hl_opt_arg_len(o), o->arg);
	*value = p->argv[++p->at];
	return 0;
}

static int parse_long(struct parse *p, const char *word)
{
	const char *name = word + 2, *eq = strchr(name, '='), *value = eq ? eq + 1 : NULL;
	size_t len = eq ? (size_t)(eq - name) : strlen(name);
	const struct hl_opt *o = find_long(p->cmd, name, len);
	const char *suggestion;
	char text[64];
	int err;

	if (!o) {
		snprintf(text, sizeof(text), "%.*s", (int)(len < 60 ? len : 60), name);
		suggestion = hl_suggest(text, long_name_at, p->cmd);
		if (suggestion)
			return hl_cli_usage(
				"unknown option --%s; did you mean --%s?", text, suggestion);
		return hl_cli_usage("unknown option --%s", text);
	}
	if (o == &help_row) {
		p->help = HL_HELP_FULL;
		return 0;
	}
	if (!o->arg && eq)
		return hl_cli_usage("--%s takes no value", o->long_name);
	if (o->arg && !eq && !hl_opt_arg_optional(o)) {
		err = take_next_word(p, o, word, len + 2, &value);
		if (err)
			return err;
	}
	return store_value(p, o, value, word, len + 2);
}

static int parse_short(struct parse *p, const char *word)
{
	for (const char *c = word + 1; *c; c++) {
		char shown[3] = {'-', *c, 0};
		const struct hl_opt *o = find_short(p->cmd, *c);
		const char *value = NULL;
		int err;

		if (!o)
			return hl_cli_usage("unknown option %s", shown);
		if (o == &help_row) {
			p->help = p->help ? p->help : HL_HELP_SHORT;
			continue;
		}
		if (o->arg && !hl_opt_arg_optional(o)) {
			if (c[1])
				value = c + 1;
			else if ((err = take_next_word(p, o, shown, 2, &value)) != 0)
				return err;
			return store_value(p, o, value, shown, 2);
		}
		err = store_value(p, o, NULL, shown, 2);
		if (err)
			return err;
	}
	return 0;
}

static void move_operands(struct parse *p, int from)
{
	for (int i = from; i < p->argc; i++)
		p->argv[++p->n_found] = p->argv[i];
}

int hl_options_parse(const struct hl_cmd *cmd, void *state, int argc, char **argv, int *n_operands,
	char ***operands, enum hl_help *help)
{
	struct parse p = {.cmd = cmd, .state = state, .argc = argc, .argv = argv};
	int err = 0;

	for (p.at = 1; p.at < argc && !err; p.at++) {
		char *word = argv[p.at];

		if (strcmp(word, "--") == 0) {
			move_operands(&p, p.at + 1);
			break;
		}
		if (word[0] == '-' && word[1] == '-') {
			err = parse_long(&p, word);
		} else if (word[0] == '-' && word[1]) {
			err = parse_short(&p, word);
		} else if (cmd->stops_at_operand) {
			move_operands(&p, p.at);
			break;
		} else {
			argv[++p.n_found] = word;
		}
	}
	argv[p.n_found + 1] = NULL;
	*n_operands = p.n_found;
	*operands = argv + 1;
	*help = p.help;
	/* A request for help is honoured even if there are errors. */
	return p.help ? 0 : err;
}
