/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_serve.c - the traces as a page in the browser, and over HTTP for programs.
 *
 * The server itself is views/web. This file has its options and messages.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/ctl/ctl_client.h"
#include "cli/options/symbol_options.h"
#include "cli/serve/browser.h"
#include "cli/serve/serve_control.h"
#include "cli/serve/serve_operands.h"
#include "util/terminal/progress.h"
#include "views/web/web.h"

#define PORT 7777

struct serve {
	struct hl_trace_opts common; /* must be the first two members */
	struct hl_symbol_options symbols;
	char *listen; /* the address of --listen; NULL: 127.0.0.1 */
	uint16_t port;
	HL_VEC(const char *) hosts;
	bool no_token, no_browser, endpoints;
	struct hl_serve_operands traces;
};
HL_SYMBOL_STATE_CHECK(struct serve);

static void init_serve(void *state)
{
	((struct serve *)state)->port = PORT;
}

#define LISTEN_EXPECTED \
	"an IP address and a port, such as 127.0.0.1:7777, 0.0.0.0:7777 or [::1]:7777"

/* ADDRESS:PORT, ADDRESS or :PORT; an address with colons is in brackets. */
static const char *set_listen(void *state, const char *value)
{
	struct serve *s = state;
	const char *colon = strrchr(value, ':'), *end = strchr(value, ']');
	unsigned long port = PORT;
	size_t len;

	if (colon && end && colon < end)
		colon = NULL;
	if (colon) {
		port = strtoul(colon + 1, NULL, 10);
		if (!colon[1] || strlen(colon) > 6 || port > 65535 ||
			strspn(colon + 1, "0123456789") != strlen(colon + 1))
			return LISTEN_EXPECTED;
	}
	len = colon ? (size_t)(colon - value) : strlen(value);
	if (value[0] == '[' && (!end || (size_t)(end - value) + 1 != len))
		return LISTEN_EXPECTED;
	free(s->listen);
	s->listen = value[0] == '[' ? strndup(value + 1, len - 2)
		    : len           ? strndup(value, len)
				    : NULL;
	s->port = (uint16_t)port;
	return NULL;
}

static const char *add_host(void *state, const char *value)
{
	return hl_vec_push(&((struct serve *)state)->hosts, value) ? "small enough for the memory"
								   : NULL;
}

static const char *set_no_token(void *state, const char *value)
{
	((struct serve *)state)->no_token = true;
	return NULL;
}

static const char *set_no_browser(void *state, const char *value)
{
	((struct serve *)state)->no_browser = true;
	return NULL;
}

static const char *set_endpoints(void *state, const char *value)
{
	((struct serve *)state)->endpoints = true;
	return NULL;
}

/* Called in any thread of the server. */
static int configure_model(void *arg, struct hl_model *m, bool for_people)
{
	struct serve *s = arg;

	return hl_symbol_options_apply(&s->symbols, m, !for_people) ? -ENOMEM : 0;
}

/* Called in a thread of the server. */
static int follow_process(void *arg, uint64_t pid)
{
	return hl_ctl_follow(pid);
}

/* A trace that cannot be read is named, and the others are served. */
static int print_problems(struct hl_web *web, size_t n)
{
	size_t bad = 0;

	for (size_t i = 0; i < n; i++) {
		const char *why = hl_web_problem(web, i);

		if (why)
			hl_cli_error("%s", why);
		bad += why != NULL;
	}
	if (bad < n)
		return 0;
	return HL_EXIT_IO;
}

static void print_address(const struct serve *s, const struct hl_web *web)
{
	if (s->port && hl_web_port(web) != s->port)
		hl_cli_info("port %u is taken; using %u", (unsigned)s->port,
			(unsigned)hl_web_port(web));
	if (s->no_token && !hl_web_is_loopback(s->listen))
		hl_cli_error("anyone who can reach this machine can read the traces (--no-token)");
	else if (!hl_web_is_loopback(s->listen))
		hl_cli_info("the connection is not encrypted: anyone on the network path can read "
			    "the token and the traces; ssh -L is safe");
	printf("%s\n", hl_web_url(web));
	fflush(stdout);
	hl_cli_info("serving %zu trace%s until Ctrl+C", s->traces.paths.len,
		s->traces.paths.len == 1 ? "" : "s");
}

