/*
 * slice_internal.h - what the parts of cutting a trace share; see slice.h.
 */
#ifndef HL_MODEL_SLICE_INTERNAL_H
#define HL_MODEL_SLICE_INTERNAL_H

#include "model/disguise.h"
#include "model/kept.h"
#include "model/model_internal.h"
#include "model/slice.h"
#include "model/sums.h"
#include "trace/writer.h"
#include "util/strbuf.h"

/* The block, plus 1, that a pool gave out last if nothing came after it; else 0: of those that are
 * kept, and of all in the run. */
struct hl_pooled {
	uint64_t last, last_of_run;
};

struct hl_cutting {
	struct hl_model *m;
	const struct hl_slice *s;
	struct hl_slice_done *done;
	struct hl_cut_note cut;
	struct hl_strbuf filter; /* its text, and that of earlier ones: cut.filter */
	struct hl_place from, to;
	struct hl_kept kept;          /* blocks of the heap */
	struct hl_kept kept_pooled;   /* and of pools, which are counted apart */
	struct hl_disguise *disguise; /* NULL: names are kept */
	struct hl_writer *w;
	int write_err;
	uint32_t *nodes, *modules; /* new numbers + 1; 0: not written yet */
	uint64_t last_alloc; /* ordinal of the last event if it is an allocation, plus 1; else 0 */
	struct hl_pooled *pools; /* by number */
	uint32_t n_pools;
	size_t next_key; /* the first keyframe that was not looked at */
	uint32_t n_roles, n_new_nodes, n_new_modules;
	HL_VEC(uint32_t) path;
	struct hl_map named; /* places whose names are written */
};

/* Errors of the writer are told apart from those of the reader. */
static inline int hl_cutting_wrote(struct hl_cutting *c, int err)
{
	c->write_err = err;
	return err;
}

/* slice_tables.c: what events name. */
/* All threads, tags and roles, with the numbers that they have. */
int hl_cutting_add_roles(struct hl_cutting *c);
/* The new number of a stack, with all that it stands on. What the file has lost is no stack. */
int hl_cutting_map_node(struct hl_cutting *c, uint32_t id, uint32_t *number);

/* All modules and stacks, with the numbers that they have. */
int hl_cutting_add_code(struct hl_cutting *c);

/* slice.c: what the slice says of its program and of itself, which is c->cut, too. Its
 * text is c->filter's. 0 or -errno. */
int hl_cutting_meta(struct hl_cutting *c, struct hl_meta *meta);

/* slice_rename.c: the whole trace into fd, which is closed, under the names of c->disguise. */
int hl_cutting_rename(struct hl_cutting *c, int fd);

/* slice_extras.c: what stands beside the events. */
int hl_cutting_extra(struct hl_cutting *c, const struct hl_extra *from, bool older);
/* Snapshots that stand before this chunk. */
int hl_cutting_snapshots(struct hl_cutting *c, size_t chunk);
int hl_cutting_rss(struct hl_cutting *c);

#endif
