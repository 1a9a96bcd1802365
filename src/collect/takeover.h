/*
 * takeover.h - what a second collector must find out by itself.
 */
#ifndef HL_COLLECT_TAKEOVER_H
#define HL_COLLECT_TAKEOVER_H

#include "collect/proc.h"

/*
 * The modules that the program has announced to the collector before us, as they are mapped now.
 * Nothing when the process is gone or may not be looked at.
 */
void hl_takeover_modules(struct hl_proc *p);

#endif
