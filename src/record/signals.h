/*
 * signals.h - signals that steer the recording, if the user wants some.
 */
#ifndef HL_RECORD_SIGNALS_H
#define HL_RECORD_SIGNALS_H

void hl_signals_resolve(void);
/* The region says which. */
void hl_signals_begin(void);

#endif
