/* SPDX-License-Identifier: Apache-2.0 */
/* messages.c - see messages.h. */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "collect/control/messages.h"

union fd_message {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(2 * sizeof(int))];
};

int hl_message_send(int socket, const struct hl_message *message, int fd)
{
	return hl_message_send_fds(socket, message, &fd, fd >= 0);
}

int hl_message_send_fds(int socket, const struct hl_message *message, const int *fds, size_t n)
{
	struct iovec iov = {.iov_base = (void *)(uintptr_t)message,
		.iov_len = offsetof(struct hl_message, text) + strlen(message->text) + 1};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	union fd_message control = {0};

	if (n) {
		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(n * sizeof(int));
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(n * sizeof(int));
		memcpy(CMSG_DATA(&control.header), fds, n * sizeof(int));
	}
	return sendmsg(socket, &msg, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

int hl_message_receive(int socket, struct hl_message *message, int *fd)
{
	struct iovec iov = {.iov_base = message, .iov_len = sizeof(*message)};
	union fd_message control;
	struct msghdr msg = {.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control)};
	ssize_t n = recvmsg(socket, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	struct cmsghdr *c;

	*fd = -1;
	if (n < 0)
		return -errno;
	if (n < (ssize_t)offsetof(struct hl_message, text))
		return n ? -EPROTO : -ECONNRESET;
	message->text[sizeof(message->text) - 1] = '\0';
	c = CMSG_FIRSTHDR(&msg);
	if (c && c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(fd, CMSG_DATA(c), sizeof(int));
	return 0;
}

/* --- the queue --- */

struct hl_queued_message {
	struct hl_queued_message *next;
	int fd;
	struct hl_message message; /* allocated only as far as its text needs */
};

void hl_message_queue_init(struct hl_message_queue *queue)
{
	pthread_mutex_init(&queue->lock, NULL);
	queue->head = NULL;
	queue->tail = &queue->head;
}

/* Removes the first message, sent or not. */
static void drop_first(struct hl_message_queue *queue)
{
	struct hl_queued_message *first = queue->head;

	queue->head = first->next;
	if (!queue->head)
		queue->tail = &queue->head;
	if (first->fd >= 0)
		close(first->fd);
	free(first);
}

void hl_message_queue_fini(struct hl_message_queue *queue)
{
	while (queue->head)
		drop_first(queue);
	pthread_mutex_destroy(&queue->lock);
}

void hl_message_queue_put(struct hl_message_queue *queue, const struct hl_message *message, int fd)
{
	size_t len = offsetof(struct hl_message, text) + strlen(message->text) + 1;
	struct hl_queued_message *item = malloc(offsetof(struct hl_queued_message, message) + len);

	if (!item)
		return;
	item->next = NULL;
	item->fd = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;
	memcpy(&item->message, message, len);
	pthread_mutex_lock(&queue->lock);
	*queue->tail = item;
	queue->tail = &item->next;
	pthread_mutex_unlock(&queue->lock);
}

void hl_message_queue_flush(struct hl_message_queue *queue, int socket)
{
	pthread_mutex_lock(&queue->lock);
	while (queue->head) {
		int err = hl_message_send(socket, &queue->head->message, queue->head->fd);

		if (err == -ETOOMANYREFS) /* the user's limit of descriptors in flight is reached */
			err = hl_message_send(socket, &queue->head->message, -1);
		if (err == -EAGAIN || err == -ENOBUFS || err == -ENOMEM)
			break;
		drop_first(queue);
	}
	pthread_mutex_unlock(&queue->lock);
}
