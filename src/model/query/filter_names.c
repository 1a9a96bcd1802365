/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filter_names.c - see filter_names.h.
 *
 * A query remembers for which nodes, threads or scopes a term holds. If it holds for one, the term
 * is not examined further. Otherwise it may not have been asked for all of them.
 */
#include "model/query/filter_names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "model/model_internal.h"
#include "model/query/filter_internal.h"
#include "model/stack/tree.h"
#include "model/tags/roles.h"
#include "util/strbuf.h"
#include "util/work/work.h"

/* --- names of a trace --- */

typedef void name_fn(void *arg, const char *name);

/* Looks up all nodes, so that the table of frames is complete. */
static int load_frames(struct hl_model *m)
{
	const struct hl_frame_ref *refs;
	uint32_t total = hl_model_n_nodes(m);
	size_t n;
	int err = 0;

	hl_work_begin(&m->work, HL_WORK_SHORT, "looking up names");
	for (uint32_t node = 0; node < total && !err; node++) {
		err = hl_model_node_frames(m, node, &refs, &n);
		if (!err && node % 1024 == 0)
			err = hl_work_tick(&m->work, node, total);
	}
	hl_work_end(&m->work, HL_WORK_SHORT);
	return err;
}

static int each_frame(struct hl_model *m, unsigned subject, name_fn *fn, void *arg)
{
	/* They are in no frame. The rarer ones would be unlikely suggestions. */
	static const unsigned called[] = {
		HL_FUNC_MALLOC, HL_FUNC_CALLOC, HL_FUNC_REALLOC, HL_FUNC_NEW};
	int err = load_frames(m);

	for (size_t i = 0; i < m->frames.len && !err; i++) {
		const struct hl_frame *f = &m->frames.data[i];
		const char *name = subject == HL_FILTER_FUNCTION ? f->function
				   : subject == HL_FILTER_FILE   ? f->file
								 : f->module;

		if (name && !f->group)
			fn(arg, name);
		if (subject == HL_FILTER_FUNCTION && f->entry)
			fn(arg, f->entry);
	}
	for (size_t i = 0; i < HL_ARRAY_LEN(called) && !err && subject == HL_FILTER_FUNCTION; i++)
		fn(arg, hl_called_function_name(called[i]));
	return err;
}

static int each_thread(struct hl_model *m, name_fn *fn, void *arg)
{
	uint32_t n;
	int err = hl_reader_n_threads(m->reader, &n);

	for (uint32_t i = 0; i < n && !err; i++) {
		const char *name = hl_model_thread_name(m, i);

		if (name)
			fn(arg, name);
	}
	return err;
}

static int each_tag(struct hl_model *m, name_fn *fn, void *arg)
{
	struct hl_strbuf path = {0};
	int err = 0;

	for (uint32_t i = 0; i < hl_model_n_tags(m) && !err; i++) {
		hl_strbuf_reset(&path);
		hl_model_put_tag(m, i, &path);
		err = hl_strbuf_error(&path);
		if (!err)
			fn(arg, hl_strbuf_str(&path));
	}
	hl_strbuf_fini(&path);
	return err;
}

static int each_name(struct hl_model *m, unsigned subject, name_fn *fn, void *arg)
{
	return subject & HL_FILTER_FRAMES    ? each_frame(m, subject, fn, arg)
	       : subject == HL_FILTER_THREAD ? each_thread(m, fn, arg)
					     : each_tag(m, fn, arg);
}

/* --- a term --- */

static bool is_known_to_match(const struct hl_filter_term *t, const struct hl_model *m)
{
	size_t n = t->names & HL_FILTER_FRAMES ? hl_model_n_nodes(m) : t->n_memo;

	return t->calls || (t->memo && memchr(t->memo, 2, n));
}

struct search {
	const struct hl_filter_term *term;
	const char *word;
	bool found;
	struct hl_suggestions similar;
	struct hl_string_table names; /* those that were suggested */
	int err;
};

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* "a::b<int>::f(char)" -> "f": the name that a user remembers. */
static char *function_name(const char *name)
{
	size_t len = strcspn(name + 1, "(") + 1, from = len;
	int depth = 0;

	if (!*name)
		return strdup("");
	while (len > 0 && name[len - 1] == '>' && !strstr(name, "operator")) {
		do
			depth += name[len - 1] == '>' ? 1 : name[len - 1] == '<' ? -1 : 0;
		while (--len > 0 && depth > 0);
	}
	from = len;
	while (from > 0 && name[from - 1] != ':' && name[from - 1] != ' ')
		from--;
	return strndup(name + from, len - from);
}

static void add_similar(struct search *s, const char *key, const char *name)
{
	uint32_t id;

	/* Names of scopes are not permanent. */
	s->err = s->err ? s->err : hl_string_table_add(&s->names, name, &id);
	if (!s->err)
		hl_suggestions_add(&s->similar, s->word, key, hl_string_table_get(&s->names, id));
}