/* The signals are blocked in all threads. */
static void wait_for_end(const sigset_t *ends)
{
	int sig;

	while (sigwait(ends, &sig) == EINTR)
		;
}

static int serve_traces(struct serve *s, const sigset_t *ends)
{
	struct hl_web_options options = {.address = s->listen,
		.port = s->port,
		.hosts = s->hosts.data,
		.n_hosts = s->hosts.len,
		.no_token = s->no_token,
		.files = s->traces.paths.data,
		.n_files = s->traces.paths.len,
		.configure = configure_model,
		.control = hl_serve_control,
		.follow = follow_process,
		.arg = s};
	struct hl_web_failure why;
	struct hl_web *web;
	char *page = NULL;
	int status;

	if (hl_web_start(&web, &options, &why)) {
		hl_cli_error("%s", why.text);
		return HL_EXIT_IO;
	}
	status = print_problems(web, options.n_files);
	if (!status) {
		print_address(s, web);
		if (!s->no_browser)
			page = hl_browser_open(hl_web_url(web));
		wait_for_end(ends);
	}
	hl_browser_forget(page);
	hl_web_stop(web);
	return status;
}

static int run_serve(void *state, int argc, char **argv)
{
	struct serve *s = state;
	sigset_t ends;
	int status;

	if (s->endpoints) {
		hl_web_write_endpoints(stdout);
		return HL_EXIT_OK;
	}
	if (!hl_web_is_built()) {
		hl_cli_error(
			"serve was not built, because libmicrohttpd was not installed: apt install "
			"libmicrohttpd-dev, and build again with -Dweb=enabled");
		return HL_EXIT_IO;
	}
	status = hl_serve_operands_find(&s->traces, argc, argv);
	if (status)
		return status;
	/* A trace may name any file of this machine. */
	s->symbols.sources.only_roots = !hl_web_is_loopback(s->listen);
	hl_progress_disable();
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &ends, NULL);
	return serve_traces(s, &ends);
}

static void fini_serve(void *state)
{
	struct serve *s = state;

	free(s->listen);
	hl_vec_free(&s->hosts);
	hl_serve_operands_fini(&s->traces);
	hl_symbol_options_fini(&s->symbols);
}

static const struct hl_opt serve_opts[] = {
	{0, "listen", "ADDRESS:PORT",
		"listen there (default 127.0.0.1:7777; if the port is taken, the next free one)",
		set_listen},
	{0, "host", "NAME", "also answer requests for this name of the machine; may be repeated",
		add_host},
	{0, "no-token", NULL, "answer every request, also without the token of the address",
		set_no_token},
	{0, "no-browser", NULL, "do not open the page in a browser", set_no_browser},
	{0, "endpoints", NULL, "print the endpoints as Markdown, and do not serve", set_endpoints},
	HL_SYMBOL_OPTS,
	HL_SOURCE_OPT,
	{0},
};

static const struct hl_example serve_examples[] = {
	{"", "the newest trace, in the browser"},
	{"app.hlt", "a trace and the other processes of its run"},
	{"traces/", "all traces of a directory"},
	{"--listen 0.0.0.0:8000 app.hlt", "for other machines"},
	{0},
};

const struct hl_cmd hl_cmd_serve = {
	.name = "serve",
	.summary = "show traces in the browser, and answer requests over HTTP",
	.usage = "[options] [TRACE|DIRECTORY...]",
	.examples = serve_examples,
	.about = "The address is printed, with a token that is new in each run. A browser that "
		 "opens it\n"
		 "keeps the token as a cookie. Other programs send it in a header:\n"
		 "  curl -H 'Authorization: Bearer TOKEN' http://127.0.0.1:7777/api/traces\n"
		 "/api lists the endpoints (docs/http-api.md), /metrics is for Prometheus.\n",
	.opts = serve_opts,
	.operand = HL_OPERAND_TRACE,
	.state_size = sizeof(struct serve),
	.init = init_serve,
	.run = run_serve,
	.fini = fini_serve,
};
