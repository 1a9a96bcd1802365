/*
 * writer.h - makes a trace file. One thread at a time per writer; all calls 0 or -errno.
 *
 * The first error sticks: later calls return it and write nothing, so a caller may check only
 * now and then. Node totals, the peak, summaries, keyframes, the index and the file's totals are
 * the writer's own work: whoever adds the same events gets the same file, whatever their source.
 */
#ifndef HL_TRACE_WRITER_H
#define HL_TRACE_WRITER_H

#include <stddef.h>

#include "trace/chunk_file.h"
#include "trace/event.h"

struct hl_writer;

/*
 * Takes fd (it is closed by hl_writer_close; after an error here it is still the caller's), copies
 * meta. fd is a new, empty file. It is locked (flock) until the end: so readers know it is growing.
 */
int hl_writer_open(struct hl_writer **out, int fd, const struct hl_meta *meta);

/* The same with limits of one's own; 0 means the usual. For tests, and for files made to be
 * compared. */
struct hl_writer_options {
	uint32_t max_events;      /* of a chunk; 2 to 65536 */
	uint32_t keyframe_events; /* at least so many between keyframes */
	uint32_t keyframe_share;  /* and so many times its size written */
	uint32_t summary_share; /* a summary takes at most this part of its chunk's other columns */
	uint64_t sync;          /* the file's sync word instead of a random one */
};
int hl_writer_open_with(struct hl_writer **out, int fd, const struct hl_meta *meta,
	const struct hl_writer_options *options);

/*
 * The same, but chunks go to `sink` instead of a file: 0 or -errno, which is then the writer's
 * error. A chunk is valid during the call. `news` are of the file that they get to in the end;
 * options may be NULL, its sync is not used.
 */
typedef int hl_chunk_sink(void *arg, const struct hl_sealed *chunk);
int hl_writer_open_to(struct hl_writer **out, const struct hl_meta *meta,
	const struct hl_writer_options *options, hl_chunk_sink *sink, void *arg,
	struct hl_file_news *news);

/* Ids are given by order of call, from 0. */
int hl_writer_add_module(struct hl_writer *w, const struct hl_module *module);
int hl_writer_add_node(struct hl_writer *w, const struct hl_node *node);
int hl_writer_add_thread(struct hl_writer *w, uint64_t tid);
/* parent: a tag or HL_TAG_NONE. The name need not end. */
int hl_writer_add_tag(struct hl_writer *w, uint32_t parent, const char *name, size_t len);
/* One more role of a thread, numbered with the threads; events may name it from here on. */
int hl_writer_add_role(struct hl_writer *w, uint32_t thread, uint32_t tag);

/*
 * Names of a place in the code, once for each that nodes have; of two the first counts. No frames:
 * nothing is known of it. A module with such names is looked up nowhere else: its offsets may be
 * any numbers.
 */
int hl_writer_add_names(struct hl_writer *w, const struct hl_named_site *site);

/* A whole file, from its start; fd stays the caller's. -EIO: it has become shorter. */
int hl_writer_add_file(struct hl_writer *w, const struct hl_carried *file, int fd);

/*
 * The ordinal of an allocation is the number of allocations before it, that of a free is its
 * block's; ids must be defined (a node may be HL_NODE_NONE), else -EINVAL. life_q is the writer's
 * own work.
 */
int hl_writer_add_event(struct hl_writer *w, const struct hl_event *event);
/*
 * The same for a block that stands for itself and is no half of a realloc: its birth and its end,
 * so many units after the start. What it counts for is not read, nor at its birth when that was,
 * and that its threads are defined is not looked at. A fraction of what an event costs.
 */
int hl_writer_add_alloc(
	struct hl_writer *w, const struct hl_live_block *block, uint64_t units, uint8_t func);
int hl_writer_add_free(struct hl_writer *w, const struct hl_live_block *block, uint64_t units,
	uint32_t thread, uint8_t func);
/* An event of this node is a few events away: fetches its sums. Any number will do. */
void hl_writer_expect(const struct hl_writer *w, uint32_t node);
int hl_writer_add_extra(struct hl_writer *w, const struct hl_extra *extra);
int hl_writer_add_rss(struct hl_writer *w, const struct hl_rss_sample *sample);

/*
 * Events that are not written, and events that are written later: the sums (and so keyframes, peaks
 * and totals) hear of an event at its place in the order by hl_writer_count_event; it may come into
 * the columns later, in order among those that do, by hl_writer_put_event, with the same node and
 * size. A block is written whole or not at all: its ordinal is its number among those that are, and
 * means nothing while it is only counted, but must be the same in its two events; one that becomes
 * another in between is told by hl_writer_renumber.
 */
int hl_writer_count_event(struct hl_writer *w, const struct hl_event *event);
int hl_writer_put_event(struct hl_writer *w, const struct hl_event *event);
void hl_writer_renumber(struct hl_writer *w, uint64_t from, uint64_t to);
/* Blocks and bytes that were counted and are not in the columns. */
const struct hl_sums *hl_writer_withheld(const struct hl_writer *w);

/* A keyframe at this very place, as a snapshot; not between the halves of a realloc. */
int hl_writer_snapshot(struct hl_writer *w, const struct hl_snapshot *snapshot);
/* The keyframe at the end shall be one; its label is copied. */
int hl_writer_end_snapshot(struct hl_writer *w, const struct hl_snapshot *snapshot);
/* What was allocated and freed so far, by the sums. */
const struct hl_sums *hl_writer_sums(const struct hl_writer *w);

/* The whole live set as of the events added so far. */
int hl_writer_add_live_set(struct hl_writer *w, const struct hl_live_block *blocks, size_t n);

/* hl_chunk_file_hurry, of a file of its own. */
void hl_writer_hurry(struct hl_writer *w, bool on);

/*
 * Writes what is pending as chunks, so that a reader sees it; between the halves of a realloc it
 * waits, and a few RSS samples wait for more.
 */
int hl_writer_flush(struct hl_writer *w);
/* Events handed over and written with write(2). */
uint64_t hl_writer_durable_events(const struct hl_writer *w);

/* Live as of the events added so far. */
void hl_writer_live(const struct hl_writer *w, uint64_t *bytes, uint64_t *blocks);

/* Events added so far. */
uint64_t hl_writer_events(const struct hl_writer *w);

/* Bytes of the file so far. */
uint64_t hl_writer_bytes(const struct hl_writer *w);

/* Goes into the end, if it is given before it. */
void hl_writer_set_cost(struct hl_writer *w, const struct hl_cost *cost);

/* The same, of a trace whose meta has a cut. */
void hl_writer_set_left_out(struct hl_writer *w, const struct hl_left_out *left_out);

/* Ends the trace: last chunk, last keyframe, end, index. Nothing may be added after it. */
int hl_writer_end(
	struct hl_writer *w, const struct hl_end *end, const struct hl_counters *counters);

/* Without hl_writer_end before it the file is what a crash would leave: valid, its end unknown. */
void hl_writer_close(struct hl_writer *w);

#endif
