/* SPDX-License-Identifier: Apache-2.0 */
/*
 * signals.h - signals that control the recording, if the user has chosen any.
 */
#ifndef HL_RECORD_HOOKS_SIGNALS_H
#define HL_RECORD_HOOKS_SIGNALS_H

void hl_signals_resolve(void);
/* Installs our handlers for the signals that the region names. */
void hl_signals_begin(void);

#endif
