/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model_internal.h - shared by the parts of the model.
 */
#ifndef HL_MODEL_MODEL_INTERNAL_H
#define HL_MODEL_MODEL_INTERNAL_H

#include "base/attr.h"
#include "model/scan/chunk_cache.h"
#include "model/stack/frame_rules.h"
#include "model/views/marks.h"
#include "model/model.h"
#include "symbol/symbol.h"
#include "util/pair_map.h"
#include "util/string_table.h"
#include "util/vec.h"
#include "util/work/work.h"

/* A module of the trace, once a frame of it was looked up. */
struct hl_model_module {
	bool asked, lost;
	bool noted;    /* it is in the list of notes */
	uint32_t path; /* in strings */
	struct hl_symbols_module *symbols;
};

/* The frames of one (module, offset): refs[first .. first + n) */
struct hl_frame_span {
	uint32_t first, n;
};

/* Frames that were looked up before a refresh, by (module, offset). Looking them up in the files
 * again is the expensive part of naming. */
struct hl_known_frames {
	bool kept; /* new ones are added */
	struct hl_pair_map site_ids;
	HL_VEC(struct hl_frame_span) sites;
	HL_VEC(struct hl_frame_ref) refs;
	HL_VEC(struct hl_frame) frames;
};

typedef HL_VEC(const char *) hl_model_names;

/* A file that claims more pools is not believed. */
#define HL_POOLS_MAX 65536u

struct hl_prefetch;
struct hl_chains;
struct hl_stack_groups;
struct hl_key_index;
struct hl_stack_rules;

/* The kinds of frames, see stack/stack_rules.h. */
struct hl_frame_kinds {
	const struct hl_stack_rules *rules;  /* the caller's; NULL: none */
	bool has_wrappers;                   /* they were found */
	HL_VEC(uint8_t) of_frame;            /* per frame: its kind plus 1; 0: not known yet */
	struct hl_pair_map wrapper_ids;      /* (name, module) of functions -> index in wrappers */
	hl_model_names wrappers;             /* the names that are shown */
	HL_VEC(uint8_t) was_met;             /* per wrapper: a frame of it was asked for */
	uint32_t *site_nodes, *site_callees; /* site.c: per node, the node of its site, and the
						node that is called there */
	HL_VEC(uint32_t) path;
};

struct hl_model {
	struct hl_reader *reader;
	const struct hl_trace_info *info;
	uint32_t n_nodes;
	const struct hl_role *roles; /* the reader's; n_roles is 0 without scopes */
	uint32_t n_roles, n_tags;
	char error[512];
	struct hl_work work;

	/* Parts that turned out to be unreadable when they were read. */
	uint8_t *bad_chunks, *bad_keyframes, *bad_sets;
	size_t n_bad;

	/*
	 * Sums can be carried from event to event only within a segment of the run. Between two
	 * segments there are events of aggregated blocks, which are not in the trace (disjoint
	 * chunks and keyframes). chunk_segment has the segment of each chunk's start, key_segment
	 * that of each keyframe; n_segments is the segment of the end.
	 */
	uint32_t *chunk_segment, *key_segment;
	uint32_t n_segments;

	/* A trace that begins late: the chunks of its base, and the peak of the run up to it. */
	size_t n_base_chunks;
	uint64_t base_peak_bytes;

	HL_VEC(struct hl_prefetch *) prefetches;
	struct hl_chunk_cache decoded;
	uint64_t events_decoded; /* into chunk caches */

	struct hl_chains *chains;       /* NULL: not loaded */
	struct hl_stack_groups *groups; /* NULL: not loaded */
	struct hl_key_index *key_index; /* NULL: not made */

	struct hl_symbols *symbols;
	const struct hl_source_places *sources; /* NULL: the recorded paths */
	struct hl_model_module *modules;
	uint32_t n_modules;
	HL_VEC(uint32_t) asked; /* modules in the order of their first lookup for an answer */
	struct hl_string_table strings;
	HL_VEC(struct hl_frame) frames;
	struct hl_pair_map frame_ids;
	HL_VEC(struct hl_frame_span) sites;
	struct hl_pair_map site_ids;
	HL_VEC(struct hl_frame_ref) refs;
	struct hl_known_frames known;
	bool looks_ahead; /* frames are looked up that are not part of an answer */
	struct hl_frame_kinds kinds;

	bool marks_loaded;
	size_t marks_chunk;  /* the next chunk whose side events are to be read */
	uint64_t mark_bytes; /* size of the names of marks */
	HL_VEC(struct hl_mark) marks;
	HL_VEC(struct hl_mode_change) modes;
	HL_VEC(uint32_t) snapshots;  /* indexes of the marks that are snapshots */
	hl_model_names pools;        /* by number; NULL: its name is lost */
	hl_model_names thread_names; /* by thread number, up to the last with a name; NULL: none */

