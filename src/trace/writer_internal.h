/*
 * writer_internal.h - the parts of the writer: columns of events, summaries, pending tables, the
 * chunk being sealed, and what is remembered for keyframes and the index.
 */
#ifndef HL_TRACE_WRITER_INTERNAL_H
#define HL_TRACE_WRITER_INTERNAL_H

#include "trace/format_internal.h"
#include "trace/seal_internal.h"
#include "trace/totals.h"
#include "trace/writer.h"
#include "util/strings.h"
#include "util/vec.h"

/* The columns of an EVENTS chunk in the order of their ids. */
enum hl_event_col {
	EC_LATER,
	EC_STEP,
	EC_OP,
	EC_TIME, /* is read, and not written any more */
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

/* Room that one event can take at most in all columns, and how often the sum is looked at. */
#define HL_EVENT_RAW_MAX  120u
#define HL_RAW_CHECK      1024u
#define HL_PARTED_RAW_MAX 3u /* and in a column of its own */
/* LINKED is rare and has no share in the room: the chunk is looked at after each. */

#define HL_RUN_NONE UINT64_MAX
struct hl_run {
	uint64_t value; /* HL_RUN_NONE: it has not begun */
	uint32_t from;  /* values of this column before it */
};

/*
 * Events into columns. All state is of this chunk alone; hl_encoder_begin forgets it. The caller
 * closes a chunk in time: no column ever holds more than HL_RAW_MAX bytes.
 */
struct hl_encoder {
	uint8_t *at[EC_COUNT]; /* where the next byte goes */
	uint32_t n_events, n_extras;
	uint64_t first_ordinal, next_ordinal; /* the latter: allocations that were ever added */
	uint64_t t0;                          /* all times in units */
	uint64_t time;
	uint64_t later, frees; /* bits of EC_LATER and EC_OP since n_events was divisible by 64 */
	struct hl_run thread, afunc, ffunc;
	uint32_t node, fnode, xnode; /* predictors, as codes */
	uint64_t prev_birth, xaddr;
	uint32_t weight_at; /* events up to the last one that stands for others */
	uint32_t moved_at;  /* events up to and with the last MOVED free */
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
	uint64_t key;
	struct hl_sums sums;
};
#define HL_SUMMARY_NONE UINT64_MAX /* the key of a row that is not in use */
_Static_assert(HL_THREADS_MAX <= 1u << 25, "a role fits beside a size class");
static inline uint64_t hl_summary_key(uint32_t node, uint32_t role, uint32_t size_class)
{
	return (uint64_t)node << 32 | (uint64_t)role << 7 | size_class;
}
#define HL_SUMMARY_LAST 8192u
/* Where its row is looked for first: neighbours among nodes, sizes and roles lie apart. */
static inline uint32_t hl_summary_last(uint64_t key)
{
	return ((uint32_t)(key >> 32) + (uint32_t)key * 1031) % HL_SUMMARY_LAST;
}
struct hl_summarizer {
	bool off;
	uint32_t n;
	uint16_t slots[HL_SUMMARY_ROWS * 4]; /* row + 1 */
	struct hl_summary_entry rows[HL_SUMMARY_ROWS];
	/* By hl_summary_last(): the row that was found last; to be looked at before it is believed.
	 */
	uint16_t last[HL_SUMMARY_LAST];
};
/* NULL when memory is short. */
struct hl_summarizer *hl_summarizer_new(void);
void hl_summarizer_free(struct hl_summarizer *s);
void hl_summarizer_begin(struct hl_summarizer *s);
/* The row of this key, from now on the one that is looked at first; NULL: there are too
 * many, and no more are made. */
struct hl_summary_entry *hl_summarizer_row(struct hl_summarizer *s, uint64_t key);
/* As the SUMMARY column; 0 or -ENOMEM. */
int hl_summarizer_put(const struct hl_summarizer *s, hl_bytes *out);

/* Tables that were added since the last TABLE chunk. */
struct hl_pending_tables {
	uint32_t first_module, first_node, first_thread, first_tag;
	uint32_t last_role; /* for the differences */
	hl_bytes modules, node_parent, node_module, node_offset, threads, tags, roles;
	uint64_t last_offset[64]; /* by module, for the deltas */
};

/* Names that were added since the last NAMES chunk; each such chunk has its own texts. */
struct hl_pending_names {
	struct hl_strings known;
	hl_bytes texts, sites;
	uint64_t n_sites;
};

/* When a node or a thread had its newest event, for keyframes. */
enum hl_met {
	HL_NO_EVENT,
	HL_SINCE_KEYFRAME,
	HL_BEFORE_KEYFRAME,
	HL_ANOTHER_ROLE, /* of a thread whose first role knows */
};

struct hl_writer {
	struct hl_cost cost;
	uint32_t stops, mode_changes, pauses;
	struct hl_left_out left_out;
	hl_bytes parted, linked; /* columns of the chunk that is being filled */
	uint32_t parted_at, linked_at;
	uint64_t n_files;
	bool cut;  /* META says that something is left out */
	int error; /* the first one */
	bool ended, follows_alloc;
	uint32_t look_at; /* at so many events see whether the chunk is full */
	bool pair_open;   /* a MOVED free waits for its allocation */
	uint64_t seq;
	uint32_t max_events, keyframe_events, keyframe_share, summary_share;
	uint32_t n_modules, n_nodes, n_threads, n_tags; /* n_threads: roles */
	uint32_t summary_skip,
		summary_wait;       /* chunks without a try, and how many after the next failure */
	uint32_t summaries_dropped; /* as far as we have heard */

