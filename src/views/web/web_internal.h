/* SPDX-License-Identifier: Apache-2.0 */
/*
 * web_internal.h - traces, models and queries of the server.
 *
 * A model serves one thread at a time. Each trace has a model for cheap queries, which are answered
 * from keyframes and summaries, used under the lock of the trace. Queries that may read every event
 * use one of a few slots (slots.c), each with a model of its own. So a cheap query never waits
 * behind an expensive one. A query runs in the thread of its connection, or in that of a stream.
 */
#ifndef HL_VIEWS_WEB_WEB_INTERNAL_H
#define HL_VIEWS_WEB_WEB_INTERNAL_H

#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "request/plan.h"
#include "request/request.h"
#include "util/json_writer.h"
#include "util/strbuf.h"
#include "util/vec.h"
#include "views/export/export.h"
#include "views/web/web.h"

#define HL_WEB_BYTES_MAX  2000000u                    /* of an answer that is not a stream */
#define HL_WEB_BLOCKS_MAX 10000u                      /* rows of a list of single blocks */
#define HL_WEB_TIME_NS    (UINT64_C(60) * 1000000000) /* of a query that sets no max-time */
#define HL_WEB_TIME_MAX   (UINT64_C(600) * 1000000000)

/* A model and what is known about its file. */
struct hl_web_model {
	struct hl_model *m; /* NULL: not open */
	bool verified;      /* the checksums of the whole file were checked */
};

/* A trace that is served. All but id, path and name are used under `lock`. */
/* Totals of a trace at a moment (hl_mono_ns()), for rates. */
struct hl_web_totals {
	uint64_t at_ns, allocations, frees, allocated_bytes, freed_bytes;
};

struct hl_web_trace {
	unsigned id; /* from 1 */
	char *path;
	const char *name; /* the last part of path */
	pthread_mutex_t lock;
	int fd; /* of the file, which may have been deleted or replaced since; -1: none */
	dev_t dev;
	ino_t ino;
	atomic_uint generation; /* the number of files that have had this path; used everywhere */
	bool deleted;
	char problem[512]; /* why it is not served; "": it is */
	unsigned session;  /* from 1; traces of one run have the same; 0: it is the only one */
	const char *session_path; /* of the trace that has the list of the session */
	uint64_t changes;         /* how often its contents have changed */
	struct hl_web_model cheap;
	/* The last interval of a second or more, and the totals since then. */
	struct hl_web_totals rate_from, rate_to;
	/* When a client looked at it last; 0: never. */
	_Atomic uint64_t looked_ns;
	/* Of background.c: the connection to the collector; -1: none. */
	int link_fd;
	uint64_t link_pid, linked_ns;
};

/* Slots of queries and of exports: a client that reads an export slowly delays no query. Cheap
 * queries that show names have slots, too: to look up the names of a large program takes seconds,
 * in which the cheap model answers what has no names. */
enum hl_web_lane { HL_WEB_LANE_QUERY, HL_WEB_LANE_NAMES, HL_WEB_LANE_EXPORT, HL_WEB_LANE_COUNT };
#define HL_WEB_SLOTS       2  /* in a lane */
#define HL_WEB_WAITING_MAX 32 /* queries that wait for a slot; further ones are refused */

struct hl_web_slot {
	struct hl_web_model model;
	const struct hl_web_trace *trace; /* of the model */
	unsigned generation;
	bool for_people;
	bool busy;
	uint64_t used; /* number of the use, to replace the oldest */
};

struct hl_web_pair {
	char *key, *value; /* value is NULL if none was given */
};

struct hl_web_endpoint;
struct hl_web_stream;

/* A request of a client that is answered from a trace. */
struct hl_web_query {
	struct hl_web *web;
	const struct hl_web_endpoint *endpoint;
	struct hl_web_trace *trace; /* NULL: the endpoint is about all */
	char word[64];              /* the variable part of the path: a group, a format, a number */
	HL_VEC(struct hl_web_pair) pairs;
	struct hl_request request; /* its strings are those of `pairs` */
	/* Own parameters of endpoints. */
	unsigned log_sort;
	uint64_t log_from, log_to, log_sources;
	bool log_has_to;
	const struct hl_export_format *format;
	bool by_blocks, grouped;
	enum hl_group group;
	const char *table;
	double min_percent; /* of nodes; 0: all */
	const char *control_mode, *control_label;

