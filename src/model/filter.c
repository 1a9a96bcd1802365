/*
 * filter.c - the filter language; see filter.h.
 */
#include "model/filter.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "model/when.h"
#include "trace/dump.h"
#include "util/vec.h"

enum compare { LESS, AT_MOST, EQUAL, AT_LEAST, MORE };

struct term {
	unsigned subject;
	bool negated;
	size_t at;
	enum compare compare;
	uint64_t number; /* op, func, thread, size */
	struct hl_when from, to;
	uint64_t from_ns, to_ns; /* set by bind */
	char *name;
	uint8_t *memo; /* per node: 0 not known, 1 no, 2 yes */
};

struct hl_filter {
	HL_VEC(struct term) terms;
	HL_VEC(uint32_t) chain; /* nodes on the way to one that is known */
};

/* --- parsing --- */

struct word {
	const char *expr; /* the whole */
	const char *value;
	size_t len;
	struct hl_filter_error *error;
};

static int wrong(const struct word *w, const char *at, const char *text)
{
	w->error->at = (size_t)(at - w->expr);
	snprintf(w->error->text, sizeof(w->error->text), "%s", text);
	return -EINVAL;
}

static int parse_number(const struct word *w, bool suffix, uint64_t *out)
{
	static const char suffixes[] = "KMGT";
	const char *expected = suffix ? "expected a size such as 4096 or 64K" : "expected a number";
	size_t i = 0;
	uint64_t v = 0;

	for (; i < w->len && w->value[i] >= '0' && w->value[i] <= '9'; i++) {
		if (__builtin_mul_overflow(v, 10, &v) ||
			__builtin_add_overflow(v, (uint64_t)(w->value[i] - '0'), &v))
			return wrong(w, w->value, "this number is too large");
	}
	if (i == 0)
		return wrong(w, w->value, expected);
	if (suffix && i + 1 == w->len && strchr(suffixes, w->value[i] & ~0x20)) {
		unsigned shift =
			10 * (unsigned)(strchr(suffixes, w->value[i] & ~0x20) - suffixes + 1);

		if (v > UINT64_MAX >> shift)
			return wrong(w, w->value, "this number is too large");
		v <<= shift;
		i++;
	}
	if (i < w->len)
		return wrong(w, w->value + i, expected);
	*out = v;
	return 0;
}

static bool value_is(const struct word *w, const char *text)
{
	return strlen(text) == w->len && memcmp(text, w->value, w->len) == 0;
}

static int parse_op(const struct word *w, struct term *t)
{
	if (!value_is(w, "alloc") && !value_is(w, "free"))
		return wrong(w, w->value, "expected alloc or free");
	t->number = value_is(w, "alloc") ? HL_OP_ALLOC : HL_OP_FREE;
	return 0;
}

static int parse_func(const struct word *w, struct term *t)
{
	for (t->number = 0; t->number < HL_FUNC_COUNT; t->number++) {
		if (value_is(w, hl_func_name((unsigned)t->number)))
			return 0;
	}
	return wrong(w, w->value,
		"expected a function such as malloc, realloc, new or free "
		"(for functions of the program: function=NAME)");
}

static int parse_thread(const struct word *w, struct term *t)
{
	return parse_number(w, false, &t->number);
}

static int parse_size(const struct word *w, struct term *t)
{
	return parse_number(w, true, &t->number);
}

static int parse_time(const struct word *w, struct term *t)
{
	const char *dots = memmem(w->value, w->len, "..", 2), *end = w->value + w->len;

	if (!dots)
		return wrong(w, w->value, "expected a range of times such as 1s..2.5s");
	t->from = (struct hl_when){.kind = HL_WHEN_NS, .ns = 0};
	t->to = (struct hl_when){.kind = HL_WHEN_NS, .ns = UINT64_MAX};
	if (dots > w->value && hl_when_parse(w->value, (size_t)(dots - w->value), &t->from))
		return wrong(w, w->value, "expected " HL_WHEN_EXPECTED);
	if (dots + 2 < end && hl_when_parse(dots + 2, (size_t)(end - dots - 2), &t->to))
		return wrong(w, dots + 2, "expected " HL_WHEN_EXPECTED);
	t->from_ns = t->from.ns;
	t->to_ns = t->to.ns;
	return 0;
}

