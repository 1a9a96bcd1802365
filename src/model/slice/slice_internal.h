/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slice_internal.h - shared by the parts of the slice writer; see slice.h.
 */
#ifndef HL_MODEL_SLICE_SLICE_INTERNAL_H
#define HL_MODEL_SLICE_SLICE_INTERNAL_H

#include "model/slice/anonymize.h"
#include "model/slice/ordinal_set.h"
#include "model/model_internal.h"
#include "model/slice/slice.h"
#include "model/query/sums.h"
#include "trace/write/writer.h"
#include "util/strbuf.h"

/* The block, plus 1, that a pool allocated last if no event of the pool came after it; else 0.
 * `last`: among kept blocks; `last_of_run`: among all. */
struct hl_pool_state {
	uint64_t last, last_of_run;
};

struct hl_slice_writer {
	struct hl_model *m;
	const struct hl_slice *s;
	struct hl_slice_done *done;
	struct hl_slice_info cut;
	struct hl_strbuf filter; /* the text of cut.filter, with the texts of earlier filters */
	struct hl_position from, to;
	struct hl_ordinal_set kept;        /* blocks of the heap */
	struct hl_ordinal_set kept_pooled; /* blocks of pools, which have ordinals of their own */
	struct hl_anonymizer *anonymizer;  /* NULL: names are kept */
	struct hl_writer *w;
	int write_err;
	uint32_t *nodes, *modules; /* new numbers, plus 1; 0: not written yet */
	uint64_t last_alloc; /* ordinal, plus 1, of the last written event if that is an allocation;
				else 0 */
	struct hl_pool_state *pools; /* by pool number */
	uint32_t n_pools;
	size_t next_key; /* the next keyframe to look at */
	uint32_t n_roles, n_new_nodes, n_new_modules;
	HL_VEC(uint32_t) path;
	struct hl_pair_map named; /* (module, offset) pairs whose names are written */
};

/* Remembers errors of the writer, to distinguish them from errors of the reader. */
static inline int hl_slice_writer_note_error(struct hl_slice_writer *c, int err)
{
	c->write_err = err;
	return err;
}

/* slice_tables.c: tables that events refer to. */
/* Writes all threads, tags and roles, with unchanged numbers. */
int hl_slice_writer_add_roles(struct hl_slice_writer *c);
/* Writes a stack with all its callers, unless it is written already, and returns its new number. A
 * stack that the file has lost becomes HL_NODE_NONE. */
int hl_slice_writer_map_node(struct hl_slice_writer *c, uint32_t id, uint32_t *number);

/* Writes all modules and stacks, with unchanged numbers. */
int hl_slice_writer_add_code(struct hl_slice_writer *c);

/* slice.c: the metadata of the slice. Also sets c->cut, whose text is in c->filter. Returns 0 or
 * -errno. */
int hl_slice_writer_meta(struct hl_slice_writer *c, struct hl_meta *meta);

/* slice_rename.c: copies the whole trace to fd, with the names of c->anonymizer, and closes fd. */
int hl_slice_writer_rename(struct hl_slice_writer *c, int fd);

/* slice_extras.c: side events, snapshots and the resident set. */
int hl_slice_writer_extra(struct hl_slice_writer *c, const struct hl_extra *from, bool older);
/* Writes the snapshots before this chunk. */
int hl_slice_writer_snapshots(struct hl_slice_writer *c, size_t chunk);
int hl_slice_writer_rss(struct hl_slice_writer *c);
/* slice_maps.c: the samples of the mappings in the range, with the names of c->anonymizer. */
int hl_slice_writer_maps(struct hl_slice_writer *c);

#endif