	/* While it runs. */
	struct hl_web_model *model;
	bool only_cheap; /* run() returns -EAGAIN instead of reading every event */
	FILE *out;
	struct hl_web_stream *stream;  /* of an export or of events; NULL: none */
	bool shows_progress;           /* as events of the stream */
	uint64_t progress_ns, gone_ns; /* when it was shown, when the client was checked */
	bool (*is_gone)(void *arg);    /* has the client gone away? NULL: not checked here */
	void *gone_arg;
	atomic_bool cancel;

	/* In the list of running queries, under hl_web.lock. */
	uint64_t id;
	const char *what; /* NULL: nothing is read yet */
	uint64_t done, total;
	struct hl_web_query *next;

	/* The answer. */
	struct hl_value parts_total; /* of a report: the sum of its parts */
	unsigned status;             /* of HTTP; 0: 200 */
	char error[640];             /* a sentence, if the status is that of an error */
	HL_VEC(char *) notes;
};

struct hl_web_endpoint {
	const char *method; /* "GET" */
	/* "/api/traces/{trace}/table/{group}": {trace} is a number of /api/traces, another variable
	 * a word. */
	const char *path;
	const char *help;    /* a sentence, in Markdown */
	const char *equals;  /* the command with the same output; NULL: none */
	const char *type;    /* "application/json" */
	const char *example; /* the word of the path, for the document and its test */
	/* Parameters are rows whose state is the query; ends with {0}. NULL: none. */
	const struct hl_opt_table *tables;
	const struct hl_view *view; /* of the request; NULL: chosen by parameters */
	bool streams;               /* it has no bound, and is written while it is made */
	bool events;                /* and is a stream of events */
	bool without_model;         /* run() uses the trace itself */
	bool controls; /* it changes something outside of the server: see hl_web_access_control() */
	/* Checks the parameters when all are stored. Returns 0, or -errno with q->error. NULL: none
	 */
	int (*finish)(struct hl_web_query *q);
	/* Writes the answer to q->out. Returns 0, or -errno with q->error or hl_model_error().
	 * -EAGAIN with only_cheap: another model is needed. */
	int (*run)(struct hl_web_query *q);
};
extern const struct hl_web_endpoint hl_web_endpoints[]; /* ends with a row without a path */
/* Returns the row of a path, with the number of the trace (0: none) and the word; NULL: none. If
 * only the method is wrong, *allowed is the right one. */
const struct hl_web_endpoint *hl_web_endpoint_find(
	const char *method, const char *path, unsigned *trace, char word[64], const char **allowed);
/* Returns the row of a parameter; NULL: the endpoint has no such parameter. */
const struct hl_opt *hl_web_endpoint_param(
	const struct hl_web_endpoint *e, const char *key, size_t *offset);

/* --- the server --- */

struct hl_web_access {
	char token[33];  /* "": none is needed */
	char cookie[32]; /* the name of the cookie */
	const char *const *hosts;
	size_t n_hosts;
};

struct hl_web {
	const struct hl_web_options *options;
	struct hl_web_access access;
	char url[256];
	uint16_t port;
	struct hl_web_trace *traces;
	size_t n_traces;
	atomic_bool stopping;

	pthread_mutex_t lock; /* of all below */
	pthread_cond_t freed; /* a slot is free */
	struct hl_web_slot slots[HL_WEB_LANE_COUNT][HL_WEB_SLOTS];
	unsigned waiting;
	uint64_t uses;
	struct hl_web_query *running;
	uint64_t last_id;

	void *http; /* of server.c */

	pthread_cond_t looked; /* a client looks at a trace; with `lock` */
	pthread_t background;
	bool has_background;
};

/* --- web_metrics.c --- */

struct hl_web_totals hl_web_totals_of(const struct hl_model *m);

/* --- background.c --- */

/* Notes the totals of a running trace for its rates. Requires its lock and a model. */
void hl_web_trace_note_totals(struct hl_web_trace *t);

