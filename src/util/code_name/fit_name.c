/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fit_name.c - names of functions in a given number of columns; see code_name.h.
 *
 * A name is split at "::" outside of brackets into parts: namespaces, classes, the function. D and
 * Go use "." instead. Every form is made of the last parts. If brackets are not balanced, the rest
 * of the name is one part.
 */
#include <ctype.h>
#include <stdint.h>
#include <string.h>

#include "base/attr.h"
#include "util/code_name/code_name.h"
#include "util/code_name/code_name_internal.h"
#include "util/safe_text.h"

/* With more parts, the outermost are one. */
#define PARTS_MAX 48
/* How many characters before a difference are shown. */
#define CONTEXT_CHARS 4
/* The minimum for the text around a difference. */
#define WINDOW_MIN 9

struct part {
	size_t begin, end;
};

struct parsed_name {
	const char *s;
	const char *separator;
	size_t len; /* without the suffix of a clone */
	struct part parts[PARTS_MAX];
	size_t n;
	size_t own;  /* the first part of the function's own name */
	size_t kept; /* the class; == own: there is none */
};

/* The parts that a form omits or shortens. */
struct form {
	size_t from; /* first part */
	bool arguments, lists, paths, plain;
	bool unmarked; /* no ellipsis for the omitted parts */
};

