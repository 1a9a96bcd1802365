/* SPDX-License-Identifier: Apache-2.0 */
/*
 * foreign_names.c - finds the names of other profilers; see foreign_names.h.
 */
#include "cli/options/foreign_names.h"

#include <stdbool.h>
#include <string.h>

#define HL_FOREIGN(where, names, hint, command) {where, names, hint, command},
static const struct hl_foreign_name rows[] = {
#include "cli/options/foreign_names.inc"
};
#undef HL_FOREIGN

/* Whether the list, whose words are separated by spaces, has this word. */
static bool has_word(const char *list, const char *word, size_t len)
{
	while (*list) {
		size_t n = strcspn(list, " ");

		if (n == len && memcmp(list, word, len) == 0)
			return true;
		list += n + (list[n] == ' ');
	}
	return false;
}

const struct hl_foreign_name *hl_foreign_name_find(const char *where, const char *name, size_t len)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (has_word(rows[i].where, where, strlen(where)) &&
			has_word(rows[i].names, name, len))
			return &rows[i];
	}
	return NULL;
}

const struct hl_foreign_name *hl_foreign_variable_next(char *const *environment, size_t *i)
{
	while (environment[*i]) {
		const char *variable = environment[(*i)++];
		const struct hl_foreign_name *row =
			hl_foreign_name_find("environment", variable, strcspn(variable, "="));

		if (row)
			return row;
	}
	return NULL;
}
