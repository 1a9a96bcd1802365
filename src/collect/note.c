/* note.c - messages between `record` and its collector; see collector.h. */
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

#include "collect/collector.h"

union fd_message {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(2 * sizeof(int))];
};

int hl_note_send(int socket, const struct hl_note *note, int fd)
{
	return hl_note_send_fds(socket, note, &fd, fd >= 0);
}

int hl_note_send_fds(int socket, const struct hl_note *note, const int *fds, size_t n)
{
	struct iovec iov = {.iov_base = (void *)(uintptr_t)note,
		.iov_len = offsetof(struct hl_note, text) + strlen(note->text) + 1};
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

int hl_note_receive(int socket, struct hl_note *note, int *fd)
{
	struct iovec iov = {.iov_base = note, .iov_len = sizeof(*note)};
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
	if (n < (ssize_t)offsetof(struct hl_note, text))
		return n ? -EPROTO : -ECONNRESET;
	note->text[sizeof(note->text) - 1] = '\0';
	c = CMSG_FIRSTHDR(&msg);
	if (c && c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(fd, CMSG_DATA(c), sizeof(int));
	return 0;
}
