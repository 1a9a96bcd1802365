/*
 * decoded.c - see decoded.h.
 */
#include "model/decoded.h"

#include <string.h>

#include "model/model_internal.h"

struct hl_decoded hl_decoded_borrow(struct hl_model *m)
{
	struct hl_decoded d = m->decoded;

	memset(&m->decoded, 0, sizeof(m->decoded));
	return d;
}

void hl_decoded_return(struct hl_model *m, struct hl_decoded *d)
{
	hl_chunk_events_free(&m->decoded.events);
	m->decoded = *d;
	memset(d, 0, sizeof(*d));
}

int hl_decoded_read(struct hl_model *m, struct hl_decoded *d, size_t chunk, unsigned want)
{
	int err;

	if (d->want && d->chunk == chunk && (d->want & want) == want)
		return 0;
	err = hl_reader_decode_some(m->reader, chunk, want, &d->events);
	d->chunk = chunk;
	d->want = err ? 0 : want;
	m->events_decoded += d->events.n_events;
	return err;
}
