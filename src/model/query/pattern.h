/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pattern.h - patterns for names: a substring, a glob or /a regular expression/.
 */
#ifndef HL_MODEL_QUERY_PATTERN_H
#define HL_MODEL_QUERY_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

struct hl_pattern;

struct hl_pattern_error {
	size_t at; /* byte offset in the pattern */
	char text[128];
};

/*
 * Parses exactly len characters. /.../ is a Perl regular expression that matches anywhere in a
 * name; text with * or ? is a glob for the whole name; any other text is a substring. Returns 0,
 * -EINVAL with *error filled in, or -ENOMEM.
 */
int hl_pattern_new(
	struct hl_pattern **out, const char *s, size_t len, struct hl_pattern_error *error);
void hl_pattern_free(struct hl_pattern *p);

/* NULL never matches. */
bool hl_pattern_matches(const struct hl_pattern *p, const char *name);
/* A glob may match the whole path or only its last component: lib*.so */
bool hl_pattern_matches_path(const struct hl_pattern *p, const char *path);

#endif
