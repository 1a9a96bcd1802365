/* SPDX-License-Identifier: Apache-2.0 */
/* completion.c - the common parts of the three shells; see completion.h. */
#include "cli/help/completion.h"

#include <string.h>

static const char *skip_bracket(const struct hl_opt *o)
{
	return o->arg + (o->arg[0] == '[');
}

enum hl_value_kind hl_value_kind(const struct hl_opt *o)
{
	const char *arg = o->arg ? skip_bracket(o) : NULL;

	if (!arg)
		return HL_VALUE_NONE;
	if (hl_opt_values(o))
		return HL_VALUE_WORDS;
	if (strncmp(arg, "FILE", 4) == 0 || strncmp(arg, "PATH", 4) == 0)
		return HL_VALUE_FILE;
	return strncmp(arg, "DIR", 3) == 0 ? HL_VALUE_DIRECTORY : HL_VALUE_ANY;
}

/* Words in capitals are placeholders (full|N) and are not offered. */
void hl_value_words(const struct hl_opt *o, char *buf, size_t n)
{
	const char *s = hl_opt_values(o);
	size_t at = 0;

	buf[0] = 0;
	while (*s) {
		size_t len = strcspn(s, "|]");

		if (len > 0 && !(*s >= 'A' && *s <= 'Z') && at + len + 2 < n)
			at += (size_t)snprintf(
				buf + at, n - at, "%s%.*s", at ? " " : "", (int)len, s);
		s += len + (s[len] != 0);
	}
}

const struct hl_cmd *hl_completion_next(size_t *i)
{
	while (hl_commands[*i] && hl_commands[*i]->hidden)
		++*i;
	return hl_commands[*i] ? hl_commands[(*i)++] : NULL;
}
