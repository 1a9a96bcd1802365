/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server.c - requests over HTTP, by libmicrohttpd with a thread for each connection.
 *
 * A request is checked before anything else: the names in Host and Origin, then the token. Bodies
 * are never read. An answer is complete before its first byte is sent, or it is a stream.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "views/web/web_response.h"

/* Seconds. */
#define HEADERS_TIME 10 /* from a new connection to the end of its first request's headers */
#define IDLE_TIME    30 /* to the end of the headers of the next request */

#define MEMORY_MAX  (32u << 10) /* for the headers of a request */
#define STACK_BYTES (2u << 20)
#define PARAMS_MAX  64

struct http {
	struct MHD_Daemon *daemon;
	struct hl_web_clients clients;
};

/* --- queries --- */

static bool is_gone(void *arg)
{
	const struct hl_web_call *x = arg;

	return hl_web_client_is_gone(x->client) || atomic_load(&x->w->stopping);
}

static enum MHD_Result answer_stream(struct hl_web_call *x)
{
	struct hl_web_stream *s;
	enum MHD_Result result;
	int err = hl_web_stream_start(&s, x->q);

	if (err)
		return hl_web_send_text(x, 503, "there are not enough resources; try again\n");
	x->q = NULL;
	if (hl_web_stream_has_begun(s, is_gone, x))
		return hl_web_send_stream(x, s);
	result = hl_web_send_error(x, hl_web_stream_query(s));
	hl_web_stream_free(s);
	return result;
}

/* Runs the query in this thread. */
static enum MHD_Result answer_document(struct hl_web_call *x)
{
	struct hl_web_query *q = x->q;
	char *text = NULL;
	size_t len = 0;
	int err;

	q->out = open_memstream(&text, &len);
	if (!q->out)
		return MHD_NO;
	q->is_gone = is_gone;
	q->gone_arg = x;
	err = hl_web_query_run(q);
	if (fclose(q->out))
		err = err ? err : -ENOMEM;
	if (!err && len > HL_WEB_BYTES_MAX + 4096) {
		err = -E2BIG;
		q->status = 422;
		snprintf(q->error, sizeof(q->error), "the answer without its rows is too long");
	}
	if (!err)
		return hl_web_send_document(x, q, text, len);
	free(text);
	return hl_web_send_error(x, q);
}

/* --- requests --- */

static enum MHD_Result add_pair(void *arg, enum MHD_ValueKind kind, const char *key, size_t key_len,
	const char *value, size_t value_len)
{
	struct hl_web_call *x = arg;
	struct hl_web_pair *p;

	if (key_len == 5 && memcmp(key, "token", 5) == 0)
		return MHD_YES;
	x->malformed = strlen(key) != key_len || (value && strlen(value) != value_len) ||
		       x->q->pairs.len >= PARAMS_MAX ||
		       hl_vec_push(&x->q->pairs, ((struct hl_web_pair){0}));
	if (x->malformed)
		return MHD_NO;
	p = &x->q->pairs.data[x->q->pairs.len - 1];
	p->key = strdup(key);
	p->value = value ? strdup(value) : NULL;
	x->malformed = !p->key || (value && !p->value);
	return x->malformed ? MHD_NO : MHD_YES;
}

/* Is the request to be answered by events? */
static bool wants_events(const struct hl_web_call *x)
{
	return x->q->trace && !x->q->endpoint->streams &&
	       hl_web_header_has(x, "Accept", "text/event-stream");
}

static enum MHD_Result refuse(struct hl_web_call *x, unsigned status, const char *text)
{
	x->q->status = status;
	snprintf(x->q->error, sizeof(x->q->error), "%s", text);
	return hl_web_send_error(x, x->q);
}

static enum MHD_Result answer_query(struct hl_web_call *x, unsigned trace)
{
	struct hl_web_query *q = x->q;

	if (q->endpoint->controls && !hl_web_access_control(hl_web_header(x, "Authorization"),
					     hl_web_header(x, "Origin")))
		return refuse(x, 403,
			"a command needs the header Authorization: Bearer TOKEN, or it must come "
			"from the page of this server");
	q->trace = trace ? hl_web_trace_find(x->w, trace) : NULL;
	if (trace && !q->trace)
		return refuse(x, 404, "there is no trace of this number; /api/traces lists all");
	MHD_get_connection_values_n(x->c, MHD_GET_ARGUMENT_KIND, add_pair, x);
	if (x->malformed)
		return refuse(x, 400, "the parameters are malformed, or there are too many");
	if (hl_web_query_begin(q))
		return hl_web_send_error(x, q);
	q->shows_progress = wants_events(x);
	/* The end of a stream would be sent as its body. */
	if ((q->endpoint->streams || q->shows_progress) && strcmp(x->method, "HEAD") == 0)
		return refuse(x, 405, "a stream has no length that is known before; use GET");
	if (q->endpoint->streams || q->shows_progress)
		return answer_stream(x);
	if (hl_web_asset_of(q->endpoint))
		return hl_web_send_asset(x, q);
	return answer_document(x);
}

