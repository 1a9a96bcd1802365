/*
 * demo.c - a small program with three typical problems of heap use.
 *
 *   leak   a session's greeting is replaced without freeing the old one: a little, for ever
 *   hog    one table that is far larger than everything else, but freed before the end
 *   churn  a formatted line for each request, allocated and freed at once, very often
 *
 * scripts/demo records it and shows the trace.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SESSIONS 40
#define REQUESTS 5000

struct session {
	char *greeting;
	unsigned long requests;
};

static struct session sessions[SESSIONS];

/* The leak: a second login overwrites the pointer to the old greeting. */
static void session_login(struct session *s, int id, int day)
{
	s->greeting = malloc(64);
	if (s->greeting)
		snprintf(s->greeting, 64, "hello %d, this is day %d", id, day);
}

/* The churn: each request allocates a line and frees it. */
static size_t request_handle(struct session *s, int number)
{
	size_t size = 32 + (size_t)number % 96;
	char *line = malloc(size);
	size_t len = 0;

	if (line) {
		len = (size_t)snprintf(line, size, "request %d of %s", number, s->greeting);
		free(line);
	}
	s->requests++;
	return len;
}

/* The hog: half of the size would be enough. */
static unsigned *table_build(size_t entries)
{
	unsigned *table = calloc(entries, sizeof(*table));

	for (size_t i = 0; table && i < entries; i++)
		table[i] = (unsigned)(i * 2654435761u);
	return table;
}

static void day_run(int day, size_t *bytes)
{
	unsigned *table = table_build((size_t)200000 * (size_t)(day + 1));

	for (int i = 0; i < SESSIONS; i++)
		session_login(&sessions[i], i, day);
	for (int i = 0; i < REQUESTS; i++)
		*bytes += request_handle(&sessions[i % SESSIONS], i);
	free(table);
}

static void sessions_close(void)
{
	for (int i = 0; i < SESSIONS; i++)
		free(sessions[i].greeting);
}

int main(void)
{
	size_t bytes = 0;

	for (int day = 0; day < 4; day++)
		day_run(day, &bytes);
	sessions_close();
	fprintf(stderr, "answered %d requests with %zu bytes\n", 4 * REQUESTS, bytes);
	return 0;
}
/* SPDX-License-Identifier: Apache-2.0 */
