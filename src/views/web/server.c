/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server.c - requests over HTTP, by libmicrohttpd with a thread for each connection.
 *
 * A request is checked before anything else: the names in Host and Origin, then the token. Bodies
 * are never read. An answer is complete before its first byte is sent, or it is a stream.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "views/export/output_file.h"
#include "views/web/clients.h"
#include "views/web/web_internal.h"

/* Seconds. */
#define HEADERS_TIME 10  /* from a new connection to the end of its first request's headers */
#define ANSWER_TIME  120 /* to receive an answer */
#define STEP_TIME    60  /* to receive a part of a stream */
#define IDLE_TIME    30  /* to the end of the headers of the next request */

#define MEMORY_MAX  (32u << 10) /* for the headers of a request */
#define STACK_BYTES (2u << 20)
#define PARAMS_MAX  64
#define PORTS_TRIED 64
#define GZIP_LEVEL  3
#define PIECE       (16u << 10)
#define GZIP_MIN    1024
#define SILENCE_MAX 20 /* quarters of a second; then a comment says that the stream is alive */

struct http {
	struct MHD_Daemon *daemon;
	struct hl_web_clients clients;
};

/* A request while it is answered. */
struct call {
	struct hl_web *w;
	struct http *http;
	struct MHD_Connection *c;
	struct hl_web_client *client;
	const char *method, *path, *host;
	struct hl_web_query *q; /* NULL after a stream owns it */
	bool malformed;         /* a parameter is */
};

/* --- responses --- */

static const char *header_of(const struct call *x, const char *name)
{
	return MHD_lookup_connection_value(x->c, MHD_HEADER_KIND, name);
}

static void add_common_headers(struct MHD_Response *r, const char *type, const char *policy)
{
	char text[512];

	snprintf(text, sizeof(text), "%s; frame-ancestors 'none'",
		policy ? policy : "default-src 'none'; base-uri 'none'; form-action 'none'");
	MHD_add_response_header(r, "Content-Security-Policy", text);
	MHD_add_response_header(r, "Content-Type", type);
	MHD_add_response_header(r, "X-Content-Type-Options", "nosniff");
	MHD_add_response_header(r, "X-Frame-Options", "DENY");
	MHD_add_response_header(r, "Referrer-Policy", "no-referrer");
	MHD_add_response_header(r, "Cross-Origin-Resource-Policy", "same-origin");
	MHD_add_response_header(r, "Cross-Origin-Opener-Policy", "same-origin");
}

static enum MHD_Result send_response(struct call *x, unsigned status, struct MHD_Response *r)
{
	enum MHD_Result result = MHD_queue_response(x->c, status, r);

	MHD_destroy_response(r);
	return result;
}

/* A short text, for requests that are refused. */
static enum MHD_Result send_text(struct call *x, unsigned status, const char *text)
{
	struct MHD_Response *r = MHD_create_response_from_buffer(
		strlen(text), (void *)(uintptr_t)text, MHD_RESPMEM_MUST_COPY);

	if (!r)
		return MHD_NO;
	add_common_headers(r, "text/plain; charset=utf-8", NULL);
	MHD_add_response_header(r, "Cache-Control", "no-store");
	if (status == 401)
		MHD_add_response_header(r, "WWW-Authenticate", "Bearer realm=\"heaplapse\"");
	hl_web_client_allow(&x->http->clients, x->client, ANSWER_TIME);
	return send_response(x, status, r);
}

static bool accepts(const struct call *x, const char *header, const char *what)
{
	const char *value = header_of(x, header);

	return value && strstr(value, what);
}

/* Returns the packed text, or NULL. */
static char *pack_text(const char *text, size_t len, size_t *packed_len)
{
	char *packed = NULL;
	FILE *to = open_memstream(&packed, packed_len);
	FILE *in = to ? hl_pack_gzip(to, GZIP_LEVEL) : NULL;
	bool ok = in != NULL;

	if (in) {
		/* The stream takes a part of a longer write. */
		for (size_t at = 0; at < len && ok; at += PIECE) {
			size_t n = len - at < PIECE ? len - at : PIECE;

			ok = fwrite(text + at, 1, n, in) == n;
		}
		ok = fclose(in) == 0 && ok;
	}
	if (to && fclose(to))
		ok = false;
	if (!ok) {
		free(packed);
		packed = NULL;
	}
	return packed;
}

