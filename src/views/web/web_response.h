/* SPDX-License-Identifier: Apache-2.0 */
/*
 * web_response.h - answers over HTTP: texts, documents, fixed files and streams.
 */
#ifndef HL_VIEWS_WEB_WEB_RESPONSE_H
#define HL_VIEWS_WEB_WEB_RESPONSE_H

#include "views/web/clients.h"
#include "views/web/microhttpd_load.h"
#include "views/web/web_internal.h"

/* A request while it is answered. */
struct hl_web_call {
	struct hl_web *w;
	struct hl_web_clients *clients;
	struct MHD_Connection *c;
	struct hl_web_client *client;
	const char *method, *path, *host;
	struct hl_web_query *q; /* NULL after a stream owns it */
	bool malformed;         /* a parameter is */
};

/* NULL: the request does not have it. */
const char *hl_web_header(const struct hl_web_call *x, const char *name);
bool hl_web_header_has(const struct hl_web_call *x, const char *name, const char *what);

/* A short text, for requests that are refused. */
enum MHD_Result hl_web_send_text(struct hl_web_call *x, unsigned status, const char *text);
/* The page that gives a browser the cookie and leads to the path of the request. */
enum MHD_Result hl_web_send_cookie(struct hl_web_call *x);
/* The answer of q, or its error. `text` is freed. */
enum MHD_Result hl_web_send_document(
	struct hl_web_call *x, const struct hl_web_query *q, char *text, size_t len);
/* A file of the page. */
enum MHD_Result hl_web_send_asset(struct hl_web_call *x, const struct hl_web_query *q);
enum MHD_Result hl_web_send_error(struct hl_web_call *x, const struct hl_web_query *q);
/* A stream that has begun; it is freed. */
enum MHD_Result hl_web_send_stream(struct hl_web_call *x, struct hl_web_stream *s);

#endif
