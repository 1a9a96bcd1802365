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
#include "cli/options/foreign_names.h"

struct parse {
	const struct hl_cmd *cmd;
	void *state;
	int argc, at; /* at: index of the current word */
	char **argv;
	int n_found; /* number of operands so far, moved to argv[1..n_found] */
	enum hl_help help;
};

static const struct hl_opt help_row = {
	.short_name = 'h', .long_name = "help", .help = "show the complete help; -h is shorter"};

/* The last table is followed by the command's own options and the shared ones. */
#define MAX_TABLES 12

/* Returns table t of a command; rows == NULL after the last. */
static struct hl_opt_table table_at(const struct hl_cmd *cmd, size_t t)
{
	size_t n = 0;

	while (cmd->tables && cmd->tables[n].rows)
		n++;
	if (t < n)
		return cmd->tables[t];
	return (struct hl_opt_table){.rows = t == n ? cmd->opts : t == n + 1 ? cmd->shared : NULL};
}

/* Finds option i and its table. */
static const struct hl_opt *find_option(
	const struct hl_cmd *cmd, size_t i, struct hl_opt_table *table)
{
	for (size_t t = 0; t < MAX_TABLES; t++) {
		*table = table_at(cmd, t);
		for (const struct hl_opt *o = table->rows; o && !hl_opt_is_end(o); o++) {
			if (i-- == 0)
				return o;
		}
	}
	return i == 0 ? &help_row : NULL;
}

const struct hl_opt *hl_cmd_opt(const struct hl_cmd *cmd, size_t i)
{
	struct hl_opt_table table;

	return find_option(cmd, i, &table);
}

/* Returns the part of the state that the setter of `o` receives. */
static void *state_of(const struct parse *p, const struct hl_opt *o)
{
	struct hl_opt_table table = {0};
	const struct hl_opt *found;

	for (size_t i = 0; (found = find_option(p->cmd, i, &table)) != NULL && found != o; i++)
		;
	return (char *)p->state + table.offset;
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

/* Returns the first command that is not hidden and has this option, or NULL. */
static const struct hl_cmd *find_owner(const char *name, size_t len)
{
	for (size_t i = 0; hl_commands[i]; i++) {
		if (!hl_commands[i]->hidden && find_long(hl_commands[i], name, len))
			return hl_commands[i];
	}
	return NULL;
}

/* Explains a name that other profilers use; `len` is without the value. Returns 0 if it is not
 * known. */
static int reject_foreign(const struct hl_cmd *cmd, const char *word, size_t len)
{
	const struct hl_foreign_name *known = hl_foreign_name_find(cmd->name, word, len);
	char try[256];

	if (!known)
		return 0;
	snprintf(try, sizeof(try), "  try: %s\n", known->command);
	return hl_cli_usage_try(try, "unknown option %.*s: %s", (int)len, word, known->hint);
}

/* A long option that the command does not have; `len` is the length of its name. */
static int reject_long(const struct hl_cmd *cmd, const char *name, size_t len)
{
	int status = reject_foreign(cmd, name - 2, len + 2);
	const struct hl_cmd *owner;
	const char *suggestion;
	char text[64];

	if (status)
		return status;
	snprintf(text, sizeof(text), "%.*s", (int)(len < 60 ? len : 60), name);
	owner = find_owner(name, len);
	if (owner)
		return hl_cli_usage(
			"unknown option --%s; it is an option of heaplapse %s", text, owner->name);
	suggestion = hl_suggest(text, long_name_at, cmd);
	if (suggestion)
		return hl_cli_usage("unknown option --%s; did you mean --%s?", text, suggestion);
	return hl_cli_usage("unknown option --%s", text);
}

/* Stores a value. `shown` is the option as the user wrote it, for the message. */
static int store_value(struct parse *p, const struct hl_opt *o, const char *value,
	const char *shown, size_t shown_len)
{
	char text[HL_OPT_TEXT_MAX];
	const char *expected = hl_opt_store_value(o, state_of(p, o), value, text);

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
	int err;

	if (!o)
		return reject_long(p->cmd, name, len);
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
	/* -inuse_space would be read as -i with a value. */
	int status = word[2] ? reject_foreign(p->cmd, word, strcspn(word, "=")) : 0;

	if (status)
		return status;
	for (const char *c = word + 1; *c; c++) {
		char shown[3] = {'-', *c, 0};
		const struct hl_opt *o = find_short(p->cmd, *c);
		const char *value = NULL;
		int err;

		if (!o) {
			status = reject_foreign(p->cmd, shown, 2);
			return status ? status : hl_cli_usage("unknown option %s", shown);
		}
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
