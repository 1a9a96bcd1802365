/* SPDX-License-Identifier: Apache-2.0 */
/*
 * findings.h - the results of checks of a program, a process or this machine before recording.
 *
 * `record` refuses with the first finding that fails, and `doctor` prints all findings. Both use
 * the sentences in the findings.
 */
#ifndef HL_CLI_DOCTOR_FINDINGS_H
#define HL_CLI_DOCTOR_FINDINGS_H

#include <stdbool.h>
#include <stdio.h>

#include "base/attr.h"
#include "util/vec.h"

/* From best to worst. */
enum hl_verdict {
	HL_VERDICT_OK,
	HL_VERDICT_NOTE,    /* all is recorded, but there is something to know */
	HL_VERDICT_PARTIAL, /* events will be missing */
	HL_VERDICT_FAILS,   /* nothing can be recorded */
};

struct hl_finding {
	enum hl_verdict verdict;
	const char *check;  /* the subject of the check, in a word or two */
	char *text;         /* the result, in a sentence */
	const char *remedy; /* advice; NULL: none is needed */
};

/* A zeroed struct is empty. */
struct hl_findings {
	HL_VEC(struct hl_finding) v;
};

void hl_findings_fini(struct hl_findings *f);
/* The formatted `what` is copied. check and remedy belong to the caller and must live as long as
 * f. */
void hl_findings_add(struct hl_findings *f, enum hl_verdict verdict, const char *check,
	const char *remedy, const char *what, ...) hl_printf(5, 6);
/* Returns the first finding that is at least this bad; NULL if there is none. */
const struct hl_finding *hl_findings_first(const struct hl_findings *f, enum hl_verdict at_least);

/* Prints a line for each finding that is at least `from`; wrapped on a terminal. */
void hl_findings_print(const struct hl_findings *f, enum hl_verdict from);
/* Returns the worst verdict in f and, if not NULL, in other. */
enum hl_verdict hl_findings_worst(const struct hl_findings *f, const struct hl_findings *other);
/* Prints {"schema": 1, ...} about `subject`; NULL: about the machine only. */
void hl_findings_json(
	const struct hl_findings *f, const struct hl_findings *machine, const char *subject);

#endif