	struct hl_encoder enc;
	struct hl_summarizer *summary;
	struct hl_totals totals;
	uint64_t last_time;        /* units, of the last entry */
	uint64_t now;              /* the same of the last event that was counted */
	struct hl_counters seen;   /* what events and extras alone show */
	struct hl_chunk_head open; /* head of the EVENTS chunk that is being filled */

	struct hl_sealer sealer;
	struct hl_pending_tables tables;
	struct hl_pending_names names;
	HL_VEC(struct hl_rss_sample) rss;

	/* Where chunks go, and what is known of that place. A file of our own, or somebody's. */
	hl_chunk_sink *sink;
	void *sink_arg;
	struct hl_file_news *news;
	struct hl_chunk_file *file; /* NULL: somebody's */
	struct hl_file_news own_news;

	/*
	 * What was counted and is not in columns: of all, and by node (empty while there was none).
	 * apart: since the last EVENTS or KEYFRAME; counted: events since the last keyframe; again:
	 * of those in the columns now, how many were in the file's sums before.
	 */
	struct hl_sums withheld_all;
	HL_VEC(struct hl_sums) withheld;
	hl_bytes called; /* beside withheld: the function of its first such allocation, plus 1 */
	bool apart;
	uint64_t counted, again;
	uint64_t n_snapshots;
	bool has_last; /* the last keyframe is a snapshot: */
	struct hl_snapshot last;
	char *last_label;

	/* Keyframes. touched: nodes that changed since the last. */
	hl_bytes node_state;   /* by code: enum hl_met */
	hl_bytes thread_state; /* by role: the same */
	HL_VEC(uint32_t) touched;
	HL_VEC(uint32_t) role_threads; /* of each role the first of its thread */
	uint64_t active_threads;
	uint64_t key_seq, key_event, key_size, full_size, key_epoch;
};

/* writer.c: one chunk out. Columns go to w->sealer between these two. */
void hl_writer_begin(struct hl_writer *w, uint16_t type);
int hl_writer_put(struct hl_writer *w);

/* writer_add.c */
/* The time of the next entry in units: never below the last one's. The first one sets t0. */
uint64_t hl_writer_take_time(struct hl_writer *w, uint64_t time_ns);
/* An event into the columns and into the sums; the two together are hl_writer_add_event.
 * Columns: NULL with w->error; `timed` is for a copy, should its time have to be mended. */
const struct hl_event *hl_writer_put_columns(
	struct hl_writer *w, const struct hl_event *e, struct hl_event *timed);
int hl_writer_count(struct hl_writer *w, const struct hl_event *e);
int hl_writer_close_chunk(struct hl_writer *w);

/* writer_tables.c */
/* Numbers as varints onto b. */
int hl_bytes_numbers(hl_bytes *b, const uint64_t *v, size_t n);
/* The sums of all that was withheld, if anything was, as a column. */
int hl_withheld_column(struct hl_writer *w);
int hl_write_meta(struct hl_writer *w, const struct hl_meta *meta);
int hl_write_tables(struct hl_writer *w);
int hl_write_rss(struct hl_writer *w);
int hl_write_end(struct hl_writer *w, const struct hl_end *end, const struct hl_counters *counters);
void hl_tables_fini(struct hl_pending_tables *t);
/* The totals of the process so far, in the order of the format, onto b. */
int hl_put_totals(struct hl_writer *w, hl_bytes *b, const struct hl_counters *counters);

/* cut.c */
int hl_write_cut(struct hl_writer *w, const struct hl_cut_note *cut);
int hl_write_left_out(struct hl_writer *w);
/* Adds the event that was just added to the columns PARTED and LINKED, as its flags say. */
int hl_note_rare(struct hl_writer *w, const struct hl_event *e);

/* names.c */
int hl_write_names(struct hl_writer *w);
void hl_names_fini(struct hl_pending_names *n);

/* carried.c: a file in pieces, each sealed and then given to `put`. */
int hl_seal_file(struct hl_sealer *s, const struct hl_chunk_head *here, uint64_t number,
	const struct hl_carried *file, int fd, int (*put)(void *arg), void *arg);

/* writer_keyframe.c */
/* A node or a thread that is not marked yet. */
int hl_keyframe_touch(struct hl_writer *w, uint32_t role, uint32_t node_id);
bool hl_keyframe_due(const struct hl_writer *w);
/* s: it is a snapshot; NULL: it is none. */
int hl_write_keyframe(struct hl_writer *w, bool full, const struct hl_snapshot *s);
bool hl_keyframe_full_due(const struct hl_writer *w);

#endif
