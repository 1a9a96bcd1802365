/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ctl_command.h - the commands of `heaplapse ctl` as data: words become a request, its answer
 * becomes JSON, and an error becomes a sentence. `serve` executes the same commands.
 */
#ifndef HL_CLI_CTL_CTL_COMMAND_H
#define HL_CLI_CTL_CTL_COMMAND_H

#include "collect/control/ctl.h"
#include "util/json_writer.h"

#define HL_CTL_WHY_MAX 640 /* of a sentence */

/* Makes a request from a verb and its label. Returns 0, or -EINVAL and why. */
int hl_ctl_parse(
	struct hl_ctl_request *q, int argc, const char *const *argv, char why[HL_CTL_WHY_MAX]);
/*
 * Executes the request for the process q->pid, which is looked up here. Waits at most timeout_ms
 * for the answer, after a rotation longer; 0: the default. Returns 0, or -errno and why.
 */
int hl_ctl_execute(struct hl_ctl_request *q, struct hl_ctl_answer *a, int timeout_ms,
	char why[HL_CTL_WHY_MAX]);
/* Why a process is not found, as hl_ctl_execute() says it. Returns err. */
int hl_ctl_explain_not_found(const char *pid, int err, char why[HL_CTL_WHY_MAX]);
/* The verb that takes effect at the program's next call of the allocator; NULL: none. */
const char *hl_ctl_pending(const struct hl_ctl_answer *a);
/* Writes the members of an answer. */
void hl_ctl_put_json(struct hl_json *j, uint64_t pid, const struct hl_ctl_answer *a);

#endif
