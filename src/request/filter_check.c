/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filter_check.c - see filter_check.h.
 *
 * A term alone is a filter of its own: it is parsed again from its text.
 */
#include "request/filter_check.h"

#include <stdlib.h>
#include <string.h>

#include "util/strbuf.h"
#include "util/work/work.h"

static int add_blocks(struct hl_plan *p, const struct hl_query *q, uint64_t *blocks)
{
	struct hl_answer a;
	int err = hl_model_query(p->m, q, &a);

	if (err)
		return err;
	*blocks += a.total.blocks;
	hl_answer_fini(&a);
	return 0;
}

/* The number of blocks of the trace that match: those of a base, and all that were allocated since.
 * Returns 0 or -errno. */
static int count_blocks(struct hl_plan *p, struct hl_filter *f, uint64_t *blocks)
{
	const struct hl_base *base = hl_model_base(p->m);
	struct hl_query q = {.quantity = HL_QUANTITY_ALLOCATED,
		.to.kind = HL_TIME_SPEC_END,
		.filter = f,
		.pool = p->request->pool};
	int err;

	*blocks = 0;
	err = add_blocks(p, &q, blocks);
	if (err || !base->is_late)
		return err;
	q.quantity = HL_QUANTITY_LIVE;
	q.to = (struct hl_time_spec){.ns = base->time_ns};
	return add_blocks(p, &q, blocks);
}

static int count_clause(struct hl_plan *p, const char *text, uint64_t *blocks)
{
	struct hl_filter_error error;
	struct hl_filter *f;
	int err = hl_filter_parse(&f, text, &error);

	if (err)
		return err;
	err = count_blocks(p, f, blocks);
	hl_model_drop_prefetched(p->m);
	hl_filter_free(f);
	return err;
}

/* Finds a clause without blocks. If there is none, the clauses contradict each other. */
static void examine_clauses(struct hl_plan *p, struct hl_filter_check *c)
{
	size_t n = hl_filter_n_clauses(p->filter);
	uint64_t blocks = 0;
	int err = count_blocks(p, p->filter, &blocks);

	for (size_t i = 0; i < n && !err && blocks == 0 && !c->useless; i++) {
		char *text = hl_filter_clause_text(p->filter, i);
		uint64_t matching = 1;

		err = text ? count_clause(p, text, &matching) : -1;
		if (!err && matching == 0)
			c->useless = text;
		else
			free(text);
	}
	c->contradicts = !err && blocks == 0 && !c->useless;
}

/* A rule is a filter of its own: that of --fold, or fn: with the name of --alloc-fn. */
static int check_rule(struct hl_plan *p, const char *text, struct hl_filter_check *out)
{
	struct hl_filter_error error;
	struct hl_filter *f = NULL;
	int err = hl_filter_parse(&f, text, &error);

	if (!err)
		err = hl_filter_bind(f, p->m);
	if (!err)
		err = hl_filter_find_unmatched(f, p->m, &out->unmatched);
	hl_filter_free(f);
	return err;
}

static int check_wrapper(struct hl_plan *p, const char *name, struct hl_filter_check *out)
{
	const char *quote = strpbrk(name, " ,") ? "\"" : "";
	struct hl_strbuf text = {0};
	int err;

	hl_strbuf_printf(&text, "fn:%s%s%s", quote, name, quote);
	err = hl_strbuf_error(&text);
	if (!err)
		err = check_rule(p, hl_strbuf_str(&text), out);
	hl_strbuf_fini(&text);
	return err;
}

static int check_rules(struct hl_plan *p, struct hl_filter_check *out)
{
	const struct hl_request *r = p->request;
	int err = 0;

	for (size_t i = 0; i < r->folds.len && !err; i++)
		err = check_rule(p, r->folds.data[i], out);
	for (size_t i = 0; i < r->alloc_functions.len && !err; i++)
		err = check_wrapper(p, r->alloc_functions.data[i], out);
	return err;
}

void hl_plan_check_filter(struct hl_plan *p, bool empty, struct hl_filter_check *out)
{
	struct hl_work *w = hl_model_work(p->m);
	int err;

	*out = (struct hl_filter_check){.of_file = hl_model_base(p->m)->is_late};
	if (w->stopped)
		return;
	err = p->filter ? hl_filter_find_unmatched(p->filter, p->m, &out->unmatched) : 0;
	if (!err && p->filter && empty && out->unmatched.len == 0 &&
		hl_filter_n_clauses(p->filter) > 1)
		examine_clauses(p, out);
	if (!err)
		err = check_rules(p, out);
	hl_work_resume(w);
}

void hl_filter_check_fini(struct hl_filter_check *c)
{
	hl_unmatched_terms_free(&c->unmatched);
	free(c->useless);
}

static void note_unmatched(const struct hl_unmatched_term *t, const struct hl_notes *notes)
{
	struct hl_strbuf b = {0};

	for (size_t i = 0; i < t->n_similar; i++)
		hl_strbuf_printf(&b, "%s%s",
			i == 0                 ? "; did you mean "
			: i + 1 < t->n_similar ? ", "
					       : " or ",
			t->similar[i]);
	hl_notes_put(notes, HL_NOTE_WARNING, "nothing matches %s%s%s", t->text, hl_strbuf_str(&b),
		t->n_similar ? "?" : "");
	hl_strbuf_fini(&b);
}

void hl_filter_check_note(const struct hl_filter_check *c, const struct hl_notes *notes)
{
	for (size_t i = 0; i < c->unmatched.len; i++)
		note_unmatched(&c->unmatched.data[i], notes);
	if (c->useless)
		hl_notes_put(notes, HL_NOTE_WARNING, "no block%s matches %s",
			c->of_file ? " in this file" : "", c->useless);
	if (c->contradicts)
		hl_notes_put(notes, HL_NOTE_WARNING,
			"each term of the filter matches blocks, but no block%s matches all of "
			"them",
			c->of_file ? " in this file" : "");
}
