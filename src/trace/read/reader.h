/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reader.h - opens a trace, complete or damaged, and reads its parts in bounded memory.
 *
 * All data in the file is untrusted until its checksum and its limits are checked. Opening reads
 * only the header, the index (or, without one, every chunk header), META and END. Tables are read
 * on first use. Nothing is mapped: a file that shrinks gives an error, not a SIGBUS. Calls return
 * 0 or -errno; -EBADMSG means damage, described by hl_reader_error().
 *
 * A reader is used by one thread at a time. Only decode_ahead.h decodes in several threads.
 */
#ifndef HL_TRACE_READ_READER_H
#define HL_TRACE_READ_READER_H

#include <stddef.h>

#include "trace/event.h"
#include "trace/read/byte_source.h"
#include "trace/totals.h"

struct hl_reader;

/* Returns 0, or -errno with *why set. The reader opens the file and owns the descriptor. */
int hl_reader_open(struct hl_reader **out, const char *path, struct hl_reader_refusal *why);
/* The same for any source, which belongs to the reader in every case. `name` is for messages. */
int hl_reader_open_source(struct hl_reader **out, struct hl_byte_source *source, const char *name,
	struct hl_reader_refusal *why);
void hl_reader_close(struct hl_reader *r);

/*
 * Reads what was added to a file that is still being written; reads new chunks only. Afterwards
 * every function answers as for a reader that is opened now, and pointers that they returned are
 * void. Chunks, keyframes and ids keep their numbers as long as the trace is undamaged. Must not be
 * called while decode_ahead.h decodes.
 *
 * A chunk that is not complete yet, and a keyframe or live set without all of its parts, is not
 * damage while the writer is alive: they are not listed. After the writer's end, and in a damaged
 * file, the whole list of chunks is read again.
 *
 * Returns 0, or -errno with hl_reader_error():
 *   -ENOENT  the file was deleted or renamed
 *   -ESTALE  it was replaced by another file, or truncated
 *            After both, the reader still answers for the bytes that it had, as far as they exist.
 *   others   nothing may follow but hl_reader_close()
 */
struct hl_refreshed {
	bool changed; /* there are new chunks, or the writer ended or failed */
	bool names;   /* there are new names, files or damage: what addresses are called may differ
		       */
};
int hl_reader_refresh(struct hl_reader *r, struct hl_refreshed *found);
/* The writer was alive when the reader was opened or refreshed. */
bool hl_reader_is_running(const struct hl_reader *r);

/*
 * How many threads decode chunks ahead of a loop over the trace (decode_ahead.h), at most
 * HL_WORKERS_MAX; 0: none. An open reader has one for each CPU that the process may use, but none
 * if that is one CPU or the file is small.
 */
#define HL_WORKERS_MAX 8u
void hl_reader_set_workers(struct hl_reader *r, unsigned n);

/* Data about the whole trace. The strings are valid as long as the reader. */
struct hl_trace_info {
	struct hl_meta meta;
	struct hl_end end; /* HL_END_LOST if the end is missing, HL_END_RUNNING while the trace is
			      being written */
	bool has_end;      /* end and totals are from the file's END chunk */
	struct hl_unwritten unwritten; /* only in a trace without END */
	struct hl_counters counters;
	struct hl_totals totals;   /* nodes is NULL; without END: totals of the readable events */
	bool has_lifetimes;        /* totals.lifetimes are known: not in every older trace */
	struct hl_sums aggregated; /* the part of the totals that is aggregated, in no event */
	uint64_t stops;            /* how often recording was switched off during the run */
	uint64_t mode_changes;     /* number of HL_EXTRA_MODE side events; not known without END */
	uint64_t pauses;           /* how many of them say paused */
	struct hl_cost cost;
	struct hl_left_out left_out; /* for a slice that has its END */
	uint64_t threads;            /* threads with at least one event */
	uint64_t n_event_chunks, n_keyframes;
	uint64_t n_map_samples; /* samples of the mappings in the file, readable or not */
	/* Damage. Lost data is never included in the numbers above. */
	bool damaged;
	uint64_t lost_chunks;   /* chunks known to be missing or unreadable */
	uint64_t lost_events;   /* events in them, as far as a header still has the number */
	bool lost_events_exact; /* false: the number of events of some lost chunks is unknown */
	bool base_lost;         /* of a trace that begins late: the totals of the run are unknown */
	char damage[512];       /* one sentence; "" if undamaged */
	uint64_t file_bytes;
};
/* If END is missing, the first call decodes the file, which takes time. */
int hl_reader_info(struct hl_reader *r, const struct hl_trace_info **info);

struct hl_work;
/* Reads and checks every byte. hl_reader_info has the damage afterwards. work: see
 * util/work/work.h, may be NULL. Returns 0 or -errno. */
int hl_reader_verify(struct hl_reader *r, struct hl_work *work);

/* Records as damage that the sums of the trace differ from those of its events. */
void hl_reader_report_contradiction(struct hl_reader *r);

