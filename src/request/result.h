/* SPDX-License-Identifier: Apache-2.0 */
/*
 * result.h - the data of each view's result (hl_result.data).
 */
#ifndef HL_REQUEST_RESULT_H
#define HL_REQUEST_RESULT_H

#include "model/stack/flat_table.h"
#include "model/stack/tree.h"
#include "model/views/filtered_peak.h"
#include "model/views/freeing_sites.h"
#include "model/views/mappings.h"
#include "model/views/page_usage.h"
#include "model/views/site_stats.h"
#include "model/views/snapshots.h"
#include "model/views/thread_stats.h"
#include "request/plan.h"

/* tree */
struct hl_tree_result {
	struct hl_answer answer;
	struct hl_tree tree;
	size_t max_nodes; /* at most this many nodes are useful; 0: all */
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

/* process */
struct hl_process_result {
	struct hl_answer answer;
};

/* threads: struct hl_threads; fragmentation: struct hl_fragmentation; freed_by: struct
 * hl_freed_by */

struct hl_timeline_result {
	struct hl_timeline_bin *columns;
	size_t n;
	struct hl_peak peak;
};

/* mmaps: with limits a list of the largest, otherwise `all`, which the renderer passes to
 * hl_model_mappings(). */
struct hl_mmaps_result {
	struct hl_mapping_list list;
	struct hl_mappings all;
};

/* snapshots, snapshot_deltas and cumulative_delta: computed one by one, because their trees would
 * not fit into memory together. */
struct hl_snapshot_result {
	size_t from, to; /* numbers of the snapshots; from 0: the start */
	const struct hl_moment *moment;
	bool growth; /* the tree has blocks that are new since `from`, not all live blocks */
	char *heading;
	struct hl_tree_result tree;
	struct hl_value live_before, live; /* with growth */
};
struct hl_snapshots_result {
	struct hl_plan *plan;
	struct hl_limits limits;
	const struct hl_view *view;
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
