/* SPDX-License-Identifier: Apache-2.0 */
/*
 * marks.h - the named moments of a recording: heaplapse_mark and heaplapse_snapshot.
 */
#ifndef HL_MODEL_VIEWS_MARKS_H
#define HL_MODEL_VIEWS_MARKS_H

#include "model/model.h"
#include "model/query/sums.h"

struct hl_mark {
	uint64_t time_ns;
	uint64_t ordinal; /* number of allocations before it */
	size_t chunk;
	size_t event; /* number of events of that chunk before it */
	bool snapshot;
	uint32_t cause;   /* of a snapshot: enum hl_snapshot_cause, or a value of a newer version */
	const char *name; /* owned by the model; "" if it has none */
};

/* Sets *marks to all readable marks in order; the model owns them. Decodes the chunks that have
 * side events. Returns 0 or -errno. */
int hl_model_marks(struct hl_model *m, const struct hl_mark **marks, size_t *n);
/* The first mark of this name; NULL if there is none, or on an error. */
const struct hl_mark *hl_model_find_mark(struct hl_model *m, const char *name);
size_t hl_model_n_snapshots(struct hl_model *m);
/* The number of snapshots before an allocation: the index of its interval. */
uint32_t hl_model_interval(struct hl_model *m, uint64_t ordinal);
/* A change of the mode of recording. */
struct hl_mode_change {
	uint64_t time_ns;
	uint32_t mode; /* enum hl_mode, unless the file is damaged */
	bool paused, stopped;
	uint64_t sample_bytes; /* only for HL_MODE_SAMPLE */
};
/* All changes after the initial mode, in order; owned by the model. */
int hl_model_modes(struct hl_model *m, const struct hl_mode_change **modes, size_t *n);
/* The exact position of a mark between two events. */
struct hl_position hl_position_mark(const struct hl_mark *mark);
/* The same in a trace with aggregated blocks, where a snapshot's keyframe has its position. */
struct hl_position hl_position_mark_aggregated(struct hl_model *m, const struct hl_mark *mark);

#endif
