/*
 * marks.h - the named moments of a recording: heaplapse_mark and heaplapse_snapshot.
 */
#ifndef HL_MODEL_MARKS_H
#define HL_MODEL_MARKS_H

#include "model/model.h"
#include "model/sums.h"

struct hl_mark {
	uint64_t time_ns;
	uint64_t ordinal; /* allocations before it */
	size_t chunk;
	size_t event; /* events of that chunk before it */
	bool snapshot;
	const char *name; /* the model's; "" without one */
};

/* All that can be read, in order; the model's. Decodes the chunks that have any. 0 or -errno. */
int hl_model_marks(struct hl_model *m, const struct hl_mark **marks, size_t *n);
/* The first one of this name; NULL if there is none, or an error. */
const struct hl_mark *hl_model_find_mark(struct hl_model *m, const char *name);
size_t hl_model_n_snapshots(struct hl_model *m);
/* The interval that an allocation falls into: how many snapshots came before it. */
uint32_t hl_model_interval(struct hl_model *m, uint64_t ordinal);
/* Another way of recording from this moment on. */
struct hl_mode_change {
	uint64_t time_ns;
	uint32_t mode; /* enum hl_mode, if the file is right */
	bool paused, stopped;
	uint64_t sample_bytes; /* HL_MODE_SAMPLE */
};
/* All but the one that the recording began with, in order; the model's. */
int hl_model_modes(struct hl_model *m, const struct hl_mode_change **modes, size_t *n);
/* The very place of a mark between two events. */
struct hl_place hl_place_mark(const struct hl_mark *mark);
/* The same where not all is in events: a snapshot's keyframe has its time. */
struct hl_place hl_place_mark_apart(struct hl_model *m, const struct hl_mark *mark);

#endif