/* A note in a header: printable ASCII only. */
static void add_note(struct MHD_Response *r, const char *note)
{
	char text[400];
	size_t n = 0;

	for (; note[n] && n < sizeof(text) - 1; n++)
		text[n] = note[n] >= ' ' && note[n] <= '~' ? note[n] : '?';
	text[n] = '\0';
	MHD_add_response_header(r, "Heaplapse-Note", text);
}

static bool is_asset(const struct hl_web_endpoint *e)
{
	return e->run == hl_web_run_style;
}

/* Sends a document, which is freed. */
static enum MHD_Result send_document(
	struct call *x, const struct hl_web_query *q, char *text, size_t len)
{
	bool failed = q->error[0];
	size_t packed_len = 0;
	char *packed = accepts(x, "Accept-Encoding", "gzip") && len >= GZIP_MIN
			       ? pack_text(text, len, &packed_len)
			       : NULL;
	struct MHD_Response *r = MHD_create_response_from_buffer(
		packed ? packed_len : len, packed ? packed : text, MHD_RESPMEM_MUST_FREE);

	if (packed || !r)
		free(text);
	if (!r) {
		free(packed);
		return MHD_NO;
	}
	add_common_headers(r, failed ? "application/json" : q->endpoint->type,
		q->endpoint->run == hl_web_run_index ? "default-src 'none'; style-src 'self'; "
						       "base-uri 'none'; form-action 'none'"
						     : NULL);
	MHD_add_response_header(r, "Cache-Control", "no-store");
	MHD_add_response_header(r, "Vary", "Accept-Encoding");
	if (packed)
		MHD_add_response_header(r, "Content-Encoding", "gzip");
	for (size_t i = 0; i < q->notes.len; i++)
		add_note(r, q->notes.data[i]);
	hl_web_client_allow(&x->http->clients, x->client, ANSWER_TIME);
	return send_response(x, q->status ? q->status : 200, r);
}

/* A fixed document: clients keep it, and ask whether it has changed. */
static enum MHD_Result send_asset(struct call *x, const char *text, size_t len)
{
	const char *known = header_of(x, "If-None-Match");
	uint64_t hash = UINT64_C(0xcbf29ce484222325);
	struct MHD_Response *r;
	bool same;
	char tag[32];

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
	snprintf(tag, sizeof(tag), "\"%016llx\"", (unsigned long long)hash);
	same = known && strcmp(known, tag) == 0;
	r = MHD_create_response_from_buffer(
		same ? 0 : len, (void *)(uintptr_t)text, MHD_RESPMEM_MUST_COPY);
	if (!r)
		return MHD_NO;
	add_common_headers(r, x->q->endpoint->type, NULL);
	MHD_add_response_header(r, "Cache-Control", "no-cache");
	MHD_add_response_header(r, "ETag", tag);
	hl_web_client_allow(&x->http->clients, x->client, ANSWER_TIME);
	return send_response(x, same ? 304 : 200, r);
}

/* --- streams --- */

struct reader {
	struct hl_web_stream *stream;
	struct hl_web_client *client;
	struct hl_web_clients *clients;
	unsigned silence; /* reads without a byte */
	bool events;
};

static ssize_t read_stream(void *arg, uint64_t at, char *to, size_t len)
{
	struct reader *r = arg;
	ssize_t n;

	hl_web_client_allow(r->clients, r->client, 0);
	while ((n = hl_web_stream_read(r->stream, to, len)) == -EAGAIN) {
		if (hl_web_client_is_gone(r->client))
			return MHD_CONTENT_READER_END_WITH_ERROR;
		if (r->events && ++r->silence >= SILENCE_MAX && len >= 3) {
			memcpy(to, ":\n\n", 3);
			n = 3;
			break;
		}
	}
	r->silence = 0;
	hl_web_client_allow(r->clients, r->client, STEP_TIME);
	return n > 0    ? n
	       : n == 0 ? MHD_CONTENT_READER_END_OF_STREAM
			: MHD_CONTENT_READER_END_WITH_ERROR;
}

static void free_reader(void *arg)
{
	struct reader *r = arg;

	hl_web_stream_free(r->stream);
	free(r);
}

