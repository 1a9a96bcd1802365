/*
 * model_internal.h - what the parts of the model share.
 */
#ifndef HL_MODEL_MODEL_INTERNAL_H
#define HL_MODEL_MODEL_INTERNAL_H

#include "base/attr.h"
#include "model/decoded.h"
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

typedef HL_VEC(const char *) hl_model_names;

/* Whatever a file says, it has no more. */
#define HL_POOLS_MAX 65536u

struct hl_question;
struct hl_chains;

struct hl_model {
	struct hl_reader *reader;
	const struct hl_trace_info *info;
	uint32_t n_nodes;
	const struct hl_role *roles; /* the reader's; n_roles is 0 without scopes */
	uint32_t n_roles, n_tags;
	char error[512];

	/* Parts that turned out to be unreadable when they were read. */
	uint8_t *bad_chunks, *bad_keyframes, *bad_sets;
	size_t n_bad;

	/*
	 * Stretches of the run within which sums can be carried from event to event; between them
	 * lies what is in no event. Of each chunk's start and of each keyframe; n_stretches is that
	 * of the end.
	 */
	uint32_t *chunk_stretch, *key_stretch;
	uint32_t n_stretches;

	HL_VEC(struct hl_question *) expected;
	struct hl_decoded decoded;
	uint64_t events_decoded; /* by way of it */

	struct hl_chains *chains; /* NULL: not loaded */

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
	HL_VEC(struct hl_mode_change) modes;
	HL_VEC(uint32_t) snapshots;  /* which of the marks are */
	hl_model_names pools;        /* by number; NULL: its name is lost */
	hl_model_names thread_names; /* by number, as far as any has one; NULL: none */

	uint8_t *funcs;       /* per node: the function it called, plus 1; 0: not known
			       */
	struct hl_map calls;  /* (module, offset) -> the function that is called before it */
	uint64_t calls_noted; /* bytes of the file that told such, before they were looked for */
	uint32_t func_frames[HL_FUNC_COUNT + 1]; /* plus 1; 0: not made yet */
};

/* hl_model_role, for those who ask it of every event. */
static inline struct hl_role hl_role_of(const struct hl_model *m, uint32_t role)
{
	return hl_likely(role >= m->n_roles) ? (struct hl_role){role, HL_TAG_NONE} : m->roles[role];
}

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
/* How many ordinals the blocks of the heap, or of all pools, have at most. 0 or -EBADMSG with
 * hl_model_error(): more than a file of this size holds. */
int hl_model_n_ordinals(struct hl_model *m, bool pool, uint64_t *n);
/* Blocks that are in sums alone, none of them alive at the end, are no blocks of that moment. */
struct hl_when;
bool hl_model_end_is_known(const struct hl_model *m, const struct hl_when *when);
/* What needs every single event cannot be known where some are in sums alone: -ENODATA, with the
 * sentence. */
int hl_model_no_events(struct hl_model *m, const char *what);
/* The same of a profile, which knows no moment but its own: if HL_UNKNOWN_ORDER is set. */
int hl_model_no_order(struct hl_model *m, const char *what);
/* Blocks that live at a moment behind a loss. */
int hl_model_lost_before(struct hl_model *m);
/* Temporary blocks of samples. */
int hl_model_no_neighbours(struct hl_model *m);
/* Made by heaplapse import; meta.source names the program it is from. */
static inline bool hl_model_is_imported(const struct hl_model *m)
{
	return m->info->meta.source && m->info->meta.source[0];
}
static inline void hl_model_mark_bad(struct hl_model *m, uint8_t *flag)
{
	m->n_bad += !*flag;
	*flag = 1;
}
void hl_model_frames_fini(struct hl_model *m);
/* chains.c; NULL is allowed. */
void hl_chains_free(struct hl_chains *c);
/* calls.c: these events, with node and func, were read for something else, so many bytes; 0: they
 * were there, and have been noted. 0 or -ENOMEM. */
int hl_model_note_calls(struct hl_model *m, const struct hl_chunk_events *c, uint64_t bytes);
/* A group as a frame. The same names give the same frame. 0 or -ENOMEM. */
int hl_model_group_frame(struct hl_model *m, const char *name, const char *shown, uint32_t *frame);
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
