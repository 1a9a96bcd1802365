/*
 * debuginfod.c - debug files from the servers in DEBUGINFOD_URLS.
 *
 * libdebuginfod is loaded when the first file is asked for and not linked: who has no servers
 * needs no library. It keeps what it fetched, and what it did not find, in a cache of its own. A
 * server that does not answer is given up after a while, and then no server is asked again.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "symbol/debuginfod_internal.h"

/* Without DEBUGINFOD_TIMEOUT: seconds in which something must arrive. */
#define TIMEOUT_S 10

struct hl_debuginfod {
	struct hl_symbols_config config; /* what is called back */
	void *lib, *client;
	bool given_up, late;
	const char *what;  /* being fetched */
	uint64_t moved_ns; /* when something arrived last */
	uint64_t limit_ns;
	long arrived;

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
	d->config.fetching = c->fetching;
	d->config.fetch_failed = c->fetch_failed;
	d->config.user = c->user;
	d->limit_ns = (uint64_t)(seconds > 0 ? seconds : TIMEOUT_S) * 1000000000;
	*out = d;
	return 0;
}

void hl_debuginfod_free(struct hl_debuginfod *d)
{
	if (!d)
		return;
	if (d->client)
		d->end(d->client);
	/* The library stays loaded: curl below it does not like to go. */
	free(d);
}

static void give_up(struct hl_debuginfod *d, const char *why)
{
	struct hl_strbuf text = {0};

	d->given_up = true;
	hl_strbuf_printf(&text, "no debug information from debuginfod: %s", why);
	if (d->config.fetch_failed && hl_strbuf_error(&text) == 0)
		d->config.fetch_failed(d->config.user, hl_strbuf_str(&text));
	hl_strbuf_fini(&text);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* One fetch runs at a time. */
static struct hl_debuginfod *fetching;

/* Called about once a second. Not 0: stop. */
static int on_progress(void *client, long done, long all)
{
	struct hl_debuginfod *d = fetching;
	uint64_t now = now_ns();
	/* Until a server has answered, "done" only counts the calls. */
	bool answered = d->get_url(client) != NULL;

	if (answered && done != d->arrived) {
		d->arrived = done;
		d->moved_ns = now;
	}
	if (now - d->moved_ns > d->limit_ns) {
		d->late = true;
		return 1;
	}
	if (d->config.fetching)
		d->config.fetching(d->config.user, d->what,
			answered && done > 0 ? (uint64_t)done : 0,
			answered && all > 0 ? (uint64_t)all : 0);
	return 0;
}

static bool load_calls(struct hl_debuginfod *d)
{
	const struct {
		const char *name;
		void *to;
	} calls[] = {
		{"debuginfod_begin", &d->begin},
		{"debuginfod_end", &d->end},
		{"debuginfod_find_debuginfo", &d->find_debuginfo},
		{"debuginfod_set_progressfn", &d->set_progressfn},
		{"debuginfod_get_url", &d->get_url},
	};

	for (size_t i = 0; i < HL_ARRAY_LEN(calls); i++) {
		void *p = dlsym(d->lib, calls[i].name);

		if (!p)
			return false;
		memcpy(calls[i].to, &p, sizeof(p));
	}
	return true;
}

static bool start(struct hl_debuginfod *d)
{
	if (d->client)
		return true;
	d->lib = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!d->lib || !load_calls(d)) {
		give_up(d, "libdebuginfod is not installed (Debian: apt install libdebuginfod1)");
		return false;
	}
	d->client = d->begin();
	if (!d->client) {
		give_up(d, "its library does not start");
		return false;
	}
	d->set_progressfn(d->client, on_progress);
	return true;
}

static int failed(struct hl_debuginfod *d, int err)
{
	char why[64];

	if (d->late) {
		snprintf(why, sizeof(why), "nothing arrived for %u seconds",
			(unsigned)(d->limit_ns / 1000000000));
		give_up(d, why);
	} else if (err != -ENOENT) {
		give_up(d, strerror(-err));
	}
	return -ENOENT;
}

int hl_debuginfod_find(
	struct hl_debuginfod *d, const char *what, const uint8_t *id, size_t len, char **path)
{
	int fd;

	if (!d || d->given_up || len < 4 || len > 64 || !start(d))
		return -ENOENT;
	d->what = what;
	d->late = false;
	d->arrived = 0;
	d->moved_ns = now_ns();
	*path = NULL;
	fetching = d;
	fd = d->find_debuginfo(d->client, id, (int)len, path);
	fetching = NULL;
	if (d->config.fetching)
		d->config.fetching(d->config.user, NULL, 0, 0);
	if (fd < 0)
		return failed(d, fd);
	close(fd);
	return *path ? 0 : -ENOENT;
}
