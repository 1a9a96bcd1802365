/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filter_parse.c - parses the filter language; see filter.h.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "model/query/filter_internal.h"
#include "model/stack/tree.h"
#include "trace/read/event_text.h"

enum compare { EQUAL, LESS, AT_MOST, AT_LEAST, MORE };

/* The value that is being parsed. */
struct value {
	const char *expr; /* the whole expression, for error offsets */
	const char *s;
	size_t len;
	bool quoted;
	enum compare compare;
	struct hl_filter_error *error;
};

static int fail_at(const struct value *v, const char *at, const char *text)
{
	v->error->at = (size_t)(at - v->expr);
	snprintf(v->error->text, sizeof(v->error->text), "%s", text);
	return -EINVAL;
}

static bool value_is(const struct value *v, const char *text)
{
	return strlen(text) == v->len && memcmp(text, v->s, v->len) == 0;
}

/* --- numbers --- */

static int parse_digits(const struct value *v, bool suffix, uint64_t *out)
{
	static const char suffixes[] = "KMGT";
	const char *expected = suffix ? "expected a size such as 4096 or 64K" : "expected a number";
	const char *unit;
	uint64_t n = 0;
	size_t i = 0;

	for (; i < v->len && v->s[i] >= '0' && v->s[i] <= '9'; i++) {
		if (__builtin_mul_overflow(n, 10, &n) ||
			__builtin_add_overflow(n, (uint64_t)(v->s[i] - '0'), &n))
			return fail_at(v, v->s, "this number is too large");
	}
	if (i == 0)
		return fail_at(v, v->s, expected);
	unit = suffix && i + 1 == v->len ? strchr(suffixes, v->s[i] & ~0x20) : NULL;
	if (unit && *unit) {
		unsigned shift = 10 * (unsigned)(unit - suffixes + 1);

		if (n > UINT64_MAX >> shift)
			return fail_at(v, v->s, "this number is too large");
		n <<= shift;
		i++;
	}
	if (i < v->len)
		return fail_at(v, v->s + i, expected);
	*out = n;
	return 0;
}

static int read_size(const struct value *v, uint64_t *out)
{
	return parse_digits(v, true, out);
}

static int read_duration(const struct value *v, uint64_t *out)
{
	struct hl_time_spec w;

	if (hl_time_spec_parse(v->s, v->len, &w) || w.kind != HL_TIME_SPEC_NS)
		return fail_at(v, v->s, "expected a duration such as 1ms, 2.5s or 3min");
	*out = w.ns;
	return 0;
}

static int read_addr(const struct value *v, uint64_t *out)
{
	size_t i = v->len > 2 && v->s[0] == '0' && (v->s[1] | 0x20) == 'x' ? 2 : v->len;
	uint64_t n = 0;

	if (i == v->len || v->len > 18)
		return fail_at(v, v->s, "expected an address such as 0x7f1200001000");
	for (; i < v->len; i++) {
		unsigned c = (unsigned char)v->s[i] | 0x20u;
		unsigned d = c >= '0' && c <= '9'   ? c - '0'
			     : c >= 'a' && c <= 'f' ? c - 'a' + 10
						    : 16;

		if (d == 16)
			return fail_at(v, v->s + i, "expected an address such as 0x7f1200001000");
		n = n << 4 | d;
	}
	*out = n;
	return 0;
}

/* Thousandths of a percent: "12.5%" is 12500. */
static int read_percent(const struct value *v, uint64_t *out)
{
	const char *expected = "expected a share from 0% to 100%";
	size_t whole = v->len, digits = 0;
	struct value part = *v;
	int err;

	if (v->len == 0 || v->s[v->len - 1] != '%')
		return fail_at(v, v->s, expected);
	for (size_t i = 0; i + 1 < v->len; i++)
		whole = v->s[i] == '.' && whole == v->len ? i : whole;
	part.len = whole < v->len ? whole : v->len - 1;
	err = parse_digits(&part, false, out);
	if (err || *out > 100)
		return err ? err : fail_at(v, v->s, expected);
	*out *= 1000;
	for (size_t i = whole + 1, unit = 100; i + 1 < v->len; i++, unit /= 10, digits++) {
		if (v->s[i] < '0' || v->s[i] > '9' || digits == 3)
			return fail_at(v, v->s + i, "expected at most three decimals");
		*out += (uint64_t)(v->s[i] - '0') * unit;
	}
	return *out > 100000 ? fail_at(v, v->s, expected) : 0;
}