	uint8_t *funcs;           /* per node: the function it called, plus 1; 0: not known */
	struct hl_pair_map calls; /* (module, offset) -> the function that is called before it */
	uint64_t calls_noted;     /* bytes of the file from which calls were noted before they were
				     looked up */
	uint32_t func_frames[HL_FUNC_COUNT + 1]; /* plus 1; 0: not made yet */
};

/* hl_model_role for code that runs for every event. */
static inline struct hl_role hl_role_at(const struct hl_model *m, uint32_t role)
{
	return hl_likely(role >= m->n_roles) ? (struct hl_role){role, HL_TAG_NONE} : m->roles[role];
}

/* The names of work (util/work/work.h). */
#define HL_WORK_NAMES   "looking up names"
#define HL_WORK_READING "reading the trace"
/* hl_work_tick in loops over all nodes that look up their names. Most nodes cost nothing, so the
 * clock is not read for each. */
static inline int hl_naming_tick(struct hl_model *m, uint32_t node, uint32_t n)
{
	return node % 64 == 0 ? hl_work_tick(&m->work, node, n) : 0;
}

/* Keeps the message of a failed call of the reader; returns err. */
int hl_model_fail(struct hl_model *m, int err);
/* An upper bound of the ordinals of the heap's blocks, or of all pools' blocks. Returns 0, or
 * -EBADMSG with hl_model_error() if a file of this size cannot have that many. */
int hl_model_n_ordinals(struct hl_model *m, bool pool, uint64_t *n);
/* Sets the message that blocks that are live at a moment after a loss are not known. Returns
 * -ENODATA. */
int hl_model_lost_before(struct hl_model *m);
/* The same for a moment before the base of a trace that begins late. Returns -ENOENT. */
int hl_model_before_base(struct hl_model *m, const char *what);
/* Is a part of the base lost? Then single blocks are not known. */
bool hl_model_base_is_lost(const struct hl_model *m);
int hl_model_lost_base(struct hl_model *m);
/* Made by heaplapse import; meta.source names the program that recorded it. */
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
/* Forgets the frames and tables made from them. They get the numbers that they have in a
 * new model. Their names stay known, unless `names` is true. */
void hl_model_forget_frames(struct hl_model *m, bool names);
/* marks.c: discards the marks, or at a refresh only what says that all of them were read. */
void hl_model_marks_fini(struct hl_model *m);
/* model.c: reads what queries need to know of the whole trace. */
int hl_model_load(struct hl_model *m);
/* stack_rules.c: the kind without the wrappers that were found; *allocates as in frame_rules.h. */
enum hl_frame_kind hl_model_frame_kind_by_rules(
	const struct hl_model *m, const struct hl_frame *f, bool *allocates);
int hl_model_add_wrapper(struct hl_model *m, const struct hl_frame *f);
void hl_model_kinds_fini(struct hl_model *m);
/* realloc_chains.c; NULL is allowed. */
void hl_chains_free(struct hl_chains *c);
/* stack_groups.c; NULL is allowed. */
void hl_stack_groups_free(struct hl_stack_groups *g);
/* called_function.c: notes the calls of events that were decoded, with node and func, for another
 * purpose. bytes: how much was read for them; 0: they were in the cache and have been noted before.
 * Returns 0 or -ENOMEM. */
int hl_model_learn_called_functions(
	struct hl_model *m, const struct hl_chunk_events *c, uint64_t bytes);
/* A group as a frame. Equal names give the same frame. Returns 0 or -ENOMEM. */
int hl_model_group_frame(struct hl_model *m, const char *name, const char *shown, uint32_t *frame);
/* A run of folded frames, or what it belongs to, as a frame. Returns as above. */
int hl_model_fold_frame(struct hl_model *m, const char *name, uint32_t outer, uint32_t *frame);
/* embed_modules.c: opens an embedded file (hl_symbols_open_fn). */
int hl_model_open_embedded(
	void *m, enum hl_symbols_file kind, const char *path, const uint8_t *id, size_t len);

/*
 * Finds frames in one list that look equal although they are not, because they differ only in the
 * shortened parts. *first is the number of the first frame in this list that looks like f; if there
 * is none, it is `number`, which is then added. `seen` is empty at first. Returns 0 or -ENOMEM.
 */
int hl_frame_find_lookalike(struct hl_pair_map *seen, uint32_t list, const struct hl_frame *f,
	uint32_t number, uint32_t *first);

#endif
