/*
 * writer_internal.h - the parts of the writer: columns of events, summaries, pending tables, the
 * chunk being packed, and what is remembered for keyframes and the index.
 */
#ifndef HL_TRACE_WRITER_INTERNAL_H
#define HL_TRACE_WRITER_INTERNAL_H

#include <zstd.h>

#include "trace/format_internal.h"
#include "trace/totals.h"
#include "trace/writer.h"
#include "util/vec.h"

/* Bytes that grow; for everything that is not on the hot path. */
typedef HL_VEC(uint8_t) hl_bytes;
int hl_bytes_varint(hl_bytes *b, uint64_t v);
int hl_bytes_put(hl_bytes *b, const void *data, size_t len);

/* The columns of an EVENTS chunk in the order of their ids. */
enum hl_event_col {
	EC_OP,
	EC_TIME,
	EC_THREAD,
	EC_NODE,
	EC_SIZE,
	EC_AFUNC,
	EC_ADDR,
	EC_MOVED,
	EC_REF,
	EC_FFUNC,
	EC_FNODE,
	EC_XNODE,
	EC_XSIZE,
	EC_XADDR,
	EC_XLIFE,
	EC_XTHREAD,
	EC_EXTRA,
	EC_COUNT,
};

/* Room that one event can take at most in all columns, and how often the sum is looked at. */
#define HL_EVENT_RAW_MAX 96u
#define HL_RAW_CHECK     1024u

struct hl_run {
	uint64_t value;
	uint32_t n;
};

/*
 * Events into columns. All state is of this chunk alone; hl_encoder_begin forgets it. The caller
 * closes a chunk in time: no column ever holds more than HL_RAW_MAX bytes.
 */
struct hl_encoder {
	uint8_t *at[EC_COUNT]; /* where the next byte goes */
	uint32_t n_events, n_extras;
	uint64_t first_ordinal, next_ordinal;
	uint64_t t0; /* all times in units */
	uint64_t time, run_step;
	uint32_t run_events;
	struct hl_run thread, afunc, ffunc;
	uint32_t node, fnode, xnode; /* predictors, as codes */
	uint64_t prev_birth, xaddr;
	uint32_t moved_at; /* events up to and with the last MOVED free */
	uint32_t extra_at;
	uint64_t extra_time;
	bool free_stacks;
	struct hl_class_state classes[HL_SIZE_CLASSES];
	uint8_t *base[EC_COUNT];
};

int hl_encoder_init(struct hl_encoder *e, bool free_stacks);
void hl_encoder_fini(struct hl_encoder *e);
void hl_encoder_begin(struct hl_encoder *e, uint64_t first_ordinal);
/* `time`: in units, not below that of the entry before. */
void hl_encoder_add(struct hl_encoder *e, const struct hl_event *event, uint64_t time);
/* The last two events were a FREE and an ALLOC that belong together. */
void hl_encoder_moved(struct hl_encoder *e);
void hl_encoder_extra(
	struct hl_encoder *e, const struct hl_extra *x, uint64_t time, size_t text_len);
/* Ends open runs: the columns are then what the format says. */
void hl_encoder_finish(struct hl_encoder *e);
size_t hl_encoder_raw(const struct hl_encoder *e);

/* Sums of a chunk by (node, thread, size class); gives up when there are too many rows to pay. */
struct hl_summary_entry {
	uint32_t node, thread;
	uint32_t size_class;
	struct hl_sums sums;
};
struct hl_summarizer {
	bool off;
	uint32_t n;
	uint16_t slots[HL_SUMMARY_ROWS * 4]; /* row + 1 */
	struct hl_summary_entry rows[HL_SUMMARY_ROWS];
};
void hl_summarizer_begin(struct hl_summarizer *s);
void hl_summarizer_add(struct hl_summarizer *s, const struct hl_event *event);
/* As the SUMMARY column; 0 or -ENOMEM. */
int hl_summarizer_put(const struct hl_summarizer *s, hl_bytes *out);

/* A chunk being packed: columns go to buf from HL_CHUNK_HEADS_MAX on, the heads before them. */
struct hl_packer {
	ZSTD_CCtx *zstd;
	uint8_t *buf;
	size_t cap, fill;
	struct hl_chunk_head head;
	struct hl_column columns[HL_COLUMNS_MAX];
};

/* Tables that were added since the last TABLE chunk. */
struct hl_pending_tables {
	uint32_t first_module, first_node, first_thread;
	hl_bytes modules, node_parent, node_module, node_offset, threads;
	uint64_t last_offset[64]; /* by module, for the deltas */
};

struct hl_writer {
	struct hl_cost cost;
	uint32_t stops;
	int fd;
	int error; /* the first one */
	bool hurry, ended, follows_alloc;
	uint32_t look_at;         /* at so many events see whether the chunk is full */
	bool pair_open;           /* a MOVED free waits for its allocation */
	uint64_t sync, seq, size; /* size: bytes of whole chunks written */
	uint64_t durable_events;
	uint32_t max_events, keyframe_events, keyframe_share, summary_share;
	uint32_t n_modules, n_nodes, n_threads;
	uint32_t summary_skip,
		summary_wait; /* chunks without a try, and how many after the next failure */

	struct hl_encoder enc;
	struct hl_summarizer *summary;
	struct hl_totals totals;
	uint64_t last_time;        /* units, of the last entry */
	struct hl_counters seen;   /* what events and extras alone show */
	struct hl_chunk_head open; /* head of the EVENTS chunk that is being filled */

	struct hl_packer packer;
	struct hl_pending_tables tables;
	HL_VEC(struct hl_rss_sample) rss;
	HL_VEC(struct hl_chunk_head) index;
	hl_bytes scratch;

	/* Keyframes. touched: nodes that changed since the last, also marked in node_state by code.
	 */
	hl_bytes node_state;
	HL_VEC(uint32_t) touched;
	hl_bytes thread_state; /* 0 no event yet, 1 since the last keyframe, 2 before it */
	uint64_t active_threads;
	uint64_t key_seq, key_event, key_size, full_size, key_epoch;
	double key_row_bytes; /* what a row took last time */
};

/* writer_chunk.c: one chunk out. */
int hl_packer_init(struct hl_packer *p);
void hl_packer_fini(struct hl_packer *p);
void hl_chunk_begin(struct hl_writer *w, uint16_t type);
void hl_chunk_column(struct hl_writer *w, uint16_t id, const void *raw, size_t len, bool pack);
/* Takes the last column back. */
void hl_chunk_drop_column(struct hl_writer *w);
int hl_chunk_write(struct hl_writer *w);
int hl_writer_write_all(struct hl_writer *w, const void *data, size_t len);

/* writer_tables.c */
int hl_write_meta(struct hl_writer *w, const struct hl_meta *meta);
int hl_write_tables(struct hl_writer *w);
int hl_write_rss(struct hl_writer *w);
int hl_write_index(struct hl_writer *w);
int hl_write_end(struct hl_writer *w, const struct hl_end *end, const struct hl_counters *counters);
void hl_tables_fini(struct hl_pending_tables *t);
/* The totals of the process so far, in the order of the format, onto b. */
int hl_put_totals(struct hl_writer *w, hl_bytes *b, const struct hl_counters *counters);

/* writer_keyframe.c */
/* A node or a thread that is not marked yet. */
int hl_keyframe_touch(struct hl_writer *w, const struct hl_event *event);
bool hl_keyframe_due(const struct hl_writer *w);
int hl_write_keyframe(struct hl_writer *w, bool full);
bool hl_keyframe_full_due(const struct hl_writer *w);

#endif