/* n, >n and similar, or a..b. */
static int parse_range(const struct value *v, struct hl_filter_term *t,
	int (*read)(const struct value *v, uint64_t *out))
{
	const char *dots = memmem(v->s, v->len, "..", 2);
	struct value part = *v;
	uint64_t n;
	int err = 0;

	t->lo = 0;
	t->hi = UINT64_MAX;
	if (dots && v->compare == EQUAL) {
		part.len = (size_t)(dots - v->s);
		if (part.len > 0)
			err = read(&part, &t->lo);
		part.s = dots + 2;
		part.len = (size_t)(v->s + v->len - part.s);
		if (!err && part.len > 0)
			err = read(&part, &t->hi);
		return !err && t->lo > t->hi ? fail_at(v, v->s, "this range ends before it begins")
					     : err;
	}
	err = read(v, &n);
	if (err)
		return err;
	if (v->compare == EQUAL || v->compare == AT_LEAST || v->compare == MORE)
		t->lo = n;
	if (v->compare == EQUAL || v->compare == AT_MOST || v->compare == LESS)
		t->hi = n;
	/* The ends are inclusive. Less than 0 or more than the maximum matches nothing. */
	if ((v->compare == MORE && n == UINT64_MAX) || (v->compare == LESS && n == 0)) {
		t->lo = 1;
		t->hi = 0;
		return 0;
	}
	t->lo += v->compare == MORE;
	t->hi -= v->compare == LESS;
	return 0;
}

/* The same, or shares. A share that is excluded has no next one, so that its end stays. */
static int parse_share(const struct value *v, struct hl_filter_term *t,
	int (*read)(const struct value *v, uint64_t *out))
{
	int err;

	t->percent = memchr(v->s, '%', v->len) != NULL;
	err = parse_range(v, t, t->percent ? read_percent : read);
	if (err || !t->percent || t->lo > t->hi)
		return err;
	t->excludes_from = v->compare == MORE;
	t->excludes_to = v->compare == LESS;
	t->lo -= t->excludes_from;
	t->hi += t->excludes_to;
	return 0;
}

/* --- one function for each key --- */

static int parse_op(const struct value *v, struct hl_filter_term *t)
{
	if (!value_is(v, "alloc") && !value_is(v, "free"))
		return fail_at(v, v->s, "expected alloc or free");
	t->lo = t->hi = value_is(v, "alloc") ? HL_OP_ALLOC : HL_OP_FREE;
	return 0;
}

static int parse_name(const struct value *v, struct hl_filter_term *t)
{
	struct hl_pattern_error error = {0};
	int err = hl_pattern_new(&t->name, v->s, v->len, &error);

	return err == -EINVAL ? fail_at(v, v->s + error.at, error.text) : err;
}

static int parse_thread(const struct value *v, struct hl_filter_term *t)
{
	int err;

	if (v->quoted || (v->len > 0 && (v->s[0] < '0' || v->s[0] > '9')))
		return parse_name(v, t);
	err = parse_digits(v, false, &t->lo);
	t->hi = t->lo;
	return err;
}

static int parse_size(const struct value *v, struct hl_filter_term *t)
{
	return parse_range(v, t, read_size);
}

static int parse_life(const struct value *v, struct hl_filter_term *t)
{
	return parse_range(v, t, read_duration);
}

static int parse_addr(const struct value *v, struct hl_filter_term *t)
{
	return parse_range(v, t, read_addr);
}

