/* SPDX-License-Identifier: Apache-2.0 */
/*
 * result.h - the data of each view's result (hl_result.data).
 */
#ifndef HL_REQUEST_RESULT_H
#define HL_REQUEST_RESULT_H

#include "model/stack/flat_table.h"
#include "model/stack/tree.h"
#include "model/views/curves/group_curves.h"
#include "model/blocks/block_groups.h"
#include "model/blocks/block_list.h"
#include "model/views/address_rows.h"
#include "model/views/filtered_peak.h"
#include "model/views/freeing_sites.h"
#include "model/views/mappings.h"
#include "model/overview/overview.h"
#include "model/views/marks.h"
#include "model/views/page_usage.h"
#include "model/views/resident.h"
#include "model/views/site_stats.h"
#include "model/views/snapshots.h"
#include "model/views/source_lines.h"
#include "model/views/thread_stats.h"
#include "request/plan.h"

/* tree */
struct hl_tree_result {
	struct hl_answer answer;
	struct hl_tree tree;
	size_t max_nodes;  /* at most this many nodes are useful; 0: all */
	uint64_t min_size; /* smaller nodes are not useful; 0: all are */
	bool by_blocks;    /* sizes are blocks instead of bytes */
};
/* The maximum depth of branches in a tree that begins at the allocating frame: the indentation of a
 * deep recursion would grow with the square of its depth. */
#define HL_TREE_DEPTH_MAX 40
/* Builds the tree of x->answer. Returns 0, or -errno with hl_model_error(). */
int hl_tree_result_build(
	struct hl_tree_result *x, const struct hl_plan *p, const struct hl_limits *l);
void hl_tree_result_fini(struct hl_tree_result *x);

/* table, sites, sizes, lifetimes */
struct hl_table_result {
	struct hl_answer answer;
	struct hl_table table;
	struct hl_site_stat *stats; /* of the first n_stats rows; NULL: none */
	size_t n_stats;
};
/* Builds the table of x->answer, whose query had hl_group_key(g), and sets l->keep_order. Returns 0
 * or -errno. */
int hl_table_result_build(
	struct hl_table_result *x, const struct hl_plan *p, enum hl_group g, struct hl_limits *l);
void hl_table_result_fini(struct hl_table_result *x);

/* process */
struct hl_process_result {
	struct hl_answer answer;
};

/* source: the lines to show, in ranges with gaps between them. */
struct hl_source_range {
	size_t from, to; /* from 1, both inclusive */
};
struct hl_source_result {
	struct hl_answer answer;
	struct hl_source_lines lines;
	struct hl_source_range *ranges;
	size_t n_ranges;
};
/* The values of a line; NULL: it has no blocks. */
const struct hl_source_line *hl_source_result_line(const struct hl_source_result *x, size_t line);

/* Views that are not named here: a struct of a header above, as data_size of the view says. */

struct hl_overview_result {
	struct hl_overview overview;
	struct hl_suppressions *suppressions; /* of the blocks at the end; NULL: none */
};

struct hl_timeline_result {
	struct hl_time_range range;
	struct hl_time_range known; /* the part of it that is in the file: not before a base */
	bool is_part;               /* the range is not the whole run */
	struct hl_timeline_bin *columns;
	size_t n;
	struct hl_peak peak;            /* of the whole run */
	enum hl_range_phase peak_phase; /* of its time in `known` */
	const struct hl_mark *marks;    /* in the range; of the model */
	size_t n_marks;
	size_t marks_before, marks_after; /* how many are not in it */
};

/* curves: those of a timeline by a group, in the range of a timeline. */
struct hl_curves_result {
	struct hl_group_curves curves;
	struct hl_time_range known; /* the part of the range that is in the file */
	bool is_part;               /* the range is not the whole run */
	bool estimated;
	const struct hl_mark *marks; /* in the range; of the model */
	size_t n_marks;
};
/* The range of the request, and the marks in it. */
struct hl_time_range hl_plan_time_range(const struct hl_plan *p);
/* The part of a range that is not before the base of the trace. */
struct hl_time_range hl_known_range(const struct hl_model *m, const struct hl_time_range *r);

/* blocks */
struct hl_blocks_result {
	bool grouped;
	const char *sort; /* as users write it */
	bool reverse, full_stacks;
	size_t offset, limit;
	struct hl_block_list list;     /* if it is not grouped: one page */
	struct hl_block_groups groups; /* if it is: all of them */
};

/* mmaps: with limits a list of the largest, otherwise `all`, which the renderer passes to
 * hl_model_mappings(). */
struct hl_mmaps_result {
	struct hl_mapping_list list;
	struct hl_mappings all;
};

struct hl_resident_result {
	struct hl_resident resident;
	bool highest;       /* no moment was requested: that of the most resident memory */
	uint64_t moment_ns; /* as requested */
	struct hl_resident_point *points;
	size_t n_points;
};

/* snapshots, snapshot_deltas and cumulative_delta: computed one by one, because their trees would
 * not fit into memory together. */
struct hl_snapshot_result {
	size_t from, to;        /* moments of the list; from 0: the start, or the base */
	uint64_t number, since; /* their numbers for users */
	bool since_base;
	const struct hl_moment *moment;
	bool growth; /* the tree has blocks that are new since `from`, not all live blocks */
	char *heading;
	const struct hl_answer *answer;    /* of the tree or the table */
	struct hl_tree_result tree;        /* of a view that is not grouped */
	struct hl_table_result table;      /* of a view that is grouped */
	size_t max_rows;                   /* of the table; 0: all */
	struct hl_value live_before, live; /* with growth */
};
struct hl_snapshots_result {
	struct hl_plan *plan;
	struct hl_limits limits;
	const struct hl_view *view;
	enum hl_group group;
	bool grouped; /* a table by the group for each snapshot, instead of a tree */
	struct hl_snapshot_list *log;
	size_t all, n; /* number of snapshots, and how many are shown */
	size_t next;   /* the next one */
	size_t max_nodes;
	uint64_t decoded;     /* events that had been decoded before */
	struct hl_value live; /* live blocks at snapshot `last` */
	size_t last;
	struct hl_snapshot_result current;
};
/* Returns the next snapshot, valid until the next call; NULL after the last, or with *err set. */
const struct hl_snapshot_result *hl_snapshots_next(struct hl_snapshots_result *x, int *err);

#endif