int hl_web_background_start(struct hl_web *w);
/* May be called if it was not started. Sets w->stopping. */
void hl_web_background_stop(struct hl_web *w);
/* A client looks at the trace. */
void hl_web_trace_look(struct hl_web *w, struct hl_web_trace *t);

/* --- web_socket.c --- */

/* Returns a listening socket with w->port set, or -errno. */
int hl_web_socket_open(struct hl_web *w);
/* Sets w->url. */
void hl_web_make_url(struct hl_web *w);

/* --- traces.c --- */

int hl_web_traces_init(struct hl_web *w);
void hl_web_traces_fini(struct hl_web *w);
/* NULL: there is none. */
struct hl_web_trace *hl_web_trace_find(struct hl_web *w, unsigned id);
/* Locks the trace, opens its cheap model and reads what was added to the file. Returns 0, or -errno
 * with t->problem set; the trace is locked in either case, until hl_web_trace_leave(). */
int hl_web_trace_enter(struct hl_web *w, struct hl_web_trace *t);
/* The same, unless a query has it: then -EBUSY, and it is not locked. */
int hl_web_trace_try_enter(struct hl_web *w, struct hl_web_trace *t);
/* Reads what was added to the file. Returns whether the model was closed, because it cannot be used
 * any more. */
bool hl_web_model_refresh(struct hl_web_model *m, bool *changed);
void hl_web_trace_leave(struct hl_web_trace *t);
/* Opens another model of the same file. Requires the lock of the trace. Returns 0, or -errno with
 * why->text. */
int hl_web_trace_open(struct hl_web *w, struct hl_web_trace *t, bool for_people,
	struct hl_model **m, struct hl_reader_refusal *why);

/* --- slots.c --- */

/* Waits for a slot with a model of the trace of q. Returns 0 with q->model set, or -errno with
 * q->error. */
int hl_web_slot_acquire(struct hl_web_query *q, enum hl_web_lane lane, struct hl_web_slot **slot);
void hl_web_slot_release(struct hl_web *w, struct hl_web_slot *slot);

/* --- web_query.c --- */

/* Stores the parameters. Returns 0, or -errno with q->status and q->error. */
int hl_web_query_begin(struct hl_web_query *q);
/* Runs it with the right model. Returns 0 or -errno with q->status and q->error. */
int hl_web_query_run(struct hl_web_query *q);
void hl_web_query_fini(struct hl_web_query *q);
/* Cancels a running query by its number. Returns false if there is none. */
bool hl_web_query_cancel(struct hl_web *w, uint64_t id);
void hl_web_query_cancel_all(struct hl_web *w);
/* Has it been cancelled, or has its client gone away? */
bool hl_web_query_is_over(struct hl_web_query *q);
/* Collects notes of plans in q->notes. */
struct hl_notes hl_web_notes(struct hl_web_query *q);
/* The document of an error. */
void hl_web_query_put_error(const struct hl_web_query *q, FILE *out);
/* Checks the whole file, if that was not done yet and the file has at most `limit` bytes. Returns
 * 0, or -errno if the query is over. */
int hl_web_query_verify(struct hl_web_query *q, uint64_t limit);

/* --- stream.c --- */

/* Bytes from a query, which runs in a thread of its own, to a client. The writer waits while the
 * client is slow. Returns 0 or -errno. The stream owns the query then, and the caller frees the
 * stream. */
int hl_web_stream_start(struct hl_web_stream **out, struct hl_web_query *q);
/* Waits until there is a byte, or the end. Returns false if the query has failed before its first
 * byte: q->status and q->error say why. is_gone: has the client gone away? */
bool hl_web_stream_has_begun(struct hl_web_stream *s, bool (*is_gone)(void *arg), void *arg);
/* Returns the number of bytes; 0: the end; -EIO: it has failed; -EAGAIN: nothing within a quarter
 * of a second. */
ssize_t hl_web_stream_read(struct hl_web_stream *s, char *to, size_t len);
/* Cancels the query, waits for its end and frees both. */
void hl_web_stream_free(struct hl_web_stream *s);
struct hl_web_query *hl_web_stream_query(struct hl_web_stream *s);
/* Writes an event; called by the thread of the query. data is a line. */
void hl_web_stream_event(struct hl_web_stream *s, const char *name, const char *data);