static int parse_time(const struct value *v, struct hl_filter_term *t)
{
	size_t at = 0;

	t->from = (struct hl_time_spec){.kind = HL_TIME_SPEC_NS};
	t->to = (struct hl_time_spec){.kind = HL_TIME_SPEC_NS, .ns = UINT64_MAX};
	if (v->compare == MORE || v->compare == AT_LEAST) {
		if (hl_time_spec_parse(v->s, v->len, &t->from))
			return fail_at(v, v->s, "expected " HL_TIME_SPEC_EXPECTED);
	} else if (v->compare == LESS || v->compare == AT_MOST) {
		if (hl_time_spec_parse(v->s, v->len, &t->to))
			return fail_at(v, v->s, "expected " HL_TIME_SPEC_EXPECTED);
	} else if (hl_time_spec_parse_range(v->s, v->len, &t->from, &t->to, &at)) {
		return fail_at(v, v->s + at,
			memmem(v->s, v->len, "..", 2)
				? "expected " HL_TIME_SPEC_EXPECTED
				: "expected a range of times such as 1s..2.5s");
	}
	t->excludes_from = v->compare == MORE;
	t->excludes_to = v->compare == LESS;
	/* Plain times do not depend on a recording. */
	hl_filter_set_times(t, t->from.ns, t->to.kind == HL_TIME_SPEC_NS ? t->to.ns : UINT64_MAX);
	return 0;
}

static int parse_alive(const struct value *v, struct hl_filter_term *t)
{
	if (value_is(v, "end") || value_is(v, "peak"))
		t->to.kind = value_is(v, "end") ? HL_TIME_SPEC_END : HL_TIME_SPEC_PEAK;
	else if (hl_time_spec_parse(v->s, v->len, &t->to))
		return fail_at(v, v->s, "expected end, peak or " HL_TIME_SPEC_EXPECTED);
	return 0;
}

static int read_number(const struct value *v, uint64_t *out)
{
	return parse_digits(v, false, out);
}

static int parse_length(const struct value *v, struct hl_filter_term *t)
{
	return parse_range(v, t, read_number);
}

static int parse_group_leaked(const struct value *v, struct hl_filter_term *t)
{
	return parse_share(v, t, read_number);
}

static int parse_group_interval(const struct value *v, struct hl_filter_term *t)
{
	return parse_share(v, t, read_duration);
}

static int parse_node(const struct value *v, struct hl_filter_term *t)
{
	int err = parse_digits(v, false, &t->lo);

	t->hi = t->lo;
	return err;
}

static int parse_position(const struct value *v, struct hl_filter_term *t)
{
	t->last = v->compare == EQUAL && value_is(v, "last");
	return t->last ? 0 : parse_length(v, t);
}

/* No function name begins with a /, so this is a regular expression or the beginning of one. */
static int parse_function_name(const struct value *v, struct hl_filter_term *t)
{
	int err;

	if (!v->quoted && v->len > 0 && v->s[0] == '/' && (v->len == 1 || v->s[v->len - 1] != '/'))
		return fail_at(v, v->s, "unterminated regular expression: expected /");
	err = parse_name(v, t);
	for (unsigned i = 0; i < HL_FUNC_COUNT && !err; i++)
		t->calls |= (uint64_t)hl_pattern_matches(t->name, hl_called_function_name(i)) << i;
	return err;
}

/* A whole name, as reports or dumps print it, matches this function only: operator new is not
 * operator new[]. */
static int parse_call(const struct value *v, struct hl_filter_term *t)
{
	int err;

	for (unsigned i = 0; i < HL_FUNC_COUNT; i++) {
		if (value_is(v, hl_called_function_name(i)) || value_is(v, hl_func_name(i)))
			t->calls |= UINT64_C(1) << i;
	}
	if (t->calls)
		return 0;
	err = parse_function_name(v, t);
	if (err || t->calls)
		return err;
	return fail_at(v, v->s,
		"expected a function such as malloc, realloc, new or free "
		"(for functions of the program: fn:NAME)");
}

static int refuse_kind(const struct value *v, struct hl_filter_term *t)
{
	return fail_at(v, v->expr + t->at,
		"reports show only heap blocks; mappings of mmap are listed by heaplapse dump");
}

