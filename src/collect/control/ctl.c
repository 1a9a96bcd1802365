/* SPDX-License-Identifier: Apache-2.0 */
/* ctl.c - see ctl.h. Runs in the first thread; nothing here blocks. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "collect/match/match.h"
#include "collect/control/ctl.h"
#include "collect/control/steering.h"
#include "collect/wait_set.h"
#include "ring/hello.h"
#include "util/procfs.h"

#define CLIENTS_MAX         256u
#define REQUEST_TIMEOUT_NS  UINT64_C(2000000000) /* then a client without a request is closed */
#define UNKNOWN_PID_WAIT_NS UINT64_C(500000000)  /* a process may be about to start */

size_t hl_ctl_name(char *buf, size_t n, uint64_t inode, unsigned attempt)
{
	return (size_t)snprintf(buf, n, HL_CTL_PREFIX "%" PRIu64 "-%u", inode, attempt);
}

int hl_ctl_listen(uint64_t inode)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), err = 0;

	if (fd < 0)
		return -errno;
	for (unsigned i = 0; i < HL_CTL_TRIES; i++) {
		struct sockaddr_un addr = {.sun_family = AF_UNIX};
		size_t len = hl_ctl_name(addr.sun_path + 1, sizeof(addr.sun_path) - 1, inode, i);

		err = bind(fd, (struct sockaddr *)&addr,
			(socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + len));
		if (err == 0)
			err = listen(fd, SOMAXCONN);
		if (err == 0)
			return fd;
		err = -errno;
		if (err != -EADDRINUSE)
			break;
	}
	close(fd);
	return err;
}

static struct hl_target *find_target(const struct hl_region_reader *r, uint64_t pid)
{
	for (size_t i = 0; i < r->targets.len; i++)
		if (r->targets.data[i]->pid == pid && !r->targets.data[i]->exit.gone)
			return r->targets.data[i];
	return NULL;
}

