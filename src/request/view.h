/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view.h - the views that a request can ask for, as rows.
 *
 * A view is a row here, a struct hl_view in views/ that turns a part of a plan into a result, and a
 * renderer in each module that shows results (hl_text_RENDERER, hl_json_RENDERER). Option, help,
 * completion and the checks of the request follow. A view announces its own queries (prefetch).
 *
 * A renderer of text shows the rows that r->limits selects (request/limits.h) and counts the
 * others; JSON has all rows. Both write a row between hl_row_begin and hl_row_end
 * (request/budget.h), as the limits of the whole document need it.
 */
#ifndef HL_REQUEST_VIEW_H
#define HL_REQUEST_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/stack/flat_table.h"

/* X(name, renderer, option, help), in the order of the help. */
/* clang-format off */
#define HL_VIEWS_WITH_OPTION(X) \
	X(overview, overview, "overview", \
		"the most important facts on one screen (the default without a quantity)") \
	X(sites, table, "sites", "a list of call sites with lifetimes and their trend over time") \
	X(sizes, table, "sizes", "blocks by size") \
	X(lifetimes, table, "lifetimes", "blocks by lifetime") \
	X(threads, threads, "threads", "allocations and frees by thread, and frees across threads") \
	X(timeline, timeline, "timeline", "live bytes over time, as a plot") \
	X(fragmentation, fragmentation, "fragmentation", \
		"how full the heap's pages are, and which sites hold nearly empty ones") \
	X(freed_by, freed_by, "freed-by", \
		"which sites free the blocks of each site (needs record --free-stacks)") \
	X(blocks, blocks, "blocks", \
		"single blocks, one by one; with --group=stack in groups of one stack") \
	X(mmaps, mmaps, "mmaps", "the program's own mappings, largest first (needs record --mmap)") \
	X(resident, resident, "resident", \
		"what the memory of the process is, by mapping, over time (needs record --mmap)") \
	X(address_space, address_space, "address-space", \
		"the mappings of the process, and the heap's blocks and the gaps in each") \
	X(snapshots, snapshots, "snapshots", "memory live at each snapshot of the program") \
	X(snapshot_deltas, snapshots, "snapshot-deltas", \
		"blocks allocated since the snapshot before and still live") \
	X(cumulative_delta, snapshots, "cumulative-delta", \
		"blocks allocated since the first snapshot and live at the last")
/* Views of other options: the tree is the default, source has a value, the others are values of
 * "group". The curves are those of a timeline with a group. */
#define HL_VIEWS_WITHOUT_OPTION(X) \
	X(tree, tree, NULL, NULL) \
	X(table, table, NULL, NULL) \
	X(curves, curves, NULL, NULL) \
	X(process, process, NULL, NULL) \
	X(source, source, NULL, NULL)
#define HL_VIEWS(X) HL_VIEWS_WITH_OPTION(X) HL_VIEWS_WITHOUT_OPTION(X)
/* clang-format on */

/* The position of a view in tables made from HL_VIEWS. */
enum hl_view_id {
#define X(name, ...) HL_VIEW_ID_##name,
	HL_VIEWS(X)
#undef X
		HL_VIEW_COUNT
};

/* The flags decide what is asked, checked and noted before run is called. */
enum {
	HL_VIEW_QUANTITY = 1,     /* shows the requested quantity; the others show the whole run */
	HL_VIEW_DEFAULT_ALL = 2,  /* shows all allocations if no quantity was given, because the
				     blocks at one moment are only a sample of them */
	HL_VIEW_MOMENT = 4,       /* needs a quantity of one moment */
	HL_VIEW_POOLS = 8,        /* can show pools */
	HL_VIEW_NAMES = 16,       /* shows names of functions */
	HL_VIEW_TOTAL = 32,       /* run sets r->total, which can be added up over processes */
	HL_VIEW_EARLY = 64,       /* runs before other parts, so that one scan serves them all */
	HL_VIEW_BLOCKS = 128,     /* shows blocks of the heap */
	HL_VIEW_RANGE = 256,      /* shows the requested range, without a quantity */
	HL_VIEW_OWN_MOMENT = 512, /* chooses its moment itself if no quantity was given */
	HL_VIEW_ALL_LIVE = 1024,  /* its blocks at the end are not only those that may have leaked:
				     suppressions do not apply */
};

/* The values of --sort that a view follows: in the order of its rows, or in the choice of the
 * largest ones. */
enum {
	HL_SORTS_BYTES = 1u << HL_SORT_BYTES,
	HL_SORTS_SIZE = HL_SORTS_BYTES | 1u << HL_SORT_BLOCKS,
	HL_SORTS_ALL = HL_SORTS_SIZE | 1u << HL_SORT_AVERAGE | 1u << HL_SORT_NAME,
	/* From TIME to LIFE; bytes, blocks, and from LEAKED to RUN_PEAK. */
	HL_SORTS_BLOCKS = (1u << HL_SORT_LEAKED) - (1u << HL_SORT_TIME),
	HL_SORTS_GROUPS = HL_SORTS_SIZE | ((1u << HL_SORT_OWN) - (1u << HL_SORT_LEAKED)),
};

struct hl_plan;
struct hl_plan_part;
struct hl_result;

/* Members that are left out have no effect, but a view has an id, a data_size and run. */
struct hl_view {
	enum hl_view_id id;
	unsigned flags;
	unsigned sorts;         /* HL_SORTS_*; 0: --sort does not apply */
	unsigned sorts_grouped; /* the same if it is grouped; 0: as `sorts` */
	/* HL_UNKNOWN_*: what an imported trace may lack. Without needs the result is incomplete,
	 * and a note says so; without refuses there is no result: run is not called, and both the
	 * report and --explain say why. */
	uint32_t needs, refuses;
	double min_percent; /* limits, unless the request has others */
	size_t limit;       /* 0: none */
	size_t data_size;   /* of the result's data */
	/* The text of --explain; NULL: the text of its query, as for tables. With a filter
	 * reads_filtered, if that is not NULL. */
	const char *reads, *reads_filtered;
	/* HL_NEEDS_* of what it reads, for --explain; in a report the model refuses the same
	 * queries when run makes them. HL_NEEDS_EVENTS of live blocks are only those of these
	 * blocks. */
	unsigned requires;
	/* For --explain: does run fail for another reason? Returns 0, or -errno with
	 * hl_model_error(). It may change the text of what is read. NULL: there is none. */
	int (*check)(const struct hl_plan *p, const struct hl_plan_part *part, const char **reads);
	/* Announces queries that need all events; NULL: the view makes a pass of its own. */
	void (*prefetch)(const struct hl_plan *p, const struct hl_plan_part *part);
	/* Fills r->data, which is zeroed. Returns 0, or -errno with hl_model_error(). fini is
	 * called in either case: after an error the data must be valid or zero. With
	 * HL_VIEW_QUANTITY it calls hl_result_set_answer or hl_result_set_moment. */
	int (*run)(struct hl_plan *p, const struct hl_plan_part *part, struct hl_result *r);
	void (*fini)(void *data); /* NULL: the data owns nothing */
};

#define X(name, ...) extern const struct hl_view hl_view_##name;
HL_VIEWS(X)
#undef X

#endif
