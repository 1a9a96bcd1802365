/*
 * target.h - can this program be recorded, and how well? Asked before it runs.
 */
#ifndef HL_CLI_TARGET_H
#define HL_CLI_TARGET_H

#include <limits.h>
#include <stddef.h>

#include "cli/findings.h"

struct target {
	char path[PATH_MAX];  /* what will be executed */
	char image[PATH_MAX]; /* what was judged: the same, or what interprets a script */
	bool is_script;
	bool is_running; /* so that what its start needed was there, maybe not where we look */
	int cannot_run;  /* what its exec will fail with, said in the findings: -errno, or 0 */
	struct hl_findings findings; /* nothing that is fine, before hl_target_examine */
};

/*
 * Finds `program` as execvp would and judges it. 0; -ENOENT, -EACCES or another -errno when it
 * cannot be run at all. A script is judged by its interpreter. What fails or will be missing is in
 * the findings; the caller calls hl_target_fini in any case.
 */
int hl_target_find(const char *program, struct target *t);
/* Judges the file that a process runs: `path` leads to it, `name` is what to call it. */
void hl_target_judge(const char *path, const char *name, struct target *t);
/* Looks at what takes longer, and says what is fine too. After one of the above. */
void hl_target_examine(struct target *t);
void hl_target_fini(struct target *t);

/* Why a program cannot be run: hl_target_find's error in words. */
const char *hl_target_why_not(const char *program, int err);

#endif
