/* SPDX-License-Identifier: Apache-2.0 */
/*
 * takeover.h - state that a second collector must restore by itself.
 */
#ifndef HL_COLLECT_TARGET_TAKEOVER_H
#define HL_COLLECT_TARGET_TAKEOVER_H

#include "collect/match/target_process.h"

/* Adds the modules that the program announced to the previous collector, as they are mapped
 * now. Does nothing when the process is gone or may not be inspected. */
void hl_takeover_modules(struct hl_target *p);

#endif
