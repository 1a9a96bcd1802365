/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shorten_name.c - C++ and Rust names without their template arguments.
 *
 * A '<' opens a list only after a name, after "::" (Rust) or after an operator sign ("operator<
 * <int>"). Elsewhere it begins a name itself: Rust's "<T as Trait>::f", GCC's "<lambda(int)>".
 * Names may be malicious: the rest of a name with unbalanced brackets is left unchanged.
 */
#include <ctype.h>
#include <string.h>

#include "symbol/symbol_internal.h"

/* Nesting deeper than this is not shortened. */
#define DEPTH_MAX 512

static bool is_name_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

static bool has_prefix(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

/*
 * The length of an operator's name at s ("operator<<", "operator()"), 0 if there is none. After
 * "operator" in a conversion ("operator std::string") there is an ordinary name.
 */
static size_t operator_len(const char *name, const char *s)
{
	static const char *const signs[] = {
		"<=>", "<<=", ">>=", "->*", "()", "[]", "->", "<<", ">>", "<=", ">=", "<", ">"};

	if (!has_prefix(s, "operator") || (s > name && is_name_char(s[-1])))
		return 0;
	for (size_t i = 0; i < HL_ARRAY_LEN(signs); i++) {
		if (has_prefix(s + 8, signs[i]))
			return 8 + strlen(signs[i]);
	}
	return 0;
}

/* Does the '<' at s open a list? op_end: end of the last operator name. */
static bool opens_list(const char *name, const char *s, const char *op_end)
{
	if (s == name)
		return false;
	if (op_end && (s == op_end || (s == op_end + 1 && *op_end == ' ')))
		return true;
	if (s - name >= 2 && s[-1] == ':' && s[-2] == ':')
		return !has_prefix(s, "<impl ") && !has_prefix(s, "<lambda");
	return is_name_char(s[-1]) || s[-1] == ']'; /* name[abi:cxx11]<...> */
}

static char closing_bracket(char open)
{
	return open == '(' ? ')' : open == '[' ? ']' : open == '{' ? '}' : '>';
}

/* The '>' that ends the list at s, or NULL. */
static const char *find_list_end(const char *name, const char *s)
{
	char open[DEPTH_MAX];
	size_t depth = 0;

	for (; *s; s++) {
		size_t op = operator_len(name, s);

		if (op) {
			s += op - 1;
		} else if (strchr("<([{", *s)) {
			if (depth == DEPTH_MAX)
				return NULL;
			open[depth++] = *s;
		} else if (*s == '>') {
			/* Inside brackets it may be "->" or "greater". */
			if (open[depth - 1] == '<' && s[-1] != '-')
				depth--;
		} else if (strchr(")]}", *s)) {
			/* A '<' that is still open here was "less". */
			while (depth > 1 && closing_bracket(open[depth - 1]) != *s)
				depth--;
			if (depth <= 1)
				return NULL;
			depth--;
		}
		if (depth == 0)
			return s;
	}
	return NULL;
}

void hl_symbol_shorten(struct hl_strbuf *out, const char *name, const char *ellipsis)
{
	const char *copied = name, *op_end = NULL;

	for (const char *s = name; *s;) {
		size_t op = operator_len(name, s);
		const char *end;

		if (op) {
			s += op;
			op_end = s;
			continue;
		}
		if (*s != '<' || !opens_list(name, s, op_end)) {
			s++;
			continue;
		}
		end = find_list_end(name, s);
		if (!end)
			break;
		hl_strbuf_add(out, copied, (size_t)(s - copied) + 1);
		hl_strbuf_puts(out, ellipsis);
		copied = end;
		s = end + 1;
	}
	hl_strbuf_puts(out, copied);
}
