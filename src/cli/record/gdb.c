/* SPDX-License-Identifier: Apache-2.0 */
/* gdb.c - see gdb.h. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cli/record/gdb.h"
#include "util/strbuf.h"
#include "base/attr.h"
#include "util/vec.h"

struct words {
	HL_VEC(char *) v;
};

static int add_word(struct words *w, const char *text)
{
	char **slot;

	if (hl_vec_push(&w->v, NULL))
		return -ENOMEM;
	slot = &w->v.data[w->v.len - 1];
	*slot = strdup(text);
	return *slot ? 0 : -ENOMEM;
}

/* Reads the next word of *at without its quotes. Returns false if there is none, or on an error. */
static bool next_word(const char **at, struct hl_strbuf *word, int *err)
{
	const char *c = *at + strspn(*at, " \t\n");
	char quote = 0;

	hl_strbuf_reset(word);
	if (!*c)
		return false;
	for (; *c && (quote || !strchr(" \t\n", *c)); c++) {
		if (*c == '\\' && quote != '\'' && c[1])
			hl_strbuf_putc(word, *++c);
		else if (!quote && (*c == '\'' || *c == '"'))
			quote = *c;
		else if (*c == quote)
			quote = 0;
		else
			hl_strbuf_putc(word, *c);
	}
	*at = c;
	*err = quote ? -EINVAL : hl_strbuf_error(word);
	return !*err;
}

static int add_options(struct words *w, const char *options)
{
	struct hl_strbuf word = {0};
	int err = 0;

	while (!err && next_word(&options, &word, &err))
		err = add_word(w, hl_strbuf_str(&word));
	hl_strbuf_fini(&word);
	return err;
}

/* Appends NAME='value' in shell syntax. */
static void put_variable(struct hl_strbuf *b, const char *name, const char *value)
{
	hl_strbuf_printf(b, " %s='", name);
	for (; *value; value++)
		if (*value == '\'')
			hl_strbuf_puts(b, "'\\''");
		else
			hl_strbuf_putc(b, *value);
	hl_strbuf_putc(b, '\'');
}

static int add_wrapper(struct words *w, const struct hl_gdb_start *s)
{
	struct hl_strbuf b = {0};
	int err;

	hl_strbuf_puts(&b, "set exec-wrapper env");
	put_variable(&b, "LD_PRELOAD", s->preload);
	put_variable(&b, "HEAPLAPSE_SOCKET", s->socket);
	err = hl_strbuf_error(&b);
	if (!err)
		err = add_word(w, "-ex");
	if (!err)
		err = add_word(w, hl_strbuf_str(&b));
	hl_strbuf_fini(&b);
	return err;
}

char **hl_gdb_command(const struct hl_gdb_start *s)
{
	/* An exec-wrapper needs the shell, whatever ~/.gdbinit sets. */
	static const char *const first[] = {"gdb", "-q", "-ex", "set startup-with-shell on"};
	struct words w = {0};
	int err = 0;

	for (size_t i = 0; i < HL_ARRAY_LEN(first) && !err; i++)
		err = add_word(&w, first[i]);
	if (!err)
		err = add_wrapper(&w, s);
	if (!err && s->options)
		err = add_options(&w, s->options);
	if (!err)
		err = add_word(&w, "--args");
	if (!err)
		err = add_word(&w, s->program);
	for (char **arg = s->args + 1; !err && *arg; arg++)
		err = add_word(&w, *arg);
	if (!err)
		err = hl_vec_push(&w.v, NULL);
	errno = -err;
	return err ? NULL : w.v.data;
}