static uint64_t own_rss(void)
{
	unsigned long long size, resident;
	char text[128];

	if (!hl_procfs_read((uint64_t)getpid(), "statm", text, sizeof(text)) ||
		sscanf(text, "%llu %llu", &size, &resident) != 2)
		return 0;
	return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void fill_status(
	struct hl_ctl_answer *a, const struct hl_region_reader *r, const struct hl_target *p)
{
	a->mode = r->steering.mode;
	a->paused = r->steering.paused;
	a->sample_bytes = r->steering.mode == HL_MODE_SAMPLE ? r->steering.sample_bytes : 0;
	a->collector_pid = (uint64_t)getpid();
	a->collector_bytes = own_rss();
	if (!p)
		return;
	a->stopped = p->control.stopped;
	a->pending = p->control.pending == HL_CONTROL_STOP    ? HL_CTL_STOP
		     : p->control.pending == HL_CONTROL_START ? HL_CTL_RESUME
							      : 0;
	a->paused |= p->control.paused;
	hl_writer_live(p->writer, &a->live_bytes, &a->live_blocks);
	a->events = hl_writer_events(p->writer);
	a->dropped = hl_target_counters(p).dropped_events;
	hl_trace_output_status(
		p->output, a->path, sizeof(a->path), &a->file_bytes, &a->start_unix_ns);
}

static int add_mark(struct hl_region_reader *r, struct hl_target *p, uint8_t kind, const char *text)
{
	struct hl_extra extra = {.kind = kind,
		.value = kind == HL_EXTRA_SNAPSHOT ? HL_SNAPSHOT_CTL : 0,
		.node = HL_NODE_NONE};

	if (!p || !p->match.streams.len)
		return -ESRCH;
	hl_target_flush(p);
	hl_match_extra(p, p->match.streams.data[0], &extra, text, (uint32_t)strlen(text),
		r->last_scan_stamp);
	return 0;
}

static int execute_steering(struct hl_region_reader *r, const struct hl_ctl_request *q)
{
	switch (q->verb) {
	case HL_CTL_PAUSE:
		hl_steering_pause(r, true);
		return 0;
	case HL_CTL_RESUME:
		hl_steering_pause(r, false);
		hl_steering_start(r, true);
		return 0;
	case HL_CTL_STOP:
		hl_steering_start(r, false);
		return 0;
	}
	if (q->mode > HL_MODE_TAGS || q->sample_bytes > HL_SAMPLE_MAX)
		return -EINVAL;
	return hl_steering_set_mode(r, (enum hl_mode)q->mode, q->sample_bytes);
}

static int execute_request(
	struct hl_region_reader *r, struct hl_target *p, const struct hl_ctl_request *q)
{
	switch (q->verb) {
	case HL_CTL_STATUS:
	case HL_CTL_FOLLOW:
		return p ? 0 : -ESRCH;
	case HL_CTL_PAUSE:
	case HL_CTL_RESUME:
	case HL_CTL_STOP:
	case HL_CTL_MODE:
		return r->steering.mode == HL_MODE_TAGS ? -EOPNOTSUPP : execute_steering(r, q);
	case HL_CTL_MARK:
		return add_mark(r, p, HL_EXTRA_MARK, q->text);
	case HL_CTL_SNAPSHOT:
		return add_mark(r, p, HL_EXTRA_SNAPSHOT, q->text);
	}
	return -EINVAL;
}

/* A client that did not wait for the answer has reported a failure to its user: do not execute its
 * request. */
static bool has_disconnected(const struct hl_ctl_client *c)
{
	struct pollfd p = {.fd = c->fd};

	return poll(&p, 1, 0) > 0 && p.revents & (POLLHUP | POLLERR);
}

static void log_request(
	const struct hl_region_reader *r, const struct hl_ctl_request *q, int32_t error)
{
	static const char *const verbs[HL_CTL_VERBS] = {
		"status", "pause", "resume", "stop", "mode", "mark", "snapshot", "rotate"};

	const char *verb = q->verb < HL_CTL_VERBS     ? verbs[q->verb]
			   : q->verb == HL_CTL_FOLLOW ? "follow"
						      : "?";

	hl_log_file_write(&r->log, q->verb == HL_CTL_STATUS ? HL_LEVEL_DEBUG : HL_LEVEL_INFO,
		"ctl %s for process %llu: %s", verb, (unsigned long long)q->pid,
		error ? strerror(-error) : "done");
}

/* -EINPROGRESS: call it again in the next round. */
static int execute_rotation(
	struct hl_region_reader *r, struct hl_target *p, struct hl_ctl_client *c, uint64_t now)
{
	if (r->steering.mode == HL_MODE_TAGS)
		return -EOPNOTSUPP;
	if (!c->rotation)
		c->rotation = calloc(1, sizeof(*c->rotation));
	if (!c->rotation)
		return -ENOMEM;
	if (!p) /* it has ended since; the next file has its end */
		return c->rotation->stage == HL_ROTATE_CLOSING ? 0 : -ESRCH;
	return hl_rotate_request_step(c->rotation, p, now);
}

/* False: not yet. */
static bool answer_client(struct hl_region_reader *r, struct hl_ctl_client *c, uint64_t now)
{
	struct hl_ctl_answer a = {.magic = HL_CTL_MAGIC, .version = HL_CTL_VERSION};
	struct hl_target *p = find_target(r, c->request.pid);

	if (has_disconnected(c)) {
		if (p && c->rotation)
			hl_rotate_request_cancel(c->rotation, p);
		return true;
	}
	if (!p && !c->rotation && now - c->since_ns < UNKNOWN_PID_WAIT_NS)
		return false;
	a.error = c->request.verb == HL_CTL_ROTATE ? execute_rotation(r, p, c, now)
						   : execute_request(r, p, &c->request);
	if (a.error == -EINPROGRESS)
		return false;
	log_request(r, &c->request, a.error);
	fill_status(&a, r, p);
	if (c->rotation)
		snprintf(a.closed, sizeof(a.closed), "%s", c->rotation->closed);
	(void)send(c->fd, &a, sizeof(a), MSG_DONTWAIT | MSG_NOSIGNAL);
	c->follows = c->request.verb == HL_CTL_FOLLOW && !a.error;
	c->has_request = false;
	return !c->follows;
}

/* A follower that sends more than its request is disconnected, too. */
static bool is_following(const struct hl_ctl_client *c, bool has_data)
{
	char byte;

	return !has_data || (recv(c->fd, &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN);
}

/* An invalid request gets no answer. False: disconnect the client. */
static bool receive_request(struct hl_ctl_client *c, uint64_t now)
{
	struct hl_ctl_request *q = &c->request;
	ssize_t n = recv(c->fd, q, sizeof(*q), MSG_DONTWAIT | MSG_TRUNC);

	if (n < 0)
		return errno == EAGAIN && now - c->since_ns < REQUEST_TIMEOUT_NS;
	c->has_request =
		n == sizeof(*q) && q->magic == HL_CTL_MAGIC && q->version == HL_CTL_VERSION;
	q->text[HL_CTL_TEXT_MAX] = '\0';
	return c->has_request;
}

static struct hl_region_reader *find_region(
	struct hl_region_reader *const *regions, size_t n, uint64_t inode)
{
	for (size_t i = 0; i < n; i++)
		if (regions[i]->inode == inode)
			return regions[i];
	return NULL;
}

static void close_client(struct hl_ctl_server *s, const struct hl_ctl_client *c)
{
	hl_wait_set_remove(s->wait, c->fd);
	close(c->fd);
	free(c->rotation);
}

/* Marks the targets that are followed. */
static void mark_followed(
	const struct hl_ctl_server *s, struct hl_region_reader *const *regions, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < regions[i]->targets.len; k++)
			hl_retain_set_followed(&regions[i]->targets.data[k]->retain, false);
	for (size_t i = 0; i < s->clients.len; i++) {
		const struct hl_ctl_client *c = &s->clients.data[i];
		struct hl_region_reader *r = find_region(regions, n, c->region);
		struct hl_target *p = c->follows && r ? find_target(r, c->request.pid) : NULL;

		if (p)
			hl_retain_set_followed(&p->retain, true);
	}
}

/* False: disconnect the client. */
static bool serve_client(
	struct hl_region_reader *r, struct hl_ctl_client *c, bool has_data, uint64_t now)
{
	if (c->follows)
		return is_following(c, has_data);
	return c->has_request ? !answer_client(r, c, now) : receive_request(c, now);
}

static void serve_clients(struct hl_ctl_server *s, struct hl_region_reader *const *regions,
	size_t n, bool has_data, uint64_t now)
{
	for (size_t i = 0; i < s->clients.len;) {
		struct hl_ctl_client *c = &s->clients.data[i];
		struct hl_region_reader *r = find_region(regions, n, c->region);

		if (r && serve_client(r, c, has_data, now)) {
			i++;
			continue;
		}
		close_client(s, c);
		*c = s->clients.data[--s->clients.len];
	}
}

static bool is_allowed_user(int fd)
{
	struct ucred who;
	socklen_t len = sizeof(who);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) == 0 &&
	       (who.uid == 0 || who.uid == geteuid());
}

