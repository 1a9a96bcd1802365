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
#include "model/query/suppress.h"
#include "model/views/live/live_points.h"
#include "model/views/snapshots.h"
#include "request/plan.h"
#include "request/process_rows.h"
#include "util/json_writer.h"

void hl_json_info(FILE *out, struct hl_model *m);
/* The processes of a session, by falling peak. Returns 0 or -ENOMEM. */
struct hl_session_list;
int hl_json_session(FILE *out, const struct hl_session_list *s);

/* The member `ranking`: the processes of --group process, the largest first, with their shares. */
void hl_json_ranking(struct hl_json *j, const struct hl_process_row *rows, size_t n,
	const struct hl_value *total, bool by_blocks);

/* Bytes and blocks, and the margin of an estimate. The prefix "freed" gives "freed_bytes". */
void hl_json_value(struct hl_json *j, const char *prefix, const struct hl_value *v);
/* Quantity, times and total. */
void hl_json_answer(struct hl_json *j, const struct hl_answer *a);
void hl_json_frame(struct hl_json *j, const struct hl_frame *f);
/* The frames of a stack, innermost first, as an array. Returns 0 or -errno with hl_model_error().
 */
int hl_json_stack(struct hl_json *j, struct hl_model *m, uint32_t node);

struct hl_unmatched_term;
/* An object of an array: a term of the filter that matches no name, and similar names. */
void hl_json_unmatched_term(struct hl_json *j, const struct hl_unmatched_term *t);

struct hl_filter_check;
/* Members that say why a filter matches less than expected; none if it does not. */
void hl_json_filter_check(struct hl_json *j, const struct hl_filter_check *c);

/* Live bytes over a range, and its marks. Returns 0, or -errno with hl_model_error(). */
int hl_json_live_points(struct hl_json *j, struct hl_model *m, const struct hl_time_range *r,
	const struct hl_live_point *points, size_t n, struct hl_row_limit *rows);

/* Renders any result, and what its suppressions removed. Returns 0, or -errno with
 * hl_model_error(). */
int hl_json_result(struct hl_json *j, struct hl_result *r);
void hl_json_suppressed(
	struct hl_json *j, const struct hl_suppressions *s, struct hl_row_limit *rows);

/* The changes between two moments, as one object in an array that the caller has begun. Returns 0
 * or -errno. */
int hl_json_log_changes(struct hl_json *j, struct hl_model *m, const struct hl_snapshot_list *log,
	size_t from, size_t to, const struct hl_snapshot_changes *page);

#endif
