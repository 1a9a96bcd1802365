/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay_format.h - the script format that `export --format replay` writes and heaplapse-replay
 * runs. It is specified in docs/replay-format.md.
 *
 * A script is a header, chunks and a trailer. Numbers are little-endian. A chunk has up to
 * HL_REPLAY_CHUNK_OPS operations; those of each thread are in their own stream. A stream is a
 * sequence of steps. A step is an operation or one of two scheduling steps: RUN is where the
 * thread's turn begins, PASS is where it hands the turn to another thread. Following the PASS steps
 * from the chunk's first thread gives the recorded order.
 *
 * Blocks are in slots: an allocation fills an empty slot, a free empties it. Threads are numbered
 * in the order of their first operations. A step whose slot was last used by another thread has the
 * number of earlier steps on that slot. This is all the ordering that a replay without turns needs.
 */
#ifndef HL_BASE_REPLAY_FORMAT_H
#define HL_BASE_REPLAY_FORMAT_H

#include <stdint.h>

#include "base/varint.h"

#define HL_REPLAY_MAGIC     "HLREPLAY"
#define HL_REPLAY_END_MAGIC "HLREPEND"
#define HL_REPLAY_VERSION   1u
#define HL_REPLAY_CHUNK_OPS 65536u
/* A chunk that claims to be longer is damaged. */
#define HL_REPLAY_CHUNK_MAX (8u << 20)
#define HL_REPLAY_ALIGN_MAX 32u /* log2 of the alignment */

struct hl_replay_head {
	char magic[8];
	uint32_t version, zero;
};

/* Followed by n_streams of hl_replay_stream, then by the streams in that order. */
struct hl_replay_chunk {
	uint32_t bytes; /* bytes that follow this header */
	uint32_t n_ops, n_streams;
	uint32_t first;   /* the thread with the first turn */
	uint64_t time_us; /* time of its start in the recording */
	uint64_t sum;     /* hl_replay_checksum() of the bytes that follow */
};
struct hl_replay_stream {
	uint32_t thread, bytes;
};

struct hl_replay_end {
	uint64_t n_chunks, n_ops, n_threads, n_slots;
	uint64_t allocations, frees, bytes, peak_bytes; /* a realloc is both */
	char magic[8];
};

enum hl_replay_op {
	HL_REPLAY_RUN,  /* gap: operations of other threads since this stream's last; us: time since
			   its last RUN */
	HL_REPLAY_PASS, /* thread: the next one to run */
	HL_REPLAY_FREE, /* slot; also in all operations below */
	HL_REPLAY_MALLOC,  /* size */
	HL_REPLAY_CALLOC,  /* size */
	HL_REPLAY_NEW,     /* size; realloc(NULL, size) */
	HL_REPLAY_REALLOC, /* size: the new size of the block in the slot */
	HL_REPLAY_ALIGNED, /* size, align */
	HL_REPLAY_OP_COUNT,
};
/* A flag in the first byte of a step: another thread used the slot last, and slot_steps follows. */
#define HL_REPLAY_OTHER_THREAD 16u

/* One step. Slots are stored as differences from the last slot of the stream, which starts as 0. */
struct hl_replay_step {
	uint8_t op;
	uint8_t other_thread;
	uint8_t align; /* log2 of the alignment */
	uint32_t slot;
	uint32_t slot_steps; /* earlier steps on the slot, modulo 2^32 */
	uint64_t size;
	uint64_t gap, us; /* RUN */
	uint32_t thread;  /* PASS */
};
#define HL_REPLAY_STEP_MAX (2u + 3 * HL_VARINT_MAX)

/* FNV-1a. Start with HL_REPLAY_CHECKSUM_START. */
static inline uint64_t hl_replay_checksum(uint64_t sum, const uint8_t *p, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		sum = (sum ^ p[i]) * UINT64_C(0x100000001b3);
	return sum;
}
#define HL_REPLAY_CHECKSUM_START UINT64_C(0xcbf29ce484222325)

/* Zigzag encoding of a difference: 0, -1, 1, -2 become 0, 1, 2, 3. */
static inline uint64_t hl_replay_zigzag(uint32_t to, uint32_t from)
{
	int64_t d = (int64_t)to - from;

	return (uint64_t)d << 1 ^ (uint64_t)(d >> 63);
}
static inline uint64_t hl_replay_unzigzag(uint64_t folded, uint32_t from)
{
	return from + (folded >> 1 ^ (0 - (folded & 1)));
}

/*
 * Writes the step at p, which must have room for HL_REPLAY_STEP_MAX bytes. Returns the end of the
 * step.
 */
static inline uint8_t *hl_replay_put(uint8_t *p, const struct hl_replay_step *s, uint32_t last_slot)
{
	*p++ = s->op | (s->other_thread ? HL_REPLAY_OTHER_THREAD : 0);
	if (s->op == HL_REPLAY_RUN)
		return hl_varint_put(hl_varint_put(p, s->gap), s->us);
	if (s->op == HL_REPLAY_PASS)
		return hl_varint_put(p, s->thread);
	p = hl_varint_put(p, hl_replay_zigzag(s->slot, last_slot));
	if (s->op != HL_REPLAY_FREE)
		p = hl_varint_put(p, s->size);
	if (s->op == HL_REPLAY_ALIGNED)
		*p++ = s->align;
	return s->other_thread ? hl_varint_put(p, s->slot_steps) : p;
}

/* Reads a varint of at most 32 bits. Returns its end, or NULL if it is damaged or larger. */
static inline const uint8_t *hl_replay_get_u32(const uint8_t *p, const uint8_t *end, uint32_t *v)
{
	uint64_t wide;

	p = hl_varint_get(p, end, &wide);
	if (!p || wide > UINT32_MAX)
		return NULL;
	*v = (uint32_t)wide;
	return p;
}

/* Reads one step. Returns its end, or NULL if the bytes are not a valid step. */
static inline const uint8_t *hl_replay_get(
	const uint8_t *p, const uint8_t *end, struct hl_replay_step *s, uint32_t last_slot)
{
	uint64_t slot;

	if (p == end)
		return NULL;
	s->other_thread = *p & HL_REPLAY_OTHER_THREAD;
	s->op = *p++ & (uint8_t)~HL_REPLAY_OTHER_THREAD;
	if (s->op >= HL_REPLAY_OP_COUNT)
		return NULL;
	if (s->op == HL_REPLAY_RUN) {
		p = hl_varint_get(p, end, &s->gap);
		return p ? hl_varint_get(p, end, &s->us) : NULL;
	}
	if (s->op == HL_REPLAY_PASS)
		return hl_replay_get_u32(p, end, &s->thread);
	p = hl_varint_get(p, end, &slot);
	if (!p || (slot = hl_replay_unzigzag(slot, last_slot)) > UINT32_MAX)
		return NULL;
	s->slot = (uint32_t)slot;
	if (s->op != HL_REPLAY_FREE)
		p = hl_varint_get(p, end, &s->size);
	if (s->op == HL_REPLAY_ALIGNED && p) {
		if (p == end || *p > HL_REPLAY_ALIGN_MAX)
			return NULL;
		s->align = *p++;
	}
	return p && s->other_thread ? hl_replay_get_u32(p, end, &s->slot_steps) : p;
}

#endif
