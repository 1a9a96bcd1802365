/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filter_names.h - why a filter matches nothing: terms whose name occurs nowhere in a trace, with
 * similar names that do, and the clauses of a filter one by one.
 */
#ifndef HL_MODEL_QUERY_FILTER_NAMES_H
#define HL_MODEL_QUERY_FILTER_NAMES_H

#include "model/query/filter.h"
#include "util/names/suggest.h"
#include "util/strbuf.h"
#include "util/vec.h"

/* A term that no name of the trace matches. */
struct hl_unmatched_term {
	char *text;                        /* "fn:typo" */
	char *similar[HL_SUGGESTIONS_MAX]; /* "fn:type"; names that the trace has, best first */
	size_t n_similar;
};
typedef HL_VEC(struct hl_unmatched_term) hl_unmatched_terms;

/* Appends the terms of a bound filter about functions, files, modules, threads and scopes that
 * match no name. May look up the names of all stacks. Returns 0, or -errno; the list is complete
 * only after 0. The caller frees it in every case. */
int hl_filter_find_unmatched(struct hl_filter *f, struct hl_model *m, hl_unmatched_terms *out);
void hl_unmatched_terms_free(hl_unmatched_terms *v);

/* The number of clauses, all of which must hold. */
size_t hl_filter_n_clauses(const struct hl_filter *f);
/* A clause as an expression: "fn:a,b". The caller frees it; NULL: out of memory. */
char *hl_filter_clause_text(const struct hl_filter *f, size_t clause);
/* Appends the whole filter as one expression that is parsed to the same terms. */
void hl_filter_describe(const struct hl_filter *f, struct hl_strbuf *b);

#endif
