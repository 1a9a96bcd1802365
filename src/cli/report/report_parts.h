/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_parts.h - the sum over several traces, of which some may be parts of one process.
 *
 * After a rotation (ctl PID rotate) a process has several files. Each begins with the blocks that
 * were live at the end of the file before, so the same memory is in several files: how their values
 * are added up depends on the quantity.
 */
#ifndef HL_CLI_REPORT_REPORT_PARTS_H
#define HL_CLI_REPORT_REPORT_PARTS_H

#include "model/query/query.h"
#include "request/plan.h"

/* The value of a process, from those of its parts. */
enum hl_parts_rule {
	HL_PARTS_NEWEST,  /* that of the newest part: quantities of a moment */
	HL_PARTS_LARGEST, /* a peak: each part has its own */
	HL_PARTS_ALL,     /* the sum: a block is allocated in one part */
	HL_PARTS_NO_SUM,  /* not known: the lifetime of a block may be in several parts */
};

/* A trace of a report. */
struct hl_part {
	char *program; /* NULL: not opened */
	uint64_t pid, start_ns;
	struct hl_base base;
	enum hl_parts_rule rule;
	bool is_read, has_times; /* its value is exact; it has the times of the request */
	struct hl_value value;
	/* Set by hl_parts_add_up: the value of the process is that of another part (joined), or
	 * `shown`. */
	bool counted, joined;
	struct hl_value shown;
};

struct hl_parts_sum {
	size_t files, processes;
	size_t files_read, processes_read;
	bool is_exact;           /* total is known */
	uint64_t missing_traces; /* that the session had, of processes that are not counted */
	enum hl_parts_rule rule;
	struct hl_value total;
};

/* Sets program, pid, start_ns and base. hl_part_fini frees them. Returns 0 or -ENOMEM. */
int hl_part_identify(struct hl_part *p, const struct hl_model *m);
void hl_part_fini(struct hl_part *p);
enum hl_parts_rule hl_parts_rule(const struct hl_plan *p);
/* Finds the parts of each process and adds up the values of the processes. */
void hl_parts_add_up(struct hl_part **parts, size_t n, struct hl_parts_sum *sum);
/* How the total was made, to be put after "all 2 processes, ". */
const char *hl_parts_rule_words(const struct hl_parts_sum *sum);

#endif
