/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json.h - a trace as JSON for programs.
 *
 * JSON has "schema": 1; member names never change their meaning, new ones may be added
 * (docs/json.md). Except for hl_json_info, the functions write members into an object that the
 * caller has begun. They omit nothing unless an argument limits the output. I/O errors stay in the
 * stream of the writer.
 */
#ifndef HL_VIEWS_JSON_JSON_H
#define HL_VIEWS_JSON_JSON_H

#include <stdio.h>

#include "model/model.h"
#include "model/query/query.h"
#include "model/query/suppress.h"
#include "model/stack/flat_table.h"
#include "model/stack/tree.h"
#include "model/views/filtered_peak.h"
#include "model/views/freeing_sites.h"
#include "model/views/mappings.h"
#include "model/views/page_usage.h"
#include "model/views/site_stats.h"
#include "model/views/snapshots.h"
#include "model/views/thread_stats.h"
#include "util/json_writer.h"

void hl_json_info(FILE *out, struct hl_model *m);

/* Bytes and blocks, and the margin of an estimate. The prefix "freed" gives "freed_bytes". */
void hl_json_value(struct hl_json *j, const char *prefix, const struct hl_value *v);
/* Quantity, times and total. */
void hl_json_answer(struct hl_json *j, const struct hl_answer *a);
void hl_json_frame(struct hl_json *j, const struct hl_frame *f);
/* The frames of a stack, innermost first, as an array. Returns 0 or -errno with hl_model_error().
 */
int hl_json_stack(struct hl_json *j, struct hl_model *m, uint32_t node);

/* Writes the `most` largest nodes and the number of omitted ones; 0: all nodes. Returns 0 or
 * -ENOMEM. */
int hl_json_tree(struct hl_json *j, struct hl_model *m, const struct hl_answer *a,
	const struct hl_tree *t, size_t most);
/* stats: for the first n_stats rows; or NULL. */
void hl_json_table(struct hl_json *j, struct hl_model *m, const struct hl_answer *a,
	const struct hl_table *t, const struct hl_site_stat *stats, size_t n_stats);
void hl_json_threads(struct hl_json *j, const struct hl_threads *t);
int hl_json_timeline(struct hl_json *j, struct hl_model *m, const struct hl_timeline_bin *c,
	size_t n, const struct hl_peak *peak);
void hl_json_fragmentation(struct hl_json *j, struct hl_model *m, const struct hl_fragmentation *f);
void hl_json_freed_by(struct hl_json *j, struct hl_model *m, const struct hl_freed_by *f);
/* Runs hl_model_mappings and writes each mapping as it comes. The callback of `x` must not be
 * set. */
int hl_json_mmaps(struct hl_json *j, struct hl_model *m, struct hl_mappings *x);
void hl_json_suppressed(struct hl_json *j, const struct hl_suppressions *s);

/* The changes between two moments, as one object in an array that the caller has begun. Returns 0
 * or -errno. */
int hl_json_snapshots(struct hl_json *j, struct hl_model *m, const struct hl_snapshot_list *log,
	size_t from, size_t to, const struct hl_snapshot_changes *page);

#endif