static const struct key {
	const char *name;
	unsigned subject;
	bool ordered; /* may be compared with < and > */
	int (*parse)(const struct value *v, struct hl_filter_term *t);
} keys[] = {
	{"fn", HL_FILTER_FUNCTION, false, parse_function_name},
	{"function", HL_FILTER_FUNCTION, false, parse_function_name},
	{"file", HL_FILTER_FILE, false, parse_name},
	{"module", HL_FILTER_MODULE, false, parse_name},
	{"call", HL_FILTER_FUNC, false, parse_call},
	{"func", HL_FILTER_FUNC, false, parse_call},
	{"thread", HL_FILTER_THREAD, false, parse_thread},
	{"size", HL_FILTER_SIZE, true, parse_size},
	{"time", HL_FILTER_TIME, true, parse_time},
	{"addr", HL_FILTER_ADDR, false, parse_addr},
	{"life", HL_FILTER_LIFETIME, true, parse_life},
	{"alive", HL_FILTER_ALIVE, false, parse_alive},
	{"op", HL_FILTER_OP, false, parse_op},
	{"tag", HL_FILTER_TAG, false, parse_name},
	{"chain-length", HL_FILTER_CHAIN_LENGTH, true, parse_length},
	{"chain-position", HL_FILTER_CHAIN_POSITION, true, parse_position},
	{"chain-first", HL_FILTER_CHAIN_FIRST, true, parse_size},
	{"chain-last", HL_FILTER_CHAIN_LAST, true, parse_size},
	{"chain-life", HL_FILTER_CHAIN_LIFETIME, true, parse_life},
	{"chain-alive", HL_FILTER_CHAIN_ALIVE, false, parse_alive},
	{"depth", HL_FILTER_DEPTH, true, parse_length},
	{"stack", HL_FILTER_NODE, false, parse_node},
	{"freed-fn", HL_FILTER_FREED_FUNCTION, false, parse_function_name},
	{"freed-file", HL_FILTER_FREED_FILE, false, parse_name},
	{"freed-module", HL_FILTER_FREED_MODULE, false, parse_name},
	{"freed-stack", HL_FILTER_FREED_NODE, false, parse_node},
	{"freed-thread", HL_FILTER_FREED_THREAD, false, parse_thread},
	{"group-allocated", HL_FILTER_GROUP_ALLOCATED, true, parse_length},
	{"group-leaked", HL_FILTER_GROUP_LEAKED, true, parse_group_leaked},
	{"group-interval", HL_FILTER_GROUP_INTERVAL, true, parse_group_interval},
	{"group-peak", HL_FILTER_GROUP_PEAK, true, parse_time},
	{"kind", 0, false, refuse_kind},
};
#define KEY_NAMES                                                              \
	"fn, file, module, call, thread, tag, size, time, addr, life, alive, " \
	"chain-length, chain-position, chain-first, chain-last, chain-life, "  \
	"chain-alive, depth, stack, freed-fn, freed-file, freed-module, "      \
	"freed-stack, freed-thread, group-allocated, group-leaked, "           \
	"group-interval, group-peak; dump also has op"

static const struct key *find_key(const char *s, size_t len)
{
	for (size_t i = 0; i < HL_ARRAY_LEN(keys); i++) {
		if (strlen(keys[i].name) == len && memcmp(keys[i].name, s, len) == 0)
			return &keys[i];
	}
	return NULL;
}

/* --- terms --- */

/* Reads ":", ">=" and similar at s and returns the length. */
static size_t read_compare(const char *s, enum compare *c)
{
	size_t n = 0;

	*c = EQUAL;
	if (*s == ':' || *s == '=')
		n = 1;
	if (s[n] == '<' || s[n] == '>') {
		bool equal = s[n + 1] == '=';

		*c = s[n] == '<' ? (equal ? AT_MOST : LESS) : (equal ? AT_LEAST : MORE);
		n += 1 + equal;
	}
	return n;
}

/* The length of the regular expression at s, up to a / that is followed by a space, a comma or the
 * end; 0 if there is no such end in the first `len` characters. */
static size_t regex_len(const char *s, size_t len)
{
	for (size_t i = 1; i < len; i++) {
		if (s[i] == '\\')
			i++;
		else if (s[i] == '/' && (!s[i + 1] || strchr(" \t,", s[i + 1])))
			return i + 1;
	}
	return 0;
}

