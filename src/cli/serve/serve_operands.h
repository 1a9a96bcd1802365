/* SPDX-License-Identifier: Apache-2.0 */
/*
 * serve_operands.h - which traces the operands of `serve` mean.
 *
 * A trace means the processes of its run, as the directory of a session does. Another directory
 * means all traces in it.
 */
#ifndef HL_CLI_SERVE_SERVE_OPERANDS_H
#define HL_CLI_SERVE_SERVE_OPERANDS_H

#include "util/vec.h"

struct hl_serve_operands {
	HL_VEC(char *) paths;
};

/* Returns 0, or prints a message and returns an exit status. The caller calls
 * hl_serve_operands_fini() in every case. */
int hl_serve_operands_find(struct hl_serve_operands *o, int argc, char **argv);
void hl_serve_operands_fini(struct hl_serve_operands *o);

#endif