/* --- access.c --- */

union hl_web_address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};
/* Parses an IP address; the port stays 0. */
bool hl_web_address_parse(const char *text, union hl_web_address *a, socklen_t *len);

enum hl_web_grant {
	HL_WEB_REFUSED,
	HL_WEB_GRANTED,
	HL_WEB_GRANTED_BY_URL, /* the client gets a cookie */
};
int hl_web_access_init(struct hl_web_access *a, const struct hl_web_options *o, uint16_t port);
/* Is it a name of this server? NULL: none was given. */
bool hl_web_access_host(const struct hl_web_access *a, const char *host);
/* Is the origin of the page that sends the request this server? NULL: no page sends it. */
bool hl_web_access_origin(const char *origin, const char *host);
/* May a request control a recording? A browser adds the cookie also to a request that the page of
 * another site makes, but then it says so in Origin: a request without both headers is refused. */
bool hl_web_access_control(const char *authorization, const char *origin);
/* The headers Authorization and Cookie, and the parameter token; each may be NULL. */
enum hl_web_grant hl_web_access_check(const struct hl_web_access *a, const char *authorization,
	const char *cookie, const char *token);

/* --- web_assets.c --- */

/* A file of the page, packed by gzip when heaplapse was built. */
struct hl_web_asset {
	const char *path; /* as an endpoint: "/app.js" */
	const char *hash; /* of the contents */
	const unsigned char *packed;
	size_t packed_len, len;
};
/* The file that an endpoint answers with; NULL: it answers with something else. */
const struct hl_web_asset *hl_web_asset_of(const struct hl_web_endpoint *e);
/* Returns its `len` bytes, or NULL if there is no memory; the caller frees it. */
char *hl_web_asset_unpack(const struct hl_web_asset *a);

/* --- answers --- */

/* The parameter width of a plot, as a setter of option rows: returns NULL, or what it must be. */
const char *hl_web_set_width(void *state, const char *value);

/* web_control.c: the object "control" of a trace. find() needs the lock of the trace, put() asks
 * the collector and is called without it. */
void hl_web_control_find(struct hl_web_trace *t, struct hl_web_control *c);
void hl_web_control_put(struct hl_json *j, struct hl_web_query *q, struct hl_web_control *c);

/* web_session.c: sets the sessions of all traces. */
void hl_web_sessions_find(struct hl_web *w);
int hl_web_run_processes(struct hl_web_query *q);
int hl_web_finish_processes(struct hl_web_query *q);
/* Stores why a request is refused; returns err. */
int hl_web_refuse(struct hl_web_query *q, int err, const struct hl_request_error *why);
int hl_web_run_control(struct hl_web_query *q);
int hl_web_run_control_verb(struct hl_web_query *q);
int hl_web_run_api(struct hl_web_query *q);
int hl_web_run_traces(struct hl_web_query *q);
int hl_web_run_info(struct hl_web_query *q);
int hl_web_run_report(struct hl_web_query *q);
int hl_web_finish_report(struct hl_web_query *q);
int hl_web_finish_source(struct hl_web_query *q);
int hl_web_run_curve(struct hl_web_query *q);
int hl_web_finish_curve(struct hl_web_query *q);
int hl_web_run_log(struct hl_web_query *q);
int hl_web_finish_log(struct hl_web_query *q);
int hl_web_run_queries(struct hl_web_query *q);
int hl_web_run_cancel(struct hl_web_query *q);
int hl_web_run_export(struct hl_web_query *q);
int hl_web_finish_export(struct hl_web_query *q);
int hl_web_run_formats(struct hl_web_query *q);
int hl_web_run_metrics(struct hl_web_query *q);
int hl_web_run_asset(struct hl_web_query *q);
int hl_web_run_events(struct hl_web_query *q);
extern const struct hl_opt hl_web_control_rows[], hl_web_source_rows[], hl_web_resident_rows[];
extern const struct hl_opt hl_web_log_rows[], hl_web_export_rows[], hl_web_table_rows[],
	hl_web_blocks_rows[], hl_web_curve_rows[], hl_web_curves_rows[], hl_web_timeline_rows[],
	hl_web_tree_rows[], hl_web_flame_rows[];

#endif
