/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rotate.h - the trace of a target goes on in another file.
 *
 * Between two events the old file ends, and the new one begins with a base: the tables, the sums
 * and the live blocks of that moment (docs/trace-format.md 3.15). Blocks are copied in steps, so
 * that the program does not wait for a large heap.
 */
#ifndef HL_COLLECT_MATCH_ROTATE_H
#define HL_COLLECT_MATCH_ROTATE_H

#include "collect/match/target_process.h"

/*
 * Ends the target's file and continues in `next` (hl_trace_output_new_successor), whose file must
 * exist. Returns 0; -EAGAIN if this is not possible now; -ENODATA if the old file has an error; or
 * another -errno. After an error nothing has changed and `next` is still the caller's.
 */
int hl_match_rotate(struct hl_target *p, struct hl_trace_output *next);

/* The most bytes that the base takes in the file, with room for the first events after it. */
uint64_t hl_match_base_bytes_max(const struct hl_target *p);

/* Copies at most n more blocks for a base that is not complete. Call it after each scan. */
void hl_match_copy_base(struct hl_target *p, uint32_t n);
#define HL_BASE_STEP 65536u /* blocks that are copied in about a millisecond */

/* Ends the file of the target's output, with its counters. The writer still has to be closed. */
void hl_match_end_output(struct hl_target *p, const struct hl_end *end);

#endif
