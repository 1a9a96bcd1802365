/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_internal.h - the renderers of results.
 */
#ifndef HL_VIEWS_JSON_JSON_INTERNAL_H
#define HL_VIEWS_JSON_JSON_INTERNAL_H

#include "request/result.h"
#include "views/json/json.h"

/* The `max_nodes` largest nodes and the number of omitted ones, as far as `rows` allows. Returns 0
 * or -ENOMEM. */
int hl_json_put_tree(struct hl_json *j, struct hl_model *m, const struct hl_tree_result *x,
	struct hl_row_limit *rows);

/* The `max_rows` first rows of a table (0: all) and, with max_rows, the number of omitted ones. */
int hl_json_put_table(struct hl_json *j, struct hl_model *m, const struct hl_table_result *x,
	size_t max_rows, struct hl_row_limit *rows);

/* The members that say what a row of a table is, besides its name. */
void hl_json_row_identity(struct hl_json *j, struct hl_model *m, const struct hl_table *t,
	const struct hl_table_row *r);

struct hl_mark;
/* The array "marks". */
void hl_json_marks(
	struct hl_json *j, const struct hl_mark *marks, size_t n, struct hl_row_limit *rows);

/* "key": "0x7f12" */
void hl_json_key_hex(struct hl_json *j, const char *key, uint64_t v);
/* The permissions of a mapping (HL_MAP_*): "rw-p". */
void hl_json_permissions(struct hl_json *j, const char *key, uint8_t perms);
/* The array of the columns of a timeline. */
void hl_json_timeline_columns(struct hl_json *j, const struct hl_time_range *r,
	const struct hl_timeline_bin *c, size_t n);

/* An object of an array as a row (request/budget.h). If begin returns false, there is no row. */
static inline bool hl_json_begin_row(
	struct hl_json *j, struct hl_row_limit *rows, const struct hl_value *value)
{
	if (!hl_row_begin(rows, j->out, value))
		return false;
	if (rows)
		rows->comma = j->comma;
	hl_json_begin_object(j);
	return true;
}

/* Returns false if the row was removed. */
static inline bool hl_json_end_row(struct hl_json *j, struct hl_row_limit *rows)
{
	hl_json_end_object(j);
	if (hl_row_end(rows))
		return true;
	j->comma = rows->comma;
	return false;
}

#define X(name, renderer, ...) int hl_json_##renderer(struct hl_json *j, struct hl_result *r);
HL_VIEWS(X)
#undef X

#endif
