/* SPDX-License-Identifier: Apache-2.0 */
/*
 * writer_internal.h - internals of the writer: event columns, summaries, pending tables, the chunk
 * being sealed, and state for keyframes.
 */
#ifndef HL_TRACE_WRITE_WRITER_INTERNAL_H
#define HL_TRACE_WRITE_WRITER_INTERNAL_H

#include "trace/format/format_internal.h"
#include "trace/write/map_encoder.h"
#include "trace/write/seal_internal.h"
#include "trace/totals.h"
#include "trace/write/writer.h"
#include "util/string_table.h"
#include "util/vec.h"

/* The columns of an EVENTS chunk, in the order of their ids. */
enum hl_event_col {
	EC_LATER,
	EC_STEP,
	EC_OP,
	EC_TIME, /* still read, but no longer written */
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
	EC_WEIGHT,
	EC_EXTRA,
	EC_COUNT,
};

/* The maximum bytes of one event in all columns, and the maximum number of events between two
 * checks of the sum. */
#define HL_EVENT_RAW_MAX  120u
#define HL_RAW_CHECK      1024u
#define HL_PARTED_RAW_MAX 3u /* and in column PARTED */
/* LINKED is rare and has no reserve: the chunk is checked after each. */

#define HL_RUN_NONE UINT64_MAX
struct hl_column_run {
	uint64_t value; /* HL_RUN_NONE: no run has begun */
	uint32_t from;  /* number of values in this column before the run */
};

/* Encodes events to columns. All state is of the current chunk; hl_encoder_begin resets it. The
 * caller must close a chunk in time: no column may exceed HL_RAW_MAX bytes. */
struct hl_encoder {
	uint8_t *at[EC_COUNT]; /* position of the next byte */
	uint32_t n_events, n_extras;
	uint64_t first_ordinal, next_ordinal; /* next_ordinal: number of all allocations so far */
	uint64_t t0;                          /* all times are in units */
	uint64_t time;
	uint64_t later, frees; /* bits of EC_LATER and EC_OP not yet written, up to 64 */
	struct hl_column_run thread, afunc, ffunc;
	uint32_t node, fnode, xnode; /* predictors, as node codes */
	uint64_t prev_ordinal, xaddr;
	uint32_t weight_at; /* index of the last event with a weight */
	uint32_t moved_at;  /* number of events up to and including the last MOVED free */
	uint32_t extra_at;
	uint64_t extra_time;
	bool free_stacks;
	struct hl_class_state classes[HL_SIZE_CLASSES];
	uint8_t *base[EC_COUNT];
};

int hl_encoder_init(struct hl_encoder *e, bool free_stacks);
void hl_encoder_fini(struct hl_encoder *e);
void hl_encoder_begin(struct hl_encoder *e, uint64_t first_ordinal);
/* `time` is in units and not below that of the previous entry. */
void hl_encoder_add(struct hl_encoder *e, const struct hl_event *event, uint64_t time);
/* Marks the last two events, a FREE and an ALLOC, as the halves of a realloc. */
void hl_encoder_moved(struct hl_encoder *e);
void hl_encoder_extra(
	struct hl_encoder *e, const struct hl_extra *x, uint64_t time, size_t text_len);
/* Ends open runs and bits. The columns are complete after it. */
void hl_encoder_finish(struct hl_encoder *e);
size_t hl_encoder_raw(const struct hl_encoder *e);

/* Sums of a chunk by (node, role, size class). Switches itself off if there are too many rows. */
struct hl_summary_entry {
	uint64_t key;
	struct hl_sums sums;
};
#define HL_SUMMARY_NONE UINT64_MAX /* the key of an unused row */
_Static_assert(HL_THREADS_MAX <= 1u << 25, "a role fits beside a size class");
static inline uint64_t hl_summary_key(uint32_t node, uint32_t role, uint32_t size_class)
{
	return (uint64_t)node << 32 | (uint64_t)role << 7 | size_class;
}
#define HL_SUMMARY_CACHE_SLOTS 8192u
/* The slot of a key in `cache`. Neighbouring nodes, sizes and roles get different slots. */
static inline uint32_t hl_summary_cache_slot(uint64_t key)
{
	return ((uint32_t)(key >> 32) + (uint32_t)key * 1031) % HL_SUMMARY_CACHE_SLOTS;
}
struct hl_summarizer {
	bool off;
	uint32_t n;
	uint16_t slots[HL_SUMMARY_ROWS * 4]; /* hash table of row + 1 */
	struct hl_summary_entry rows[HL_SUMMARY_ROWS];
	/* Direct-mapped cache, indexed by hl_summary_cache_slot(): the last row found. Its key must
	 * be compared. */
	uint16_t cache[HL_SUMMARY_CACHE_SLOTS];
};
/* Returns NULL if memory is short. */
struct hl_summarizer *hl_summarizer_new(void);
void hl_summarizer_free(struct hl_summarizer *s);
void hl_summarizer_begin(struct hl_summarizer *s);
/* Finds or adds the row of a key and puts it in `cache`. Returns NULL if there are too many rows;
 * then the summary is off for this chunk. */
