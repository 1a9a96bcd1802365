/*
 * pattern.h - names as people ask for them: a part, a glob or /a regular expression/.
 */
#ifndef HL_MODEL_PATTERN_H
#define HL_MODEL_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

struct hl_pattern;

struct hl_pattern_error {
	size_t at; /* byte in the pattern */
	char text[128];
};

/*
 * Reads exactly len characters: /.../ is a regular expression (Perl's) that fits anywhere in a
 * name, with * or ? it is a glob for the whole name, anything else a part of it. 0, -EINVAL with
 * *error filled in, or -ENOMEM.
 */
int hl_pattern_new(
	struct hl_pattern **out, const char *s, size_t len, struct hl_pattern_error *error);
void hl_pattern_free(struct hl_pattern *p);

/* NULL fits nothing. */
bool hl_pattern_fits(const struct hl_pattern *p, const char *name);
/* A glob for a path may also be one for its last part alone: lib*.so */
bool hl_pattern_fits_path(const struct hl_pattern *p, const char *path);

#endif
