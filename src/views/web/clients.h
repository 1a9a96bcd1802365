/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clients.h - the connections, and the time that each may take for its next step.
 *
 * libmicrohttpd limits only the time without any byte, so a client could send a byte now and then
 * for ever. A thread of its own ends connections whose time is over.
 */
#ifndef HL_VIEWS_WEB_CLIENTS_H
#define HL_VIEWS_WEB_CLIENTS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define HL_WEB_CLIENTS_MAX 256

struct hl_web_client {
	int fd;
	uint64_t deadline_ns; /* 0: none; under the lock of the clients */
	struct hl_web_client *next;
};

struct hl_web_clients {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	pthread_t thread;
	struct hl_web_client *first;
	bool stopping, started;
};

/* Returns 0 or -errno. */
int hl_web_clients_start(struct hl_web_clients *c);
/* Ends all connections and the thread. Connections that come later are ended, too. */
void hl_web_clients_stop(struct hl_web_clients *c);
void hl_web_clients_fini(struct hl_web_clients *c);
/* NULL: no memory. */
struct hl_web_client *hl_web_client_add(struct hl_web_clients *c, int fd);
void hl_web_client_remove(struct hl_web_clients *c, struct hl_web_client *client);
/* Its next step must be done within this many seconds; 0: no limit. */
void hl_web_client_allow(struct hl_web_clients *c, struct hl_web_client *client, unsigned seconds);
/* Has the client closed its connection? */
bool hl_web_client_is_gone(const struct hl_web_client *client);

#endif