static void look_at(void *arg, const char *name)
{
	struct search *s = arg;
	unsigned subject = s->term->names;
	bool path = subject & (HL_FILTER_FILE | HL_FILTER_MODULE);
	char *short_name;

	s->found |= path ? hl_pattern_matches_path(s->term->name, name)
			 : hl_pattern_matches(s->term->name, name);
	if (s->found || !*s->word || strncmp(name, "0x", 2) == 0 || name[0] == '[')
		return;
	if (path || subject != HL_FILTER_FUNCTION) {
		add_similar(s, path ? base_name(name) : name, path ? base_name(name) : name);
		return;
	}
	short_name = function_name(name);
	if (short_name && *short_name)
		add_similar(s, short_name, short_name);
	free(short_name);
}

/* The word to compare names with: without the stars of a glob; "" for a regular expression. */
static char *make_word(const struct hl_filter_term *t)
{
	const char *s = t->value;
	size_t from = strspn(s, "\"*?"), len = strlen(s);

	if (s[0] == '/' && t->names == HL_FILTER_FUNCTION)
		return strdup("");
	while (len > from && strchr("\"*?", s[len - 1]))
		len--;
	if (t->names & (HL_FILTER_FILE | HL_FILTER_MODULE))
		from = (size_t)(base_name(s) - s) > from ? (size_t)(base_name(s) - s) : from;
	return strndup(s + from, len > from ? len - from : 0);
}

static char *term_text(const char *key, const char *value, bool plain)
{
	const char *quote = plain && strpbrk(value, " ,\"") ? "\"" : "";
	char *text;

	return asprintf(&text, "%s:%s%s%s", key, quote, value, quote) < 0 ? NULL : text;
}

static int add_unmatched(const struct search *s, hl_unmatched_terms *out)
{
	struct hl_unmatched_term u = {.text = term_text(s->term->key, s->term->value, false)};
	int err = u.text ? hl_vec_push(out, u) : -ENOMEM;

	if (err) {
		free(u.text);
		return err;
	}
	/* Names that are clearly less similar than the best would distract. */
	for (size_t i = 0;
		i < s->similar.n && s->similar.ranks[i] <= s->similar.ranks[0] + 1 && !err; i++) {
		struct hl_unmatched_term *at = &out->data[out->len - 1];

		at->similar[i] = term_text(s->term->key, s->similar.names[i], true);
		err = at->similar[i] ? 0 : -ENOMEM;
		at->n_similar += !err;
	}
	return err;
}

static int examine_term(const struct hl_filter_term *t, struct hl_model *m, hl_unmatched_terms *out)
{
	char *word = make_word(t);
	struct search s = {.term = t, .word = word};
	int err = word ? each_name(m, t->names, look_at, &s) : -ENOMEM;

	if (!err)
		err = s.err;
	if (!err && !s.found)
		err = add_unmatched(&s, out);
	hl_string_table_fini(&s.names);
	free(word);
	return err;
}

int hl_filter_find_unmatched(struct hl_filter *f, struct hl_model *m, hl_unmatched_terms *out)
{
	int err = 0;

	for (size_t i = 0; i < f->terms.len && !err; i++) {
		const struct hl_filter_term *t = &f->terms.data[i];

		if (t->name && t->names && !is_known_to_match(t, m))
			err = examine_term(t, m, out);
	}
	return err;
}

void hl_unmatched_terms_free(hl_unmatched_terms *v)
{
	for (size_t i = 0; i < v->len; i++) {
		for (size_t k = 0; k < v->data[i].n_similar; k++)
			free(v->data[i].similar[k]);
		free(v->data[i].text);
	}
	hl_vec_free(v);
}

/* --- clauses --- */

size_t hl_filter_n_clauses(const struct hl_filter *f)
{
	return f->n_clauses;
}

/* A name that begins with / would be a regular expression together with a later / of another term,
 * so it is quoted. */
static void put_closed_value(struct hl_strbuf *b, const char *value)
{
	size_t len = strlen(value);
	bool open = value[0] == '/' && (len == 1 || value[len - 1] != '/') && !strchr(value, '"');

	hl_strbuf_printf(b, open ? "\"%s\"" : "%s", value);
}

static void put_clause(struct hl_strbuf *b, const struct hl_filter *f, size_t clause, bool closed)
{
	const struct hl_filter_term *before = NULL;

	for (size_t i = 0; i < f->terms.len; i++) {
		const struct hl_filter_term *t = &f->terms.data[i];

		if (t->clause != clause)
			continue;
		hl_strbuf_puts(b, before ? "," : "");
		if (!before || before->group != t->group)
			hl_strbuf_printf(b, "%s%s:", t->negated ? "-" : "", t->key);
		if (closed)
			put_closed_value(b, t->value);
		else
			hl_strbuf_puts(b, t->value);
		before = t;
	}
}

void hl_filter_describe(const struct hl_filter *f, struct hl_strbuf *b)
{
	for (size_t i = 0; i < f->n_clauses; i++) {
		hl_strbuf_puts(b, b->len > 0 ? " " : "");
		put_clause(b, f, i, true);
	}
}

char *hl_filter_clause_text(const struct hl_filter *f, size_t clause)
{
	struct hl_strbuf b = {0};
	char *text = NULL;

	put_clause(&b, f, clause, false);
	if (!hl_strbuf_error(&b))
		text = strdup(hl_strbuf_str(&b));
	hl_strbuf_fini(&b);
	return text;
}
