/*
 * region.h - one program image's rings, read: drained, put in order, handed to the books.
 *
 * All of it runs in the first thread, which never waits for anything but time.
 */
#ifndef HL_COLLECT_REGION_H
#define HL_COLLECT_REGION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/clock.h"
#include "collect/logfile.h"
#include "collect/oom.h"
#include "collect/proc.h"
#include "ring/layout.h"
#include "util/vec.h"

/* What `record` was told, for the regions it makes. */
struct hl_collect_settings {
	uint32_t flags; /* HL_SET_* */
	uint32_t depth_inner, depth_outer;
	uint32_t max_wait_ms, exit_wait_ms;
	uint32_t clock;        /* enum hl_clock */
	enum hl_mode mode;     /* at the start */
	uint64_t sample_bytes; /* HL_MODE_SAMPLE */
	uint64_t sample_seed;  /* not 0: the same samples each time */
	struct hl_keep_settings keep;
	uint64_t toggle_signals;  /* bit n - 1: signal n */
	uint32_t snapshot_signal; /* 0: none */
	struct hl_logfile_settings log;
	size_t memory_limit;    /* of a live table in memory */
	uint32_t max_processes; /* of one region that live at once; 0: the usual */
	struct hl_output_settings output;
};

/* The reader's side of one ring. */
struct hl_ring_view {
	struct hl_feed *feed; /* NULL: nobody's */
	struct hl_proc *proc;
	bool ignored; /* its process waits at its exit: its trace has ended */
	uint32_t claim;
	bool busy; /* at the last look, at this position: */
	uint64_t last_w, busy_since_ns;
	uint64_t bound;   /* nothing below this will come any more */
	uint64_t stamp;   /* of the record at `at`; raised to its predecessor's */
	uint64_t dropped; /* already counted */
	bool dead;
	bool corrupt,
		told_corrupt; /* records that are none: what follows them is counted as one drop */
	HL_VEC(uint64_t) words; /* copied out, not yet merged: [at, len) */
	size_t at;
};

/* What the region's word says, and what it will (steer.c). */
struct hl_steering {
	enum hl_mode mode;
	bool paused;
	bool gaps;        /* there may be blocks whose allocations were not recorded */
	uint32_t request; /* HL_STEER_START, HL_STEER_STOP or none yet */
	uint32_t number;  /* of the last change */
	uint32_t fill_in; /* scans until the filter is filled; 0: it is */
	uint64_t sample_bytes;
	uint64_t rates[HL_LIVE_RATES + 1]; /* all there have been, from 1 on; 0: no more */
};

struct hl_region_reader {
	struct hl_region *region;
	int memfd;      /* closed by `durable` */
	uint64_t inode; /* of the memfd */
	int ctl_fd;     /* where it is steered from (ctl.h); -1: nowhere */
	struct hl_steering steering;
	struct hl_logfile log;
	uint64_t pid;          /* of serial 0 */
	int pidfd;             /* from before it could end; -1 when there is none */
	HL_VEC(uint64_t) pids; /* by serial, for children to name their parents */
	struct hl_image image; /* fork children run the same one */
	struct hl_oom oom;
	const struct hl_collect_settings *settings;
	struct hl_queue *queue;
	struct hl_ticks ticks;
	struct hl_durable *durable;
	uint64_t last_t; /* stamp of the last scan */
	uint64_t last_adjust_ns, last_alone_check_ns;
	bool made_trace;      /* of serial 0: it came as far as an event */
	uint32_t met;         /* processes that were new in this scan and have ended */
	bool crowded;         /* the scan stopped because of that: end some, then go on */
	bool over;            /* nobody else maps it */
	uint32_t last_scans;  /* scans since then */
	bool continued;       /* another collector read it before us */
	uint64_t lost_before; /* events it took and did not write */
	uint64_t unclaimed;   /* drops for want of a ring: already counted */
	HL_VEC(struct hl_proc *) procs;
	HL_VEC(uint64_t) left; /* a bit for each serial: its trace has ended before it */
	struct hl_ring_view views[HL_RING_COUNT];
	struct hl_ring_view **heap; /* of views with something to merge */
};

/* Answers a program that waits for its collector to start: a value of hl_region.ready. */
void hl_region_answer(struct hl_region *region, uint32_t ready);

/* Makes a region in a new memfd (`memfd` < 0) or takes over one; the reader owns it. 0 or -errno.
 */
int hl_region_open(struct hl_region_reader **out, int memfd, uint64_t pid, bool fresh,
	const struct hl_collect_settings *settings, struct hl_queue *queue);
void hl_region_close(struct hl_region_reader *r);

/* One look at all rings. Returns how full the fullest one was, in 1/HL_FILL_ALL; 0: all empty. */
#define HL_FILL_ALL 1024u
uint32_t hl_region_scan(struct hl_region_reader *r, uint64_t now_ns);

/* Everything this process ever committed goes to its trace, and the trace ends. The process is
 * gone, or waits at its exit. */
void hl_region_end_process(struct hl_region_reader *r, struct hl_proc *p, const struct hl_end *end);

/* No process maps the region any more. */
bool hl_region_is_over(struct hl_region_reader *r);

#endif
