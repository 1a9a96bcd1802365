/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_arguments.c - see session_arguments.h.
 *
 * Words are counted by program: in how many of its processes they occur. The argument of a process
 * is the first word that no other process of that program has; words that are not options are
 * preferred, because names of temporary files and numbers in options differ, too. Without such a
 * word it is the one that the fewest have.
 */
#include "model/session/session_arguments.h"

#include <errno.h>
#include <string.h>

#include "util/string_table.h"
#include "util/strbuf.h"

struct word_count {
	size_t n;    /* processes that have it */
	size_t last; /* the last of them, plus 1 */
};

struct counts {
	const struct hl_session_list *s;
	struct hl_string_table keys; /* program, line feed, word; with no word: the program */
	HL_VEC(struct word_count) all;
	struct hl_strbuf key;
};

static const struct hl_session_file *file_of(const struct counts *c, size_t process)
{
	return hl_session_largest(c->s, process);
}

static const char *make_key(struct counts *c, size_t process, const char *word)
{
	hl_strbuf_reset(&c->key);
	hl_strbuf_printf(&c->key, "%s\n%s", hl_session_base(file_of(c, process)->program), word);
	return hl_strbuf_str(&c->key);
}

/* Returns 0 or -ENOMEM. */
static int count_word(struct counts *c, size_t process, const char *word)
{
	const char *key = make_key(c, process, word);
	struct word_count *w;
	uint32_t id;

	if (hl_strbuf_error(&c->key) || hl_string_table_add(&c->keys, key, &id))
		return -ENOMEM;
	if (id == c->all.len && hl_vec_push(&c->all, ((struct word_count){0})))
		return -ENOMEM;
	w = &c->all.data[id];
	w->n += w->last != process + 1;
	w->last = process + 1;
	return 0;
}

static size_t count_of(struct counts *c, size_t process, const char *word)
{
	uint32_t id;

	return hl_string_table_find(&c->keys, make_key(c, process, word), &id) ? c->all.data[id].n
									       : 0;
}

/* The word after this one; the first one after the name of the program. NULL: there is none. */
static const char *next_word(const struct hl_session_file *f, const char *word)
{
	const char *next = word ? word : f->command;

	if (!next || (size_t)(next - f->command) >= f->command_len)
		return NULL;
	next += strlen(next) + 1;
	return (size_t)(next - f->command) < f->command_len ? next : NULL;
}

static int count_words(struct counts *c, size_t process)
{
	const struct hl_session_file *f = file_of(c, process);
	int err = count_word(c, process, "");

	for (const char *w = NULL; !err && (w = next_word(f, w));)
		if (*w)
			err = count_word(c, process, w);
	return err;
}

static const char *find_argument(struct counts *c, size_t process)
{
	const struct hl_session_file *f = file_of(c, process);
	size_t n = count_of(c, process, ""), fewest = n;
	const char *found = NULL;

	for (const char *w = NULL; n > 1 && (w = next_word(f, w));) {
		size_t k = *w ? count_of(c, process, w) : n;
		bool is_better =
			k < fewest || (k == fewest && found && found[0] == '-' && w[0] != '-');

		if (k == 0 || k == n || !is_better)
			continue;
		found = w;
		fewest = k;
	}
	return found;
}

int hl_session_find_arguments(struct hl_session_list *s)
{
	struct counts c = {.s = s};
	int err = 0;

	for (size_t i = 0; i < s->processes.len && !err; i++)
		err = count_words(&c, i);
	for (size_t i = 0; i < s->processes.len && !err; i++)
		s->processes.data[i].argument = find_argument(&c, i);
	hl_string_table_fini(&c.keys);
	hl_vec_free(&c.all);
	hl_strbuf_fini(&c.key);
	return err;
}
