/* SPDX-License-Identifier: Apache-2.0 */
/*
 * format_internal.h - the binary format that writer and reader share. docs/trace-format.md
 * describes it.
 *
 * All values are little endian and written field by field. A chunk is a fixed header, a directory
 * of columns, the packed columns, and zeros up to a multiple of eight bytes. The header's checksum
 * covers header and directory, each column has its own, and readers check the zeros: every byte is
 * verified.
 */
#ifndef HL_TRACE_FORMAT_FORMAT_INTERNAL_H
#define HL_TRACE_FORMAT_FORMAT_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/event.h"

#define HL_FORMAT_VERSION    0u
#define HL_FILE_HEADER_LEN   64u
#define HL_CHUNK_HEADER_LEN  112u
#define HL_COLUMN_ENTRY_LEN  16u
#define HL_TRAILER_LEN       32u
#define HL_COLUMNS_MAX       64u
#define HL_RAW_MAX           (1u << 20) /* sum of all unpacked columns of a chunk */
#define HL_CHUNK_EVENTS_MAX  65536u
#define HL_CHUNK_EXTRAS_MAX  65536u
#define HL_CHUNK_HEADERS_MAX (HL_CHUNK_HEADER_LEN + HL_COLUMNS_MAX * HL_COLUMN_ENTRY_LEN)
#define HL_CHUNK_LEN_MAX     (HL_CHUNK_HEADERS_MAX + HL_RAW_MAX)

/* Upper limits of a trace. A file that exceeds them is damaged. */
#define HL_NODES_MAX   (1u << 25)
#define HL_MODULES_MAX (1u << 20)
#define HL_THREADS_MAX (1u << 24) /* threads and roles together */
#define HL_TAGS_MAX    (1u << 20)

/*
 * Upper limits for a file of file_bytes bytes. Compression ratios are unbounded, so without these
 * limits the reader's memory would be, too. A writer stores a table uncompressed rather than let
 * nodes take less than two bytes each, averaged over the file. A live set above its limit is not
 * used: its data can be computed from the events.
 */
#define HL_NODES_BASE 65536u
static inline uint32_t hl_nodes_limit(uint64_t file_bytes)
{
	return file_bytes / 2 < HL_NODES_MAX - HL_NODES_BASE
		       ? HL_NODES_BASE + (uint32_t)(file_bytes / 2)
		       : HL_NODES_MAX;
}

static inline uint32_t hl_threads_limit(uint64_t file_bytes)
{
	/* A thread has one role for each of its scopes, and ten thousand roles compress to almost
	 * nothing. */
	const uint32_t free = 1u << 18;

	return file_bytes < HL_THREADS_MAX - free ? free + (uint32_t)file_bytes : HL_THREADS_MAX;
}

static inline uint32_t hl_tags_limit(uint64_t file_bytes)
{
	const uint32_t free = 1u << 19;

	return file_bytes < HL_TAGS_MAX - free ? free + (uint32_t)file_bytes : HL_TAGS_MAX;
}

static inline uint64_t hl_live_set_limit(uint64_t file_bytes)
{
	return file_bytes / 4 < HL_LIVE_SET_MAX - (1u << 18) ? (1u << 18) + file_bytes / 4
							     : HL_LIVE_SET_MAX;
}

/* The blocks of a base: each has a stored byte. */
static inline uint64_t hl_base_blocks_limit(uint64_t file_bytes)
{
	return file_bytes;
}

/* Maximum rows of one chunk, so that HL_RAW_MAX holds for all values. */
#define HL_KEYFRAME_ROWS      12288u
#define HL_KEYFRAME_ROWS_WIDE 8192u /* with the HL_COL_KEY_WRITTEN columns */
#define HL_LIVESET_ROWS       16384u
#define HL_INDEX_ROWS         4096u
#define HL_RSS_ROWS           32768u
#define HL_SUMMARY_ROWS       4096u