static enum MHD_Result answer_path(struct hl_web_call *x)
{
	struct hl_web_query *q = calloc(1, sizeof(*q));
	enum MHD_Result result;
	const char *allowed;
	unsigned trace = 0;

	if (!q)
		return MHD_NO;
	q->web = x->w;
	q->endpoint = hl_web_endpoint_find(x->method, x->path, &trace, q->word, &allowed);
	if (!q->endpoint) {
		free(q);
		return allowed ? hl_web_send_text(
					 x, 405, "this method is not allowed here; see /api\n")
			       : hl_web_send_text(x, 404,
					 "there is nothing here; /api lists what there is\n");
	}
	x->q = q;
	result = answer_query(x, trace);
	if (x->q) {
		hl_web_query_fini(x->q);
		free(x->q);
	}
	return result;
}

static enum MHD_Result count_host(
	void *arg, enum MHD_ValueKind kind, const char *key, const char *value)
{
	*(unsigned *)arg += strcasecmp(key, "Host") == 0;
	return MHD_YES;
}

static enum MHD_Result answer(struct hl_web_call *x)
{
	const char *token = MHD_lookup_connection_value(x->c, MHD_GET_ARGUMENT_KIND, "token");
	enum hl_web_grant grant;
	unsigned hosts = 0;

	MHD_get_connection_values(x->c, MHD_HEADER_KIND, count_host, &hosts);
	x->host = hl_web_header(x, "Host");
	if (hosts != 1 || !hl_web_access_host(&x->w->access, x->host))
		return hl_web_send_text(x, 403,
			"the name in the header Host is not one of this server; use its address, "
			"or start it with --host NAME\n");
	if (!hl_web_access_origin(hl_web_header(x, "Origin"), x->host))
		return hl_web_send_text(x, 403, "requests of other sites are refused\n");
	grant = hl_web_access_check(&x->w->access, hl_web_header(x, "Authorization"),
		hl_web_header(x, "Cookie"), token);
	if (grant == HL_WEB_REFUSED)
		return hl_web_send_text(x, 401,
			"the token is missing or wrong: open the address that heaplapse serve has "
			"printed, or send its token as Authorization: Bearer TOKEN\n");
	if (grant == HL_WEB_GRANTED_BY_URL && strcmp(x->path, "/") == 0)
		return hl_web_send_cookie(x);
	return answer_path(x);
}

/* libmicrohttpd ends a path at %00. */
static char bad_uri;
static void *on_uri(void *arg, const char *uri, struct MHD_Connection *c)
{
	return strstr(uri, "%00") ? &bad_uri : NULL;
}

static bool has_body(const struct hl_web_call *x)
{
	const char *length = hl_web_header(x, "Content-Length");

	return hl_web_header(x, "Transfer-Encoding") || (length && strcmp(length, "0") != 0);
}

static enum MHD_Result on_request(void *arg, struct MHD_Connection *c, const char *url,
	const char *method, const char *version, const char *data, size_t *data_size, void **state)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	struct hl_web *w = arg;
	struct hl_web_call x = {.w = w,
		.clients = &((struct http *)w->http)->clients,
		.c = c,
		.method = method,
		.path = url};

	x.client = info ? info->socket_context : NULL;
	if (!x.client)
		return MHD_NO;
	/* An answer to the first call ends the connection, which is right for a body only. */
	if (!*state && !has_body(&x)) {
		*state = x.client;
		return MHD_YES;
	}
	hl_web_client_allow(x.clients, x.client, 0);
	if (*state == &bad_uri)
		return hl_web_send_text(&x, 400, "an address has no NUL\n");
	return answer(&x);
}

static void on_connection(void *arg, struct MHD_Connection *c, void **context,
	enum MHD_ConnectionNotificationCode what)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct http *http = ((struct hl_web *)arg)->http;

	if (what == MHD_CONNECTION_NOTIFY_STARTED && info) {
		*context = hl_web_client_add(&http->clients, info->connect_fd);
		if (*context)
			hl_web_client_allow(&http->clients, *context, HEADERS_TIME);
	} else if (*context) {
		hl_web_client_remove(&http->clients, *context);
		*context = NULL;
	}
}

