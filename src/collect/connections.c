/* SPDX-License-Identifier: Apache-2.0 */
/*
 * connections.c - programs that connect to the collector: each sends a hello and gets a region.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "collect/collector_internal.h"
#include "ring/announced_programs.h"

#define CONNECTIONS_MAX 256u
#define HELLO_NS        UINT64_C(5000000000)

/* Programs of root may change to any user; those of other users cannot. */
static bool is_allowed_peer(int fd, struct ucred *who)
{
	socklen_t len = sizeof(*who);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, who, &len) == 0 &&
	       (geteuid() == 0 || who->uid == geteuid());
}

/* 0 or -errno; then each program has a page of its own. */
static int create_announced_page(struct hl_collector *c)
{
	int fd = memfd_create("heaplapse-announced", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0)
		return -errno;
	if (ftruncate(fd, sizeof(struct hl_announced)) < 0) {
		int err = -errno;

		close(fd);
		return err;
	}
	fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
	c->announced_fd = fd;
	return 0;
}

/* A program image that sends the nonce gets a region; other connections are refused. 0, -EAGAIN
 * when descriptors are short, or another -errno. */
static int admit_program(struct hl_collector *c, int fd, const struct hl_hello *hello, ssize_t n)
{
	struct ucred who;
	struct hl_region_reader *r;
	struct hl_message answer = {0};
	int err, fds[2];

	if (n != sizeof(*hello) || hello->magic != HL_HELLO_MAGIC || hello->abi != HL_REGION_ABI)
		return -EPROTO;
	if (memcmp(hello->nonce, c->start->listener->nonce, HL_NONCE_CHARS) != 0)
		return -EACCES;
	if (!is_allowed_peer(fd, &who))
		return -EACCES;
	err = hl_collector_add_region(c, -1, (uint64_t)who.pid, true, &r);
	if (err)
		return err == -EMFILE || err == -ENFILE ? -EAGAIN : err;
	if (c->announced_fd < 0)
		create_announced_page(c);
	fds[0] = r->memfd;
	fds[1] = c->announced_fd;
	return hl_message_send_fds(fd, &answer, fds, fds[1] >= 0 ? 2 : 1);
}

/* A new image with the pid of a known target has replaced it by exec. */
static void end_replaced_target(
	struct hl_collector *c, uint64_t pid, const struct hl_region_reader *except)
{
	for (size_t i = 0; i < c->regions.len; i++) {
		struct hl_region_reader *r = c->regions.data[i];

		for (size_t k = 0; r != except && k < r->targets.len; k++)
			if (r->targets.data[k]->pid == pid)
				hl_target_exit_set_replaced(r, r->targets.data[k]);
	}
}

static void close_connection(struct hl_collector *c, const struct hl_connection *g)
{
	hl_wait_set_remove(&c->wait, g->fd);
	close(g->fd);
}

/* A program sends its hello at once. The connection that has been silent for longest is closed to
 * make room, so no number of idle connections can lock programs out. */
static void evict_oldest_connection(struct hl_collector *c)
{
	size_t oldest = 0;

	if (c->connections.len < CONNECTIONS_MAX)
		return;
	for (size_t i = 1; i < c->connections.len; i++)
		if (c->connections.data[i].since_ns < c->connections.data[oldest].since_ns)
			oldest = i;
	close_connection(c, &c->connections.data[oldest]);
	c->connections.data[oldest] = c->connections.data[--c->connections.len];
}

static void receive_hellos(struct hl_collector *c, uint64_t now)
{
	for (size_t i = 0; i < c->connections.len;) {
		struct hl_connection *g = &c->connections.data[i];
		ssize_t n = g->has_hello ? (ssize_t)sizeof(g->hello)
					 : recv(g->fd, &g->hello, sizeof(g->hello), MSG_DONTWAIT);
		int err = n > 0 ? admit_program(c, g->fd, &g->hello, n) : n < 0 ? -errno : -EPIPE;

		g->has_hello = n > 0;
		if (err == -EAGAIN && now - g->since_ns < HELLO_NS) {
			i++;
			continue;
		}
		if (!err) {
			const struct hl_region_reader *r = c->regions.data[c->regions.len - 1];

			end_replaced_target(c, r->pid, r);
		}
		close_connection(c, g);
		*g = c->connections.data[--c->connections.len];
	}
}

static void accept_connections(struct hl_collector *c, int listen_fd, uint64_t now)
{
	unsigned n_accepted = 0;
	int fd;

	while ((fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
		struct hl_connection g = {.fd = fd, .since_ns = now};
		struct ucred who;

		/* All users can see the socket's name, but only the allowed ones may occupy
		 * connections. */
		evict_oldest_connection(c);
		if (!is_allowed_peer(fd, &who) || hl_vec_push(&c->connections, g))
			close(fd);
		else
			hl_wait_set_add(&c->wait, fd, HL_WAIT_CONNECTION);
		/* Before new connections displace those that have sent a hello. */
		if (++n_accepted % (CONNECTIONS_MAX / 2) == 0)
			receive_hellos(c, now);
	}
}

void hl_collector_serve_connections(struct hl_collector *c, bool has_new, uint64_t now)
{
	for (int i = 0; has_new && c->start->listener && i < HL_LISTEN_SOCKETS; i++)
		if (c->start->listener->fds[i] >= 0)
			accept_connections(c, c->start->listener->fds[i], now);
	receive_hellos(c, now);
}