/* The subject whose names the values of a key match; 0: they are no names. */
static unsigned names_of(unsigned subject)
{
	switch (subject) {
	case HL_FILTER_FREED_FUNCTION:
		return HL_FILTER_FUNCTION;
	case HL_FILTER_FREED_FILE:
		return HL_FILTER_FILE;
	case HL_FILTER_FREED_MODULE:
		return HL_FILTER_MODULE;
	case HL_FILTER_FREED_THREAD:
		return HL_FILTER_THREAD;
	default:
		return subject & (HL_FILTER_FRAMES | HL_FILTER_THREAD | HL_FILTER_TAG);
	}
}

/* Returns the end of the value that begins at s; *v is the value without its quotes. NULL: no
 * end. */
static const char *read_value(const char *s, const struct key *k, struct value *v)
{
	size_t all = strlen(s), regex, mark;

	v->s = s;
	for (v->len = 0; v->len < all && !strchr(" \t,", s[v->len]); v->len += mark ? mark : 1) {
		mark = hl_time_spec_quoted(s + v->len, all - v->len);
		if (v->len + mark == all && s[all - 1] != '"')
			return NULL;
	}
	v->quoted = *s == '"';
	if (v->quoted) {
		v->s++;
		v->len = strcspn(v->s, "\"");
		return v->s[v->len] ? v->s + v->len + 1 : NULL;
	}
	/* Commas and spaces inside a regular expression belong to it. But a path that begins with /
	 * may be followed by another that ends with /. */
	if (*s == '/') {
		bool path = names_of(k->subject) & (HL_FILTER_FILE | HL_FILTER_MODULE);

		regex = regex_len(s, path ? strcspn(s, " \t") : all);
		v->len = regex ? regex : v->len;
	}
	return s + v->len;
}

/* Is there a key, with or without a sign, at s? std::vector is not a key. */
static bool at_key(const char *s)
{
	size_t n;

	s += *s == '-' || *s == '!';
	n = strcspn(s, ":=<> \t,\"/*");
	return n > 0 && strchr(":=<>", s[n]) && s[n] && !(s[n] == ':' && s[n + 1] == ':') &&
	       (find_key(s, n) || s[n] == ':' || s[n] == '=');
}

/* The value as it is written behind the colon. */
static char *describe_value(const struct value *v)
{
	static const char *const signs[] = {
		[EQUAL] = "", [LESS] = "<", [AT_MOST] = "<=", [AT_LEAST] = ">=", [MORE] = ">"};
	bool regex = v->len > 1 && v->s[0] == '/' && v->s[v->len - 1] == '/';
	bool has_gap = memchr(v->s, ' ', v->len) || memchr(v->s, ',', v->len);
	/* After a comma, a name may begin with what would be a comparison behind a colon. */
	bool compares = v->compare == EQUAL && v->len > 0 && strchr("<>", v->s[0]);
	const char *quote =
		v->quoted || compares || (has_gap && !regex && v->s[0] != '@') ? "\"" : "";
	char *text;

	return asprintf(&text, "%s%s%.*s%s", signs[v->compare], quote, (int)v->len, v->s, quote) < 0
		       ? NULL
		       : text;
}

static int add_term(struct hl_filter *f, const struct key *k, const struct value *v,
	const struct hl_filter_term *like)
{
	struct hl_filter_term t = *like;
	int err = k->parse(v, &t);

	t.subject = k->subject;
	t.names = names_of(k->subject);
	t.key = k->name;
	t.value = err ? NULL : describe_value(v);
	if (!err)
		err = t.value ? hl_vec_push(&f->terms, t) : -ENOMEM;
	if (err) {
		hl_pattern_free(t.name);
		free(t.value);
	}
	return err;
}

/* Reads the key of the term at *at, and moves *at after it and its comparison operator. *k: the key
 * of the preceding term if a comma joins them, else NULL; set to the term's own. */