static void on_completed(
	void *arg, struct MHD_Connection *c, void **state, enum MHD_RequestTerminationCode why)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	struct http *http = ((struct hl_web *)arg)->http;

	if (info && info->socket_context)
		hl_web_client_allow(&http->clients, info->socket_context, IDLE_TIME);
}

static void ignore_message(void *arg, const char *fmt, va_list args)
{
}

/* --- start and stop --- */

static int start_http(struct hl_web *w, int fd)
{
	struct http *http = calloc(1, sizeof(*http));
	int err;

	if (!http)
		return -ENOMEM;
	w->http = http;
	err = hl_web_clients_start(&http->clients);
	if (err)
		return err;
	http->daemon = MHD_start_daemon(MHD_USE_THREAD_PER_CONNECTION |
						MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL |
						MHD_USE_ITC | MHD_USE_ERROR_LOG,
		w->port, NULL, NULL, on_request, w, MHD_OPTION_EXTERNAL_LOGGER, ignore_message,
		NULL, MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
		(unsigned)HL_WEB_CLIENTS_MAX, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
		(size_t)MEMORY_MAX, MHD_OPTION_THREAD_STACK_SIZE, (size_t)STACK_BYTES,
		MHD_OPTION_NOTIFY_CONNECTION, on_connection, w, MHD_OPTION_NOTIFY_COMPLETED,
		on_completed, w, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_URI_LOG_CALLBACK,
		on_uri, w, MHD_OPTION_END);
	return http->daemon ? 0 : -EIO;
}

static int start(struct hl_web *w)
{
	int fd, err = hl_web_traces_init(w);

	if (err)
		return err;
	fd = hl_web_socket_open(w);
	if (fd < 0)
		return fd;
	err = hl_web_access_init(&w->access, w->options, w->port);
	if (!err) {
		hl_web_make_url(w);
		err = hl_web_background_start(w);
		if (!err)
			err = start_http(w, fd);
	}
	if (err)
		close(fd);
	return err;
}

static void describe_failure(
	struct hl_web_failure *why, const struct hl_web_options *options, int err)
{
	if (err == -EINVAL)
		snprintf(why->text, sizeof(why->text),
			"%s is not an IP address of this machine; use 127.0.0.1, or 0.0.0.0 for "
			"all",
			options->address ? options->address : "");
	else
		snprintf(why->text, sizeof(why->text), "cannot listen on %s, port %u: %s",
			options->address ? options->address : "127.0.0.1", options->port,
			strerror(-err));
}

int hl_web_start(
	struct hl_web **out, const struct hl_web_options *options, struct hl_web_failure *why)
{
	struct hl_web *w = calloc(1, sizeof(*w));
	int err = w ? 0 : -ENOMEM;

	why->text[0] = '\0';
	if (w) {
		w->options = options;
		pthread_mutex_init(&w->lock, NULL);
		pthread_cond_init(&w->freed, NULL);
		pthread_cond_init(&w->looked, NULL);
		err = hl_microhttpd_load(why);
	}
	if (!err)
		err = start(w);
	if (err && !why->text[0])
		describe_failure(why, options, err);
	if (err && w)
		hl_web_stop(w);
	*out = err ? NULL : w;
	return err;
}

void hl_web_stop(struct hl_web *w)
{
	struct http *http = w->http;

	atomic_store(&w->stopping, true);
	hl_web_query_cancel_all(w);
	if (http) {
		hl_web_clients_stop(&http->clients);
		if (http->daemon)
			MHD_stop_daemon(http->daemon);
		hl_web_clients_fini(&http->clients);
		free(http);
	}
	for (size_t lane = 0; lane < HL_WEB_LANE_COUNT; lane++) {
		for (size_t i = 0; i < HL_WEB_SLOTS; i++)
			hl_model_close(w->slots[lane][i].model.m);
	}
	hl_web_background_stop(w);
	hl_web_traces_fini(w);
	pthread_mutex_destroy(&w->lock);
	pthread_cond_destroy(&w->freed);
	pthread_cond_destroy(&w->looked);
	free(w);
}

bool hl_web_is_built(void)
{
	return true;
}

const char *hl_web_url(const struct hl_web *w)
{
	return w->url;
}

uint16_t hl_web_port(const struct hl_web *w)
{
	return w->port;
}

const char *hl_web_problem(struct hl_web *w, size_t i)
{
	struct hl_web_trace *t = &w->traces[i];
	int err = hl_web_trace_enter(w, t);

	hl_web_trace_leave(t);
	return err ? t->problem : NULL;
}
