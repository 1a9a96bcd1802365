/* SPDX-License-Identifier: Apache-2.0 */
/*
 * suppress.h - suppressions, in LSan's format: rules that hide known blocks at the end of a run.
 *
 * A file has lines `leak:PATTERN`; comments begin with #. A pattern matches if a frame's function,
 * file or module contains it, or the name of the called function (malloc). * matches anything, ^
 * and $ match the ends. There is a small built-in set. A query leaves out blocks that match,
 * whatever its key, so that the totals by all keys are equal.
 */
#ifndef HL_MODEL_QUERY_SUPPRESS_H
#define HL_MODEL_QUERY_SUPPRESS_H

#include "model/query/query.h"

struct hl_suppressions;

struct hl_suppressed {
	const char *pattern; /* as written in the file, or the description of built-in rules */
	struct hl_value value;
};

int hl_suppressions_new(struct hl_suppressions **out);
void hl_suppressions_free(struct hl_suppressions *s);
int hl_suppressions_add_defaults(struct hl_suppressions *s);
/* Parses the whole text of a file. Returns 0, -ENOMEM, or -EINVAL if line *line is not a
 * suppression. */
int hl_suppressions_add_text(struct hl_suppressions *s, const char *text, size_t *line);

/* Makes a copy with counters of its own, for one query: a query that alone uses its suppressions
 * can be prefetched. Returns 0 or -ENOMEM. */
int hl_suppressions_copy(const struct hl_suppressions *s, struct hl_suppressions **out);
bool hl_suppressions_is_copy(const struct hl_suppressions *s);

/* Resets all counters and prepares for this model. Returns 0 or -ENOMEM. */
int hl_suppressions_bind(struct hl_suppressions *s, struct hl_model *m);
/* Resets all counters. */
void hl_suppressions_reset(struct hl_suppressions *s);
/* Does one of them match a called function? Then the stack alone does not decide. */
bool hl_suppressions_need_calls(const struct hl_suppressions *s);
/* Sets *taken if blocks of this stack and called function (HL_FUNC_COUNT: any) are suppressed, and
 * adds *v to the counter of the first rule that matches. Returns 0 or -errno. */
int hl_suppressions_take(struct hl_suppressions *s, struct hl_model *m, uint32_t node,
	unsigned func, const struct hl_value *v, bool *taken);
/* The counters of the last query; those with no blocks matched nothing. Owned by the
 * suppressions. */
const struct hl_suppressed *hl_suppressions_counts(const struct hl_suppressions *s, size_t *n);

/* Their sum. s may be NULL: none. */
struct hl_value hl_suppressions_total(const struct hl_suppressions *s);

/* The end of the path of a runtime library that the built-in rules know ("/libc.so.6"); NULL if it
 * is not one of these. */
const char *hl_runtime_module(const char *path);

#endif
