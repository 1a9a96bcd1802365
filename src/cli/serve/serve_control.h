/* SPDX-License-Identifier: Apache-2.0 */
/* serve_control.h - commands of the page for the recording of a running program. */
#ifndef HL_CLI_SERVE_SERVE_CONTROL_H
#define HL_CLI_SERVE_SERVE_CONTROL_H

#include "views/web/web.h"

/* Executes a command as `heaplapse ctl` does; hl_web_options.control. Called in any thread. */
int hl_serve_control(void *arg, const struct hl_web_control *c, struct hl_web_control_answer *a);

#endif
