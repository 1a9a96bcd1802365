/*
 * leak.c - an example of a leak: each session's name outlives the session.
 *
 * docs/tutorial.md finds it.
 */
#include <stdio.h>
#include <stdlib.h>

struct session {
	char *name;
	char *basket;
};

static struct session *session_open(int user)
{
	struct session *s = malloc(sizeof(*s));

	s->name = malloc(32);
	snprintf(s->name, 32, "user number %d", user);
	s->basket = calloc(1, 256);
	return s;
}

/* Frees the basket and the session, but not the name. */
static void session_close(struct session *s)
{
	free(s->basket);
	free(s);
}

static void serve(int user)
{
	struct session *s = session_open(user);

	snprintf(s->basket, 256, "%s bought nothing", s->name);
	session_close(s);
}

int main(void)
{
	for (int user = 1000; user < 3000; user++)
		serve(user);
	return 0;
}
/* SPDX-License-Identifier: Apache-2.0 */