/* The size that limits depend on: the bytes of the file without holes, since holes cost a forger
 * nothing. */
uint64_t hl_reader_data_bytes(const struct hl_reader *r);
/* Bytes read from the file so far. */
uint64_t hl_reader_bytes_read(const struct hl_reader *r);
/* Events decoded so far. A pass over the whole trace decodes each event once. */
uint64_t hl_reader_events_decoded(const struct hl_reader *r);
/* A sentence about the last -EBADMSG, or about a refresh that failed. */
const char *hl_reader_error(const struct hl_reader *r);

/* Tables. If the definition of a node, module or thread is lost, its function returns -EBADMSG;
 * others still work. */
int hl_reader_n_nodes(struct hl_reader *r, uint32_t *n);
int hl_reader_node(struct hl_reader *r, uint32_t id, struct hl_node *node);
int hl_reader_n_modules(struct hl_reader *r, uint32_t *n);
int hl_reader_module(struct hl_reader *r, uint32_t id, struct hl_module *module);
int hl_reader_n_threads(struct hl_reader *r, uint32_t *n);
int hl_reader_thread(struct hl_reader *r, uint32_t number, uint64_t *tid);
/* The name is valid as long as the reader. */
int hl_reader_n_tags(struct hl_reader *r, uint32_t *n);
int hl_reader_tag(struct hl_reader *r, uint32_t id, struct hl_tag *tag);
/*
 * The table of roles. The `thread` of an event or side event is an index into it. It belongs to the
 * reader and covers all ids in events. NULL: the trace has no tags, and each id is the number of a
 * thread.
 */
int hl_reader_roles(struct hl_reader *r, const struct hl_role **roles, uint32_t *n);

/*
 * The names that the trace itself has for a code address, outermost frame first. They belong to the
 * reader. Returns 0 (*n may be 0: this address has no name), or -ENOENT if the trace has no names
 * for this module (or HL_MODULE_NONE) at all: then symbols must be looked up in files.
 */
int hl_reader_names(struct hl_reader *r, uint32_t module, uint64_t offset,
	const struct hl_name_frame **frames, size_t *n);

/* Embedded files, from 0. Incomplete files are left out. The strings belong to the reader. */
int hl_reader_n_files(struct hl_reader *r, size_t *n);
int hl_reader_file(struct hl_reader *r, size_t i, struct hl_embedded_file *file);
/* Writes the content of a file to fd. Returns 0, -EBADMSG for damage, or the error of the write. */
int hl_reader_copy_file(struct hl_reader *r, size_t i, int fd);

/* Event chunks, in order, from 0. A chunk that is known to be lost has an entry too. */
struct hl_chunk_info {
	bool lost;        /* not readable; damage is known only after an attempt to read */
	bool header_lost; /* lost together with its header: only seq is certain */
	uint64_t seq;
	uint64_t first_event;   /* heap events before it */
	uint64_t first_ordinal; /* allocations before it */
	uint32_t n_events;
	uint32_t n_extras;
	uint64_t t0_ns, t1_ns;            /* time of its first and last entry */
	uint64_t live_bytes, live_blocks; /* at its start */
	uint64_t max_live_bytes;          /* maximum inside it */
	bool has_summary;
	/*
	 * A disjoint chunk: not everything that happened while it was filled is in its events. Sums
	 * cannot be carried over it, and its live_* fields are of the time when it was filled. The
	 * flag's name in the trace format is "apart".
	 */
	bool disjoint;
};
size_t hl_reader_n_chunks(const struct hl_reader *r);
const struct hl_chunk_info *hl_reader_chunk(const struct hl_reader *r, size_t i);

/*
 * A trace that begins late (hl_meta.base): its first chunks are those of the base. They have the
 * live blocks as allocations, each with its own time, as a slice has blocks from before its range;
 * and side events that later ones refer to. Numbers of events and ordinals of the reader are dense:
 * they begin with the blocks of the base. The functions below return those of the whole run.
 */
size_t hl_reader_n_base_chunks(const struct hl_reader *r);
/* The keyframe of the base; SIZE_MAX if it is lost or the trace has no base. */
size_t hl_reader_base_keyframe(const struct hl_reader *r);
uint64_t hl_reader_run_event(const struct hl_reader *r, uint64_t event);
/* Decode a chunk before: this needs the list of the base's ordinals. */
uint64_t hl_reader_run_ordinal(const struct hl_reader *r, uint64_t ordinal);

/* A decoded chunk. Reuse one for all calls. */
struct hl_chunk_events {
	struct hl_event *events; /* alloc_ns: UINT64_MAX if allocated in an earlier chunk */
	size_t n_events;
	struct hl_extra *extras; /* side events; extras_at[i]: events before extras[i] */
	uint32_t *extras_at;
	size_t n_extras;
	bool follows_alloc; /* the event before this chunk was an allocation (for `temporary`) */
	void *memory;       /* private buffers of the decoder */
};
int hl_reader_decode(struct hl_reader *r, size_t chunk, struct hl_chunk_events *into);
/*
 * Decodes only some fields: op, ordinal, size, thread, alloc_role and pair_index always, the others
 * if requested; the rest is undefined. This is several times faster. A damaged column is an error
 * even if it is not requested.
 */
