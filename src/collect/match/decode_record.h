/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decode_record.h - decodes the records of a ring.
 */
#ifndef HL_COLLECT_MATCH_DECODE_RECORD_H
#define HL_COLLECT_MATCH_DECODE_RECORD_H

#include <stdint.h>

struct hl_target;
struct hl_thread_stream;

/* Processes one whole, checked record. `stamp`: its full stamp of 64 bits. */
void hl_target_process_record(struct hl_target *p, struct hl_thread_stream *f,
	const uint64_t *words, uint32_t n, uint64_t stamp);

/* Returns the node of a stack word and the pcs after it; *size: the size in it. HL_NODE_NONE: out
 * of memory. */
uint32_t hl_thread_stream_read_stack(
	struct hl_thread_stream *f, uint64_t stack, const uint64_t *after, uint64_t *size);
/* The same for an HL_REC_ALLOC_STACK_ID; its stack gets the id in the record. */
uint32_t hl_thread_stream_stack_with_id(
	struct hl_thread_stream *f, const uint64_t *words, uint64_t *size);

#endif
