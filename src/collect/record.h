/*
 * record.h - lengths of records, for the one place that checks them.
 */
#ifndef HL_COLLECT_RECORD_H
#define HL_COLLECT_RECORD_H

#include <stdint.h>

/* Words of the record that begins at `words`, of which `n` are there; 0 when it is none. */
uint32_t hl_record_length(const uint64_t *words, uint64_t n);

/* Is it one of those that `dropped_events` would count? */
int hl_record_is_event(const uint64_t *words);

#endif