static bool is_gone(void *arg)
{
	const struct call *x = arg;

	return hl_web_client_is_gone(x->client) || atomic_load(&x->w->stopping);
}

static const char *type_of(const struct hl_export_format *f)
{
	static const struct {
		const char *suffix, *type;
	} types[] = {{".json", "application/json"}, {".csv", "text/csv; charset=utf-8"},
		{".svg", "image/svg+xml"}, {".txt", "text/plain; charset=utf-8"},
		{".html", "text/html; charset=utf-8"}};
	size_t len = strlen(f->suffix);

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		size_t n = strlen(types[i].suffix);

		if (len >= n && strcmp(f->suffix + len - n, types[i].suffix) == 0)
			return types[i].type;
	}
	return "application/octet-stream";
}

/* A download is never shown by a browser: an SVG may have a script. */
static void add_stream_headers(struct MHD_Response *r, const struct hl_web_query *q)
{
	char name[128];

	MHD_add_response_header(r, "Cache-Control", "no-store");
	if (q->shows_progress || q->endpoint->events) {
		add_common_headers(r, "text/event-stream", NULL);
	} else if (q->endpoint->finish == hl_web_finish_page) {
		add_common_headers(r, q->endpoint->type, hl_export_html_policy());
	} else {
		add_common_headers(r, type_of(q->format), "sandbox; default-src 'none'");
		snprintf(name, sizeof(name), "attachment; filename=\"heap-%u%s\"", q->trace->id,
			q->format->suffix);
		MHD_add_response_header(r, "Content-Disposition", name);
	}
}

static char *make_error(const struct hl_web_query *q, size_t *len)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, len);

	if (!out)
		return NULL;
	hl_web_query_put_error(q, out);
	if (fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}

static enum MHD_Result send_error(struct call *x, struct hl_web_query *q)
{
	size_t len;
	char *text = make_error(q, &len);

	return text ? send_document(x, q, text, len) : MHD_NO;
}

static enum MHD_Result send_stream(struct call *x, struct hl_web_stream *s)
{
	struct hl_web_query *q = hl_web_stream_query(s);
	struct reader *reader = calloc(1, sizeof(*reader));
	struct MHD_Response *r;

	if (!reader) {
		hl_web_stream_free(s);
		return MHD_NO;
	}
	*reader = (struct reader){.stream = s,
		.client = x->client,
		.clients = &x->http->clients,
		.events = q->shows_progress || q->endpoint->events};
	r = MHD_create_response_from_callback(
		MHD_SIZE_UNKNOWN, 32 << 10, read_stream, reader, free_reader);
	if (!r) {
		free_reader(reader);
		return MHD_NO;
	}
	add_stream_headers(r, q);
	hl_web_client_allow(&x->http->clients, x->client, STEP_TIME);
	return send_response(x, 200, r);
}

static enum MHD_Result answer_stream(struct call *x)
{
	struct hl_web_stream *s;
	enum MHD_Result result;
	int err = hl_web_stream_start(&s, x->q);

	if (err)
		return send_text(x, 503, "there are not enough resources; try again\n");
	x->q = NULL;
	if (hl_web_stream_has_begun(s, is_gone, x))
		return send_stream(x, s);
	result = send_error(x, hl_web_stream_query(s));
	hl_web_stream_free(s);
	return result;
}

/* --- documents --- */

/* Runs the query in this thread. */
static enum MHD_Result answer_document(struct call *x)
{
	struct hl_web_query *q = x->q;
	enum MHD_Result result;
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
	if (err || !is_asset(q->endpoint)) {
		if (err) {
			free(text);
			return send_error(x, q);
		}
		return send_document(x, q, text, len);
	}
	result = send_asset(x, text, len);
	free(text);
	return result;
}

/* --- requests --- */

static enum MHD_Result add_pair(void *arg, enum MHD_ValueKind kind, const char *key, size_t key_len,
	const char *value, size_t value_len)
{
	struct call *x = arg;
	struct hl_web_pair p = {0};

	if (strlen(key) != key_len || (value && strlen(value) != value_len) ||
		x->q->pairs.len >= PARAMS_MAX) {
		x->malformed = true;
		return MHD_NO;
	}
	if (strcmp(key, "token") == 0)
		return MHD_YES;
	p.key = strdup(key);
	p.value = value ? strdup(value) : NULL;
	if (!p.key || (value && !p.value) || hl_vec_push(&x->q->pairs, p)) {
		free(p.key);
		free(p.value);
		x->malformed = true;
		return MHD_NO;
	}
	return MHD_YES;
}

