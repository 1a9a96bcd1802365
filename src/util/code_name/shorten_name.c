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

#include "base/attr.h"
#include "util/code_name/code_name.h"
#include "util/code_name/code_name_internal.h"

/* Nesting deeper than this is not shortened. */
#define DEPTH_MAX 512

bool hl_code_name_is_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

static bool has_prefix(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

size_t hl_code_name_operator_len(const char *name, const char *s)
{
	/* Longer ones before their beginnings. */
	static const char *const signs[] = {"<=>", "<<=", ">>=", "->*", "()", "[]", "->", "<<",
		">>", "<=", ">=", "==", "!=", "+=", "-=", "*=", "/=", "%=", "^=", "&=", "|=", "&&",
		"||", "++", "--", "<", ">", "=", "+", "-", "*", "/", "%", "^", "&", "|", "!", "~",
		","};

	if (!has_prefix(s, "operator") || (s > name && hl_code_name_is_char(s[-1])))
		return 0;
	for (size_t i = 0; i < HL_ARRAY_LEN(signs); i++) {
		if (has_prefix(s + 8, signs[i]))
			return 8 + strlen(signs[i]);
	}
	return 0;
}

bool hl_code_name_opens_list(const char *name, const char *s, const char *op_end)
{
	if (s == name)
		return false;
	if (op_end && (s == op_end || (s == op_end + 1 && *op_end == ' ')))
		return true;
	if (s - name >= 2 && s[-1] == ':' && s[-2] == ':')
		return !has_prefix(s, "<impl ") && !has_prefix(s, "<lambda");
	return hl_code_name_is_char(s[-1]) || s[-1] == ']'; /* name[abi:cxx11]<...> */
}

static char closing_bracket(char open)
{
	return open == '(' ? ')' : open == '[' ? ']' : open == '{' ? '}' : '>';
}

const char *hl_code_name_group_end(const char *name, const char *s)
{
	char open[DEPTH_MAX];
	size_t depth = 0;

	for (; *s; s++) {
		size_t op = hl_code_name_operator_len(name, s);

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
			if (closing_bracket(open[depth - 1]) != *s)
				return NULL;
			depth--;
		}
		if (depth == 0)
			return s;
	}
	return NULL;
}

void hl_code_name_drop_lists(struct hl_strbuf *out, const char *name, const char *ellipsis)
{
	const char *copied = name, *op_end = NULL;

	for (const char *s = name; *s;) {
		size_t op = hl_code_name_operator_len(name, s);
		const char *end;

		if (op) {
			s += op;
			op_end = s;
			continue;
		}
		if (*s != '<' || !hl_code_name_opens_list(name, s, op_end)) {
			s++;
			continue;
		}
		end = hl_code_name_group_end(name, s);
		if (!end)
			break;
		hl_strbuf_add(out, copied, (size_t)(s - copied) + 1);
		hl_strbuf_puts(out, ellipsis);
		copied = end;
		s = end + 1;
	}
	hl_strbuf_puts(out, copied);
}
