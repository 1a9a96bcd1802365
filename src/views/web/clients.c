/* SPDX-License-Identifier: Apache-2.0 */
/* clients.c - see clients.h. */
#include "views/web/clients.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

#include "util/mono_clock.h"

static void end_late(struct hl_web_clients *c)
{
	uint64_t now = hl_mono_ns();

	for (struct hl_web_client *x = c->first; x; x = x->next) {
		if (c->stopping || (x->deadline_ns && x->deadline_ns < now)) {
			/* The thread of the connection notices, and closes the descriptor. */
			shutdown(x->fd, SHUT_RDWR);
			x->deadline_ns = 0;
		}
	}
}

static void *watch_clients(void *arg)
{
	struct hl_web_clients *c = arg;

	pthread_mutex_lock(&c->lock);
	while (!c->stopping) {
		struct timespec until;

		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_sec++;
		pthread_cond_timedwait(&c->changed, &c->lock, &until);
		end_late(c);
	}
	pthread_mutex_unlock(&c->lock);
	return NULL;
}

int hl_web_clients_start(struct hl_web_clients *c)
{
	int err;

	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->changed, NULL);
	err = pthread_create(&c->thread, NULL, watch_clients, c);
	c->started = !err;
	return -err;
}

void hl_web_clients_stop(struct hl_web_clients *c)
{
	if (!c->started)
		return;
	pthread_mutex_lock(&c->lock);
	c->stopping = true;
	pthread_cond_broadcast(&c->changed);
	end_late(c);
	pthread_mutex_unlock(&c->lock);
	pthread_join(c->thread, NULL);
	c->started = false;
}

void hl_web_clients_fini(struct hl_web_clients *c)
{
	pthread_mutex_destroy(&c->lock);
	pthread_cond_destroy(&c->changed);
}

struct hl_web_client *hl_web_client_add(struct hl_web_clients *c, int fd)
{
	struct hl_web_client *x = calloc(1, sizeof(*x));

	if (!x)
		return NULL;
	x->fd = fd;
	pthread_mutex_lock(&c->lock);
	x->next = c->first;
	c->first = x;
	if (c->stopping)
		shutdown(fd, SHUT_RDWR);
	pthread_mutex_unlock(&c->lock);
	return x;
}

void hl_web_client_remove(struct hl_web_clients *c, struct hl_web_client *client)
{
	struct hl_web_client **at;

	pthread_mutex_lock(&c->lock);
	for (at = &c->first; *at && *at != client;)
		at = &(*at)->next;
	if (*at)
		*at = client->next;
	pthread_mutex_unlock(&c->lock);
	free(client);
}

void hl_web_client_allow(struct hl_web_clients *c, struct hl_web_client *client, unsigned seconds)
{
	pthread_mutex_lock(&c->lock);
	client->deadline_ns = seconds ? hl_mono_ns() + UINT64_C(1000000000) * seconds : 0;
	pthread_mutex_unlock(&c->lock);
}

bool hl_web_client_is_gone(const struct hl_web_client *client)
{
	struct pollfd p = {.fd = client->fd, .events = POLLRDHUP};

	return poll(&p, 1, 0) > 0 && p.revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL);
}
