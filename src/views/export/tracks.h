/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tracks.h - the heap over time, for formats with timelines: points of live bytes, the resident
 * set, and marks.
 */
#ifndef HL_VIEWS_EXPORT_TRACKS_H
#define HL_VIEWS_EXPORT_TRACKS_H

#include "model/views/marks.h"
#include "views/export/export_internal.h"

struct hl_track_point {
	uint64_t time_ns, bytes;
};

struct hl_tracks {
	HL_VEC(struct hl_track_point)
	live; /* in order of time; includes the peak */
	struct hl_rss_sample *rss;
	size_t n_rss;
	const struct hl_mark *marks; /* owned by the model */
	size_t n_marks;
};

/* Returns 0, or -errno with hl_model_error(). */
int hl_tracks_make(struct hl_tracks *t, struct hl_export_job *x);
void hl_tracks_fini(struct hl_tracks *t);

#endif
