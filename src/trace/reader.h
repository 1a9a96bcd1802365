/*
 * reader.h - opens a trace, whole or damaged, in bounded memory, and hands out its parts.
 *
 * Everything in the file is hostile until its checksum and its bounds are checked. Opening reads
 * the header, the index (or, without one, every chunk header) and META and END, nothing else;
 * tables are read when first asked for. By pread alone: a file that shrinks is an error, not a
 * SIGBUS. Calls are 0 or -errno: -EBADMSG for damage, with hl_reader_error() saying what.
 */
#ifndef HL_TRACE_READER_H
#define HL_TRACE_READER_H

#include <stddef.h>

#include "trace/event.h"
#include "trace/totals.h"

struct hl_reader;

/* Why a file was refused, in one sentence for the user. */
struct hl_reader_refusal {
	char text[512];
};

/* -errno with *why filled in. The reader opens and owns its descriptor. */
int hl_reader_open(struct hl_reader **out, const char *path, struct hl_reader_refusal *why);
void hl_reader_close(struct hl_reader *r);

/* What is known of the whole. Strings live as long as the reader. */
struct hl_trace_info {
	struct hl_meta meta;
	struct hl_end end; /* LOST when the end is missing, RUNNING while it is written */
	bool has_end;      /* the end and the totals come from the file's own END chunk */
	struct hl_unwritten unwritten; /* of a trace without END */
	struct hl_counters counters;
	struct hl_totals totals; /* nodes == NULL; without END: of the readable events */
	struct hl_sums withheld; /* of the totals: what is in sums and in no event */
	uint64_t stops;          /* how often recording was switched off on the way */
	uint64_t mode_changes;   /* HL_EXTRA_MODE; without END: not known */
	uint64_t pauses;         /* of these, those that say: paused */
	struct hl_cost cost;
	struct hl_left_out left_out; /* of a cut trace that has its end */
	uint64_t threads;            /* with at least one event */
	uint64_t n_event_chunks, n_keyframes;
	/* Damage: nothing of it is ever part of a number above it. */
	bool damaged;
	uint64_t lost_chunks;   /* chunks known to be missing or unreadable */
	uint64_t lost_events;   /* events in them, where a header still says so */
	bool lost_events_exact; /* false: some lost chunks' sizes are not known */
	char damage[512];       /* one sentence; "" when whole */
	uint64_t file_bytes;
};
/* May decode the file when END is missing: then it takes time, once. */
int hl_reader_info(struct hl_reader *r, const struct hl_trace_info **info);

/* Reads every byte and checks it: what is damaged is in the info afterwards. 0 or -errno. */
int hl_reader_verify(struct hl_reader *r);

/* Its sums are not those of its events: that is damage, too. */
void hl_reader_note_contradiction(struct hl_reader *r);

/* What limits go by: the bytes of the file without holes, which cost a forger nothing. */
uint64_t hl_reader_data_bytes(const struct hl_reader *r);
/* Bytes read from the file so far. */
uint64_t hl_reader_bytes_read(const struct hl_reader *r);
/* One sentence about the last -EBADMSG. */
const char *hl_reader_error(const struct hl_reader *r);

/* Tables. A node, module or thread whose definition was lost: -EBADMSG from get, others still work.
 */
int hl_reader_n_nodes(struct hl_reader *r, uint32_t *n);
int hl_reader_node(struct hl_reader *r, uint32_t id, struct hl_node *node);
int hl_reader_n_modules(struct hl_reader *r, uint32_t *n);
int hl_reader_module(struct hl_reader *r, uint32_t id, struct hl_module *module);
int hl_reader_n_threads(struct hl_reader *r, uint32_t *n);
int hl_reader_thread(struct hl_reader *r, uint32_t number, uint64_t *tid);
/* The name lives as long as the reader. */
int hl_reader_n_tags(struct hl_reader *r, uint32_t *n);
int hl_reader_tag(struct hl_reader *r, uint32_t id, struct hl_tag *tag);
/*
 * By what events and extras call their thread; the reader's, and all that events may name are in
 * it. NULL: there are no scopes, each is the number of a thread.
 */
int hl_reader_roles(struct hl_reader *r, const struct hl_role **roles, uint32_t *n);

/*
 * The names that the trace itself has for a place in the code, outermost first; the reader's. 0 (*n
 * may be 0: that place has none), or -ENOENT if it has none for this module (or HL_MODULE_NONE) at
 * all: then they are elsewhere.
 */
int hl_reader_names(struct hl_reader *r, uint32_t module, uint64_t offset,
	const struct hl_name_frame **frames, size_t *n);

/* Files that it carries, from 0; those that are not whole are left out. The strings are the
 * reader's. */
int hl_reader_n_files(struct hl_reader *r, size_t *n);
int hl_reader_file(struct hl_reader *r, size_t i, struct hl_carried *file);
/* Writes one to fd. 0, -EBADMSG for damage, else what writing failed with. */
int hl_reader_copy_file(struct hl_reader *r, size_t i, int fd);

