/* SPDX-License-Identifier: Apache-2.0 */
/*
 * web.h - the traces of one command as a page and as an interface for programs, over HTTP.
 *
 * An endpoint is a row (endpoints.c). Its handler computes nothing: a URL becomes a request
 * (request/request.h), the request a plan, and its result is rendered by views/json or
 * views/export. Each answer is bounded. Everything that a client sends, and everything in a trace,
 * is hostile. The module is built only where libmicrohttpd is installed (option `web`).
 */
#ifndef HL_VIEWS_WEB_WEB_H
#define HL_VIEWS_WEB_WEB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "model/model.h"

struct hl_web;

/* A command for the recording of a running program. */
struct hl_web_control {
	uint64_t pid;
	/* Of the trace: a command is executed only if the recording still writes this file. */
	dev_t dev;
	ino_t ino;
	bool is_running;
	const char *verb;         /* of `ctl`; NULL: only the state */
	const char *mode, *label; /* NULL: none */
	int timeout_ms;           /* 0: the default */
};

struct hl_web_control_answer {
	char why[640];     /* one sentence, after an error */
	const char *state; /* "recording", "paused" or "stopped" */
	/* The verb that takes effect at the program's next call of the allocator; NULL: none. */
	const char *pending;
	char *status; /* the object of `ctl --json`, to be freed */
};

/* Strings belong to the caller and must stay valid until hl_web_stop(). */
struct hl_web_options {
	const char *address;      /* an IP address; NULL: 127.0.0.1 */
	uint16_t port;            /* the first one to try; 0: any */
	const char *const *hosts; /* further names by which clients may call this server */
	size_t n_hosts;
	bool no_token;      /* every client is answered */
	char *const *files; /* the paths of the traces */
	size_t n_files;
	/* Called for each model before its first query, in any thread: sets where names come from.
	 * Returns 0 or -errno. */
	int (*configure)(void *arg, struct hl_model *m, bool for_people);
	/* Executes a command, in any thread. Returns 0, or -errno with a->why; -EINVAL: the words
	 * are wrong. NULL: recordings cannot be controlled. */
	int (*control)(void *arg, const struct hl_web_control *c, struct hl_web_control_answer *a);
	/* Connects to the collector of a process as a follower. Returns a descriptor that the
	 * server closes, or -1. NULL: followers are not announced. */
	int (*follow)(void *arg, uint64_t pid);
	void *arg;
};

struct hl_web_failure {
	char text[512]; /* one sentence */
};

bool hl_web_is_built(void);
/* Is it an address that only this machine can reach? */
bool hl_web_is_loopback(const char *address);
/* Returns 0, or -errno with *why set. If the port is taken, the next free one is used. */
int hl_web_start(
	struct hl_web **out, const struct hl_web_options *options, struct hl_web_failure *why);
/* Cancels all queries, closes all connections and frees it. */
void hl_web_stop(struct hl_web *w);
/* The address of the page, with the token. */
const char *hl_web_url(const struct hl_web *w);
uint16_t hl_web_port(const struct hl_web *w);
/* Why file i cannot be served, as one sentence; NULL: it can. The sentence is valid until the next
 * call. */
const char *hl_web_problem(struct hl_web *w, size_t i);

/* Writes the document of all endpoints, docs/http-api.md. */
void hl_web_write_endpoints(FILE *out);

#endif
