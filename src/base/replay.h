/*
 * replay.h - the script that `export --format replay` writes and heaplapse-replay runs: every byte
 * of it, see docs/replay-format.md.
 *
 * A head, chunks, an end; numbers are little-endian. A chunk has up to HL_REPLAY_CHUNK_OPS
 * operations, those of each thread in a stream of its own. A stream is a row of steps; operations
 * are steps, and two more: RUN stands where a thread begins to have its turn, PASS where it gives
 * it to another. Following the PASSes from the chunk's first thread gives the recorded order.
 *
 * Blocks live in slots: an allocation fills an empty one, a free empties it. Threads have numbers
 * in the order of their first operations. A step that is the first after another thread's on its
 * slot says how many came before it there: that is all that order needs where turns are not kept.
 */
#ifndef HL_BASE_REPLAY_H
#define HL_BASE_REPLAY_H

#include <stdint.h>

#include "base/varint.h"

#define HL_REPLAY_MAGIC     "HLREPLAY"
#define HL_REPLAY_END_MAGIC "HLREPEND"
#define HL_REPLAY_VERSION   1u
#define HL_REPLAY_CHUNK_OPS 65536u
/* What a longer chunk says of itself is not true. */
#define HL_REPLAY_CHUNK_MAX (8u << 20)
#define HL_REPLAY_ALIGN_MAX 32u /* a power of two */

struct hl_replay_head {
	char magic[8];
	uint32_t version, zero;
};

/* Followed by n_streams of hl_replay_stream, then by the streams in that order. */
struct hl_replay_chunk {
	uint32_t bytes; /* that follow */
	uint32_t n_ops, n_streams;
	uint32_t first;   /* the thread that begins */
	uint64_t time_us; /* when, since the start */
	uint64_t sum;     /* hl_replay_sum() of the bytes that follow */
};
struct hl_replay_stream {
	uint32_t thread, bytes;
};

struct hl_replay_end {
	uint64_t n_chunks, n_ops, n_threads, n_slots;
	uint64_t allocations, frees, bytes, peak_bytes; /* what comes of it; a realloc is both */
	char magic[8];
};

enum hl_replay_op {
	HL_REPLAY_RUN,     /* gap: operations of others since this stream's last; us likewise */
	HL_REPLAY_PASS,    /* thread: who is next */
	HL_REPLAY_FREE,    /* slot, and so have all from here on */
	HL_REPLAY_MALLOC,  /* size */
	HL_REPLAY_CALLOC,  /* size */
	HL_REPLAY_NEW,     /* size: realloc(NULL) */
	HL_REPLAY_REALLOC, /* size: of the block in the slot */
	HL_REPLAY_ALIGNED, /* size, align */
	HL_REPLAY_OP_COUNT,
};
/* Beside the op in a step's first byte: the slot was another thread's, `before` is there. */
#define HL_REPLAY_CROSS 16u

/* One step. Slots are differences from the stream's last, begun with 0. */
struct hl_replay_step {
	uint8_t op;
	uint8_t cross;
	uint8_t align; /* its logarithm to base 2 */
	uint32_t slot;
	uint32_t before; /* steps on the slot before this one, modulo 2^32 */
	uint64_t size;
	uint64_t gap, us; /* RUN */
	uint32_t thread;  /* PASS */
};
#define HL_REPLAY_STEP_MAX (2u + 3 * HL_VARINT_MAX)

/* FNV-1a. */
static inline uint64_t hl_replay_sum(uint64_t sum, const uint8_t *p, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		sum = (sum ^ p[i]) * UINT64_C(0x100000001b3);
	return sum;
}
#define HL_REPLAY_SUM_START UINT64_C(0xcbf29ce484222325)

/* Differences of either sign as small numbers: 0, -1, 1, -2 ... */
static inline uint64_t hl_replay_fold(uint32_t to, uint32_t from)
{
	int64_t d = (int64_t)to - from;

	return (uint64_t)d << 1 ^ (uint64_t)(d >> 63);
}
static inline uint64_t hl_replay_unfold(uint64_t folded, uint32_t from)
{
	return from + (folded >> 1 ^ (0 - (folded & 1)));
}

/* Writes it at p, which has room for HL_REPLAY_STEP_MAX; the byte behind it. */
static inline uint8_t *hl_replay_put(uint8_t *p, const struct hl_replay_step *s, uint32_t last_slot)
{
	*p++ = s->op | (s->cross ? HL_REPLAY_CROSS : 0);
	if (s->op == HL_REPLAY_RUN)
		return hl_varint_put(hl_varint_put(p, s->gap), s->us);
	if (s->op == HL_REPLAY_PASS)
		return hl_varint_put(p, s->thread);
	p = hl_varint_put(p, hl_replay_fold(s->slot, last_slot));
	if (s->op != HL_REPLAY_FREE)
		p = hl_varint_put(p, s->size);
	if (s->op == HL_REPLAY_ALIGNED)
		*p++ = s->align;
	return s->cross ? hl_varint_put(p, s->before) : p;
}

/* One number of at most 32 bits. */
static inline const uint8_t *hl_replay_get_u32(const uint8_t *p, const uint8_t *end, uint32_t *v)
{
	uint64_t wide;

	p = hl_varint_get(p, end, &wide);
	if (!p || wide > UINT32_MAX)
		return NULL;
	*v = (uint32_t)wide;
	return p;
}

/* Reads one; the byte behind it, or NULL: these bytes are none. */
static inline const uint8_t *hl_replay_get(
	const uint8_t *p, const uint8_t *end, struct hl_replay_step *s, uint32_t last_slot)
{
	uint64_t slot;

	if (p == end)
		return NULL;
	s->cross = *p & HL_REPLAY_CROSS;
	s->op = *p++ & (uint8_t)~HL_REPLAY_CROSS;
	if (s->op >= HL_REPLAY_OP_COUNT)
		return NULL;
	if (s->op == HL_REPLAY_RUN) {
		p = hl_varint_get(p, end, &s->gap);
		return p ? hl_varint_get(p, end, &s->us) : NULL;
	}
	if (s->op == HL_REPLAY_PASS)
		return hl_replay_get_u32(p, end, &s->thread);
	p = hl_varint_get(p, end, &slot);
	if (!p || (slot = hl_replay_unfold(slot, last_slot)) > UINT32_MAX)
		return NULL;
	s->slot = (uint32_t)slot;
	if (s->op != HL_REPLAY_FREE)
		p = hl_varint_get(p, end, &s->size);
	if (s->op == HL_REPLAY_ALIGNED && p) {
		if (p == end || *p > HL_REPLAY_ALIGN_MAX)
			return NULL;
		s->align = *p++;
	}
	return p && s->cross ? hl_replay_get_u32(p, end, &s->before) : p;
}

#endif