static int read_key(const char **at, struct value *v, const struct key **k)
{
	const char *s = *at;
	size_t n = strcspn(s, ":=<> \t,\"");

	v->compare = EQUAL;
	if (*k && !at_key(s)) {
		if ((*k)->ordered)
			*at += read_compare(s, &v->compare);
		return **at && !strchr(" \t,-!", **at)
			       ? 0
			       : fail_at(v, *at, "expected a name or one of " KEY_NAMES);
	}
	*k = &keys[0];
	if (*s == '"' || (!at_key(s) && !find_key(s, n)))
		return *s && !strchr(" \t,=:<>-!", *s)
			       ? 0
			       : fail_at(v, s, "expected a name or one of " KEY_NAMES);
	*k = find_key(s, n);
	if (!*k)
		return fail_at(v, s, "expected one of " KEY_NAMES);
	s += n;
	n = read_compare(s, &v->compare);
	if (n == 0)
		return fail_at(v, s, "expected : after the name");
	if (!(*k)->ordered && v->compare != EQUAL)
		return fail_at(v, s,
			"only numbers, sizes, times and lifetimes can be compared; expected :");
	*at = s + n;
	return 0;
}

/* Reads a term with all its values, and moves *at after it. *k: the key of the preceding term if a
 * comma joins them, else NULL; set to the term's own. */
static int parse_group(struct hl_filter *f, const char **at, struct value *v, const struct key **k)
{
	struct hl_filter_term like = {.clause = f->n_clauses, .group = f->n_groups++};
	int err;

	like.at = (size_t)(*at - v->expr);
	like.negated = **at == '-' || **at == '!';
	*at += like.negated;
	err = read_key(at, v, k);
	while (!err) {
		const char *start = *at;

		*at = read_value(start, *k, v);
		if (!*at)
			return fail_at(v, start, "unterminated quote");
		err = add_term(f, *k, v, &like);
		if (!err && **at && !strchr(" \t,", **at))
			err = fail_at(v, *at, "expected a space or a comma");
		if (err || **at != ',' || strchr("-!", (*at)[1]) || at_key(*at + 1))
			break;
		(*at)++;
		v->compare = EQUAL;
		if ((*k)->ordered)
			*at += read_compare(*at, &v->compare);
	}
	return err;
}

static int parse_clauses(struct hl_filter *f, struct value *v)
{
	const struct key *k;
	const char *at = v->expr;
	int err = 0;

	while (!err) {
		at += strspn(at, " \t");
		if (!*at)
			break;
		k = NULL;
		err = parse_group(f, &at, v, &k);
		while (!err && *at == ',') {
			at++;
			err = parse_group(f, &at, v, &k);
		}
		f->n_clauses++;
	}
	return err;
}

int hl_filter_parse(struct hl_filter **out, const char *expr, struct hl_filter_error *error)
{
	struct hl_filter *f = calloc(1, sizeof(*f));
	struct value v = {.expr = expr, .error = error};
	int err = f ? parse_clauses(f, &v) : -ENOMEM;

	if (err)
		hl_filter_free(f);
	else
		*out = f;
	return err;
}

int hl_filter_add(struct hl_filter *f, const char *expr, struct hl_filter_error *error)
{
	struct value v = {.expr = expr, .error = error};

	return parse_clauses(f, &v);
}

int hl_filter_add_names(struct hl_filter *f, const char *key, bool negated,
	const char *const *names, size_t n, struct hl_filter_error *error, size_t *bad_name)
{
	struct hl_filter_term like = {
		.clause = f->n_clauses, .group = f->n_groups, .negated = negated};
	const struct key *k = find_key(key, strlen(key));
	int err = 0;

	if (n == 0)
		return 0;
	for (size_t i = 0; i < n && !err; i++) {
		struct value v = {
			.expr = names[i], .s = names[i], .len = strlen(names[i]), .error = error};

		*bad_name = i;
		err = add_term(f, k, &v, &like);
	}
	f->n_clauses++;
	f->n_groups++;
	return err;
}

void hl_filter_free(struct hl_filter *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->terms.len; i++) {
		hl_pattern_free(f->terms.data[i].name);
		free(f->terms.data[i].value);
		free(f->terms.data[i].memo);
		free(f->terms.data[i].block_bits);
	}
	hl_vec_free(&f->terms);
	hl_vec_free(&f->chain);
	free(f);
}
