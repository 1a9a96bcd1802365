/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rename_copy.h - copies a whole trace under other names.
 *
 * Modules, nodes, threads, tags and symbol names are written anew, before everything else. Events,
 * sums and keyframes are copied; only addresses and texts change, if they are masked. So a trace
 * with aggregated blocks can be copied, although it cannot be rebuilt from its events. Embedded
 * files are not copied. A trace that is damaged or still being written is refused.
 */
#ifndef HL_TRACE_EDIT_RENAME_COPY_H
#define HL_TRACE_EDIT_RENAME_COPY_H

#include "trace/read/reader.h"
#include "trace/write/writer.h"

struct hl_rename_copy;

/* Callbacks that replace data in place. Those that return int return 0 or -errno. */
struct hl_rename_copy_masks {
	void (*event)(void *arg, struct hl_event *e); /* replaces its address */
	int (*extra)(void *arg, struct hl_extra *x);  /* replaces its addresses and text */
	int (*label)(void *arg, const char **label);  /* replaces the label of a snapshot */
	void *arg;
};

/*
 * Begins a copy of r into fd, a new and empty file. On success *out owns fd and hl_rename_copy_end
 * closes it; after an error fd still belongs to the caller. The caller adds all modules, nodes,
 * threads, roles and tags to *w, with the ids that they have in r, and the names; *w belongs to
 * *out. Returns -EBADMSG, with a text in hl_reader_error(), if r is damaged or still being written.
 */
int hl_rename_copy_begin(struct hl_rename_copy **out, struct hl_reader *r, int fd,
	const struct hl_meta *meta, struct hl_writer **w);
/*
 * Copies the rest and frees x. masks: NULL for none. err: an error of the caller since the begin;
 * if it is not 0 nothing more is written. Returns 0 or the first error; after an error the copy is
 * not usable.
 */
int hl_rename_copy_end(struct hl_rename_copy *x, const struct hl_rename_copy_masks *masks, int err);

#endif
