/* SPDX-License-Identifier: Apache-2.0 */
/*
 * region.h - reads the rings of one program image: drains them, merges their records in order, and
 * passes these to the matcher.
 *
 * All of it runs in the first thread, which never blocks; it only sleeps.
 */
#ifndef HL_COLLECT_DRAIN_REGION_H
#define HL_COLLECT_DRAIN_REGION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/drain/tsc_clock.h"
#include "collect/output/log_file.h"
#include "collect/target/oom.h"
#include "collect/match/target_process.h"
#include "ring/region_layout.h"
#include "util/vec.h"

struct hl_wait_set;

/* The settings of `record`, for the regions that it makes. */
struct hl_collect_settings {
	uint32_t flags; /* HL_SET_* */
	uint32_t depth_inner, depth_outer;
	uint32_t max_wait_ms, exit_wait_ms;
	uint32_t clock;        /* enum hl_clock */
	enum hl_mode mode;     /* at the start */
	uint64_t sample_bytes; /* HL_MODE_SAMPLE */
	uint64_t sample_seed;  /* not 0: the same samples in every run */
	struct hl_retain_settings retain;
	uint64_t toggle_signals;  /* bit n - 1: signal n */
	uint32_t snapshot_signal; /* 0: none */
	struct hl_log_file_settings log;
	size_t memory_limit;    /* of each live table; above it a file is used */
	uint32_t max_processes; /* live at the same time in one region; 0: PROCS_MAX (region.c) */
	struct hl_trace_output_settings output;
};

/* The collector's state of one ring. */
struct hl_ring_view {
	struct hl_thread_stream *stream; /* NULL: none */
	struct hl_target *target;
	bool ignored; /* its target waits at its exit: its trace has ended */
	uint32_t claim;
	bool busy; /* at the last scan, at position last_w */
	uint64_t last_w, busy_since_ns;
	uint64_t bound;   /* no smaller stamp can be committed any more */
	uint64_t stamp;   /* of the record at `at`; not below that of its predecessor */
	uint64_t dropped; /* already counted */
	bool dead;
	/* invalid records: everything after them counts as one drop */
	bool corrupt, corrupt_counted;
	HL_VEC(uint64_t) words; /* copied out, not yet merged: [at, len) */
	size_t at;
};

/* The contents of the region's control word, now and after pending changes (steering.c). */
struct hl_steering {
	enum hl_mode mode;
	bool paused;
	bool gaps;                 /* some allocations may not have been recorded */
	uint32_t request;          /* HL_CONTROL_START, HL_CONTROL_STOP, or 0: none yet */
	uint32_t change_id;        /* of the last change */
	uint32_t scans_until_fill; /* scans until the filter is filled; 0: it is */
	uint64_t sample_bytes;
	uint64_t rates[HL_LIVE_RATES + 1]; /* all rates so far, from 1 on; 0: no more */
};

struct hl_region_reader {
	struct hl_region *region;
	int memfd;      /* closed by `durable` */
	uint64_t inode; /* of the memfd */
	int ctl_fd;     /* the socket for `heaplapse ctl` (ctl.h); -1: none */
	struct hl_steering steering;
	struct hl_log_file log;
	uint64_t pid;               /* of serial 0 */
	int pidfd;                  /* opened before it could end; -1: none */
	HL_VEC(uint64_t) pids;      /* by serial, for the parent pids of children */
	struct hl_proc_image image; /* fork children run the same one */
	struct hl_oom oom;
	const struct hl_collect_settings *settings;
	struct hl_write_queue *queue;
	struct hl_wait_set *wait; /* gets the pidfds of targets; NULL: none */
	struct hl_tsc_clock clock;
	struct hl_durable *durable;
	uint64_t last_scan_stamp; /* stamp of the last scan */
	uint64_t last_adjust_ns, last_over_check_ns;
	bool made_trace;      /* serial 0 has recorded an event */
	uint32_t n_new_ended; /* new targets in this scan that had already ended */
	bool copying;         /* blocks for a base are still to be copied: scan again at once */
	bool crowded;         /* the scan stopped at their limit: end some, then continue */
	bool over;            /* no other process maps it */
	uint32_t final_scans; /* scans since then */
	bool continued;       /* a previous collector was reading it */
	uint64_t lost_before; /* events that it took and did not write */
	uint64_t unclaimed;   /* drops without a ring that are already counted */
	HL_VEC(struct hl_target *) targets;
	/* a bit for each serial: its trace ended before its process did */
	HL_VEC(uint64_t)
	ended_serials;
	struct hl_ring_view views[HL_RING_COUNT];
	struct hl_ring_view **heap; /* of views with records to merge */
};

/* Answers a program that waits for its collector to start. `ready`: a value of hl_region.ready. */
void hl_region_send_ready(struct hl_region *region, uint32_t ready);

/* Creates a region in a new memfd (`memfd` < 0), or takes over an existing one. The reader owns it.
 * 0 or -errno. */
int hl_region_open(struct hl_region_reader **out, int memfd, uint64_t pid, bool fresh,
	const struct hl_collect_settings *settings, struct hl_write_queue *queue);
void hl_region_close(struct hl_region_reader *r);

/* Scans all rings once. Returns how full the fullest one was, in 1/HL_FILL_ALL; 0: all were
 * empty. */
#define HL_FILL_ALL 1024u
uint32_t hl_region_scan(struct hl_region_reader *r, uint64_t now_ns);

/* Writes the rest of the target's trace, ends it and frees the target. The process must be gone, or
 * be waiting at its exit. All its records should have been merged before. */
void hl_region_end_process(
	struct hl_region_reader *r, struct hl_target *p, const struct hl_end *end);

/* True if no process maps the region any more. */
bool hl_region_is_over(struct hl_region_reader *r);

#endif
