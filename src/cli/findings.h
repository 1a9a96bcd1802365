/*
 * findings.h - what was found out about a program, a process or this machine before recording.
 *
 * `record` refuses for the first finding that fails, and `doctor` shows them all: both have their
 * sentences from here.
 */
#ifndef HL_CLI_FINDINGS_H
#define HL_CLI_FINDINGS_H

#include <stdbool.h>
#include <stdio.h>

#include "base/attr.h"
#include "util/vec.h"

/* From good to bad. */
enum hl_verdict {
	HL_VERDICT_OK,
	HL_VERDICT_NOTE,    /* all is recorded, but something is good to know */
	HL_VERDICT_PARTIAL, /* something will be missing */
	HL_VERDICT_FAILS,   /* nothing can be recorded */
};

struct hl_finding {
	enum hl_verdict verdict;
	const char *check;  /* what was looked at, in a word or two */
	char *what;         /* in a sentence */
	const char *remedy; /* what to do; NULL: nothing needs to be done */
};

/* A zeroed one is empty. */
struct hl_findings {
	HL_VEC(struct hl_finding) v;
};

void hl_findings_fini(struct hl_findings *f);
/* `what` is copied; check and remedy are the caller's and live as long as f. */
void hl_findings_add(struct hl_findings *f, enum hl_verdict verdict, const char *check,
	const char *remedy, const char *what, ...) hl_printf(5, 6);
/* The first that is as bad as this or worse; NULL: none is. */
const struct hl_finding *hl_findings_first(const struct hl_findings *f, enum hl_verdict at_least);

/* A line for each, those below `from` left out; wrapped on a terminal. */
void hl_findings_print(const struct hl_findings *f, enum hl_verdict from);
/* How bad it comes: of f and, if not NULL, of another. */
enum hl_verdict hl_findings_worst(const struct hl_findings *f, const struct hl_findings *other);
/* {"schema": 1, ...} about `subject`, NULL: about the machine alone. */
void hl_findings_json(
	const struct hl_findings *f, const struct hl_findings *machine, const char *subject);

#endif
