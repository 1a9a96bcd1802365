/*
 * shorten.c - C++ and Rust names without what stands in their template lists.
 *
 * A '<' opens a list only behind a name, behind "::" (Rust) or behind an operator's own sign
 * ("operator< <int>"). Elsewhere it begins something that is a name itself: Rust's
 * "<T as Trait>::f", GCC's "<lambda(int)>". Names are hostile: what does not come out even is
 * left as it is.
 */
#include <ctype.h>
#include <string.h>

#include "symbol/symbol_internal.h"

/* Deeper nesting is no name that anybody reads. */
#define DEPTH_MAX 512

static bool in_name(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

static bool starts(const char *s, const char *with)
{
	return strncmp(s, with, strlen(with)) == 0;
}

/*
 * The length of an operator's name at s ("operator<<", "operator()"), 0 if there is none. What
 * follows "operator" in a conversion ("operator std::string") is an ordinary name.
 */
static size_t operator_len(const char *name, const char *s)
{
	static const char *const signs[] = {
		"<=>", "<<=", ">>=", "->*", "()", "[]", "->", "<<", ">>", "<=", ">=", "<", ">"};

	if (!starts(s, "operator") || (s > name && in_name(s[-1])))
		return 0;
	for (size_t i = 0; i < HL_ARRAY_LEN(signs); i++) {
		if (starts(s + 8, signs[i]))
			return 8 + strlen(signs[i]);
	}
	return 0;
}

/* Is the '<' at s a list, given that an operator's name ended at op_end? */
static bool opens_list(const char *name, const char *s, const char *op_end)
{
	if (s == name)
		return false;
	if (op_end && (s == op_end || (s == op_end + 1 && *op_end == ' ')))
		return true;
	if (s - name >= 2 && s[-1] == ':' && s[-2] == ':')
		return !starts(s, "<impl ") && !starts(s, "<lambda");
	return in_name(s[-1]) || s[-1] == ']'; /* name[abi:cxx11]<...> */
}

static char closing(char open)
{
	return open == '(' ? ')' : open == '[' ? ']' : open == '{' ? '}' : '>';
}

/* The '>' that ends the list at s, or NULL. */
static const char *list_end(const char *name, const char *s)
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
			/* In brackets it may be "->" or "greater". */
			if (open[depth - 1] == '<' && s[-1] != '-')
				depth--;
		} else if (strchr(")]}", *s)) {
			/* A '<' that is still open in there meant "less". */
			while (depth > 1 && closing(open[depth - 1]) != *s)
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
	const char *done = name, *op_end = NULL;

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
		end = list_end(name, s);
		if (!end)
			break;
		hl_strbuf_add(out, done, (size_t)(s - done) + 1);
		hl_strbuf_puts(out, ellipsis);
		done = end;
		s = end + 1;
	}
	hl_strbuf_puts(out, done);
}
