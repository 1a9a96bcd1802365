/* SPDX-License-Identifier: Apache-2.0 */
/*
 * writer.h - writes a trace. A writer is used by one thread at a time; all calls return 0 or
 * -errno.
 *
 * The first error is sticky: later calls return it and write nothing, so callers need not check
 * every call. The writer itself computes node totals, the peak, summaries, keyframes, the index and
 * the file's totals: the same events give the same file for every source.
 */
#ifndef HL_TRACE_WRITE_WRITER_H
#define HL_TRACE_WRITE_WRITER_H

#include <stddef.h>

#include "trace/write/chunk_file.h"
#include "trace/event.h"

struct hl_writer;

/*
 * Opens fd, a new and empty file, for writing; meta is copied. On success *out owns fd and
 * hl_writer_close closes it; after an error fd still belongs to the caller. The file is locked
 * (flock) until it is closed, so readers know that it is still being written.
 */
int hl_writer_open(struct hl_writer **out, int fd, const struct hl_meta *meta);

/* The same with other limits; 0 means the default. For tests, and for files that are compared. */
struct hl_writer_options {
	uint32_t max_events;      /* maximum events of a chunk; 2 to 65536 */
	uint32_t keyframe_events; /* minimum number of events between keyframes */
	uint32_t keyframe_share;  /* and bytes between them: this many times the size of one */
	uint32_t summary_share;   /* a summary may take 1/share of its chunk's other columns */
	uint64_t sync;            /* the file's sync word; 0: random */
};
int hl_writer_open_with(struct hl_writer **out, int fd, const struct hl_meta *meta,
	const struct hl_writer_options *options);

/*
 * The same, but chunks go to `sink` and not to a file. An error of the sink becomes the writer's
 * error. A chunk is valid only during the call. `status` is that of the file that receives the
 * chunks in the end. options may be NULL; its sync is not used.
 */
typedef int hl_chunk_sink(void *arg, const struct hl_sealed *chunk);
int hl_writer_open_to(struct hl_writer **out, const struct hl_meta *meta,
	const struct hl_writer_options *options, hl_chunk_sink *sink, void *arg,
	struct hl_file_status *status);

/* Ids are assigned in the order of the calls, from 0. */
int hl_writer_add_module(struct hl_writer *w, const struct hl_module *module);
int hl_writer_add_node(struct hl_writer *w, const struct hl_node *node);
int hl_writer_add_thread(struct hl_writer *w, uint64_t tid);
/* parent: a tag or HL_TAG_NONE. The name need not be NUL-terminated. */
int hl_writer_add_tag(struct hl_writer *w, uint32_t parent, const char *name, size_t len);
/* Adds another role of a thread. It gets the next id of a thread; events may use it from now on. */
int hl_writer_add_role(struct hl_writer *w, uint32_t thread, uint32_t tag);

/*
 * Adds the names of a code address. Each address of a node should be added once; of duplicates the
 * first is used. No frames: its name is not known. The symbols of a module with such names are not
 * looked up elsewhere, so its offsets may have any values.
 */
int hl_writer_add_names(struct hl_writer *w, const struct hl_named_site *site);

/* Embeds the whole file, from its start. fd still belongs to the caller. Returns -EIO if the file
 * has become shorter than file->size. */
int hl_writer_add_file(struct hl_writer *w, const struct hl_embedded_file *file, int fd);

/*
 * The ordinal of an allocation is the number of allocations before it; that of a free is its
 * block's. Ids must be defined (a node may be HL_NODE_NONE), else -EINVAL is returned. The writer
 * computes lifetime_class itself.
 */
int hl_writer_add_event(struct hl_writer *w, const struct hl_event *event);
/*
 * The same for a block that is not a sample and not one half of a realloc: its allocation and its
 * free, at a time in units. Its weight is not read, nor, for the allocation, alloc_ns. It is not
 * checked that the threads are defined. This costs a fraction of hl_writer_add_event.
 */
int hl_writer_add_alloc(
	struct hl_writer *w, const struct hl_live_block *block, uint64_t units, uint8_t func);
int hl_writer_add_free(struct hl_writer *w, const struct hl_live_block *block, uint64_t units,
	uint32_t thread, uint8_t func);
/* Prefetches the sums of a node of which an event is expected soon. Any node id is allowed. */
void hl_writer_prefetch_node(const struct hl_writer *w, uint32_t node);
int hl_writer_add_extra(struct hl_writer *w, const struct hl_extra *extra);
int hl_writer_add_rss(struct hl_writer *w, const struct hl_rss_sample *sample);

/*
 * For aggregated events and events that are written later. hl_writer_add_event_sums_only adds an
 * event, at its position in the order, only to the sums (and so to keyframes, peaks and totals).
 * hl_writer_add_event_columns_only may add it to the columns later, in order among such events,
 * with the same node and size. Both events of a block are written, or none. The ordinal of a block
 * is its index among the written blocks. While a block is only counted its ordinal has no meaning,
 * but must be the same in both of its events; if it changes in between, hl_writer_renumber must be
 * called.
 */
int hl_writer_add_event_sums_only(struct hl_writer *w, const struct hl_event *event);
int hl_writer_add_event_columns_only(struct hl_writer *w, const struct hl_event *event);
void hl_writer_renumber(struct hl_writer *w, uint64_t from, uint64_t to);
/* Blocks and bytes that are aggregated: counted in the sums and not in the columns. */
const struct hl_sums *hl_writer_aggregated_sums(const struct hl_writer *w);

