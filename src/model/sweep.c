/*
 * sweep.c - see sweep.h.
 */
#include "model/sweep.h"

#include <errno.h>

#include "model/model_internal.h"
#include "util/progress.h"

static int sweep(struct hl_model *m, const struct hl_place *p, const struct hl_sweep *s)
{
	size_t end = hl_place_end(p), n = hl_reader_n_chunks(m->reader);
	int err = 0;

	end = end < n ? end : n;
	s->begin(s->arg);
	hl_progress_begin(HL_READING);
	for (size_t i = 0; i < end && !err; i++) {
		err = s->chunk(s->arg, i);
		if (err == -EBADMSG)
			hl_model_mark_bad(m, &m->bad_chunks[i]);
		hl_progress_tick(i + 1, end);
	}
	hl_progress_end();
	return err;
}

int hl_sweep_chunks(struct hl_model *m, struct hl_place *p, const struct hl_sweep *s)
{
	size_t bad;
	int err;

	/* Each turn marks a part bad or moves towards the start, so this ends. */
	do {
		bad = m->n_bad;
		while (!p->sure || !hl_chunks_are_there(m, 0, hl_place_end(p)))
			*p = hl_place_before_loss(m, p);
		err = sweep(m, p, s);
	} while (err == -EBADMSG && m->n_bad != bad);
	return err;
}

int hl_sweep_decode(struct hl_model *m, const struct hl_place *p, size_t chunk, unsigned want,
	struct hl_chunk_events *events, size_t *n)
{
	bool whole = chunk < p->chunk;
	int err = hl_reader_decode_some(m->reader, chunk, whole ? want : HL_WANT_ALL, events);

	*n = err ? 0 : whole ? events->n_events : hl_place_split(m, p, events);
	return err;
}
