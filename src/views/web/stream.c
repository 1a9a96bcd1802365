/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream.c - bytes from a query in a thread of its own to the thread of a connection.
 *
 * The buffer is bounded: the query waits while the client is slow. When the client goes away, the
 * next write of the query fails, and its work is cancelled.
 */
#include <errno.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "views/web/web_internal.h"

#define BUFFER      (256u << 10)
#define STACK_BYTES (2u << 20)

struct hl_web_stream {
	struct hl_web_query *query;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	char *data; /* a ring of BUFFER bytes */
	size_t begin, len;
	bool begun;  /* there was a byte */
	bool ended;  /* there are no more */
	bool failed; /* and some are missing */
	bool closed; /* the client has gone away */
};

/* --- the side of the query --- */

static size_t put_some(struct hl_web_stream *s, const char *from, size_t len)
{
	size_t at = (s->begin + s->len) % BUFFER, n = BUFFER - s->len;

	n = n < len ? n : len;
	n = n < BUFFER - at ? n : BUFFER - at;
	memcpy(s->data + at, from, n);
	s->len += n;
	s->begun |= n > 0;
	return n;
}

static ssize_t write_stream(void *cookie, const char *from, size_t len)
{
	struct hl_web_stream *s = cookie;
	size_t done = 0;

	pthread_mutex_lock(&s->lock);
	while (done < len && !s->closed) {
		done += put_some(s, from + done, len - done);
		pthread_cond_broadcast(&s->changed);
		if (done < len && !s->closed)
			pthread_cond_wait(&s->changed, &s->lock);
	}
	pthread_mutex_unlock(&s->lock);
	return done == len ? (ssize_t)len : 0;
}

void hl_web_stream_event(struct hl_web_stream *s, const char *name, const char *data)
{
	struct hl_strbuf b = {0};

	hl_strbuf_printf(&b, "event: %s\ndata: %s\n\n", name, data);
	if (!hl_strbuf_error(&b))
		write_stream(s, b.data, b.len);
	hl_strbuf_fini(&b);
}

/* A document is one line: line breaks are only between its values. */
static void put_document(struct hl_web_stream *s, const char *name, char *text, size_t len)
{
	while (len > 0 && text[len - 1] == '\n')
		text[--len] = '\0';
	for (size_t i = 0; i < len; i++)
		text[i] = text[i] == '\n' ? ' ' : text[i];
	hl_web_stream_event(s, name, text);
}

static void put_event_notes(struct hl_web_stream *s)
{
	struct hl_web_query *q = s->query;

	for (size_t i = 0; i < q->notes.len; i++) {
		struct hl_json j;
		char *text = NULL;
		size_t len;
		FILE *out = open_memstream(&text, &len);

		if (!out)
			return;
		hl_json_init(&j, out);
		hl_json_string(&j, q->notes.data[i]);
		if (fclose(out) == 0)
			hl_web_stream_event(s, "note", text);
		free(text);
	}
}

/* The answer of a query is the last event; before it are those of its progress. */
static int run_events(struct hl_web_stream *s)
{
	struct hl_web_query *q = s->query;
	char *text = NULL;
	size_t len = 0;
	int err;

	q->out = open_memstream(&text, &len);
	if (!q->out)
		return -ENOMEM;
	err = hl_web_query_run(q);
	if (err) {
		rewind(q->out);
		hl_web_query_put_error(q, q->out);
	}
	if (fclose(q->out) == 0) {
		put_event_notes(s);
		put_document(s, err ? "failed" : "answer", text, len);
	}
	free(text);
	return 0;
}

static int run_bytes(struct hl_web_stream *s)
{
	static const cookie_io_functions_t io = {.write = write_stream};
	struct hl_web_query *q = s->query;
	FILE *raw = fopencookie(s, "w", io);
	int err;

	if (!raw)
		return -ENOMEM;
	setvbuf(raw, NULL, _IOFBF, 1 << 16);
	q->out = raw;
	err = hl_web_query_run(q);
	if (ferror(raw) && !err)
		err = -EIO;
	if (err)
		__fpurge(raw); /* it may be the begin of an answer that has failed */
	if (fclose(raw) && !err)
		err = -EIO;
	return err;
}

static void *run_stream(void *arg)
{
	struct hl_web_stream *s = arg;
	int err = s->query->shows_progress ? run_events(s) : run_bytes(s);

	pthread_mutex_lock(&s->lock);
	s->failed = err != 0;
	s->ended = true;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

/* --- the side of the connection --- */

int hl_web_stream_start(struct hl_web_stream **out, struct hl_web_query *q)
{
	struct hl_web_stream *s = calloc(1, sizeof(*s));
	pthread_attr_t attr;
	int err;

	if (!s)
		return -ENOMEM;
	s->data = malloc(BUFFER);
	if (!s->data) {
		free(s);
		return -ENOMEM;
	}
	s->query = q;
	q->stream = s;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->changed, NULL);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	err = pthread_create(&s->thread, &attr, run_stream, s);
	pthread_attr_destroy(&attr);
	if (err) {
		q->stream = NULL;
		pthread_mutex_destroy(&s->lock);
		pthread_cond_destroy(&s->changed);
		free(s->data);
		free(s);
		return -err;
	}
	*out = s;
	return 0;
}

/* A quarter of a second. Requires the lock. */
static void wait_a_moment(struct hl_web_stream *s)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += 250000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_cond_timedwait(&s->changed, &s->lock, &until);
}

bool hl_web_stream_has_begun(struct hl_web_stream *s, bool (*is_gone)(void *arg), void *arg)
{
	bool begun;

	pthread_mutex_lock(&s->lock);
	while (!s->begun && !s->ended) {
		wait_a_moment(s);
		pthread_mutex_unlock(&s->lock);
		if (is_gone(arg))
			atomic_store(&s->query->cancel, true);
		pthread_mutex_lock(&s->lock);
	}
	begun = s->begun || !s->failed;
	pthread_mutex_unlock(&s->lock);
	return begun;
}

ssize_t hl_web_stream_read(struct hl_web_stream *s, char *to, size_t len)
{
	size_t n, first;
	ssize_t result;

	pthread_mutex_lock(&s->lock);
	if (s->len == 0 && !s->ended)
		wait_a_moment(s);
	n = s->len < len ? s->len : len;
	first = n < BUFFER - s->begin ? n : BUFFER - s->begin;
	memcpy(to, s->data + s->begin, first);
	memcpy(to + first, s->data, n - first);
	s->begin = (s->begin + n) % BUFFER;
	s->len -= n;
	result = n ? (ssize_t)n : !s->ended ? -EAGAIN : s->failed ? -EIO : 0;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
	return result;
}

struct hl_web_query *hl_web_stream_query(struct hl_web_stream *s)
{
	return s->query;
}

void hl_web_stream_free(struct hl_web_stream *s)
{
	atomic_store(&s->query->cancel, true);
	pthread_mutex_lock(&s->lock);
	s->closed = true;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
	pthread_join(s->thread, NULL);
	pthread_mutex_destroy(&s->lock);
	pthread_cond_destroy(&s->changed);
	hl_web_query_fini(s->query);
	free(s->query);
	free(s->data);
	free(s);
}