/* Event chunks, in order, from 0; a chunk known to be lost has a place here too. */
struct hl_chunk_info {
	bool lost; /* cannot be read, which of a damaged one is known only after it was tried */
	bool gone; /* lost, and so are its header or place: only seq is sure */
	uint64_t seq;
	uint64_t first_event;   /* number of heap events before it */
	uint64_t first_ordinal; /* allocations before it */
	uint32_t n_events;
	uint32_t n_extras;
	uint64_t t0_ns, t1_ns;            /* of its first and last entry */
	uint64_t live_bytes, live_blocks; /* at its start */
	uint64_t max_live_bytes;          /* the highest inside it */
	bool has_summary;
	/* Not all that happened while it was filled is in its events: sums cannot be carried over
	 * it, and what was live is that of the time when it was filled. */
	bool apart;
};
size_t hl_reader_n_chunks(const struct hl_reader *r);
const struct hl_chunk_info *hl_reader_chunk(const struct hl_reader *r, size_t i);

/* A decoded chunk; reuse one for all. */
struct hl_chunk_events {
	struct hl_event
		*events; /* birth_ns: exact if the block was born in this chunk, else UINT64_MAX */
	size_t n_events;
	struct hl_extra
		*extras; /* extras_at[i]: how many events of the chunk come before extras[i] */
	uint32_t *extras_at;
	size_t n_extras;
	bool follows_alloc; /* the event before this chunk was an allocation (for `temporary`) */
	void *memory;       /* the reader's */
};
int hl_reader_decode(struct hl_reader *r, size_t chunk, struct hl_chunk_events *into);
/*
 * The same with only some fields of the events: op, ordinal, size, thread, birth_thread and
 * pair_at always, the others if they are wanted; else they are not to be looked at. Several times
 * faster. A damaged column is damage, wanted or not.
 */
#define HL_WANT_TIME   1u  /* time_ns, birth_ns, life_q */
#define HL_WANT_NODE   2u  /* node */
#define HL_WANT_ADDR   4u  /* addr */
#define HL_WANT_FUNC   8u  /* func */
#define HL_WANT_OTHERS 16u /* free_node, flags; extras */
#define HL_WANT_ALL    31u
int hl_reader_decode_some(
	struct hl_reader *r, size_t chunk, unsigned want, struct hl_chunk_events *into);
void hl_chunk_events_free(struct hl_chunk_events *c);

/* A chunk's summary: its events summed by (node, role, log2 of size), charged to the block's
 * birth. */
struct hl_summary_row {
	uint32_t node, thread;
	uint8_t size_class; /* hl_size_octave */
	struct hl_sums sums;
};
struct hl_summary {
	struct hl_summary_row *rows;
	size_t n, cap;
};
/* -ENOENT when the chunk has none: decode it instead. */
int hl_reader_summary(struct hl_reader *r, size_t chunk, struct hl_summary *into);
void hl_summary_free(struct hl_summary *s);

/* Keyframes: sums of every node after `first_event` events. */
struct hl_keyframe_info {
	bool lost;
	uint64_t first_event; /* events before it */
	uint64_t time_ns;     /* of the last event before it */
	size_t chunk;         /* event chunks [0, chunk) come before it */
	bool apart;           /* what happened since the chunk or keyframe before is in no event */
	bool snapshot;        /* somebody wanted this moment: hl_reader_snapshot tells more */
	uint64_t live_bytes, live_blocks;
	uint64_t max_live_bytes; /* apart: since the chunk or keyframe before */
};
size_t hl_reader_n_keyframes(const struct hl_reader *r);
const struct hl_keyframe_info *hl_reader_keyframe(const struct hl_reader *r, size_t i);
/*
 * The array has n_nodes entries (the reader knows the table's size) and is zeroed by this call.
 * Peaks are those of epoch 0: put the array into hl_totals with that keyframe's totals, and go on
 * from there.
 */
int hl_reader_load_keyframe(
	struct hl_reader *r, size_t i, struct hl_node_totals *nodes, size_t n_nodes);

/* The process as of a keyframe; nodes == NULL. Works for a lost one too if its first part is
 * readable. */
int hl_reader_keyframe_totals(struct hl_reader *r, size_t i, struct hl_totals *totals);

/* Of each node what is in sums and in no event, as of a keyframe, and the function that the first
 * of these called, plus 1; zeroed by this call. `called` may be NULL. */
int hl_reader_load_withheld(
	struct hl_reader *r, size_t i, struct hl_sums *withheld, uint8_t *called, size_t n_nodes);

/* What a snapshot says of itself; -ENOENT: the keyframe is none. The label is the caller's to free.
 */
struct hl_snapshot_info {
	uint64_t number; /* from 1, as the writer counted */
	uint64_t cause, threshold, churn_bytes;
	char *label; /* "" without one */
};
int hl_reader_snapshot(struct hl_reader *r, size_t i, struct hl_snapshot_info *s);

/*
 * The nodes that a keyframe has rows for, with their sums: if it is not full, those that changed
 * since the one before. *full: all that ever had an event. 0 or -errno.
 */
typedef int hl_key_sums_fn(void *arg, uint32_t node, const struct hl_sums *sums);
int hl_reader_keyframe_rows(
	struct hl_reader *r, size_t i, bool *full, hl_key_sums_fn *fn, void *arg);

/* RSS samples, in order; of very many the larger of each two. The caller frees the array. */
int hl_reader_rss(struct hl_reader *r, struct hl_rss_sample **samples, size_t *n);

/* Live sets, in order. The caller frees the array. */
struct hl_live_set_info {
	uint64_t first_event, time_ns, n_blocks;
};
size_t hl_reader_n_live_sets(const struct hl_reader *r);
const struct hl_live_set_info *hl_reader_live_set(const struct hl_reader *r, size_t i);
int hl_reader_load_live_set(
	struct hl_reader *r, size_t i, struct hl_live_block **blocks, size_t *n);

#endif
