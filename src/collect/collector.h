/*
 * collector.h - the process that takes events out of programs and makes traces of them.
 *
 * `heaplapse record` runs one for all programs it starts: they come over a socket (listen.h) and
 * each gets a region. Under a bare LD_PRELOAD the library starts one for itself with its region as
 * descriptor 3. The collector outlives `record` when something it records does.
 */
#ifndef HL_COLLECT_COLLECTOR_H
#define HL_COLLECT_COLLECTOR_H

#include <limits.h>
#include <pthread.h>
#include <stdint.h>

#include "collect/listen.h"
#include "collect/region.h"

/* Between `record` and its collector, over a socket pair that keeps messages whole. */
enum hl_note_kind {
	HL_NOTE_ENDED,   /* to the collector: pid, value = wait status */
	HL_NOTE_REGION,  /* from it: pid, with the memfd */
	HL_NOTE_CLOSED,  /* from it: the trace of pid is closed; value = 0 or -errno, text = path,
			    events = how many an error has kept from it */
	HL_NOTE_SETTLED, /* from it, after ENDED: the traces of all that had ended by then are
			    closed; value = 1: somebody is recorded on */
	HL_NOTE_OVER, /* from it: the region of pid is over; its memfd may be let go; value = 0: it
			 made no trace */
	HL_NOTE_SNAPSHOT, /* from it: text = what to say about it */
	HL_NOTE_NO_LOG,   /* from it: no --churn-log for pid; value = -errno */
};

struct hl_note {
	uint32_t kind;
	uint32_t pid;
	int32_t value;
	uint64_t region; /* REGION, OVER: the inode of its memfd; a pid has several after exec */
	uint64_t events; /* CLOSED: that are not in it */
	uint64_t early;  /* CLOSED: blocks, see hl_counters */
	char text[PATH_MAX];
};

/* 0 or -errno. fd < 0: none goes along. */
int hl_note_send(int socket, const struct hl_note *note, int fd);
/* With n descriptors, at most two. */
int hl_note_send_fds(int socket, const struct hl_note *note, const int *fds, size_t n);
/* 0, -EAGAIN, -ECONNRESET when the other end is gone. *fd = -1 when none came. */
int hl_note_receive(int socket, struct hl_note *note, int *fd);

/*
 * Notes that wait for a reader: `record` may be stopped for hours, and must find them all
 * afterwards, while the collector waits for nobody. Any thread puts, one flushes.
 */
struct hl_letter;
struct hl_outbox {
	pthread_mutex_t lock;
	struct hl_letter *head, **tail;
};

void hl_outbox_init(struct hl_outbox *box);
void hl_outbox_fini(struct hl_outbox *box);
/* fd is copied; -1: none. */
void hl_outbox_put(struct hl_outbox *box, const struct hl_note *note, int fd);
/* As many as the socket takes now. */
void hl_outbox_flush(struct hl_outbox *box, int socket);

struct hl_collector_start {
	struct hl_collect_settings settings;
	const struct hl_listener *listener; /* NULL: nobody comes */
	int control_fd;                     /* to `record`; -1: none */
	int region_fd;                      /* bare: the region's memfd, or -1 */
	uint64_t region_pid;
	/* Regions that a collector before us was reading: with their pids. */
	const int *orphan_fds;
	const uint64_t *orphan_pids;
	size_t n_orphans;
	/* Called by the second thread when a trace is closed and good; NULL: nobody wants to know.
	 */
	void (*on_trace)(const char *path);
	/* Each snapshot of a program is told: by the second thread, or by a note if this is NULL.
	 */
	bool verbose;
	void (*on_snapshot)(const char *sentence);
};

/* Runs until there is nothing left to record. 0 or -errno. Takes all descriptors. */
int hl_collector_run(const struct hl_collector_start *start);

/* A process of our own that no terminal, signal or descriptor of the program reaches. */
void hl_collector_detach(const int *keep, size_t n_keep);

#endif
