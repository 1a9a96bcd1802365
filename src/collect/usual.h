/*
 * usual.h - the events that nearly all are, by a short way through the books.
 */
#ifndef HL_COLLECT_USUAL_H
#define HL_COLLECT_USUAL_H

#include <stdint.h>

struct hl_proc;

/*
 * Takes pending events from the i-th on through the books as long as they are usual ones. The
 * number of the first that is not, or of all that are pending.
 */
uint32_t hl_usual_settle(struct hl_proc *p, uint32_t i);

#endif
