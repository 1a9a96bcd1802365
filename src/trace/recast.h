/*
 * recast.h - a copy of a whole trace under other names.
 *
 * Modules, nodes, threads, tags and names of code are written anew, before all else. What events,
 * sums and keyframes say stays as it was, but for texts and addresses if these are masked too; so a
 * trace that has only sums can be copied, which nobody could make again from its events. Files that
 * it carries stay behind. A trace that is damaged, or that somebody still writes, is not copied.
 */
#ifndef HL_TRACE_RECAST_H
#define HL_TRACE_RECAST_H

#include "trace/reader.h"
#include "trace/writer.h"

struct hl_recast;

/* Each changes what it is given. 0 or -errno. */
struct hl_recast_masks {
	void (*event)(void *arg, struct hl_event *e); /* its address */
	int (*extra)(void *arg, struct hl_extra *x);  /* its addresses and text */
	int (*label)(void *arg, const char **label);  /* of a snapshot */
	void *arg;
};

/*
 * fd is a new, empty file, which is closed by hl_recast_end; after an error here it is still the
 * caller's. *w is there to be given all modules, nodes, threads, roles and tags, with the numbers
 * that they have in r, and names; it is not the caller's. -EBADMSG with hl_reader_error() when r is
 * damaged or is being written.
 */
int hl_recast_begin(struct hl_recast **out, struct hl_reader *r, int fd, const struct hl_meta *meta,
	struct hl_writer **w);
/* All the rest. masks: NULL for none. err: what went wrong since the begin, after which nothing
 * more is written. 0 or the first error: then the copy is of no use. */
int hl_recast_end(struct hl_recast *x, const struct hl_recast_masks *masks, int err);

#endif
