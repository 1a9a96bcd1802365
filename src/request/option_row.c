/* SPDX-License-Identifier: Apache-2.0 */
/*
 * option_row.c - a setting as a row of a table.
 */
#include "request/option_row.h"

#include <stdio.h>
#include <string.h>

int hl_word_find(const char *list, const char *word)
{
	return hl_word_find_n(list, word, strlen(word));
}

int hl_word_find_n(const char *list, const char *word, size_t len)
{
	size_t n;

	for (int i = 0;; i++) {
		n = strcspn(list, "|");
		if (n == len && memcmp(list, word, n) == 0)
			return i;
		if (!list[n])
			return -1;
		list += n + 1;
	}
}

bool hl_opt_arg_optional(const struct hl_opt *o)
{
	return o->arg && o->arg[0] == '[';
}

const char *hl_opt_values(const struct hl_opt *o)
{
	const char *colon = o->arg ? strchr(o->arg, ':') : NULL;

	return colon ? colon + 1 : o->arg && strchr(o->arg, '|') ? o->arg : NULL;
}

int hl_opt_arg_len(const struct hl_opt *o)
{
	return (int)strcspn(o->arg, ":");
}

/* Writes "always, auto or never", or for more than three words "one of bytes, blocks, ...". */
static const char *describe_values(const char *list, char text[HL_OPT_TEXT_MAX])
{
	size_t at = 0, len, words = 1;

	for (const char *c = list; *c; c++)
		words += *c == '|';
	text[0] = 0;
	if (words > 3)
		at = (size_t)snprintf(text, HL_OPT_TEXT_MAX, "one of ");
	for (; words > 0 && at < HL_OPT_TEXT_MAX; words--, list += len + (list[len] == '|')) {
		len = strcspn(list, "|");
		at += (size_t)snprintf(text + at, HL_OPT_TEXT_MAX - at, "%.*s%s", (int)len, list,
			words == 1                                       ? ""
			: words == 2 && strncmp(text, "one of ", 7) != 0 ? " or "
									 : ", ");
	}
	return text;
}

const char *hl_opt_store_value(
	const struct hl_opt *o, void *state, const char *value, char text[HL_OPT_TEXT_MAX])
{
	const char *expected = o->set(state, value), *values = hl_opt_values(o);

	return expected && values ? describe_values(values, text) : expected;
}

bool hl_opt_store_pair(const struct hl_opt *o, const char *key, const char *value, void *state,
	char *why, size_t why_size)
{
	char text[HL_OPT_TEXT_MAX];
	const char *expected;

	why[0] = '\0';
	if (!o)
		snprintf(why, why_size, "unknown key \"%.60s\"", key);
	else if (!o->arg && value)
		snprintf(why, why_size, "%s takes no value", key);
	else if (o->arg && !value && !hl_opt_arg_optional(o))
		snprintf(why, why_size, "%s needs a value: %.*s", key, hl_opt_arg_len(o), o->arg);
	else if ((expected = hl_opt_store_value(o, state, value, text)) != NULL)
		snprintf(why, why_size, "%s: \"%.100s\" is not %s", key, value ? value : "",
			expected);
	return !why[0];
}
