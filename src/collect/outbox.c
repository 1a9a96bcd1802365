/* outbox.c - notes to `record` that wait until it reads; see collector.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/collector.h"

struct hl_letter {
	struct hl_letter *next;
	int fd;
	struct hl_note note; /* as much of it as its text needs */
};

void hl_outbox_init(struct hl_outbox *box)
{
	pthread_mutex_init(&box->lock, NULL);
	box->head = NULL;
	box->tail = &box->head;
}

/* The first letter goes, unread or sent. */
static void drop_first(struct hl_outbox *box)
{
	struct hl_letter *first = box->head;

	box->head = first->next;
	if (!box->head)
		box->tail = &box->head;
	if (first->fd >= 0)
		close(first->fd);
	free(first);
}

void hl_outbox_fini(struct hl_outbox *box)
{
	while (box->head)
		drop_first(box);
	pthread_mutex_destroy(&box->lock);
}

void hl_outbox_put(struct hl_outbox *box, const struct hl_note *note, int fd)
{
	size_t len = offsetof(struct hl_note, text) + strlen(note->text) + 1;
	struct hl_letter *letter = malloc(offsetof(struct hl_letter, note) + len);

	if (!letter)
		return;
	letter->next = NULL;
	letter->fd = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;
	memcpy(&letter->note, note, len);
	pthread_mutex_lock(&box->lock);
	*box->tail = letter;
	box->tail = &letter->next;
	pthread_mutex_unlock(&box->lock);
}

void hl_outbox_flush(struct hl_outbox *box, int socket)
{
	pthread_mutex_lock(&box->lock);
	while (box->head) {
		int err = hl_note_send(socket, &box->head->note, box->head->fd);

		if (err ==
			-ETOOMANYREFS) /* as many descriptors on their way as this user may have */
			err = hl_note_send(socket, &box->head->note, -1);
		if (err == -EAGAIN || err == -ENOBUFS || err == -ENOMEM)
			break;
		drop_first(box);
	}
	pthread_mutex_unlock(&box->lock);
}