static bool has_prefix(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

/* --- characters --- */

size_t hl_code_name_columns(const char *s, size_t len)
{
	size_t n = 0;
	uint32_t rune;

	for (size_t i = 0; i < len; n++)
		i += hl_rune_decode(s + i, len - i, &rune);
	return n;
}

/* The length in bytes of the first n characters. */
static size_t prefix_bytes(const char *s, size_t len, size_t n)
{
	size_t i = 0;
	uint32_t rune;

	for (; n > 0 && i < len; n--)
		i += hl_rune_decode(s + i, len - i, &rune);
	return i;
}

static size_t text_columns(const char *s)
{
	return hl_code_name_columns(s, strlen(s));
}

void hl_code_name_cut(struct hl_strbuf *out, const char *text, size_t len, size_t columns,
	unsigned head_thirds, const char *ellipsis)
{
	size_t n = hl_code_name_columns(text, len), gap = text_columns(ellipsis), head, from;

	if (n <= columns) {
		hl_strbuf_add(out, text, len);
		return;
	}
	if (columns < gap + 2) {
		hl_strbuf_add(out, text, prefix_bytes(text, len, columns));
		return;
	}
	head = (columns - gap) - (columns - gap) * (3 - head_thirds) / 3;
	hl_strbuf_add(out, text, prefix_bytes(text, len, head));
	hl_strbuf_puts(out, ellipsis);
	from = prefix_bytes(text, len, n - (columns - gap - head));
	hl_strbuf_add(out, text + from, len - from);
}

/* --- the parts of a name --- */

static bool begins_anonymous(const char *s)
{
	return has_prefix(s, "(anonymous namespace)");
}

/* " [clone .isra.0]" */
static size_t without_clone(const char *s)
{
	const char *clone = strstr(s, " [clone ");

	return clone && clone > s ? (size_t)(clone - s) : strlen(s);
}

/* The position after the group at i; 0 if it has no end. */
static size_t skip_group(const struct parsed_name *p, size_t i)
{
	const char *end = hl_code_name_group_end(p->s, p->s + i);

	return end && (size_t)(end - p->s) < p->len ? (size_t)(end - p->s) + 1 : 0;
}

static bool is_operator(const struct parsed_name *p, size_t i)
{
	return has_prefix(p->s + i, "operator") && !hl_code_name_is_char(p->s[i + 8]) &&
	       (i == 0 || !hl_code_name_is_char(p->s[i - 1]));
}

/* The position after the return type, which demangled names of template instances have: "void
 * std::sort<int*>(...)". Only names with parameters have one. */
static size_t skip_return_type(const struct parsed_name *p)
{
	size_t start = 0;

	for (size_t i = 0; i < p->len;) {
		char c = p->s[i];
		size_t end = 0;

		if (is_operator(p, i))
			return memchr(p->s + i, '(', p->len - i) ? start : 0;
		if (has_prefix(p->s + i, "decltype") && i == start) {
			i += p->s[i + 8] == ' ' ? 9 : 8;
			end = i < p->len && p->s[i] == '(' ? skip_group(p, i) : 0;
			if (!end)
				return 0;
		} else if (c == '(' && !begins_anonymous(p->s + i)) {
			return start;
		} else if (strchr("<([{", c)) {
			end = skip_group(p, i);
			if (!end)
				return 0;
		} else if (c == ' ') {
			start = i + 1;
		}
		i = end ? end : i + 1;
	}
	return 0;
}

/* Is it a suffix that compilers append after a dot? */
static bool is_clone_suffix(const char *s)
{
	static const char *const suffixes[] = {"isra", "constprop", "part", "cold", "lto_priv",
		"llvm", "localalias", "clone", "str", "num", "warm", "startup", "exit"};

	for (size_t i = 0; i < HL_ARRAY_LEN(suffixes); i++) {
		if (has_prefix(s, suffixes[i]) && !hl_code_name_is_char(s[strlen(suffixes[i])]))
			return true;
	}
	return false;
}

static bool is_dot(const struct parsed_name *p, size_t i)
{
	const char *next = p->s + i + 1;

	return p->s[i] == '.' && i > 0 &&
	       (hl_code_name_is_char(p->s[i - 1]) || p->s[i - 1] == ')') &&
	       (isalpha((unsigned char)*next) || strchr("_(~", *next)) && *next &&
	       !is_clone_suffix(next);
}

static void add_part(struct parsed_name *p, size_t begin, size_t end)
{
	if (p->n == PARTS_MAX) {
		p->parts[0].end = p->parts[1].end;
		memmove(p->parts + 1, p->parts + 2, (PARTS_MAX - 2) * sizeof(p->parts[0]));
		p->n--;
	}
	p->parts[p->n++] = (struct part){begin, end};
}

/* "::" before the list of "f::<T>" separates nothing. */
static bool is_separator(const struct parsed_name *p, size_t i)
{
	if (p->separator[0] == '.')
		return is_dot(p, i);
	return has_prefix(p->s + i, p->separator) &&
	       !(p->s[i + 2] == '<' && hl_code_name_opens_list(p->s, p->s + i + 2, NULL));
}

static void split_parts(struct parsed_name *p, size_t begin)
{
	const char *op_end = NULL;
	bool conversion = false; /* "operator std::string" is one part */

	for (size_t i = begin; i < p->len;) {
		size_t op = i == begin ? hl_code_name_operator_len(p->s, p->s + i) : 0, end;

		if (op) {
			i += op;
			op_end = p->s + i;
			continue;
		}
		if (i == begin && is_operator(p, i)) {
			conversion = true;
			i += 8;
			continue;
		}
		if (!conversion && i > begin && is_separator(p, i)) {
			add_part(p, begin, i);
			i = begin = i + strlen(p->separator);
			continue;
		}
		if (!strchr("<([{", p->s[i]) ||
			(p->s[i] == '<' && i > begin &&
				!hl_code_name_opens_list(p->s, p->s + i, op_end))) {
			i++;
			continue;
		}
		end = skip_group(p, i);
		if (!end)
			break;
		if (p->s[i] == '(' && i > begin)
			conversion = false;
		i = end;
	}
	if (begin < p->len || p->n == 0)
		add_part(p, begin, p->len);
}

/* A name that compilers give to code in a function. */
static bool is_unnamed(const struct parsed_name *p, size_t k)
{
	static const char *const begins[] = {
		"{", "operator()", "<lambda", "'lambda", "'unnamed", "$_", "_FUN"};

	for (size_t i = 0; i < HL_ARRAY_LEN(begins); i++) {
		if (has_prefix(p->s + p->parts[k].begin, begins[i]))
			return true;
	}
	return false;
}

static bool is_class(const struct parsed_name *p, size_t k)
{
	return !begins_anonymous(p->s + p->parts[k].begin) && p->s[p->parts[k].begin] != '{';
}

static bool has_outer_space(const struct parsed_name *p)
{
	for (size_t i = 0; i < p->len;) {
		size_t end = strchr("([{", p->s[i]) ? skip_group(p, i) : 0;

		if (p->s[i] == ' ')
			return true;
		i = end ? end : i + 1;
	}
	return false;
}

/* Objective-C: "-[Class selector:]". */
static bool split_method(struct parsed_name *p)
{
	const char *space = strchr(p->s, ' ');

	if ((!has_prefix(p->s, "-[") && !has_prefix(p->s, "+[")) || p->s[p->len - 1] != ']' ||
		!space)
		return false;
	p->separator = " ";
	add_part(p, 0, (size_t)(space - p->s));
	add_part(p, (size_t)(space - p->s) + 1, p->len);
	return true;
}

static void parse_name(struct parsed_name *p, const char *name)
{
	*p = (struct parsed_name){.s = name, .separator = "::", .len = without_clone(name)};
	if (name[0] == '[') { /* not a name: "[lost]" */
		add_part(p, 0, p->len);
		return;
	}
	if (!split_method(p)) {
		if (!strstr(name, "::") && !has_outer_space(p))
			p->separator = ".";
		split_parts(p, skip_return_type(p));
	}
	p->own = p->n - 1;
	while (p->own > 0 && is_unnamed(p, p->own))
		p->own--;
	p->kept = p->own > 0 && is_class(p, p->own - 1) ? p->own - 1 : p->own;
}

/* --- forms --- */

/* Copies without what leads to a name: "alloc::vec::Vec" becomes "Vec". */
static void put_without_paths(struct hl_strbuf *out, const char *s, size_t len)
{
	size_t name = 0; /* where the last name began */

	for (size_t i = 0; i < len;) {
		if (i + 1 < len && s[i] == ':' && s[i + 1] == ':' && i > name) {
			i += 2;
		} else if (hl_code_name_is_char(s[i])) {
			i++;
			continue;
		} else {
			hl_strbuf_add(out, s + name, i + 1 - name);
			i++;
		}
		name = i;
	}
	hl_strbuf_add(out, s + name, len - name);
}

/* Appends a group without its contents, if that is shorter. */
static void put_group(struct hl_strbuf *out, const char *s, size_t len, const struct form *f,
	const char *ellipsis)
{
	if (f->plain)
		return;
	if (hl_code_name_columns(s, len) <= text_columns(ellipsis) + 2)
		hl_strbuf_add(out, s, len);
	else
		hl_strbuf_printf(out, "%c%s%c", s[0], ellipsis, s[len - 1]);
}

/* "<Vec<T> as Trait>", "<impl Trait for Vec<T>>" */
static void put_type(struct hl_strbuf *out, const char *s, size_t len, const struct form *f,
	const char *ellipsis)
{
	struct hl_strbuf whole = {0}, inner = {0};

	hl_strbuf_add(&whole, s, len);
	if (f->lists)
		hl_code_name_drop_lists(&inner, hl_strbuf_str(&whole), ellipsis);
	else
		hl_strbuf_puts(&inner, hl_strbuf_str(&whole));
	if (f->paths)
		put_without_paths(out, hl_strbuf_str(&inner), inner.len);
	else
		hl_strbuf_puts(out, hl_strbuf_str(&inner));
	hl_strbuf_fini(&whole);
	hl_strbuf_fini(&inner);
}

/* Is the group at i one that the form shortens? */
static bool is_shortened(const struct parsed_name *p, const struct part *part, size_t i,
	const char *op_end, const struct form *f)
{
	if (i == part->begin || begins_anonymous(p->s + i))
		return false;
	if (p->s[i] == '(')
		return f->arguments;
	if (p->s[i] == '<')
		return f->lists && hl_code_name_opens_list(p->s, p->s + i, op_end);
	return f->plain && has_prefix(p->s + i, "[abi:");
}

/* The sign between a name and its list, which a plain form omits too: "::<" in Rust, "!(" in D. */
static bool begins_list(const struct parsed_name *p, size_t i)
{
	return has_prefix(p->s + i, "::<") || has_prefix(p->s + i, "!(");
}

static void put_part(struct hl_strbuf *out, const struct parsed_name *p, const struct part *part,
	const struct form *f, const char *ellipsis)
{
	const char *op_end = NULL;

	for (size_t i = part->begin; i < part->end;) {
		size_t op = hl_code_name_operator_len(p->s, p->s + i), end = 0;
		bool type = i == part->begin && p->s[i] == '<';

		if (op && i + op <= part->end) {
			hl_strbuf_add(out, p->s + i, op);
			i += op;
			op_end = p->s + i;
			continue;
		}
		if (f->plain && begins_list(p, i)) {
			i += p->s[i] == ':' ? 2 : 1;
			continue;
		}
		if (type || is_shortened(p, part, i, op_end, f))
			end = skip_group(p, i);
		if (!end || end > part->end)
			hl_strbuf_putc(out, p->s[i]), end = i + 1;
		else if (type)
			put_type(out, p->s + i, end - i, f, ellipsis);
		else
			put_group(out, p->s + i, end - i, f, ellipsis);
		if (f->plain && p->s[i] == '(' && end == part->end)
			break;
		if (f->plain && p->s[end - 1] == ')' && end < part->end && p->s[end] == ' ')
			break; /* " const" */
		i = end;
	}
}

/* "main::{lambda(int)#1}::operator()" */
static bool is_call_of_lambda(const struct parsed_name *p, size_t k)
{
	return k > p->own + 1 && has_prefix(p->s + p->parts[k].begin, "operator()");
}

static void put_form(struct hl_strbuf *out, const struct parsed_name *p, const struct form *f,
	const char *ellipsis)
{
	if (f->from > 0 && !f->unmarked)
		hl_strbuf_printf(out, "%s%s", ellipsis, p->separator);
	for (size_t k = f->from; k < p->n; k++) {
		if (f->plain && is_call_of_lambda(p, k))
			continue;
		hl_strbuf_puts(out, k > f->from ? p->separator : "");
		put_part(out, p, &p->parts[k], f, ellipsis);
	}
}

static void put_own(struct hl_strbuf *out, const struct parsed_name *p, const char *ellipsis)
{
	const struct form own = {.from = p->own,
		.arguments = true,
		.lists = true,
		.paths = true,
		.plain = true,
		.unmarked = true};

	put_form(out, p, &own, ellipsis);
}

static bool make_form(const struct parsed_name *p, unsigned n, struct form *f)
{
	/* Form 0 is the name itself. */
	if (n < 5) {
		*f = (struct form){.arguments = n > 1, .lists = n > 2, .paths = n > 3};
		return true;
	}
	*f = (struct form){.arguments = true, .lists = true, .paths = true, .from = n - 4};
	if (f->from <= p->kept)
		return true;
	f->plain = true;
	f->from = p->kept;
	switch (n - 5 - (unsigned)p->kept) {
	case 0:
		return true;
	case 1:
		f->from = p->own;
		return true;
	case 2:
		f->from = p->own;
		f->unmarked = true;
		return true;
	default:
		return false;
	}
}

static bool put_numbered(struct hl_strbuf *out, const struct parsed_name *p, unsigned n,
	const char *ellipsis, enum hl_code_name_kept *kept)
{
	struct form f;

	*kept = HL_CODE_NAME_WHOLE;
	if (n == 0) {
		hl_strbuf_puts(out, p->s);
		return true;
	}
	if (!make_form(p, n, &f))
		return false;
	*kept = f.from > p->kept || f.unmarked ? HL_CODE_NAME_FUNCTION : HL_CODE_NAME_CLASS;
	put_form(out, p, &f, ellipsis);
	return true;
}

bool hl_code_name_form(struct hl_strbuf *out, const char *name, unsigned n, const char *ellipsis,
	enum hl_code_name_kept *kept)
{
	struct parsed_name p;

	parse_name(&p, name);
	return put_numbered(out, &p, n, ellipsis, kept);
}

enum hl_code_name_kept hl_code_name_fit(
	struct hl_strbuf *out, const char *name, size_t columns, const char *ellipsis)
{
	struct parsed_name p;
	struct hl_strbuf form = {0};
	enum hl_code_name_kept kept;

	parse_name(&p, name);
	for (unsigned n = 0; put_numbered(&form, &p, n, ellipsis, &kept); n++) {
		if (hl_code_name_columns(hl_strbuf_str(&form), form.len) <= columns)
			goto found;
		hl_strbuf_reset(&form);
	}
	put_own(&form, &p, ellipsis);
	kept = HL_CODE_NAME_CUT;
found:
	hl_code_name_cut(out, hl_strbuf_str(&form), form.len, columns, 2, ellipsis);
	hl_strbuf_fini(&form);
	return kept;
}

/* --- with a difference --- */

/* Appends the n characters that begin a little before `at`, of the len bytes at s. Dots mark what
 * is left out on a side. */
static void put_window(struct hl_strbuf *out, const char *s, size_t len, size_t at, size_t columns,
	const char *ellipsis)
{
	size_t total = hl_code_name_columns(s, len), gap = text_columns(ellipsis), from, n, begin;

	if (total <= columns) {
		hl_strbuf_add(out, s, len);
		return;
	}
	from = hl_code_name_columns(s, at < len ? at : len);
	from = from > CONTEXT_CHARS ? from - CONTEXT_CHARS : 0;
	if (from <= gap)
		from = 0;
	n = columns - (from > 0 ? gap : 0);
	if (total - from <= n) {
		n = columns > gap ? columns - gap : columns;
		from = total - n;
	} else {
		n = n > gap ? n - gap : n;
	}
	begin = prefix_bytes(s, len, from);
	hl_strbuf_puts(out, from > 0 ? ellipsis : "");
	hl_strbuf_add(out, s + begin, prefix_bytes(s + begin, len - begin, n));
	hl_strbuf_puts(out, from + n < total ? ellipsis : "");
}

/* Appends the window and the function's own name, at their places. */
static void put_own_and_window(struct hl_strbuf *out, const struct parsed_name *p,
	const struct hl_strbuf *own, size_t columns, size_t differs, const char *ellipsis)
{
	size_t begin = p->parts[p->own].begin, end = begin + own->len, joint = strlen(p->separator),
	       own_columns = hl_code_name_columns(hl_strbuf_str(own), own->len),
	       window = WINDOW_MIN + text_columns(ellipsis), room;

	if (own_columns + joint + window > columns) {
		window = window < columns / 3 ? columns / 3 : window;
		own_columns = columns - joint - window;
	}
	room = columns - own_columns - joint;
	if (differs < begin) {
		put_window(out, p->s, begin - joint, differs, room, ellipsis);
		hl_strbuf_puts(out, p->separator);
	}
	hl_code_name_cut(out, hl_strbuf_str(own), own->len, own_columns, 2, ellipsis);
	if (differs >= end)
		put_window(
			out, p->s + end, strlen(p->s + end), differs - end, room + joint, ellipsis);
}

void hl_code_name_fit_difference(struct hl_strbuf *out, const char *name, size_t columns,
	size_t differs, const char *ellipsis)
{
	struct parsed_name p;
	struct hl_strbuf own = {0};
	size_t begin;

	parse_name(&p, name);
	begin = p.parts[p.own].begin;
	put_own(&own, &p, ellipsis);
	if (text_columns(name) <= columns || columns < 2 * (WINDOW_MIN + text_columns(ellipsis)))
		hl_code_name_cut(out, name, strlen(name), columns, 2, ellipsis);
	else if (strncmp(name + begin, hl_strbuf_str(&own), own.len) != 0 ||
		 (differs < begin && p.own == 0))
		put_window(out, name, strlen(name), differs, columns, ellipsis);
	else if (differs >= begin && differs < begin + own.len)
		put_window(out, name + begin, strlen(name + begin), differs - begin, columns,
			ellipsis);
	else
		put_own_and_window(out, &p, &own, columns, differs, ellipsis);
	hl_strbuf_fini(&own);
}
