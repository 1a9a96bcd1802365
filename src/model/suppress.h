/*
 * suppress.h - blocks at the end that everybody knows of and nobody wants to see: LSan's
 * suppressions.
 *
 * A file has lines `leak:PATTERN`, comments begin with #. A pattern fits if a frame's function,
 * file or module has it, or the name of the called function (malloc); * stands for anything, ^ and
 * $ for the ends. There is a small set of our own. A query leaves out what they fit, whatever its
 * key, so that all of them have the same total.
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

/* Begins anew, with nothing taken, for this model. 0 or -ENOMEM. */
int hl_suppressions_bind(struct hl_suppressions *s, struct hl_model *m);
/* Nothing was taken so far. */
void hl_suppressions_reset(struct hl_suppressions *s);
/* Does one of them fit a called function? Then stacks do not suffice to tell. */
bool hl_suppressions_need_calls(const struct hl_suppressions *s);
/* Are blocks of this stack and called function (HL_FUNC_COUNT: any) to be left out? Then they are
 * taken. The first that fits counts. 0 or -errno. */
int hl_suppressions_take(struct hl_suppressions *s, struct hl_model *m, uint32_t node,
	unsigned func, const struct hl_value *v, bool *taken);
/* What the last query left out; those with no blocks took nothing. The suppressions' own. */
const struct hl_suppressed *hl_suppressions_taken(const struct hl_suppressions *s, size_t *n);

/* The end of the path of a library by which the built-in ones know what is nobody's leak
 * ("/libc.so.6"); NULL: it is none of these. */
const char *hl_runtime_module(const char *path);

#endif