/* Limits of the samples of mappings. */
#define HL_MAP_PAGE        4096u
#define HL_MAP_PAGES_MAX   (UINT64_C(1) << 52)
#define HL_MAP_AMOUNT_MAX  (UINT64_C(1) << 47) /* in KiB; an amount is below it */
#define HL_MAP_TEXTS_BYTES (16u << 20) /* of all texts of samples that build on each other */
#define HL_MAP_CHAIN_MAX   64u         /* samples that follow a full one */
#define HL_MAP_SIZE_BIT    6u          /* of the mask of a changed mapping */
#define HL_MAPS_FREE       65536u /* mappings of a sample; those above have their rows stored */
/* The mappings of all samples together, for a file of file_bytes bytes: what it takes to read them.
 * A recording is far below it, because the samples of large processes are rare. */
static inline uint64_t hl_map_work_limit(uint64_t file_bytes)
{
	return (1u << 25) + 64 * (file_bytes < UINT64_MAX / 128 ? file_bytes : UINT64_MAX / 128);
}
enum hl_map_op { HL_MAP_GONE, HL_MAP_CHANGED, HL_MAP_NEW };

#define HL_TEXT_MAX 65535u /* side event, path, string of META (command: eight times this) */

enum hl_chunk_type {
	HL_CHUNK_META = 1,
	HL_CHUNK_TABLE,
	HL_CHUNK_EVENTS,
	HL_CHUNK_KEYFRAME,
	HL_CHUNK_LIVESET,
	HL_CHUNK_RSS,
	HL_CHUNK_END,
	HL_CHUNK_INDEX,
	HL_CHUNK_MAPS,
	HL_CHUNK_NAMES = 40,
	HL_CHUNK_FILE,
};

/* Flags of chunks. */
#define HL_CHUNK_FOLLOWS_ALLOC 1u /* EVENTS: the last event before the chunk was an allocation */
#define HL_CHUNK_HAS_SUMMARY   2u /* EVENTS */
#define HL_CHUNK_FULL          4u /* KEYFRAME, MAPS: builds on no other one */
#define HL_CHUNK_NEW_PEAK      8u /* KEYFRAME: the peak is newer than the previous keyframe */
/* EVENTS, KEYFRAME: a disjoint chunk; the format calls the flag "apart". Since the last EVENTS or
 * KEYFRAME chunk something happened that is in no event up to here, so sums cannot be carried over
 * it. */
#define HL_CHUNK_APART    16u
#define HL_CHUNK_SNAPSHOT 32u /* KEYFRAME: it is a snapshot */
#define HL_CHUNK_BASE     64u /* KEYFRAME, LIVESET: of the base of a trace that begins late */

enum hl_codec { HL_CODEC_STORED, HL_CODEC_ZSTD };