struct hl_summary_entry *hl_summarizer_row(struct hl_summarizer *s, uint64_t key);
/* Appends the SUMMARY column to out. Returns 0 or -ENOMEM. */
int hl_summarizer_put(const struct hl_summarizer *s, hl_byte_buffer *out);

/* Definitions added since the last TABLE chunk. */
struct hl_pending_tables {
	uint32_t first_module, first_node, first_thread, first_tag;
	uint32_t last_role; /* for the differences */
	hl_byte_buffer modules, node_parent, node_module, node_offset, threads, tags, roles;
	uint64_t last_offset[64]; /* by module, for the differences */
};

/* Names added since the last NAMES chunk. Each such chunk has its own texts. */
struct hl_pending_names {
	struct hl_string_table text_table;
	hl_byte_buffer texts, sites;
	uint64_t n_sites;
};

/* When a node or a thread had its last event, for keyframes. */
enum hl_seen_state {
	HL_NO_EVENT,
	HL_SINCE_KEYFRAME,
	HL_BEFORE_KEYFRAME,
	HL_ANOTHER_ROLE, /* not the first role of its thread; see the state of that one */
};

struct hl_writer {
	struct hl_cost cost;
	uint32_t stops, mode_changes, pauses;
	struct hl_left_out left_out;
	hl_byte_buffer parted, linked; /* columns of the open chunk */
	uint32_t parted_at, linked_at;
	uint64_t n_files;
	bool is_slice; /* META has slice info */
	int error;     /* the first error */
	struct hl_base base;
	bool in_base;       /* of a trace that begins late: its base is not complete */
	uint64_t base_time; /* the last time before the base, in units */
	bool ended, follows_alloc;
	uint32_t check_at; /* number of events at which to check whether the chunk is full */
	bool pair_open;    /* a MOVED free waits for its allocation */
	uint64_t seq;
	uint32_t max_events, keyframe_events, keyframe_share, summary_share;
	uint32_t n_modules, n_nodes, n_threads, n_tags; /* n_threads counts roles */
	uint32_t summary_skip, summary_wait; /* chunks to skip now, and after the next failure */
	uint32_t summaries_dropped;          /* last value read from status */

	struct hl_encoder enc;
	struct hl_summarizer *summary;
	struct hl_totals totals;
	uint64_t last_time;          /* time of the last entry, in units */
	uint64_t sums_time;          /* time of the last event in the sums, in units */
	struct hl_counters seen;     /* counted from events and side events alone */
	struct hl_chunk_header open; /* header of the open EVENTS chunk */

	struct hl_sealer sealer;
	struct hl_pending_tables tables;
	struct hl_pending_names names;
	HL_VEC(struct hl_rss_sample) rss;
	struct hl_map_encoder maps; /* of hl_writer_add_maps */
	uint64_t maps_seq;          /* of the first part of the last sample of mappings */
	uint64_t maps_work;         /* mappings of all samples */
	bool maps_left_out;         /* samples are left out up to the next full one */

	/* The sink of the chunks and the status of the file that receives them. */
	hl_chunk_sink *sink;
	void *sink_arg;
	struct hl_file_status *status;
	struct hl_chunk_file *file; /* own file; NULL with hl_writer_open_to */
	struct hl_file_status own_status;

