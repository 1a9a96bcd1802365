/* SPDX-License-Identifier: Apache-2.0 */
/*
 * messages.h - messages between `record` and its collector, over a socket pair that preserves
 * message boundaries.
 */
#ifndef HL_COLLECT_CONTROL_MESSAGES_H
#define HL_COLLECT_CONTROL_MESSAGES_H

#include <limits.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

enum hl_message_kind {
	HL_MESSAGE_ENDED, /* to the collector: pid, value = wait status */
	/* to it, before the program runs: pid, text = its trace, "" if that is named by the
	 * pattern */
	HL_MESSAGE_FIRST,
	HL_MESSAGE_REGION, /* from it: pid, with the memfd */
	/* from it: the trace of pid is closed; value = 0 or -errno, text = path, unwritten_events =
	 * number of events not written because of an error */
	HL_MESSAGE_CLOSED,
	HL_MESSAGE_CONTINUED, /* the same, and the recording of pid goes on in another file */
	/* from it, after ENDED: the traces of all targets that had ended by then are closed; value
	 * = 1: other targets are still recorded */
	HL_MESSAGE_SETTLED,
	/* from it: the region of pid is no longer used and its memfd can be closed; value = 0: it
	 * made no trace */
	HL_MESSAGE_OVER,
	HL_MESSAGE_SNAPSHOT, /* from it: text = a sentence for the user */
	HL_MESSAGE_NO_LOG,   /* from it: no --churn-log for pid; value = -errno */
	HL_MESSAGE_NAMED,    /* from it: text = the first trace of the session, which now exists */
	/* from it: the directory of the session cannot be used; value = -errno, text = the first
	 * trace */
	HL_MESSAGE_NO_SESSION,
};

struct hl_message {
	uint32_t kind;
	uint32_t pid;
	int32_t value;
	uint64_t region; /* REGION, OVER: the inode of its memfd; a pid has several after exec */
	uint64_t unwritten_events; /* CLOSED: not in the trace */
	uint64_t early_blocks;     /* CLOSED: blocks, see hl_counters */
	char text[PATH_MAX];
};

/* 0 or -errno. fd < 0: no descriptor is sent. */
int hl_message_send(int socket, const struct hl_message *message, int fd);
/* Sends n descriptors too, at most two. */
int hl_message_send_fds(int socket, const struct hl_message *message, const int *fds, size_t n);
/* 0, -EAGAIN, or -ECONNRESET when the other end is closed. *fd = -1 when no descriptor was
 * received. */
int hl_message_receive(int socket, struct hl_message *message, int *fd);

/* A queue of messages to `record`. `record` may be stopped for hours and must receive all of them
 * afterwards, while the collector must not block. Any thread may put, one thread flushes. */
struct hl_queued_message;
struct hl_message_queue {
	pthread_mutex_t lock;
	struct hl_queued_message *head, **tail;
};

void hl_message_queue_init(struct hl_message_queue *queue);
void hl_message_queue_fini(struct hl_message_queue *queue);
/* fd is duplicated; -1: none. */
void hl_message_queue_put(struct hl_message_queue *queue, const struct hl_message *message, int fd);
/* Sends as many as the socket accepts now. */
void hl_message_queue_flush(struct hl_message_queue *queue, int socket);

#endif
