/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_output_internal.h - a trace that is being written, as the two threads see it.
 */
#ifndef HL_COLLECT_OUTPUT_TRACE_OUTPUT_INTERNAL_H
#define HL_COLLECT_OUTPUT_TRACE_OUTPUT_INTERNAL_H

#include <limits.h>

#include "collect/output/durable.h"
#include "collect/output/log_file.h"
#include "collect/output/trace_output.h"
#include "collect/output/write_queue.h"
#include "trace/write/chunk_file.h"

/* The kinds of queue items. */
enum hl_item_kind {
	/* only creates the file: traces are named in the order in which targets are added */
	HL_ITEM_OPEN,
	HL_ITEM_CHUNK, /* content: struct hl_sealed */
	HL_ITEM_SAY,   /* content: text */
	HL_ITEM_BASE,  /* content: struct hl_base_task */
	HL_ITEM_CLOSE,
	HL_ITEM_DISCARD, /* closes it and removes the file, in which there is no trace */
};

struct hl_queue_item {
	struct hl_queue_item *next;
	struct hl_trace_output *to;
	enum hl_item_kind kind;
	size_t bytes; /* counted in the queue's size */
	void *content;
};

struct hl_trace_output {
	struct hl_write_queue *queue;
	struct hl_meta meta;
	char *strings;
	struct hl_file_status file_status; /* from the second thread to the writer */

	/* Used by the first thread. */
	struct hl_writer *writer;
	uint64_t start_mono_ns, last_tick_ns, last_flush_ns;
	uint64_t snapshots, snapshot_bytes; /* number so far; live bytes at the last one */
	bool sample_rss;
	uint64_t rss; /* the last sample; 0: none */
	/* Samples of the mappings; NULL: none. */
	struct hl_map_source *maps;
	uint64_t maps_finish_ns; /* since when the last one is awaited; 0: it is not */
	bool maps_failed;        /* a sample could not be taken, and the log says so */
	bool begins_session;     /* the first trace of the session */
	int writer_err;          /* read by the second thread after HL_ITEM_CLOSE */
	uint64_t n_events;       /* in all; read likewise */
	uint64_t early_blocks;   /* read likewise */
	/* read likewise: lost events of a previous collector that its counters include */
	uint64_t reported_lost;
	struct hl_exit_ack ack;            /* read likewise: the process that waits for the trace */
	struct hl_trace_output *successor; /* read likewise; NULL: the trace ends with this file */
	_Atomic bool predecessor_closed;   /* set by the second thread */
	bool has_base;                     /* a base was posted */
	_Atomic bool base_done;            /* set by the second thread, on error too */

	/* Used by the second thread. */
	struct hl_trace_output *next;
	uint64_t room; /* bytes that must be free where the file is created; set before */
	struct hl_queue_item *held, **held_tail; /* while it waits for a descriptor */
	size_t held_bytes;
	uint32_t held_n;            /* not counted in the queue's n while its target lives */
	bool ended;                 /* the last held item closes it */
	struct hl_chunk_file *file; /* NULL until opened, and after an error */
	struct hl_durable *durable;
	uint64_t counted;
	bool opened;
	_Atomic bool named; /* path is final: the first thread may read it */
	int follower;       /* its pid; 0 or less: none */
	int err;
	char path[PATH_MAX];
	char name[PATH_MAX];      /* path without the number that made it unique */
	char continues[PATH_MAX]; /* name of the output that this one continues; "": none */
	bool in_session_dir;      /* path and name are in the directory of the session */
	bool is_first;            /* of the session */
	bool unlisted;            /* there was no descriptor for the list */
	bool tentative; /* for a rotation that may be cancelled: listed at its first item */
	struct hl_log_file log;
};

/* Adds an item to the queue. Takes ownership of the content, on error too, except for a base task.
 * 0 or -ENOMEM. */
int hl_write_queue_post(
	struct hl_trace_output *o, enum hl_item_kind kind, void *content, size_t bytes);

/* Frees an output that the second thread does not have, or not any more. */
void hl_trace_output_free(struct hl_trace_output *o);

/* create_file.c: creates the file and opens it. 0 or -errno. */
int hl_trace_output_create_file(struct hl_trace_output *o);
/* Adds the file to the list of the session, unless it is the session's first trace. */
void hl_trace_output_list_file(struct hl_trace_output *o);
/* Moves the reserved file to the output that it was reserved for. False: it has none. */
bool hl_trace_output_take_reserved(struct hl_trace_output *o);
/* Removes the file of an output from its directory. */
void hl_trace_output_remove_file(const struct hl_trace_output *o);
/* Removes the reserved file if no output has taken it. */
void hl_write_queue_remove_reserved(struct hl_write_queue *q);

#endif
