/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timeline_json.c - live bytes over the run, as JSON.
 */
#include "model/views/marks.h"
#include "views/json/json_internal.h"

void hl_json_marks(
	struct hl_json *j, const struct hl_mark *marks, size_t n, struct hl_row_limit *rows)
{
	hl_json_key(j, "marks");
	hl_json_begin_array(j);
	for (size_t i = 0; i < n; i++) {
		if (!hl_json_begin_row(j, rows, NULL))
			continue;
		hl_json_key_string(j, "kind", marks[i].snapshot ? "snapshot" : "mark");
		hl_json_key_string(j, "name", marks[i].name);
		hl_json_key_u64(j, "time_ns", marks[i].time_ns);
		hl_json_end_row(j, rows);
	}
	hl_json_end_array(j);
}

int hl_json_live_points(struct hl_json *j, struct hl_model *m, const struct hl_time_range *r,
	const struct hl_live_point *points, size_t n, struct hl_row_limit *rows)
{
	const struct hl_mark *marks;
	size_t n_marks, first = 0, end;
	int err = hl_model_marks(m, &marks, &n_marks);

	if (err)
		return err;
	while (first < n_marks && marks[first].time_ns < r->from_ns)
		first++;
	for (end = first; end < n_marks && marks[end].time_ns <= r->to_ns;)
		end++;
	hl_json_key_u64(j, "duration_ns", hl_model_end_ns(m));
	hl_json_key_u64(j, "from_ns", r->from_ns);
	hl_json_key_u64(j, "to_ns", r->to_ns);
	hl_json_key(j, "columns");
	hl_json_begin_array(j);
	for (size_t i = 0; i < n; i++) {
		hl_json_begin_object(j);
		hl_json_key_u64(j, "from_ns", points[i].from_ns);
		hl_json_key_u64(j, "to_ns", points[i].to_ns);
		hl_json_key_u64(j, "max_live_bytes", points[i].max_bytes);
		hl_json_key_u64(j, "end_live_bytes", points[i].end_bytes);
		if (points[i].lost)
			hl_json_key_bool(j, "lost", true);
		hl_json_end_object(j);
	}
	hl_json_end_array(j);
	hl_json_marks(j, marks ? marks + first : NULL, end - first, rows);
	return 0;
}

/* The end of a column is there only if the columns have not equal lengths. */
void hl_json_timeline_columns(
	struct hl_json *j, const struct hl_time_range *r, const struct hl_timeline_bin *c, size_t n)
{
	bool equal = true;

	for (size_t i = 0; i < n; i++)
		equal &= c[i].end_ns == hl_time_range_end(r, i, n);
	hl_json_begin_array(j);
	for (size_t i = 0; i < n; i++) {
		hl_json_begin_object(j);
		if (!equal)
			hl_json_key_u64(j, "end_ns", c[i].end_ns);
		hl_json_key_u64(j, "max_live_bytes", c[i].max_bytes);
		hl_json_key_u64(j, "end_live_bytes", c[i].end_bytes);
		if (c[i].lost)
			hl_json_key_bool(j, "lost", true);
		if (c[i].before_base)
			hl_json_key_bool(j, "before_base", true);
		hl_json_end_object(j);
	}
	hl_json_end_array(j);
}

int hl_json_timeline(struct hl_json *j, struct hl_result *r)
{
	const struct hl_timeline_result *x = r->data;
	const struct hl_timeline_bin *c = x->columns;
	const struct hl_peak *peak = &x->peak;

	hl_json_key_u64(j, "duration_ns", hl_model_end_ns(r->m));
	hl_json_key_u64(j, "from_ns", x->range.from_ns);
	hl_json_key_u64(j, "to_ns", x->range.to_ns);
	hl_json_key_u64(j, "peak_bytes", peak->bytes);
	hl_json_key_u64(j, "peak_time_ns", peak->time_ns);
	hl_json_key_bool(j, "peak_in_range", x->peak_phase == HL_RANGE_IN);
	if (peak->before_damage)
		hl_json_key_bool(j, "peak_moved", true);
	hl_json_key(j, "columns");
	hl_json_timeline_columns(j, &x->range, c, x->n);
	hl_json_marks(j, x->marks, x->n_marks, r->rows);
	return 0;
}