/* Columns. All chunk types share one set of ids. */
enum hl_column_id {
	HL_COL_NUMBERS = 1,
	/* META */
	HL_COL_PROGRAM = 2,
	HL_COL_COMMAND,
	HL_COL_ARCH,
	HL_COL_CLOCK,
	HL_COL_MODE,
	HL_COL_ALLOCATOR,
	HL_COL_SOURCE,
	HL_COL_UNKNOWN,
	HL_COL_BASE,
	/* TABLE */
	HL_COL_MODULES = 16,
	HL_COL_NODE_PARENT,
	HL_COL_NODE_MODULE,
	HL_COL_NODE_OFFSET,
	HL_COL_THREADS,
	HL_COL_TAGS,
	HL_COL_ROLES,
	/* EVENTS: keep in sync with enum hl_event_col */
	HL_COL_LATER = 30,
	HL_COL_STEP,
	HL_COL_OP,
	HL_COL_TIME, /* only in traces from before LATER existed */
	HL_COL_THREAD,
	HL_COL_NODE,
	HL_COL_SIZE,
	HL_COL_AFUNC,
	HL_COL_ADDR,
	HL_COL_MOVED,
	HL_COL_REF,
	HL_COL_FFUNC,
	HL_COL_FNODE,
	HL_COL_XNODE,
	HL_COL_XSIZE,
	HL_COL_XADDR,
	HL_COL_XLIFE,
	HL_COL_XTHREAD,
	HL_COL_WEIGHT,
	HL_COL_EXTRA,
	HL_COL_SUMMARY,
	/* KEYFRAME */
	HL_COL_KEY_NODE = 64,
	HL_COL_KEY_ALLOC_BLOCKS,
	HL_COL_KEY_ALLOC_BYTES,
	HL_COL_KEY_LIVE_BLOCKS,
	HL_COL_KEY_LIVE_BYTES,
	HL_COL_KEY_PEAK_BLOCKS,
	HL_COL_KEY_PEAK_BYTES,
	HL_COL_KEY_THREADS,
	HL_COL_KEY_FUNC,
	/* KEYFRAME and END */
	HL_COL_WITHHELD = 74,
	/* KEYFRAME */
	HL_COL_SNAPSHOT,
	HL_COL_KEY_WRITTEN, /* the first of HL_WRITTEN_FIELDS columns */
	/* LIVESET */
	HL_COL_LIVE_ADDR = 80,
	HL_COL_LIVE_SIZE,
	HL_COL_LIVE_NODE,
	HL_COL_LIVE_ORDINAL,
	HL_COL_LIVE_BIRTH,
	HL_COL_LIVE_THREAD,
	HL_COL_LIVE_BLOCKS,
	HL_COL_LIVE_BYTES,
	HL_COL_LIVE_FUNC, /* of a base only */
	/* RSS */
	HL_COL_RSS_TIME = 96,
	HL_COL_RSS_BYTES,
	/* MAPS */
	HL_COL_MAP_TEXTS,
	HL_COL_MAP_ROWS,
	/* END */
	HL_COL_COST = 108,
	/* KEYFRAME and END */
	HL_COL_LIFETIMES,
	/* INDEX: the first of HL_INDEX_FIELDS columns */
	HL_COL_INDEX = 112,

	/* META (CUT), END (LEFT_OUT), EVENTS (PARTED, LINKED) */
	HL_COL_CUT = 160,
	HL_COL_LEFT_OUT,
	HL_COL_PARTED,
	HL_COL_LINKED,
	/* NAMES */
	HL_COL_NAMES_TEXT = 164,
	HL_COL_NAMES_SITES,
	/* FILE */
	HL_COL_FILE_PATH = 168,
	HL_COL_FILE_ID,
	HL_COL_FILE_DATA,
};

#define HL_WRITTEN_FIELDS 4

/* The header of a chunk. INDEX rows repeat HL_INDEX_FIELDS of its fields. */
struct hl_chunk_header {
	uint16_t type, flags;
	uint32_t length; /* of the whole chunk, a multiple of eight */
	uint32_t n_columns;
	uint32_t n_events; /* EVENTS only */
	uint32_t n_rows;   /* EVENTS: side events; KEYFRAME, LIVESET, RSS, INDEX, MAPS: rows */
	uint64_t seq;
	uint64_t first_event; /* heap events and allocations before it, for every type */
	uint64_t first_ordinal;
	uint64_t t0_ns, t1_ns;
	uint64_t live_bytes, live_blocks, max_live_bytes;
	/* EVENTS: nodes | roles << 32; KEYFRAME, LIVESET, MAPS: part | parts << 32 */
	uint64_t aux;
	/* KEYFRAME, MAPS: seq of the first part of the one that it builds on; 0 if full */
	uint64_t link;
};
#define HL_INDEX_FIELDS 14

struct hl_chunk_column {
	uint16_t id;
	uint8_t codec;
	uint32_t raw, packed, crc;
	uint32_t at; /* offset from the start of the chunk; not stored */
};

/* Upper bound for the number of varints in a NUMBERS column. */
#define HL_NUMBERS_MAX 64

static inline void hl_put16(uint8_t *p, uint16_t v)
{
	p[0] = (uint8_t)v;
	p[1] = (uint8_t)(v >> 8);
}

static inline void hl_put32(uint8_t *p, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		p[i] = (uint8_t)(v >> 8 * i);
}

static inline void hl_put64(uint8_t *p, uint64_t v)
{
	for (int i = 0; i < 8; i++)
		p[i] = (uint8_t)(v >> 8 * i);
}

