/* SPDX-License-Identifier: Apache-2.0 */
/* packed_sink.c - see packed_sink.h. Sinks other than the first one stay in the list until they
 * fail. */
#include "trace/write/packed_sink.h"

#include <errno.h>

enum part { HEADER, CHUNK, TRAILER };

int hl_packed_sinks_add(struct hl_packed_sinks *s, const struct hl_packed_sink *sink)
{
	return hl_vec_push(&s->list, *sink) ? -ENOMEM : 0;
}

static int call_sink(
	const struct hl_packed_sink *k, enum part part, uint64_t n, const void *bytes, size_t len)
{
	switch (part) {
	case HEADER:
		return k->header(k->arg, bytes, len);
	case CHUNK:
		return k->chunk(k->arg, n, bytes, len);
	case TRAILER:
		break;
	}
	return k->trailer(k->arg, bytes, len);
}

static void drop_sink(struct hl_packed_sinks *s, size_t i, int err)
{
	struct hl_packed_sink k = s->list.data[i];

	s->list.data[i] = s->list.data[--s->list.len];
	if (k.closed)
		k.closed(k.arg, err);
}

static int send_part(struct hl_packed_sinks *s, enum part part, const void *bytes, size_t len)
{
	int err = call_sink(&s->list.data[0], part, s->n_chunks, bytes, len);

	if (err)
		return err;
	/* From the last one on: drop_sink() moves the last one to the place of the dropped one. */
	for (size_t i = s->list.len; i > 1; i--) {
		err = call_sink(&s->list.data[i - 1], part, s->n_chunks, bytes, len);
		if (err)
			drop_sink(s, i - 1, err);
	}
	return 0;
}

int hl_packed_sinks_header(struct hl_packed_sinks *s, const void *bytes, size_t len)
{
	return send_part(s, HEADER, bytes, len);
}

int hl_packed_sinks_chunk(struct hl_packed_sinks *s, const void *bytes, size_t len)
{
	int err = send_part(s, CHUNK, bytes, len);

	s->n_chunks += !err;
	return err;
}

int hl_packed_sinks_trailer(struct hl_packed_sinks *s, const void *bytes, size_t len)
{
	return send_part(s, TRAILER, bytes, len);
}

void hl_packed_sinks_fini(struct hl_packed_sinks *s)
{
	while (s->list.len)
		drop_sink(s, s->list.len - 1, 0);
	hl_vec_free(&s->list);
}
