/* SPDX-License-Identifier: Apache-2.0 */
/*
 * foreign_names.h - names that users know from other profilers, with what to use here.
 *
 * The rows are in foreign_names.inc.
 */
#ifndef HL_CLI_OPTIONS_FOREIGN_NAMES_H
#define HL_CLI_OPTIONS_FOREIGN_NAMES_H

#include <stddef.h>

struct hl_foreign_name {
	const char *where;   /* names of commands, "heaplapse" or "environment" */
	const char *names;   /* separated by spaces */
	const char *hint;    /* completes "unknown option --name: ..." */
	const char *command; /* an example of what to use */
};

/* Returns the row of a name that the command `where` does not know, or NULL. */
const struct hl_foreign_name *hl_foreign_name_find(const char *where, const char *name, size_t len);
/* Returns the row of the first variable from index *i on that is set, its name in *name, and moves
 * *i behind it; NULL after the last. */
const struct hl_foreign_name *hl_foreign_variable_next(char *const *environment, size_t *i);

#endif
