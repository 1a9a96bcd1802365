/*
 * log.h - the recorder's own log, for work on heaplapse itself. `make debug` builds it in (log.c);
 * other builds have an empty function in its place (log_none.c). Only cold paths may call it.
 */
#ifndef HL_RECORD_LOG_H
#define HL_RECORD_LOG_H

#include <stdint.h>

/* One line: who, what, a number. */
void hl_log(const char *what, uint64_t number);
/* Where to: a path that is opened for each line, or NULL for stderr. It must stay valid. */
void hl_log_to(const char *path);

#endif