/* Is the request to be answered by events? */
static bool wants_events(const struct call *x)
{
	return x->q->trace && !x->q->endpoint->streams && accepts(x, "Accept", "text/event-stream");
}

static enum MHD_Result refuse(struct call *x, unsigned status, const char *text)
{
	x->q->status = status;
	snprintf(x->q->error, sizeof(x->q->error), "%s", text);
	return send_error(x, x->q);
}

static enum MHD_Result answer_query(struct call *x, unsigned trace)
{
	struct hl_web_query *q = x->q;

	q->trace = trace ? hl_web_trace_find(x->w, trace) : NULL;
	if (trace && !q->trace)
		return refuse(x, 404, "there is no trace of this number; /api/traces lists all");
	MHD_get_connection_values_n(x->c, MHD_GET_ARGUMENT_KIND, add_pair, x);
	if (x->malformed)
		return refuse(x, 400, "the parameters are malformed, or there are too many");
	if (hl_web_query_begin(q))
		return send_error(x, q);
	q->shows_progress = wants_events(x);
	if (q->endpoint->streams || q->shows_progress)
		return answer_stream(x);
	return answer_document(x);
}

static enum MHD_Result answer_path(struct call *x)
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
		return allowed ? send_text(x, 405, "this method is not allowed here; see /api\n")
			       : send_text(x, 404,
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

/* The first visit by the printed address: the browser gets the cookie and visits the page by
 * itself. A redirection would not send a cookie that is SameSite=Strict, if another site has the
 * link. */
static enum MHD_Result send_cookie(struct call *x)
{
	struct MHD_Response *r;
	char page[512], cookie[128];

	snprintf(page, sizeof(page),
		"<!doctype html><meta http-equiv=\"refresh\" content=\"0;url=%s\">"
		"<title>heaplapse</title><a href=\"%s\">the page</a>\n",
		x->path, x->path);
	snprintf(cookie, sizeof(cookie), "%s=%s; Path=/; HttpOnly; SameSite=Strict",
		x->w->access.cookie, x->w->access.token);
	r = MHD_create_response_from_buffer(strlen(page), page, MHD_RESPMEM_MUST_COPY);
	if (!r)
		return MHD_NO;
	add_common_headers(r, "text/html; charset=utf-8", NULL);
	MHD_add_response_header(r, "Cache-Control", "no-store");
	MHD_add_response_header(r, "Set-Cookie", cookie);
	hl_web_client_allow(&x->http->clients, x->client, ANSWER_TIME);
	return send_response(x, 200, r);
}

/* The path of a page, which is safe to be written into one. */
static bool is_page(const struct call *x)
{
	return strcmp(x->path, "/") == 0 ||
	       (strncmp(x->path, "/traces/", 8) == 0 && strlen(x->path) < 20 &&
		       strspn(x->path + 8, "0123456789") == strlen(x->path + 8));
}

static enum MHD_Result count_host(
	void *arg, enum MHD_ValueKind kind, const char *key, const char *value)
{
	*(unsigned *)arg += strcasecmp(key, "Host") == 0;
	return MHD_YES;
}

static enum MHD_Result answer(struct call *x)
{
	const char *token = MHD_lookup_connection_value(x->c, MHD_GET_ARGUMENT_KIND, "token");
	enum hl_web_grant grant;
	unsigned hosts = 0;

	MHD_get_connection_values(x->c, MHD_HEADER_KIND, count_host, &hosts);
	x->host = header_of(x, "Host");
	if (hosts != 1 || !hl_web_access_host(&x->w->access, x->host))
		return send_text(x, 403,
			"the name in the header Host is not one of this server; use its address, "
			"or start it with --host NAME\n");
	if (!hl_web_access_origin(header_of(x, "Origin"), x->host))
		return send_text(x, 403, "requests of other sites are refused\n");
	grant = hl_web_access_check(
		&x->w->access, header_of(x, "Authorization"), header_of(x, "Cookie"), token);
	if (grant == HL_WEB_REFUSED)
		return send_text(x, 401,
			"the token is missing or wrong: open the address that heaplapse serve has "
			"printed, or send its token as Authorization: Bearer TOKEN\n");
	if (grant == HL_WEB_GRANTED_BY_URL && is_page(x))
		return send_cookie(x);
	if (strcmp(x->path, "/") == 0 && x->w->n_traces == 1)
		x->path = "/traces/1";
	return answer_path(x);
}

/* libmicrohttpd ends a path at %00. */
static char bad_uri;
static void *on_uri(void *arg, const char *uri, struct MHD_Connection *c)
{
	return strstr(uri, "%00") ? &bad_uri : NULL;
}

static bool has_body(const struct call *x)
{
	const char *length = header_of(x, "Content-Length");

	return header_of(x, "Transfer-Encoding") || (length && strcmp(length, "0") != 0);
}

static enum MHD_Result on_request(void *arg, struct MHD_Connection *c, const char *url,
	const char *method, const char *version, const char *data, size_t *data_size, void **state)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	struct hl_web *w = arg;
	struct call x = {.w = w, .http = w->http, .c = c, .method = method, .path = url};

	x.client = info ? info->socket_context : NULL;
	if (!x.client)
		return MHD_NO;
	/* An answer to the first call ends the connection, which is right for a body only. */
	if (!*state && !has_body(&x)) {
		*state = x.client;
		return MHD_YES;
	}
	hl_web_client_allow(&x.http->clients, x.client, 0);
	if (*state == &bad_uri)
		return send_text(&x, 400, "an address has no NUL\n");
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

/* --- the socket --- */

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static bool parse_address(const char *text, union address *a, socklen_t *len)
{
	memset(a, 0, sizeof(*a));
	if (inet_pton(AF_INET, text, &a->v4.sin_addr) == 1) {
		a->v4.sin_family = AF_INET;
		*len = sizeof(a->v4);
		return true;
	}
	a->v6.sin6_family = AF_INET6;
	*len = sizeof(a->v6);
	return inet_pton(AF_INET6, text, &a->v6.sin6_addr) == 1;
}

bool hl_web_is_loopback(const char *address)
{
	union address a;
	socklen_t len;

	if (!address)
		return true;
	if (!parse_address(address, &a, &len))
		return false;
	return a.any.sa_family == AF_INET ? ntohl(a.v4.sin_addr.s_addr) >> 24 == 127
					  : IN6_IS_ADDR_LOOPBACK(&a.v6.sin6_addr);
}

static int try_port(const union address *where, socklen_t len, uint16_t port, int *out)
{
	union address a = *where;
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

/* Returns a listening socket or -errno. */
static int open_socket(struct hl_web *w)
{
	union address where, got;
	socklen_t len, got_len = sizeof(got);
	const struct hl_web_options *o = w->options;
	int fd = -1, err = -EADDRINUSE;

	if (!parse_address(o->address ? o->address : "127.0.0.1", &where, &len))
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
static void make_url(struct hl_web *w)
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
	fd = open_socket(w);
	if (fd < 0)
		return fd;
	err = hl_web_access_init(&w->access, w->options, w->port);
	if (!err) {
		make_url(w);
		err = start_http(w, fd);
	}
	if (err)
		close(fd);
	return err;
}

int hl_web_start(
	struct hl_web **out, const struct hl_web_options *options, struct hl_web_failure *why)
{
	struct hl_web *w = calloc(1, sizeof(*w));
	int err = w ? 0 : -ENOMEM;

	if (w) {
		w->options = options;
		pthread_mutex_init(&w->lock, NULL);
		pthread_cond_init(&w->freed, NULL);
		err = start(w);
	}
	if (err == -EINVAL)
		snprintf(why->text, sizeof(why->text),
			"%s is not an IP address of this machine; use 127.0.0.1, or 0.0.0.0 for "
			"all",
			options->address ? options->address : "");
	else if (err)
		snprintf(why->text, sizeof(why->text), "cannot listen on %s, port %u: %s",
			options->address ? options->address : "127.0.0.1", options->port,
			strerror(-err));
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
	hl_web_traces_fini(w);
	pthread_mutex_destroy(&w->lock);
	pthread_cond_destroy(&w->freed);
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
