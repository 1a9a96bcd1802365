/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread_names.h - names of threads that were set by other threads, from /proc.
 */
#ifndef HL_COLLECT_MATCH_THREAD_NAMES_H
#define HL_COLLECT_MATCH_THREAD_NAMES_H

#include <stdint.h>

struct hl_thread_stream;
struct hl_target;

/* Some thread of this target was named by another one: names are read at the next tick. From now on
 * the name of each new thread is read too. */
void hl_thread_names_due(struct hl_target *p);
/* Call it after each scan. Reads the names, if they are due and the last read is long enough ago:
 * many changes cost one read. */
void hl_thread_names_tick(struct hl_target *p, uint64_t now_ns);
/* A new thread. */
void hl_thread_names_add(struct hl_thread_stream *f, uint64_t stamp);

#endif