	/*
	 * Sums of aggregated events, which are counted and not in columns: of all, and by node
	 * (empty as long as there are none). disjoint: an event was only counted or only written
	 * since the last EVENTS or KEYFRAME chunk. n_sums_only: events only counted since the last
	 * keyframe. n_columns_only: events in the open chunk that were counted before.
	 */
	struct hl_sums aggregated_all;
	HL_VEC(struct hl_sums) aggregated;
	hl_byte_buffer first_funcs; /* by node: 1 + function of the first such allocation */
	bool disjoint;
	uint64_t n_sums_only, n_columns_only;
	uint64_t n_snapshots;
	bool has_end_snapshot; /* the keyframe at the end is a snapshot */
	struct hl_snapshot end_snapshot;
	char *end_label;

	/* Keyframes. touched: nodes that changed since the last one. */
	hl_byte_buffer node_state;   /* by node code: enum hl_seen_state */
	hl_byte_buffer thread_state; /* by role: enum hl_seen_state */
	HL_VEC(uint32_t) touched;
	HL_VEC(uint32_t) role_threads; /* first role of the thread of each role */
	uint64_t active_threads;
	uint64_t key_seq, key_event, key_size, full_size, key_epoch;
};

/* writer.c: begin and write a chunk. Columns are added to w->sealer in between. */
void hl_writer_begin(struct hl_writer *w, uint16_t type);
int hl_writer_put(struct hl_writer *w);

/* writer_add.c */
/* The time of the next entry in units, not below the last one. The first entry of a chunk sets
 * t0. */
uint64_t hl_writer_clamp_time(struct hl_writer *w, uint64_t time_ns);
/*
 * Adds an event to the columns. Returns NULL with w->error set on error, else the event as stored:
 * *timed is a copy if its time or weight had to be corrected. hl_writer_count adds it to the sums;
 * hl_writer_add_event does both.
 */
const struct hl_event *hl_writer_put_columns(
	struct hl_writer *w, const struct hl_event *e, struct hl_event *timed);
int hl_writer_count(struct hl_writer *w, const struct hl_event *e);
int hl_writer_close_chunk(struct hl_writer *w);

/* writer_tables.c */
/* Appends n varints to b. */
int hl_byte_buffer_values(hl_byte_buffer *b, const uint64_t *v, size_t n);
/* Adds a column with the sums of all aggregated events (WITHHELD), if there are any. */
int hl_aggregated_column(struct hl_writer *w);
int hl_lifetimes_column(struct hl_writer *w);
int hl_write_meta(struct hl_writer *w, const struct hl_meta *meta);
int hl_write_tables(struct hl_writer *w);
int hl_write_rss(struct hl_writer *w);
int hl_write_end(struct hl_writer *w, const struct hl_end *end, const struct hl_counters *counters);
void hl_pending_tables_fini(struct hl_pending_tables *t);
/* Appends the totals of the process to b, in the order of the format. */
int hl_put_totals(struct hl_writer *w, hl_byte_buffer *b, const struct hl_counters *counters);

/* slice_info.c */
int hl_write_slice_info(struct hl_writer *w, const struct hl_slice_info *info);
int hl_write_left_out(struct hl_writer *w);
/* Adds the last event to the columns PARTED and LINKED, depending on its flags. */
int hl_put_rare_flags(struct hl_writer *w, const struct hl_event *e);

/* symbol_names.c */
int hl_write_names(struct hl_writer *w);
void hl_symbol_names_fini(struct hl_pending_names *n);

/* embedded_files.c: seals a file in pieces and calls `put` after each. */
int hl_seal_file(struct hl_sealer *s, const struct hl_chunk_header *position, uint64_t number,
	const struct hl_embedded_file *file, int fd, int (*put)(void *arg), void *arg);

/* writer_base.c: begins the positions of a trace where its base is. */
void hl_writer_place_base(struct hl_writer *w, const struct hl_base *base);
int hl_write_base_info(struct hl_writer *w);

/* writer_keyframe.c */
/* Adds the columns of n blocks to a LIVESET chunk; `now` in units. func: of a base, else NULL. */
int hl_live_columns(struct hl_sealer *s, const struct hl_live_block *b, const uint8_t *func,
	size_t n, uint64_t now);
/* Marks a node and a thread as changed since the last keyframe. */
int hl_keyframe_touch(struct hl_writer *w, uint32_t role, uint32_t node_id);
bool hl_keyframe_due(const struct hl_writer *w);
/* s: makes it a snapshot; may be NULL. */
int hl_write_keyframe(struct hl_writer *w, bool full, const struct hl_snapshot *s);
bool hl_keyframe_full_due(const struct hl_writer *w);

#endif