/* Clients that send nothing cannot block others for longer than one round. */
static void evict_client(struct hl_ctl_server *s)
{
	if (s->clients.len < CLIENTS_MAX)
		return;
	close_client(s, &s->clients.data[0]);
	s->clients.data[0] = s->clients.data[--s->clients.len];
}

static void accept_clients(struct hl_ctl_server *s, const struct hl_region_reader *r, uint64_t now)
{
	/* Limits the number per round, because the rings must be scanned. */
	for (unsigned i = 0; i < CLIENTS_MAX && r->ctl_fd >= 0; i++) {
		struct hl_ctl_client c = {.since_ns = now, .region = r->inode};

		c.fd = accept4(r->ctl_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (c.fd < 0)
			return;
		evict_client(s);
		if (!is_allowed_user(c.fd) || hl_vec_push(&s->clients, c))
			close(c.fd);
		else
			hl_wait_set_add(s->wait, c.fd, HL_WAIT_CTL_CLIENT);
	}
}

void hl_ctl_serve(struct hl_ctl_server *s, struct hl_region_reader *const *regions, size_t n,
	bool has_new, bool has_data, uint64_t now)
{
	for (size_t i = 0; has_new && i < n; i++)
		accept_clients(s, regions[i], now);
	if (!s->clients.len)
		return;
	serve_clients(s, regions, n, has_data, now);
	mark_followed(s, regions, n);
}

bool hl_ctl_is_waiting(const struct hl_ctl_server *s)
{
	for (size_t i = 0; i < s->clients.len; i++)
		if (!s->clients.data[i].follows)
			return true;
	return false;
}

bool hl_ctl_has_request(const struct hl_ctl_server *s)
{
	for (size_t i = 0; i < s->clients.len; i++)
		if (s->clients.data[i].has_request)
			return true;
	return false;
}

void hl_ctl_fini(struct hl_ctl_server *s)
{
	for (size_t i = 0; i < s->clients.len; i++) {
		close(s->clients.data[i].fd);
		free(s->clients.data[i].rotation);
	}
	hl_vec_free(&s->clients);
}
