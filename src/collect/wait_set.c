/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wait_set.c - see wait_set.h.
 *
 * epoll_wait() sleeps for milliseconds, and epoll_pwait2() needs Linux 5.11. So the sleep is a
 * ppoll() of the epoll descriptor; the kinds are read only if it is ready.
 */
#include "collect/wait_set.h"

#include <poll.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "base/attr.h"
#include "collect/descriptor_budget.h"

void hl_wait_set_init(struct hl_wait_set *s)
{
	s->epoll_fd = hl_fds_keep_optional(epoll_create1(EPOLL_CLOEXEC));
	s->incomplete = s->epoll_fd < 0;
}

void hl_wait_set_fini(struct hl_wait_set *s)
{
	if (s->epoll_fd >= 0)
		close(s->epoll_fd);
}

void hl_wait_set_add(struct hl_wait_set *s, int fd, enum hl_wait_kind kind)
{
	struct epoll_event e = {.events = EPOLLIN, .data.u32 = (uint32_t)kind};

	if (s && fd >= 0 && epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, fd, &e) < 0)
		s->incomplete = true;
}

void hl_wait_set_remove(struct hl_wait_set *s, int fd)
{
	if (s && fd >= 0 && s->epoll_fd >= 0)
		(void)epoll_ctl(s->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
}

static uint32_t read_kinds(const struct hl_wait_set *s)
{
	struct epoll_event events[64];
	int n = epoll_wait(s->epoll_fd, events, (int)HL_ARRAY_LEN(events), 0);
	uint32_t kinds = 0;

	for (int i = 0; i < n; i++)
		kinds |= events[i].data.u32;
	return kinds;
}

uint32_t hl_wait_set_wait(struct hl_wait_set *s, uint32_t sleep_ns)
{
	struct pollfd p = {.fd = s->epoll_fd, .events = POLLIN};
	struct timespec ts = {.tv_nsec = (long)sleep_ns};

	return ppoll(&p, 1, &ts, NULL) > 0 ? read_kinds(s) : 0;
}