#define HL_WANT_TIME   1u  /* time_ns, alloc_ns, lifetime_class */
#define HL_WANT_NODE   2u  /* node */
#define HL_WANT_ADDR   4u  /* addr */
#define HL_WANT_FUNC   8u  /* func */
#define HL_WANT_OTHERS 16u /* free_node, flags; side events */
#define HL_WANT_ALL    31u
int hl_reader_decode_some(
	struct hl_reader *r, size_t chunk, unsigned want, struct hl_chunk_events *into);
void hl_chunk_events_free(struct hl_chunk_events *c);

/* The summary of a chunk: sums by (node, role, log2 of size). A free counts for the node, role and
 * size of its block's allocation. */
struct hl_summary_row {
	uint32_t node, thread;
	uint8_t size_class; /* hl_size_octave */
	struct hl_sums sums;
};
struct hl_summary {
	struct hl_summary_row *rows;
	size_t n, cap;
};
/* Returns -ENOENT if the chunk has no summary; then decode it. */
int hl_reader_summary(struct hl_reader *r, size_t chunk, struct hl_summary *into);
void hl_summary_free(struct hl_summary *s);

/* Keyframes: the sums of every node after `first_event` events. */
struct hl_keyframe_info {
	bool lost;
	uint64_t first_event; /* events before it */
	uint64_t time_ns;     /* time of the last event before it */
	size_t chunk;         /* event chunks [0, chunk) come before it */
	bool disjoint;        /* disjoint: not all events since the previous one are in the trace */
	bool snapshot;        /* it is a snapshot, see hl_reader_snapshot */
	uint64_t live_bytes, live_blocks;
	uint64_t max_live_bytes; /* disjoint: maximum since the previous chunk or keyframe */
};
size_t hl_reader_n_keyframes(const struct hl_reader *r);
const struct hl_keyframe_info *hl_reader_keyframe(const struct hl_reader *r, size_t i);
/*
 * Loads the sums of all nodes at keyframe i. The array has n_nodes entries (see hl_reader_n_nodes)
 * and is zeroed first. Peaks have epoch 0: with the array and the keyframe's totals in a struct
 * hl_totals, following events can be applied.
 */
int hl_reader_load_keyframe(
	struct hl_reader *r, size_t i, struct hl_node_totals *nodes, size_t n_nodes);

/* The totals of the process at a keyframe; nodes is NULL. Works for a lost keyframe too if its
 * first part is readable. */
int hl_reader_keyframe_totals(struct hl_reader *r, size_t i, struct hl_totals *totals);

/* For each node the aggregated sums (in no event) at a keyframe, and 1 + the function called by the
 * first of these allocations. Both arrays are zeroed first. `called` may be NULL. */
int hl_reader_load_aggregated(
	struct hl_reader *r, size_t i, struct hl_sums *aggregated, uint8_t *called, size_t n_nodes);

/* The data of a snapshot. Returns -ENOENT if the keyframe is not a snapshot. The caller frees the
 * label. */
struct hl_snapshot_info {
	uint64_t number; /* from 1, assigned by the writer */
	uint64_t cause, threshold, churn_bytes;
	char *label; /* "" if it has none */
};
int hl_reader_snapshot(struct hl_reader *r, size_t i, struct hl_snapshot_info *s);

/*
 * Calls fn for each row of a keyframe. A keyframe that is not full has rows only for nodes that
 * changed since the previous one; *full is set if it has all nodes that ever had an event. Returns
 * 0 or -errno.
 */
typedef int hl_key_sums_fn(void *arg, uint32_t node, const struct hl_sums *sums);
int hl_reader_keyframe_rows(
	struct hl_reader *r, size_t i, bool *full, hl_key_sums_fn *fn, void *arg);

/* RSS samples, in order. If there are very many, pairs are reduced to the larger one. The caller
 * frees the array. */
int hl_reader_rss(struct hl_reader *r, struct hl_rss_sample **samples, size_t *n);
/* The highest sample that can be read, the earliest of equal ones; all 0 if there is none. Returns
 * as hl_reader_rss. */
int hl_reader_peak_rss(struct hl_reader *r, struct hl_rss_sample *peak);

/* Live sets, in order. The caller frees the array of blocks. */
struct hl_live_set_info {
	uint64_t first_event, time_ns, n_blocks;
};
size_t hl_reader_n_live_sets(const struct hl_reader *r);
const struct hl_live_set_info *hl_reader_live_set(const struct hl_reader *r, size_t i);
int hl_reader_load_live_set(
	struct hl_reader *r, size_t i, struct hl_live_block **blocks, size_t *n);

#endif
