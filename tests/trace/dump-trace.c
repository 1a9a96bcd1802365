/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dump-trace.c - prints every event of a trace by the library alone; decode.py's output is compared
 * with it.
 */
#include <stdio.h>
#include <stdlib.h>

#include "trace/read/event_text.h"
#include "trace/read/reader.h"

static char line[5 * 65536 + HL_EVENT_TEXT_MAX];

static void dump_chunk(
	const struct hl_reader *r, const struct hl_chunk_events *c, const struct hl_roles *roles)
{
	size_t x = 0;

	for (size_t i = 0; i <= c->n_events; i++) {
		for (; x < c->n_extras && c->extras_at[x] == i; x++) {
			hl_event_text_extra(line, sizeof(line), &c->extras[x], roles);
			puts(line);
		}
		if (i < c->n_events) {
			c->events[i].ordinal = hl_reader_run_ordinal(r, c->events[i].ordinal);
			hl_event_text_event(line, sizeof(line), &c->events[i], roles);
			puts(line);
		}
	}
}

int main(int argc, char **argv)
{
	struct hl_reader_refusal why;
	struct hl_chunk_events c = {0};
	struct hl_roles roles;
	struct hl_reader *r;
	int err = 0;

	if (argc != 2)
		return 2;
	if (hl_reader_open(&r, argv[1], &why) < 0) {
		fprintf(stderr, "%s\n", why.text);
		return 3;
	}
	err = hl_reader_roles(r, &roles.list, &roles.n);
	for (size_t i = 0; i < hl_reader_n_chunks(r) && !err; i++) {
		err = hl_reader_decode(r, i, &c);
		if (!err)
			dump_chunk(r, &c, &roles);
	}
	if (err)
		fprintf(stderr, "%s\n", hl_reader_error(r));
	hl_chunk_events_free(&c);
	hl_reader_close(r);
	return err ? 3 : 0;
}