static int parse_function(const struct word *w, struct term *t)
{
	if (w->len == 0)
		return wrong(w, w->value, "expected a part of a function's name");
	t->name = strndup(w->value, w->len);
	return t->name ? 0 : -ENOMEM;
}

static const struct key {
	const char *name;
	unsigned subject;
	bool ordered; /* takes < and > too */
	int (*parse)(const struct word *w, struct term *t);
} keys[] = {
	{"op", HL_FILTER_OP, false, parse_op},
	{"func", HL_FILTER_FUNC, false, parse_func},
	{"thread", HL_FILTER_THREAD, false, parse_thread},
	{"size", HL_FILTER_SIZE, true, parse_size},
	{"time", HL_FILTER_TIME, false, parse_time},
	{"function", HL_FILTER_FUNCTION, false, parse_function},
};

static const struct key *find_key(const char *s, size_t len)
{
	for (size_t i = 0; i < HL_ARRAY_LEN(keys); i++) {
		if (strlen(keys[i].name) == len && memcmp(keys[i].name, s, len) == 0)
			return &keys[i];
	}
	return NULL;
}

/* The operator at s; returns its length, 0 if there is none. */
static size_t parse_compare(const char *s, enum compare *c)
{
	static const struct {
		const char *text;
		enum compare compare;
	} table[] = {
		{">=", AT_LEAST},
		{"<=", AT_MOST},
		{">", MORE},
		{"<", LESS},
		{"=", EQUAL},
	};

	for (size_t i = 0; i < HL_ARRAY_LEN(table); i++) {
		if (strncmp(s, table[i].text, strlen(table[i].text)) == 0) {
			*c = table[i].compare;
			return strlen(table[i].text);
		}
	}
	return 0;
}

/* Reads one term at *at and moves behind it. */
static int parse_term(const char **at, struct term *t, struct word *w)
{
	const char *key = *at, *s;
	const struct key *k;
	size_t n;

	t->negated = *key == '!';
	key += t->negated;
	n = strcspn(key, "<>= \t\"");
	k = find_key(key, n);
	if (!k)
		return wrong(w, key, "expected one of op, func, thread, size, time, function");
	t->subject = k->subject;
	s = key + n;
	n = parse_compare(s, &t->compare);
	if (n == 0)
		return wrong(w, s, "expected = after the name");
	if (!k->ordered && t->compare != EQUAL)
		return wrong(w, s, "only size can be compared; expected =");
	w->value = s + n;
	if (*w->value == '"') {
		w->value++;
		w->len = strcspn(w->value, "\"");
		if (!w->value[w->len])
			return wrong(w, w->value - 1, "this quote has no end");
		*at = w->value + w->len + 1;
	} else {
		w->len = strcspn(w->value, " \t");
		*at = w->value + w->len;
	}
	return k->parse(w, t);
}

int hl_filter_parse(struct hl_filter **out, const char *expr, struct hl_filter_error *error)
{
	struct hl_filter *f = calloc(1, sizeof(*f));
	struct word w = {.expr = expr, .error = error};
	const char *at = expr;
	int err = f ? 0 : -ENOMEM;

	while (!err) {
		struct term t = {0};

		at += strspn(at, " \t");
		if (!*at)
			break;
		t.at = (size_t)(at - expr);
		err = parse_term(&at, &t, &w);
		if (!err && hl_vec_push(&f->terms, t)) {
			free(t.name);
			err = -ENOMEM;
		}
		if (!err && *at && *at != ' ' && *at != '\t')
			err = wrong(&w, at, "expected a space");
	}
	if (err)
		hl_filter_free(f);
	else
		*out = f;
	return err;
}

void hl_filter_free(struct hl_filter *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->terms.len; i++) {
		free(f->terms.data[i].name);
		free(f->terms.data[i].memo);
	}
	hl_vec_free(&f->terms);
	hl_vec_free(&f->chain);
	free(f);
}

unsigned hl_filter_subjects(const struct hl_filter *f)
{
	unsigned all = 0;

	for (size_t i = 0; i < f->terms.len; i++)
		all |= f->terms.data[i].subject;
	return all;
}

size_t hl_filter_place_of(const struct hl_filter *f, unsigned subjects)
{
	for (size_t i = 0; i < f->terms.len; i++) {
		if (f->terms.data[i].subject & subjects)
			return f->terms.data[i].at;
	}
	return 0;
}

/* --- matching --- */

