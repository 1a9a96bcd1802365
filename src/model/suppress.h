/*
 * suppress.h - blocks at the end that everybody knows of and nobody wants to see: LSan's
 * suppressions.
 *
 * A file has lines `leak:PATTERN`, comments begin with #. A pattern fits if a frame's function,
 * file or module has it; * stands for anything, ^ and $ for the ends. There is a small set of our
 * own.
 */
#ifndef HL_MODEL_SUPPRESS_H
#define HL_MODEL_SUPPRESS_H

#include "model/query.h"

struct hl_suppressions;

struct hl_suppressed {
	const char *pattern; /* as it was written, or what our own is about */
	struct hl_value value;
};

int hl_suppressions_new(struct hl_suppressions **out);
void hl_suppressions_free(struct hl_suppressions *s);
int hl_suppressions_add_defaults(struct hl_suppressions *s);
/* Reads a file's whole text. -EINVAL with *line: it is no suppression. */
int hl_suppressions_add_text(struct hl_suppressions *s, const char *text, size_t *line);

/* Takes what fits out of an answer by stack. The first that fits counts. 0 or -errno. */
int hl_suppressions_apply(struct hl_suppressions *s, struct hl_model *m, struct hl_answer *a);
/* What was taken out of the last answer; those with no blocks took nothing. The suppressions' own.
 */
const struct hl_suppressed *hl_suppressions_taken(const struct hl_suppressions *s, size_t *n);

#endif