/* Writes a keyframe at this position as a snapshot. Does nothing between the halves of a
 * realloc. */
int hl_writer_snapshot(struct hl_writer *w, const struct hl_snapshot *snapshot);
/* Writes a keyframe at this position, at least as late as time_ns, that is no snapshot. Does
 * nothing between the halves of a realloc, or without events since the last keyframe. */
int hl_writer_keyframe(struct hl_writer *w, uint64_t time_ns);
/* Makes the keyframe at the end a snapshot. The label is copied. */
int hl_writer_end_snapshot(struct hl_writer *w, const struct hl_snapshot *snapshot);

/* Adds the complete live set after the events added so far. */
int hl_writer_add_live_set(struct hl_writer *w, const struct hl_live_block *blocks, size_t n);

/*
 * A trace that begins late: the file `old` ends, and another file continues with a base.
 *
 *   hl_writer_end(old, ...);                       old writes its last keyframe, END and index
 *   hl_writer_describe_base(old, now, n, &meta.base);
 *   hl_writer_open_to(&w, &meta, ...);             META
 *   hl_writer_add_module(w, ...) ...               all tables of the run again, in the same order
 *   hl_writer_begin_base(w, old, &place);          TABLE; takes the sums of old
 *   hl_base_blocks_write(&place, &blocks, ...);    LIVESET; may run later, in another thread
 *   hl_writer_add_extra(w, ...) ...                side events that later ones refer to, if any
 *   hl_writer_end_base(w);                         KEYFRAME; events may be added from now on
 *   hl_writer_close(old);
 *
 * The chunks must get into the file in this order. Between the halves of a realloc there can be no
 * base: hl_writer_describe_base returns -EAGAIN.
 */
/* n: the number of live blocks that will be in the base: of those whose allocations were written.
 */
int hl_writer_describe_base(
	const struct hl_writer *old, uint64_t now_ns, uint64_t n, struct hl_base *base);
/* The number of live blocks whose allocations were written. Blocks are written entirely or not at
 * all, so it follows from the numbers of allocations and frees. */
uint64_t hl_writer_written_live_blocks(const struct hl_writer *w);

/* Where the LIVESET chunks of a base belong. Plain data, for another thread. */
struct hl_base_place {
	uint64_t seq;                                              /* of the first chunk */
	uint64_t blocks;                                           /* as in struct hl_base */
	uint64_t events, allocs, time_ns, live_bytes, live_blocks; /* for the headers */
	uint32_t n_nodes, n_threads;
};
/* Moves the sums of `old` to w, in O(1); old can only be closed afterwards. Returns -EINVAL if the
 * tables differ in length. */
int hl_writer_begin_base(struct hl_writer *w, struct hl_writer *old, struct hl_base_place *place);
int hl_writer_end_base(struct hl_writer *w);

/* The live blocks of a base, by ascending ordinal. */
struct hl_base_blocks {
	/* Sets *b and *func (HL_FUNC_UNKNOWN if not known). Returns 0 or -errno. Called once for
	 * each block. */
	int (*next)(void *arg, struct hl_live_block *b, uint8_t *func);
	void *arg;
};
/* Passes the LIVESET chunks to `sink`, in memory for one of them. Returns 0, -errno of next or
 * sink, or -EINVAL for a block that the base cannot have. */
int hl_base_blocks_write(const struct hl_base_place *place, const struct hl_base_blocks *blocks,
	hl_chunk_sink *sink, void *arg);
/* The same for a writer whose chunks need not wait for another thread: to its own sink. */
int hl_writer_add_base_blocks(struct hl_writer *w, const struct hl_base_place *place,
	const struct hl_base_blocks *blocks);

/* hl_chunk_file_set_uncompressed for a writer that has its own file. */
void hl_writer_set_uncompressed(struct hl_writer *w, bool on);

/* Writes pending data as chunks, so that readers see it. Does nothing between the halves of a
 * realloc. A few RSS samples may stay pending. */
int hl_writer_flush(struct hl_writer *w);
/* Events in chunks that have been written with write(2). */
uint64_t hl_writer_durable_events(const struct hl_writer *w);

/* Live bytes and blocks after the events added so far. */
void hl_writer_live(const struct hl_writer *w, uint64_t *bytes, uint64_t *blocks);

/* Events added so far. */
uint64_t hl_writer_events(const struct hl_writer *w);

/* Bytes of the file so far. */
uint64_t hl_writer_bytes(const struct hl_writer *w);

/* Sets the cost that END records. Call it before hl_writer_end. */
void hl_writer_set_cost(struct hl_writer *w, const struct hl_cost *cost);

/* Sets what a slice leaves out; END records it if meta has a slice info. Call it before
 * hl_writer_end. */
void hl_writer_set_left_out(struct hl_writer *w, const struct hl_left_out *left_out);

/* Ends the trace: last chunk, last keyframe, END, index. Nothing can be added afterwards. */
int hl_writer_end(
	struct hl_writer *w, const struct hl_end *end, const struct hl_counters *counters);

/* Frees the writer. If hl_writer_end was not called before, the file is like one after a crash:
 * valid, with an unknown end. */
void hl_writer_close(struct hl_writer *w);

#endif
