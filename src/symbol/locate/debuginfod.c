/* SPDX-License-Identifier: Apache-2.0 */
/*
 * debuginfod.c - debug files from the servers in DEBUGINFOD_URLS.
 *
 * libdebuginfod is loaded by the first request and not linked, so the library is not needed without
 * servers. It has a cache of its own for downloaded files and for failed requests. After a server
 * has not answered for some time, no server is queried again.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbol/locate/debuginfod_internal.h"
#include "util/mono_clock.h"

/* The default of DEBUGINFOD_TIMEOUT: seconds without any progress. */
#define TIMEOUT_S 10

struct hl_debuginfod {
	struct hl_symbols_config config; /* only the callbacks */
	void *lib, *client;
	bool disabled, timed_out;
	const char *what;     /* the file that is being downloaded */
	uint64_t progress_ns; /* time of the last progress */
	uint64_t timeout_ns;
	long received;

	void *(*begin)(void);
	void (*end)(void *client);
	int (*find_debuginfo)(void *client, const unsigned char *id, int len, char **path);
	void (*set_progressfn)(void *client, int (*fn)(void *client, long done, long all));
	const char *(*get_url)(void *client);
};

int hl_debuginfod_new(struct hl_debuginfod **out, const struct hl_symbols_config *c)
{
	struct hl_debuginfod *d = calloc(1, sizeof(*d));
	const char *limit = getenv("DEBUGINFOD_TIMEOUT");
	int seconds = limit ? atoi(limit) : 0;

	if (!d)
		return -ENOMEM;
	d->config.on_progress = c->on_progress;
	d->config.on_fetch_failed = c->on_fetch_failed;
	d->config.user = c->user;
	d->timeout_ns = (uint64_t)(seconds > 0 ? seconds : TIMEOUT_S) * 1000000000;
	*out = d;
	return 0;
}

void hl_debuginfod_free(struct hl_debuginfod *d)
{
	if (!d)
		return;
	if (d->client)
		d->end(d->client);
	/* The library stays loaded: unloading curl, which it uses, is not safe. */
	free(d);
}

static void disable(struct hl_debuginfod *d, const char *why)
{
	struct hl_strbuf text = {0};

	d->disabled = true;
	hl_strbuf_printf(&text, "cannot get debug information from debuginfod: %s", why);
	if (d->config.on_fetch_failed && hl_strbuf_error(&text) == 0)
		d->config.on_fetch_failed(d->config.user, hl_strbuf_str(&text));
	hl_strbuf_fini(&text);
}

/* A thread has one download at a time. */
static _Thread_local struct hl_debuginfod *current;

/* Called about once per second. A return value other than 0 stops the download. */
static int on_progress(void *client, long done, long all)
{
	struct hl_debuginfod *d = current;
	uint64_t now = hl_mono_ns();
	/* Until a server has answered, `done` only counts the calls. */
	bool answered = d->get_url(client) != NULL;

	if (answered && done != d->received) {
		d->received = done;
		d->progress_ns = now;
	}
	if (now - d->progress_ns > d->timeout_ns) {
		d->timed_out = true;
		return 1;
	}
	if (d->config.on_progress)
		d->config.on_progress(d->config.user, d->what,
			answered && done > 0 ? (uint64_t)done : 0,
			answered && all > 0 ? (uint64_t)all : 0);
	return 0;
}

static bool load_functions(struct hl_debuginfod *d)
{
	const struct {
		const char *name;
		void *to;
	} functions[] = {
		{"debuginfod_begin", &d->begin},
		{"debuginfod_end", &d->end},
		{"debuginfod_find_debuginfo", &d->find_debuginfo},
		{"debuginfod_set_progressfn", &d->set_progressfn},
		{"debuginfod_get_url", &d->get_url},
	};

	for (size_t i = 0; i < HL_ARRAY_LEN(functions); i++) {
		void *p = dlsym(d->lib, functions[i].name);

		if (!p)
			return false;
		memcpy(functions[i].to, &p, sizeof(p));
	}
	return true;
}

static bool start_client(struct hl_debuginfod *d)
{
	if (d->client)
		return true;
	d->lib = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!d->lib || !load_functions(d)) {
		disable(d, "libdebuginfod is not installed (Debian: apt install libdebuginfod1)");
		return false;
	}
	d->client = d->begin();
	if (!d->client) {
		disable(d, "its library cannot be initialized");
		return false;
	}
	d->set_progressfn(d->client, on_progress);
	return true;
}

static int handle_failure(struct hl_debuginfod *d, int err)
{
	char why[64];

	if (d->timed_out) {
		snprintf(why, sizeof(why), "nothing arrived for %u seconds",
			(unsigned)(d->timeout_ns / 1000000000));
		disable(d, why);
	} else if (err != -ENOENT) {
		disable(d, strerror(-err));
	}
	return -ENOENT;
}

int hl_debuginfod_find(
	struct hl_debuginfod *d, const char *what, const uint8_t *id, size_t len, char **path)
{
	int fd;

	if (!d || d->disabled || len < 4 || len > 64 || !start_client(d))
		return -ENOENT;
	d->what = what;
	d->timed_out = false;
	d->received = 0;
	d->progress_ns = hl_mono_ns();
	*path = NULL;
	current = d;
	fd = d->find_debuginfo(d->client, id, (int)len, path);
	current = NULL;
	if (d->config.on_progress)
		d->config.on_progress(d->config.user, NULL, 0, 0);
	if (fd < 0)
		return handle_failure(d, fd);
	close(fd);
	return *path ? 0 : -ENOENT;
}