void hl_filter_bind(struct hl_filter *f, struct hl_model *m)
{
	for (size_t i = 0; i < f->terms.len; i++) {
		struct term *t = &f->terms.data[i];

		if (t->subject != HL_FILTER_TIME)
			continue;
		t->from_ns = hl_when_ns(&t->from, m);
		t->to_ns = hl_when_ns(&t->to, m);
	}
}

static bool compare(enum compare c, uint64_t a, uint64_t b)
{
	switch (c) {
	case LESS:
		return a < b;
	case AT_MOST:
		return a <= b;
	case EQUAL:
		return a == b;
	case AT_LEAST:
		return a >= b;
	case MORE:
		return a > b;
	}
	return false;
}

/* Does a frame of this node alone have the name? */
static int node_has(struct hl_model *m, const struct term *t, uint32_t node, bool *has)
{
	const struct hl_frame_ref *refs;
	size_t n;
	int err = hl_model_node_frames(m, node, &refs, &n);

	*has = false;
	for (size_t i = 0; i < n && !err && !*has; i++)
		*has = strstr(hl_model_frame(m, refs[i].frame)->function, t->name) != NULL;
	return err;
}

/* A stack has the name if its innermost node has it or the rest has it: remembered per node. */
static int stack_has(
	struct hl_filter *f, struct term *t, struct hl_model *m, uint32_t node, bool *has)
{
	int err = 0;

	*has = false;
	if (node >= hl_model_n_nodes(m))
		return 0;
	if (!t->memo) {
		t->memo = calloc(hl_model_n_nodes(m), 1);
		if (!t->memo)
			return -ENOMEM;
	}
	f->chain.len = 0;
	for (; node != HL_NODE_NONE && !t->memo[node]; node = hl_model_parent(m, node)) {
		if (hl_vec_push(&f->chain, node))
			return -ENOMEM;
	}
	*has = node != HL_NODE_NONE && t->memo[node] == 2;
	while (f->chain.len > 0 && !err) {
		node = f->chain.data[--f->chain.len];
		if (!*has)
			err = node_has(m, t, node, has);
		t->memo[node] = err ? 0 : *has ? 2 : 1;
	}
	return err;
}

static int term_event(struct hl_filter *f, struct term *t, struct hl_model *m,
	const struct hl_event *e, bool *holds)
{
	int err = 0;

	switch (t->subject) {
	case HL_FILTER_OP:
		*holds = e->op == t->number;
		break;
	case HL_FILTER_FUNC:
		*holds = e->func == t->number;
		break;
	case HL_FILTER_THREAD:
		*holds = e->thread == t->number;
		break;
	case HL_FILTER_SIZE:
		*holds = compare(t->compare, e->size, t->number);
		break;
	case HL_FILTER_TIME:
		*holds = e->time_ns >= t->from_ns && e->time_ns <= t->to_ns;
		break;
	default:
		err = stack_has(f, t, m, e->node, holds);
		if (!err && !*holds && e->op == HL_OP_FREE)
			err = stack_has(f, t, m, e->free_node, holds);
	}
	*holds ^= t->negated;
	return err;
}

int hl_filter_event(struct hl_filter *f, struct hl_model *m, const struct hl_event *e, bool *holds)
{
	int err = 0;

	*holds = true;
	for (size_t i = 0; i < f->terms.len && *holds && !err; i++)
		err = term_event(f, &f->terms.data[i], m, e, holds);
	return err;
}

int hl_filter_node(struct hl_filter *f, struct hl_model *m, uint32_t node, bool *holds)
{
	int err = 0;

	*holds = true;
	for (size_t i = 0; i < f->terms.len && *holds && !err; i++) {
		struct term *t = &f->terms.data[i];

		if (t->subject != HL_FILTER_FUNCTION)
			continue;
		err = stack_has(f, t, m, node, holds);
		*holds ^= t->negated;
	}
	return err;
}

bool hl_filter_extra(struct hl_filter *f, const struct hl_extra *x)
{
	const struct hl_event e = {.time_ns = x->time_ns, .thread = x->thread};
	bool holds = true;

	for (size_t i = 0; i < f->terms.len && holds; i++) {
		struct term *t = &f->terms.data[i];

		if (!(t->subject & (HL_FILTER_TIME | HL_FILTER_THREAD)))
			return false;
		term_event(f, t, NULL, &e, &holds); /* cannot fail: it needs no names */
	}
	return holds;
}
