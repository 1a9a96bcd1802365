/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tracks.c - see tracks.h.
 */
#include "views/export/tracks.h"

#include <errno.h>
#include <stdlib.h>

#include "model/views/filtered_peak.h"

/* Wider than any screen. More columns would only be slower. */
#define COLUMNS 2000

static int add_point(struct hl_tracks *t, uint64_t ns, uint64_t bytes)
{
	return hl_vec_push(&t->live, ((struct hl_track_point){ns, bytes}));
}

/* Adds a point at the end of each column, and the peak, which is between two of them. Columns that
 * are lost or before a base have no point. */
static int add_columns(struct hl_tracks *t, struct hl_export_job *x,
	const struct hl_timeline_bin *columns, const struct hl_peak *p)
{
	uint64_t end = hl_model_end_ns(x->m);
	const struct hl_base *base = hl_model_base(x->m);
	bool peak = p->bytes > 0 && !p->before_base;
	int err = base->is_late ? 0 : add_point(t, 0, 0);

	for (size_t i = 0; i < COLUMNS && !err; i++) {
		uint64_t ns = (uint64_t)((unsigned __int128)end * (i + 1) / COLUMNS);

		if (peak && p->time_ns <= ns) {
			err = add_point(t, p->time_ns, p->bytes);
			peak = false;
		}
		if (!err && !columns[i].lost && !columns[i].before_base)
			err = add_point(t, ns, columns[i].end_bytes);
		x->before_damage |= columns[i].lost;
	}
	x->to_ns = end;
	x->lacks_peak = p->before_base;
	return err;
}

int hl_tracks_make(struct hl_tracks *t, struct hl_export_job *x)
{
	struct hl_timeline_bin *columns = calloc(COLUMNS, sizeof(*columns));
	struct hl_peak peak;
	int err = columns ? hl_timeline(x->m, x->query.filter, columns, COLUMNS, &peak) : -ENOMEM;

	*t = (struct hl_tracks){0};
	if (!err)
		err = add_columns(t, x, columns, &peak);
	if (!err)
		err = hl_reader_rss(hl_model_reader(x->m), &t->rss, &t->n_rss);
	if (!err)
		err = hl_model_marks(x->m, &t->marks, &t->n_marks);
	free(columns);
	return err;
}

void hl_tracks_fini(struct hl_tracks *t)
{
	hl_vec_free(&t->live);
	free(t->rss);
	*t = (struct hl_tracks){0};
}
