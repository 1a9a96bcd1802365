/*
 * names.h - the names of threads that others have named, from /proc.
 */
#ifndef HL_COLLECT_NAMES_H
#define HL_COLLECT_NAMES_H

#include <stdint.h>

struct hl_feed;
struct hl_proc;

/* Some thread of this process has been named: from here on each that comes is looked at, too. */
void hl_names_due(struct hl_proc *p);
/* After each scan: looks, if it is due and some time after the last look. Many names are one look.
 */
void hl_names_tick(struct hl_proc *p, uint64_t now_ns);
/* A thread has come. */
void hl_names_meet(struct hl_feed *f, uint64_t stamp);

#endif
