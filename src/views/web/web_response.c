/* SPDX-License-Identifier: Apache-2.0 */
/*
 * web_response.c - see web_response.h.
 */
#include "views/web/web_response.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "views/export/output_file.h"

/* Seconds. */
#define ANSWER_TIME 120 /* to receive an answer */
#define STEP_TIME   60  /* to receive a part of a stream */

#define GZIP_LEVEL  3
#define PIECE       (16u << 10)
#define GZIP_MIN    1024
#define SILENCE_MAX 20 /* quarters of a second; then a comment says that the stream is alive */

/* The page loads its own script and style sheet, and asks this server. Plots set styles by script,
 * which needs no permission; attributes in the document would. */
#define PAGE_POLICY                                                                             \
	"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src " \
	"'self' data: blob:; base-uri 'none'; form-action 'none'"

/* --- responses --- */

const char *hl_web_header(const struct hl_web_call *x, const char *name)
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

static enum MHD_Result send_response(struct hl_web_call *x, unsigned status, struct MHD_Response *r)
{
	enum MHD_Result result = MHD_queue_response(x->c, status, r);

	MHD_destroy_response(r);
	return result;
}

/* A short text, for requests that are refused. */
enum MHD_Result hl_web_send_text(struct hl_web_call *x, unsigned status, const char *text)
{
	struct MHD_Response *r = MHD_create_response_from_buffer(
		strlen(text), (void *)(uintptr_t)text, MHD_RESPMEM_MUST_COPY);

	if (!r)
		return MHD_NO;
	add_common_headers(r, "text/plain; charset=utf-8", NULL);
	MHD_add_response_header(r, "Cache-Control", "no-store");
	if (status == 401)
		MHD_add_response_header(r, "WWW-Authenticate", "Bearer realm=\"heaplapse\"");
	hl_web_client_allow(x->clients, x->client, ANSWER_TIME);
	return send_response(x, status, r);
}

bool hl_web_header_has(const struct hl_web_call *x, const char *header, const char *what)
{
	const char *value = hl_web_header(x, header);

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

enum MHD_Result hl_web_send_document(
	struct hl_web_call *x, const struct hl_web_query *q, char *text, size_t len)
{
	bool failed = q->error[0];
	size_t packed_len = 0;
	char *packed = hl_web_header_has(x, "Accept-Encoding", "gzip") && len >= GZIP_MIN
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
	add_common_headers(r, failed ? "application/json" : q->endpoint->type, NULL);
	MHD_add_response_header(r, "Cache-Control", "no-store");
	MHD_add_response_header(r, "Vary", "Accept-Encoding");
	if (packed)
		MHD_add_response_header(r, "Content-Encoding", "gzip");
	for (size_t i = 0; i < q->notes.len; i++)
		add_note(r, q->notes.data[i]);
	hl_web_client_allow(x->clients, x->client, ANSWER_TIME);
	return send_response(x, q->status ? q->status : 200, r);
}

/* Clients keep a file, and ask whether it has changed. */
enum MHD_Result hl_web_send_asset(struct hl_web_call *x, const struct hl_web_query *q)
{
	const struct hl_web_asset *a = hl_web_asset_of(q->endpoint);
	const char *known = hl_web_header(x, "If-None-Match");
	bool same = known && strstr(known, a->hash);
	bool packed = hl_web_header_has(x, "Accept-Encoding", "gzip");
	size_t len = same ? 0 : packed ? a->packed_len : a->len;
	char *text = same || packed ? NULL : hl_web_asset_unpack(a);
	struct MHD_Response *r;
	char tag[80];

	if (!same && !packed && !text)
		return MHD_NO;
	r = MHD_create_response_from_buffer(len, text ? text : (void *)(uintptr_t)a->packed,
		text ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_PERSISTENT);
	if (!r) {
		free(text);
		return MHD_NO;
	}
	/* The two encodings are different documents. */
	snprintf(tag, sizeof(tag), "\"%s%s\"", a->hash, packed ? "-gzip" : "");
	add_common_headers(r, q->endpoint->type, PAGE_POLICY);
	MHD_add_response_header(r, "Cache-Control", "no-cache");
	MHD_add_response_header(r, "ETag", tag);
	MHD_add_response_header(r, "Vary", "Accept-Encoding");
	if (packed && !same)
		MHD_add_response_header(r, "Content-Encoding", "gzip");
	hl_web_client_allow(x->clients, x->client, ANSWER_TIME);
	return send_response(x, same ? 304 : 200, r);
}

/* The first visit by the printed address: the browser gets the cookie and visits the page by
 * itself. A redirection would not send a cookie that is SameSite=Strict, if another site has the
 * link. */
enum MHD_Result hl_web_send_cookie(struct hl_web_call *x)
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
	hl_web_client_allow(x->clients, x->client, ANSWER_TIME);
	return send_response(x, 200, r);
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

enum MHD_Result hl_web_send_error(struct hl_web_call *x, const struct hl_web_query *q)
{
	size_t len;
	char *text = make_error(q, &len);

	return text ? hl_web_send_document(x, q, text, len) : MHD_NO;
}

enum MHD_Result hl_web_send_stream(struct hl_web_call *x, struct hl_web_stream *s)
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
		.clients = x->clients,
		.events = q->shows_progress || q->endpoint->events};
	r = MHD_create_response_from_callback(
		MHD_SIZE_UNKNOWN, 32 << 10, read_stream, reader, free_reader);
	if (!r) {
		free_reader(reader);
		return MHD_NO;
	}
	add_stream_headers(r, q);
	hl_web_client_allow(x->clients, x->client, STEP_TIME);
	return send_response(x, 200, r);
}
