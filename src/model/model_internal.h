/*
 * model_internal.h - what the parts of the model share.
 */
#ifndef HL_MODEL_MODEL_INTERNAL_H
#define HL_MODEL_MODEL_INTERNAL_H

#include "model/marks.h"
#include "model/model.h"
#include "symbol/symbol.h"
#include "util/map.h"
#include "util/progress.h"
#include "util/strings.h"
#include "util/vec.h"

/* A module of the trace, once a frame of it was asked for. */
struct hl_model_module {
	bool asked, lost;
	uint32_t path; /* in strings */
	struct hl_symbols_module *symbols;
};

/* The frames of one (module, offset): refs[first .. first + n) */
struct hl_site {
	uint32_t first, n;
};

struct hl_question;

struct hl_model {
	struct hl_reader *reader;
	const struct hl_trace_info *info;
	uint32_t n_nodes;
	char error[512];

	/* Parts that turned out to be unreadable when they were read. */
	uint8_t *bad_chunks, *bad_keyframes, *bad_sets;
	size_t n_bad;

	HL_VEC(struct hl_question *) expected;

	struct hl_symbols *symbols;
	struct hl_model_module *modules;
	uint32_t n_modules;
	HL_VEC(uint32_t) asked; /* modules, in the order of being asked */
	struct hl_strings strings;
	HL_VEC(struct hl_frame) frames;
	struct hl_map frame_ids;
	HL_VEC(struct hl_site) sites;
	struct hl_map site_ids;
	HL_VEC(struct hl_frame_ref) refs;

	bool marks_loaded;
	uint64_t mark_bytes; /* of their names */
	HL_VEC(struct hl_mark) marks;
	HL_VEC(uint64_t) snapshots; /* allocations before each */

	uint8_t *funcs;      /* per node: the function it called, plus 1; 0: not known
			      */
	struct hl_map calls; /* (module, offset) -> the function that is called before it */
	uint32_t func_frames[HL_FUNC_COUNT + 1]; /* plus 1; 0: not made yet */
};

/*
 * Progress of what goes over all nodes and asks for their names: between
 * hl_progress_begin(HL_NAMES) and hl_progress_end(). Most nodes cost nothing, so not each reads the
 * clock.
 */
#define HL_NAMES   "looking up names"
#define HL_READING "reading the trace"
static inline void hl_names_tick(uint32_t node, uint32_t n)
{
	if (node % 64 == 0)
		hl_progress_tick(node, n);
}

/* Keeps the sentence of a failed call of the reader; returns err. */
int hl_model_fail(struct hl_model *m, int err);
static inline void hl_model_mark_bad(struct hl_model *m, uint8_t *flag)
{
	m->n_bad += !*flag;
	*flag = 1;
}
void hl_model_frames_fini(struct hl_model *m);
/* carried.c: a file that the trace carries (hl_symbols_open_fn). */
int hl_model_open_carried(
	void *m, enum hl_symbols_file kind, const char *path, const uint8_t *id, size_t len);

/*
 * Frames that stand beside each other and look the same though they are not: only what was
 * shortened tells them apart. *first is the number of the first in this list that looks like f:
 * `number` itself, which is then kept, if there was none. `seen` starts out empty. 0 or -ENOMEM.
 */
int hl_frame_look(struct hl_map *seen, uint32_t list, const struct hl_frame *f, uint32_t number,
	uint32_t *first);

#endif
