/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verdicts.h - statements that the numbers of an overview prove, and their wording.
 *
 * A statement is made only if it cannot be an effect of a short run, of the start of the program or
 * of its end. docs/numbers.md has the rules in words.
 */
#ifndef HL_MODEL_OVERVIEW_VERDICTS_H
#define HL_MODEL_OVERVIEW_VERDICTS_H

#include "model/overview/overview.h"
#include "util/strbuf.h"

/* Growing: a line through the live bytes of a site, from one moment to the last before the end. */
#define HL_VERDICT_RUN_NS        UINT64_C(10000000000) /* a shorter run proves no growth */
#define HL_VERDICT_R2            0.99
#define HL_VERDICT_POINTS        12                  /* moments on the line: half of the run */
#define HL_VERDICT_GROWTH_BYTES  (UINT64_C(1) << 20) /* along the line */
#define HL_VERDICT_GROWTH_SHARE  0.02                /* of the peak */
#define HL_VERDICT_GROWTH_STEADY 0.7 /* each quarter of the line has this part of its slope */
/* Short-lived. */
#define HL_VERDICT_SHORT_BLOCKS   UINT64_C(10000)
#define HL_VERDICT_SHORT_PER_S    1000
#define HL_VERDICT_SHORT_PERCENT  50
#define HL_VERDICT_SHORT_OF_SITES 25 /* percent: a site below this is not named */
/* Allocated: many times the peak, and a good part of it by one site. */
#define HL_VERDICT_ALLOCATED_BYTES    (UINT64_C(64) << 20)
#define HL_VERDICT_ALLOCATED_TIMES    20
#define HL_VERDICT_ALLOCATED_OF_SITES 25 /* percent */
/* Pages. */
#define HL_VERDICT_PAGE_BYTES   (UINT64_C(4) << 20)
#define HL_VERDICT_PAGE_PERCENT 25 /* of the pages in use */

/* Finds the verdicts of an overview whose other parts are complete. end_ns: the length of the
 * run. */
void hl_verdicts_find(struct hl_overview *o, uint64_t end_ns);
/* The kind as a word: "growing". */
const char *hl_verdict_kind_name(enum hl_overview_verdict_kind kind);
/* Appends the sentence. Names in it are not escaped. */
void hl_verdict_put(struct hl_strbuf *b, struct hl_model *m, const struct hl_overview_verdict *v);
/* The time of a moment in its command, in percent of the run. */
unsigned hl_verdict_percent(unsigned k);
/* Appends the options of `report` that show it; nothing if the trace cannot answer them. */
void hl_verdict_put_options(struct hl_strbuf *b, const struct hl_overview_verdict *v);

#endif
