/* SPDX-License-Identifier: Apache-2.0 */
/*
 * web_socket.c - the address and the port where the server listens.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "views/web/web_internal.h"

#define PORTS_TRIED 64

static int try_port(const union hl_web_address *where, socklen_t len, uint16_t port, int *out)
{
	union hl_web_address a = *where;
	int one = 1, fd = socket(a.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0), err = 0;

	if (fd < 0)
		return -errno;
	if (a.any.sa_family == AF_INET)
		a.v4.sin_port = htons(port);
	else
		a.v6.sin6_port = htons(port);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (a.any.sa_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one));
	if (bind(fd, &a.any, len) < 0 || listen(fd, SOMAXCONN) < 0) {
		err = -errno;
		close(fd);
	} else {
		*out = fd;
	}
	return err;
}

int hl_web_socket_open(struct hl_web *w)
{
	union hl_web_address where, got;
	socklen_t len, got_len = sizeof(got);
	const struct hl_web_options *o = w->options;
	int fd = -1, err = -EADDRINUSE;

	if (!hl_web_address_parse(o->address ? o->address : "127.0.0.1", &where, &len))
		return -EINVAL;
	for (unsigned i = 0; i < PORTS_TRIED && err == -EADDRINUSE; i++) {
		unsigned port = o->port ? o->port + i : 0;

		err = try_port(&where, len, port <= 65535 ? (uint16_t)port : 0, &fd);
	}
	if (err)
		return err;
	if (getsockname(fd, &got.any, &got_len) < 0) {
		close(fd);
		return -errno;
	}
	w->port = ntohs(got.any.sa_family == AF_INET ? got.v4.sin_port : got.v6.sin6_port);
	return fd;
}

/* 0.0.0.0 and :: are no addresses to visit. */
void hl_web_make_url(struct hl_web *w)
{
	const char *address = w->options->address ? w->options->address : "127.0.0.1";
	bool v6 = strchr(address, ':') != NULL;

	if (strcmp(address, "0.0.0.0") == 0)
		address = "127.0.0.1";
	else if (strcmp(address, "::") == 0)
		address = "::1";
	snprintf(w->url, sizeof(w->url), "http://%s%s%s:%u/%s%s", v6 ? "[" : "", address,
		v6 ? "]" : "", (unsigned)w->port, w->access.token[0] ? "?token=" : "",
		w->access.token);
}
