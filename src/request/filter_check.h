/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filter_check.h - what is wrong with a filter: terms that match no name, or a combination of terms
 * that matches no block although each term does.
 */
#ifndef HL_REQUEST_FILTER_CHECK_H
#define HL_REQUEST_FILTER_CHECK_H

#include "model/query/filter_names.h"
#include "request/plan.h"

struct hl_filter_check {
	hl_unmatched_terms unmatched;
	char *useless;    /* a term that matches no block; NULL: none, or the only one */
	bool contradicts; /* each term matches blocks, but no block matches all of them */
	bool of_file;     /* both are about a trace that begins late, not about the run */
};

/*
 * Examines the filter and the rules about stacks of a plan whose parts have run. empty: the answers
 * have no block, so the terms are queried one by one. An error, or the end of the time of the
 * request, makes the result incomplete, not wrong. The caller frees it with hl_filter_check_fini.
 */
void hl_plan_check_filter(struct hl_plan *p, bool empty, struct hl_filter_check *out);
void hl_filter_check_fini(struct hl_filter_check *c);
/* Puts a note about each finding. */
void hl_filter_check_note(const struct hl_filter_check *c, const struct hl_notes *notes);

#endif