static inline uint16_t hl_get16(const uint8_t *p)
{
	return (uint16_t)(p[0] | p[1] << 8);
}

static inline uint32_t hl_get32(const uint8_t *p)
{
	return (uint32_t)hl_get16(p) | (uint32_t)hl_get16(p + 2) << 16;
}

static inline uint64_t hl_get64(const uint8_t *p)
{
	return (uint64_t)hl_get32(p) | (uint64_t)hl_get32(p + 4) << 32;
}

/* The stored form of a node id: id + 1, so that 0 means none. */
static inline uint32_t hl_node_code(uint32_t node)
{
	return node + 1;
}

/* Size classes of the address column. Blocks of one class are often close together and reuse each
 * other's addresses. */
#define HL_SIZE_CLASSES 320u
#define HL_LIFO_DEPTH   8u
static inline unsigned hl_size_class(uint64_t size)
{
	uint64_t c = (size + 23) >> 4;

	return c < 256 ? (unsigned)c : 256u + (63u - (unsigned)__builtin_clzll(c));
}

/* The addresses of one class that were allocated and freed in this chunk, as a stack. */
struct hl_class_state {
	uint64_t last;                /* last address of this class, low four bits cleared */
	uint64_t top;                 /* lifo[(top - 1) % HL_LIFO_DEPTH] is the top */
	uint64_t lifo[HL_LIFO_DEPTH]; /* inverted addresses; 0: none */
};

static inline void hl_lifo_push(struct hl_class_state *c, uint64_t addr)
{
	c->lifo[c->top++ % HL_LIFO_DEPTH] = ~addr;
}

/* Returns UINT64_MAX if the stack is empty. */
static inline uint64_t hl_lifo_top(const struct hl_class_state *c)
{
	return ~c->lifo[(c->top - 1) % HL_LIFO_DEPTH];
}

static inline void hl_lifo_pop(struct hl_class_state *c)
{
	c->lifo[--c->top % HL_LIFO_DEPTH] = 0;
}

/* Encodes the 64-byte header of the file. */
void hl_file_header_encode(
	uint8_t buf[HL_FILE_HEADER_LEN], uint64_t sync, const struct hl_unwritten *unwritten);
/* Reads the fields of a header that hl_file_header_decode accepted. */
struct hl_unwritten hl_file_header_unwritten(const uint8_t buf[HL_FILE_HEADER_LEN]);
enum hl_file_header_state {
	HL_HEADER_GOOD,
	HL_HEADER_FOREIGN, /* not a trace */
	HL_HEADER_MANGLED, /* a trace that went through a text transfer */
	HL_HEADER_NEWER,
	HL_HEADER_DAMAGED, /* a trace, but the checksum of its header is wrong */
};
enum hl_file_header_state hl_file_header_decode(
	const uint8_t buf[HL_FILE_HEADER_LEN], uint64_t *sync, uint32_t *version);

void hl_trailer_encode(uint8_t buf[HL_TRAILER_LEN], uint64_t sync, uint64_t index_at);
int hl_trailer_decode(const uint8_t buf[HL_TRAILER_LEN], uint64_t sync, uint64_t *index_at);

/* Writes header and directory to buf. Returns their length. */
size_t hl_chunk_header_encode(uint8_t *buf, uint64_t sync, const struct hl_chunk_header *head,
	const struct hl_chunk_column *columns);
/* Decodes header and directory from the first `len` bytes of a chunk. Returns 0, or -EBADMSG if
 * they are incomplete or not plausible. `columns` (an array of HL_COLUMNS_MAX) may be NULL. */
int hl_chunk_header_decode(const uint8_t *buf, size_t len, uint64_t sync,
	struct hl_chunk_header *head, struct hl_chunk_column *columns);

/* Convert a header to the fields that INDEX stores, and back. */
void hl_header_to_fields(const struct hl_chunk_header *head, uint64_t fields[HL_INDEX_FIELDS]);
int hl_header_from_fields(const uint64_t fields[HL_INDEX_FIELDS], struct hl_chunk_header *head);

#endif
